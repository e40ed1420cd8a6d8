"""The Org format: headings with their ids, lists, tables, blocks, links, footnotes, included files.

orgparse, the parser that is kept, gives headings and leaves their bodies as text, so the grammar is here. Source: Org
syntax, orgmode.org/worg/org-syntax.html, and the Org manual."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structformer.document import Document, Link, LinkKind, Source
from structformer.formats import SourceFile, TreeBuilder, included_files, link_names, name_references, path_names

from structformer_org.blocks import Blocks
from structformer_org.including import TITLED, included_whole, lines_of


class OrgFormat:
    """Reads a file, and what it includes, to one Document."""

    # What is not text in a page's source: comments, keywords, drawers.
    not_text = re.compile(
        r"^[ \t]*#(?:[ \t][^\n]*|\+(?!begin|end)[^\n]*)$|^[ \t]*:PROPERTIES:\n.*?^[ \t]*:END:$",
        re.DOTALL | re.MULTILINE | re.IGNORECASE,
    )
    name = "org"
    suffixes = (".org",)
    media_types = ("text/org", "text/x-org")
    completeness = "headings, lists, tables, blocks, links, footnotes, includes; code is not run"

    def sniff(self, head: bytes, path: str) -> float:
        """Never sure of a file of unknown suffix: its stars and dashes are other markups' too."""
        return 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document; what is not exported (`COMMENT`, `:noexport:`) is left out."""
        lines = list(lines_of(source))
        if not any(lines):
            source.warn("empty: no document")
            return
        builder = TreeBuilder()
        reader = Blocks(builder, source.warn)
        reader.read(lines)
        keywords = reader.keywords
        document = builder.finish(
            Source(source.path, self.name),
            title=reader.plain(keywords.pop("title", "")) or None,
            language=keywords.pop("language", "").strip() or None,
            metadata={name: value for name, value in sorted(keywords.items()) if value},
        )
        _settle(document)
        document.names = tuple(dict.fromkeys((*path_names(source.path), *reader.ids)))
        yield document

    def parts(self, source: SourceFile) -> set[str]:
        """Return paths of the files that a source includes whole and that are not documents of their own."""
        return included_files(source, included_whole, stands_alone=lambda _, data: TITLED.search(data) is not None)

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """A place of this document or another, by its id, or a file, `[[notes.org]]` too; a cited work is outside."""
        target = link.target
        if link.kind is LinkKind.CITATION or target.startswith("id:"):
            yield f"//{target}" if link.kind is LinkKind.CITATION else f"{target}#{target[3:]}"
            return
        yield from link_names(document.id, document.source.path, target)
        if target.startswith("#"):
            yield from link_names(document.id, document.source.path, target[1:]) if {".", "/"} & {*target} else ()
            yield f"custom_id:{target[1:]}{target}"


def _settle(document: Document) -> None:
    """Turn references by a section's title into such by its anchor, and show the titles of those without a text."""
    anchors = {anchor for section in document.sections() for anchor in section.anchors}
    titles = {each.title.casefold(): each.anchors[0] for each in reversed([*document.sections()]) if each.anchors}
    for link in document.links():
        if link.target.startswith("id:") and link.target[3:] in anchors:
            link.target = f"#{link.target[3:]}"
        elif link.target.startswith("#") and link.target[1:] not in anchors:
            title = link.target[1:].lstrip("* ").casefold()
            link.target = f"#{titles.get(title, link.target[1:].lstrip('* '))}"
    name_references(document)
