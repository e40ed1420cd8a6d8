"""The XML format, plainest form: nested elements that carry a title are sections; references and text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lxml import etree
from structformer.builder import TreeBuilder
from structformer.document import Document, Link, LinkKind, Source
from structformer.errors import ReadError
from structformer.names import link_names, normalize, path_names
from structformer.sources import SourceFile

_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_TITLES = frozenset({"title", "head"})
_TARGETS = (("linkend", "#"), ("rid", "#"), ("href", ""), (_XLINK, ""), ("url", ""), ("target", ""))


class XmlFormat:
    """Any vocabulary whose sections are elements with a title (or head) child."""

    name = "xml"
    suffixes = (".xml", ".nxml", ".dbk", ".dita")
    media_types = ("application/xml", "text/xml")
    completeness = "plain: elements with a title as sections, ids, references, text; no vocabularies and no entity files yet"

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is XML, from its first bytes."""
        return 0.8 if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml") else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document. Raises ReadError with the line when the XML is not well-formed."""
        data = source.read()
        if not data.strip():
            source.warn("empty: no document")
            return
        builder = TreeBuilder()
        # No entity is expanded and nothing but the given bytes is read.
        events = etree.iterparse(
            io.BytesIO(data), events=("start", "end"), resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False
        )
        try:
            _walk(events, builder)
        except etree.XMLSyntaxError as error:
            raise ReadError(f"not well-formed ({error.msg})", f"line {error.lineno}") from error
        document = builder.finish(Source(source.path, self.name))
        ids = tuple(normalize(anchor) for section in document.sections() for anchor in section.anchors)
        document.names = (*path_names(source.path), *(f"id:{each}" for each in ids))
        yield document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """An id in this document, else the document that has it, else a path."""
        yield from link_names(document.id, document.source.path, link.target)
        if link.target.startswith("#"):
            yield f"id:{normalize(link.target[1:])}{link.target}"


def _walk(events: Any, builder: TreeBuilder) -> None:
    depth = 0
    in_title = 0
    pending: list[str] = []
    for event, element in events:
        if not isinstance(element.tag, str):
            continue
        name = etree.QName(element).localname
        if event == "start":
            depth += 1
            anchor = element.get(_XML_ID) or element.get("id")
            if name in _TITLES and not in_title:
                builder.open_heading(max(1, depth - 1), tuple(pending))
                pending = []
                in_title = depth
                continue
            # An id names the section whose title comes next, else a place in the current one.
            for waiting in pending:
                builder.add_anchor(waiting)
            pending = [anchor] if anchor else []
            continue
        for waiting in pending:
            builder.add_anchor(waiting)
        pending = []
        if name in _TITLES and in_title == depth:
            builder.text(" ".join("".join(element.itertext()).split()))
            builder.close_heading()
            in_title = 0
        elif not in_title:
            _leaf(element, builder)
        depth -= 1


def _leaf(element: Any, builder: TreeBuilder) -> None:
    """Text of an element that holds no other block: its own text and that of its inline children."""
    target = next((prefix + element.get(key) for key, prefix in _TARGETS if element.get(key)), None)
    if target is not None:
        builder.add_link(target, " ".join("".join(element.itertext()).split()), LinkKind.XREF if target[0] == "#" else LinkKind.HYPERLINK)
    parent = element.getparent()
    mixed = parent is not None and bool((parent.text or "").strip() or any((child.tail or "").strip() for child in parent))
    has_text = bool((element.text or "").strip() or any((child.tail or "").strip() for child in element))
    if has_text and not mixed:
        builder.paragraph()
        builder.text(" ".join("".join(element.itertext()).split()))
        builder.paragraph()
