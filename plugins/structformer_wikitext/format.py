"""The wikitext format, plainest form: headings, internal and external links and text of one page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Tag, Text, Wikilink
from structformer.builder import TreeBuilder, stem_title
from structformer.document import Document, Link, LinkKind, Source
from structformer.errors import ReadError
from structformer.names import is_external, normalize, path_names, split_fragment, wiki_name
from structformer.sources import SourceFile, decode

_KINDS = {"category": LinkKind.CATEGORY, "file": LinkKind.EMBED, "image": LinkKind.EMBED}
_MAX_CHARACTERS = 2_000_000


class WikitextFormat:
    """One page of wikitext in a file; templates are left out."""

    name = "wikitext"
    suffixes = (".wiki", ".mediawiki", ".wikitext")
    media_types = ("text/x-wiki",)
    completeness = "plain: headings, links and text of single pages; no dumps and no templates yet"

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is wikitext, from its first bytes."""
        text = head.decode("utf-8", "replace")
        signs = (r"^==[^=\n]+==\s*$", r"\[\[[^\]\n]+\]\]", r"\{\{[^}\n]+\}\}", r"'''[^'\n]+'''")
        return min(0.9, 0.3 * sum(bool(re.search(sign, text, re.MULTILINE)) for sign in signs))

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document."""
        text = decode(source).replace("\r\n", "\n")
        if not text.strip():
            source.warn("empty: no document")
            return
        if len(text) > _MAX_CHARACTERS:
            raise ReadError(f"{len(text)} characters; single wikitext pages of at most {_MAX_CHARACTERS} are read")
        builder = TreeBuilder()
        _walk(mwparserfromhell.parse(text), builder)
        document = builder.finish(Source(source.path, self.name), title=stem_title(source.path).replace("_", " "))
        document.names = (*path_names(source.path), wiki_name(document.title))
        yield document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """The page name that a wiki-link means."""
        page, fragment = split_fragment(link.target)
        suffix = f"#{normalize(fragment)}" if fragment else ""
        if not page:
            yield document.id + suffix
        elif is_external(link.target) and link.kind is LinkKind.HYPERLINK:
            yield normalize(page)
        else:
            yield wiki_name(page) + suffix


def _walk(code: Any, builder: TreeBuilder) -> None:
    for node in code.nodes:
        if isinstance(node, Heading):
            builder.open_heading(node.level)
            _walk(node.title, builder)
            builder.close_heading()
        elif isinstance(node, Wikilink):
            _wiki_link(node, builder)
        elif isinstance(node, ExternalLink):
            builder.open_link(str(node.url))
            if node.title is None:
                builder.text(str(node.url))
            else:
                _walk(node.title, builder)
            builder.close_link()
        elif isinstance(node, Text):
            _text(str(node.value), builder)
        elif isinstance(node, HTMLEntity):
            builder.text(node.normalize())
        elif isinstance(node, Tag):
            if str(node.tag) == "li":
                builder.line()
            elif node.contents is not None and str(node.tag) not in ("ref", "gallery", "style"):
                _walk(node.contents, builder)


def _wiki_link(node: Wikilink, builder: TreeBuilder) -> None:
    target = str(node.title).strip()
    kind = _KINDS.get(target.partition(":")[0].strip().lower(), LinkKind.HYPERLINK)
    if kind is not LinkKind.HYPERLINK:
        builder.add_link(target, "", kind)
        return
    builder.open_link(target.lstrip(":"))
    if node.text is None:
        builder.text(target.lstrip(":"))
    else:
        _walk(node.text, builder)
    builder.close_link()


def _text(text: str, builder: TreeBuilder) -> None:
    for number, paragraph in enumerate(re.split(r"\n[ \t]*\n", text)):
        if number:
            builder.paragraph()
        builder.text(re.sub(r"\s+", " ", paragraph))
