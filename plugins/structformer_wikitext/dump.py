"""MediaWiki XML dumps and WikiExtractor output: cutting a stream into pieces that stand by themselves, and reading
their pages.

A dump's pages are found by their tags, not by an XML parser: the export format is fixed, and what is broken costs one
page. Source: MediaWiki, "Help:Export" and export-0.11.xsd."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, BinaryIO

from structformer.errors import ReadError
from structformer.formats import Frame

PIECE_BYTES = 8_000_000
_READ_BYTES = 1 << 20
_END = {"dump": b"</page>", "extracted": b"</doc>", "lines": b"\n"}
_START = {"dump": b"<page>", "extracted": b"<doc ", "lines": b"{"}


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page of a dump as it stands there."""

    title: str
    namespace: int
    identifier: str
    redirect: str
    text: str
    model: str = "wikitext"


def kind_of(head: bytes) -> str:
    """ "dump", "extracted", "lines" (WikiExtractor's JSON) or "" by the first bytes."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb"(?:<\?xml[^>]*\?>\s*)?(?:<!DOCTYPE[^\[>]*(?:\[.*?\])?\s*>\s*)?<mediawiki[\s>]", start, re.DOTALL):
        return "dump"
    if re.match(rb"<doc\s[^>]*\b(?:id|title)=", start):
        return "extracted"
    return "lines" if re.match(rb'\{"id":\s*"[^"]*",\s*("revid":|"url":|"title":)', start) else ""


def frame(beginning: bytes) -> Frame | None:
    """Return the Frame of a dump's parts; None without a page. Raises ReadError if the dump declares entities."""
    if kind_of(beginning[:65536]) != "dump" or _START["dump"] not in beginning:
        return None
    return Frame(head_of(beginning), _START["dump"], b"</mediawiki>")


def head_of(beginning: bytes) -> bytes:
    """Return what precedes a dump's first page. Raises ReadError if the dump declares entities: exports never do."""
    position = beginning.find(_START["dump"])
    head = beginning[:position] if position >= 0 else beginning
    if b"<!ENTITY" in head:
        raise ReadError("refused: a dump that declares entities", "line 1")
    return head


def pieces(stream: BinaryIO, limit: int) -> Iterator[bytes | str]:
    """Pieces of whole pages, each beginning with the dump's own head; a page over `limit` bytes is left out, and said,
    as a str. Raises ReadError."""
    buffer = bytearray(stream.read(_READ_BYTES))
    kind = kind_of(bytes(buffer[:65536]))
    if not kind:
        raise ReadError("neither a MediaWiki dump nor WikiExtractor output")
    head = b""
    start, end = _START[kind], _END[kind]
    if kind == "dump":
        while start not in buffer and len(buffer) < limit and (more := stream.read(_READ_BYTES)):
            buffer += more
        head = head_of(bytes(buffer))
        del buffer[: len(head)]
    done = searched = 0  # bytes of the buffer that are whole pages, and those that have no other page's end
    at_end = False
    while not at_end:
        position = buffer.rfind(end, searched)
        done = position + len(end) if position >= 0 else done
        searched = max(0, len(buffer) - len(end))
        if done < PIECE_BYTES:
            buffer += (more := stream.read(_READ_BYTES))
            at_end = not more
            if more and len(buffer) - done > limit and buffer.find(end, done, done + limit) < 0:
                yield from _drop(buffer, done, stream, end, limit)
            elif more:
                continue
        if done:
            yield head + bytes(buffer[:done])
            del buffer[:done]
        done = searched = 0
    rest = bytes(buffer).strip()
    if kind == "dump" and start in rest:
        yield f"the dump ends inside a page ({_title(rest)}, {len(rest)} bytes): that page is left out"
    elif kind == "dump" and not rest.endswith(b"</mediawiki>"):
        yield "the dump ends before </mediawiki>: pages may be missing"
    elif kind == "lines" and rest:  # the last has no line end
        yield rest


def _drop(buffer: bytearray, done: int, stream: BinaryIO, end: bytes, limit: int) -> Iterator[str]:
    """Pass over a page that is too large, keeping what precedes and follows it."""
    name = _title(bytes(buffer[done : done + 10_000]))
    size, window = 0, bytes(buffer[done:])
    del buffer[done:]
    while (position := window.find(end)) < 0 and (more := stream.read(_READ_BYTES)):
        size += len(window) - len(end)  # an end may be cut in two
        window = window[-len(end) :] + more
    page_end = position + len(end) if position >= 0 else len(window)
    size += page_end
    buffer += window[page_end:]
    yield f"page {name}: {size / 1e6:.1f} MB, over the limit of {limit / 1e6:.1f} MB: left out"


def _title(page: bytes) -> str:
    match = re.search(rb"<title>([^<]*)</title>", page)
    return match[1].decode("utf-8", "replace") if match else "untitled"


_PAGE = re.compile(r"<page>(.*?)</page>", re.DOTALL)
# What an export says of a page before its text; the revision and its author have an <id> too, after the page's.
_FIELD = re.compile(
    r"<title>(?P<title>[^<]*)</|<ns>(?P<ns>-?\d{1,9})</|<id>(?P<id>\d+)</|<model>(?P<model>[^<]*)</"
    r'|<redirect\s+title="(?P<redirect>[^"]*)"'
)
_TEXT = re.compile(r"<text(?:\s[^>]*?)?(?:/>|>(.*?)</text>)", re.DOTALL)
_DOC = re.compile(r"<doc\s([^>]*)>\n?(.*?)</doc>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def dump_pages(text: str) -> Iterator[RawPage]:
    """Yield the pages of a dump, or of a piece of one; of several revisions the last."""
    for match in _PAGE.finditer(text):
        page = match[1]
        body = _TEXT.search(page, max(0, page.rfind("<revision>")))
        fields: dict[str | None, str] = {}
        for each in _FIELD.finditer(page):
            fields.setdefault(each.lastgroup, unescape(each[each.lastgroup or 0]))
        yield RawPage(
            title=fields.get("title", "").strip(),
            namespace=int(fields.get("ns", 0)),
            identifier=fields.get("id", ""),
            redirect=fields.get("redirect", ""),
            text=unescape(body[1] or "") if body else "",
            model=fields.get("model", "wikitext"),
        )


def extracted_pages(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield title, id, url and text of the articles of WikiExtractor's output, <doc> elements or lines of JSON."""
    if text.lstrip().startswith("{"):
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row
        return
    for found in _DOC.finditer(text):
        yield {key: unescape(value) for key, value in _ATTRIBUTE.findall(found[1])} | {"text": found[2]}
