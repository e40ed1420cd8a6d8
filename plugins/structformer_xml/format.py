"""The XML format, plainest form: nested elements that carry a title are sections; references and text."""

from __future__ import annotations

import re
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
        # No entity is expanded and nothing but the given bytes is read.
        parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
        try:
            root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError as error:
            raise ReadError(f"not well-formed ({error.msg})", f"line {error.lineno}") from error
        builder = TreeBuilder()
        _walk(root, builder)
        document = builder.finish(Source(source.path, self.name))
        ids = tuple(normalize(anchor) for section in document.sections() for anchor in section.anchors)
        document.names = (*path_names(source.path), *(f"id:{each}" for each in ids))
        yield document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """An id in this document, else the document that has it, else a path."""
        yield from link_names(document.id, document.source.path, link.target)
        if link.target.startswith("#"):
            yield f"id:{normalize(link.target[1:])}{link.target}"


def _walk(root: Any, builder: TreeBuilder) -> None:
    """Elements in document order: titles open sections, elements with text of their own are paragraphs."""
    waiting: list[str] = []  # an id names the section whose title comes next, else a place in the current one
    stack = [(root, 0)]
    while stack:
        element, depth = stack.pop()
        if not isinstance(element.tag, str):
            continue
        if etree.QName(element).localname in _TITLES:
            builder.open_heading(max(1, depth), tuple(waiting))
            waiting = []
            _inline(element, builder)
            builder.close_heading()
            continue
        for anchor in waiting:
            builder.add_anchor(anchor)
        anchor = element.get(_XML_ID) or element.get("id")
        waiting = [anchor] if anchor else []
        has_text = bool((element.text or "").strip()) or any((child.tail or "").strip() for child in element)
        if has_text or _target(element):
            builder.paragraph()
            _inline(element, builder)
            builder.paragraph()
        else:
            stack.extend((child, depth + 1) for child in reversed(element))
    for anchor in waiting:
        builder.add_anchor(anchor)


def _inline(block: Any, builder: TreeBuilder) -> None:
    """The text of a block with its links; ids within it are places in the current section."""
    for event, element in etree.iterwalk(block, events=("start", "end", "comment", "pi")):
        if event == "start":
            target = _target(element)
            if target:
                builder.open_link(target, LinkKind.XREF if target[0] == "#" else LinkKind.HYPERLINK)
            if element is not block and (anchor := element.get(_XML_ID) or element.get("id")):
                builder.add_anchor(anchor)
            _text(element.text, builder)
            continue
        if event == "end" and _target(element):
            builder.close_link()
        if element is not block:
            _text(element.tail, builder)


def _target(element: Any) -> str | None:
    if not isinstance(element.tag, str):
        return None
    return next((prefix + element.get(key) for key, prefix in _TARGETS if element.get(key)), None)


def _text(text: str | None, builder: TreeBuilder) -> None:
    if text:
        builder.text(re.sub(r"\s+", " ", text))
