"""XInclude inside the ingested root: what a document includes becomes part of its tree; nothing else is opened.

Source: W3C, XML Inclusions (XInclude) 1.1; of xpointer the forms "id" and xpointer(id('x')) with an optional /* behind
it."""

import copy
import re
from typing import Any

from lxml import etree
from structformer.errors import ReadError
from structformer.formats import SourceFile, as_utf8, without_spans

from structformer_xml.parsing import content, parse, replace

_NAMESPACE = "http://www.w3.org/2001/XInclude"
_INCLUDE = f"{{{_NAMESPACE}}}include"
_FALLBACK = f"{{{_NAMESPACE}}}fallback"
_POINTER = re.compile(r"""xpointer\(\s*id\(\s*['"]([^'"]+)['"]\s*\)\s*(/\*)?\s*\)""")
_NAME = re.compile(r"[\w.:-]+")
_TAG = re.compile(rb"""<(?:[\w.-]{1,40}:)?include\b((?:[^<>"']|"[^<"]*"|'[^<']*')*)>""")
_HREF = re.compile(rb"""\shref\s*=\s*["']([^"'#]+)(#?)""")
# Where an inclusion is none, or stands in for another.
_ASIDE = re.compile(rb"<(?:[\w.-]{1,40}:)?(!--|!\[CDATA\[|fallback)")
_ENDS = {
    b"!--": re.compile(rb"-->"),
    b"![CDATA[": re.compile(rb"\]\]>"),
    b"fallback": re.compile(rb"</(?:[\w.-]{1,40}:)?fallback\s*>"),
}
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_MAX_DEPTH = 20
_MAX_BYTES = 64_000_000


def included_paths(data: bytes, *, pieces: bool = False) -> list[str]:
    """Return the href of every inclusion in a file that takes another whole, or of those that take a piece."""
    if _NAMESPACE.encode() not in data or b"href" not in data:
        return []
    return [
        found[1].decode("utf-8", "replace")
        for (attributes,) in map(re.Match.groups, _TAG.finditer(without_spans(data, _ASIDE, _ENDS)))
        if (found := _HREF.search(attributes)) is not None and (b"xpointer" in attributes or bool(found[2])) == pieces
    ]


class Inclusions:
    """Carries out the inclusions of one document, within bounds of depth and size."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._bytes = 0

    def carry_out(self, root: Any) -> None:
        """Replace every xi:include below `root`; one that is unavailable becomes a reference to what it names."""
        self._expand(root, root, self._source, (self._source.path,))

    def _expand(self, start: Any, document: Any, source: SourceFile, chain: tuple[str, ...]) -> None:
        for element in list(start.iter(_INCLUDE)):
            included = self._find(element, document, source, chain)
            if included is None and (fallback := element.find(_FALLBACK)) is not None:
                included = [fallback.text or "", *fallback]
            _refer(element) if included is None else replace(element, included)

    def _find(self, element: Any, document: Any, source: SourceFile, chain: tuple[str, ...]) -> list[Any] | None:
        href, _, fragment = (element.get("href") or "").partition("#")
        pointer = element.get("xpointer") or fragment
        if not href:
            return [copy.deepcopy(each) for each in _point(document, pointer)] or None
        opened = source.open(href) if len(chain) <= _MAX_DEPTH else None
        if opened is None or opened.path in chain:
            self._source.warn(
                f"xi:include of {href}: {'includes itself' if opened else 'not inside the ingested folder'}; left out"
            )
            return None
        data = opened.read()
        self._bytes += len(data)
        if self._bytes > _MAX_BYTES:
            self._source.warn(f"xi:include of {href}: over {_MAX_BYTES >> 20} MB included in all; left out")
            return None
        if element.get("parse") == "text":
            encoding = element.get("encoding")
            return [data.decode(encoding, "replace") if encoding else as_utf8(data).decode("utf-8", "replace")]
        try:
            root = parse(content(opened)[0], completed=True)
        except ReadError as error:
            self._source.warn(f"xi:include of {href}: {error}; left out")
            return None
        self._expand(root, root, opened, (*chain, opened.path))
        return (_point(root, pointer) or None) if pointer else [root]


def _refer(element: Any) -> None:
    """Make an inclusion a reference to what it names."""
    target = element.get("href") or ""
    if not target and (found := _POINTER.search(element.get("xpointer") or "")):
        target = f"#{found[1]}"
    element.clear(keep_tail=True)
    element.tag = "xi-include"
    if target:
        element.set("href", target)


def _point(root: Any, pointer: str) -> list[Any]:
    found = _POINTER.search(pointer)
    name = found[1] if found else pointer if _NAME.fullmatch(pointer) else ""
    if not name:
        return []
    for element in root.iter(etree.Element):
        if element.get(XML_ID) == name or element.get("id") == name:
            return list(element) if found and found[2] else [element]
    return []
