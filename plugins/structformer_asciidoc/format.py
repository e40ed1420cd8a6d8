"""The AsciiDoc format, as Asciidoctor reads it: sections, blocks, lists, tables, includes, conditions, references.

No parser of it for Python both is kept and reads real manuals, so its grammar is here. Source: the AsciiDoc language
documentation, docs.asciidoctor.org."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structformer.document import Document, Link, Source
from structformer.formats import (
    FormatOption,
    SourceFile,
    TreeBuilder,
    is_external,
    join,
    link_names,
    name_references,
    normalize,
    path_names,
)

from structformer_asciidoc.blocks import Blocks
from structformer_asciidoc.components import attributes_of, component_names, names_meant, resource_path
from structformer_asciidoc.preprocessing import lines_of

_SIGNS = re.compile(
    r"^(?:={1,5} \S|:!?\w[\w-]*:(?: |$)|\[\[[\w-]+\]\]$|ifn?def::|include::|image::|\S.*::$|\|===$"
    r"|\[(?:source|NOTE|TIP|verse)[^\]]*\]$|\S.*\n(?:~{4,}|\^{4,})$)"
    r"|\blink(?:git)?:[^\s\[]+\[|<<[\w-]+(?:,[^>\n]*)?>>",
    re.MULTILINE,
)
_MANUAL_PAGE = re.compile(r"\S+\(\d\w*\)\n={4,}\n\nNAME\n-{4}\n")
# What a page begins with, under comments and attributes: pieces that others include have no title.
_TITLE = re.compile(r"(?:(?://|:)[^\n]*\n|\s*\n)*+(?:= \S|\S[^\n]*\n={4,}\s*(?:\n|\Z))")
_SIGNATURE = b"-----BEGIN PGP"


class AsciiDocFormat:
    """Reads a file, and what it includes, to one Document."""

    # What is not text in a page's source: comments, attributes, conditions and the targets of macros.
    not_text = re.compile(
        r"^/{4,}\n.*?\n/{4,}$|^//[^\n]*|^:[\w!-]+:[^\n]*|^(?:if|endif|include)\w*::[^\n]*|^\[[^\[\]\n]*\]$",
        re.DOTALL | re.MULTILINE,
    )
    name = "asciidoc"
    suffixes = (".adoc", ".asciidoc")
    media_types = ("text/asciidoc",)
    completeness = "headings, blocks, lists, tables, includes, conditions, references; no extensions' macros"
    options = (FormatOption("attributes", "attributes that hold, as a=1,b"),)

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is AsciiDoc, by two signs of it or more; a `.txt` has a title too."""
        if not path.lower().endswith((".txt", ".ad", ".asc")) or head.startswith(_SIGNATURE):
            return 0.0
        text = head.decode("utf-8", "replace").replace("\r\n", "\n")
        if _MANUAL_PAGE.match(text):
            return 0.95
        if path.lower().endswith(".txt") and not _TITLE.match(text):
            return 0.0
        return min(0.95, 0.4 * len({match.group()[:3] for match in _SIGNS.finditer(text)}))

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document. Option `attributes`: those that hold whatever the file says."""
        given = dict(pair.partition("=")[::2] for pair in str(options.get("attributes", "")).split(",") if pair)
        fixed = {name.strip().lower(): value for name, value in given.items()}
        taken = set[str]()
        begun = attributes_of(source, fixed)
        lines = list(lines_of(source, begun(), taken, set()))
        if not any(lines):
            source.warn("empty: no document")
            return
        attributes = begun()
        builder = TreeBuilder()
        reader = Blocks(builder, attributes, source.warn)
        reader.read(lines)
        metadata = {name: attributes.get(name) for name in ("author", "description", "keywords") if name in attributes}
        if reader.author:
            metadata.setdefault("author", reader.author)
        document = builder.finish(
            Source(source.path, self.name),
            title=reader.title or None,
            language=attributes.get("lang") or None,
            metadata=metadata,
        )
        taken.update([path.rpartition(".")[0] for path in taken])  # which references leave out
        for link in document.links():
            path, mark, anchor = link.target.partition("#")
            if anchor and path and join(source.path.rpartition("/")[0], path) in taken:
                link.target = mark + anchor  # what is included is of this document
        _settle(document, reader.texts)
        anchors = (anchor for section in document.sections() for anchor in section.anchors)
        ids = (f"{'auto-' * (anchor in reader.made_ids)}id:{normalize(anchor)}" for anchor in anchors)
        aliases = (alias.strip() for alias in attributes.get("page-aliases").split(",") if alias.strip())
        own = component_names(source.path, attributes)
        document.names = tuple(dict.fromkeys((*path_names(source.path), *aliases, *ids, *own)))
        yield document

    def parts(self, source: SourceFile) -> set[str]:
        """Return paths of the files that a source includes whole and that are not documents of their own."""
        parts = set[str]()
        if b"include::" in source.read():
            for _ in lines_of(source, attributes_of(source, {})(), set(), parts):
                pass
        return parts

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Yield a section by its id in this document, else in any; a page by its path, or by its component's names."""
        path, target = document.source.path, link.target
        if link.text[:-2].startswith(f"{target}("):  # a manual's page, which may be another system's
            yield f"//{target}"
        yield from names_meant(target, document.names)
        yield from link_names(document.id, path, target)
        if target.startswith("#"):
            yield from (f"{made}id:{normalize(target[1:])}{target}" for made in ("", "auto-"))
        elif not is_external(target):
            module, _, page = target.rpartition("@")[2].rpartition(":")
            yield from link_names(document.id, path, resource_path(path, f"{module}:page${page}"))


def _settle(document: Document, texts: Mapping[str, str]) -> None:
    """Turn references by a title into such by an id, and those to resources into paths; show what others lead to."""
    titles = {each.title: each.anchors[0] for each in reversed([*document.sections()]) if each.title and each.anchors}
    for link in document.links():
        anchor = link.target[1:] if link.target.startswith("#") else ""
        if anchor in titles:
            link.target = f"#{titles[anchor]}"
        elif "attachment$" in link.target:
            link.target = resource_path(document.source.path, link.target)
    name_references(document, lambda anchor, _: texts.get(anchor, ""))
