"""Documents as table rows and back: one row per section in pre-order, one per document, one per source file."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from structformer.document import Document, Link, LinkKind, Mark, MarkKind, Section, Source

KINDS = tuple(MarkKind)
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_HAS_DETAIL = 64
_HEADER = 4
_MOST_DEPTH, _MOST_BITS = 50, 63  # of a metadata value: what recursion, floats and tables of every step can take

LINK = pa.struct(
    [("kind", pa.string()), ("target", pa.string()), ("text", pa.string()), ("start", pa.int32()), ("end", pa.int32())]
)
SECTIONS = pa.schema(
    [
        ("document", pa.int32()),
        ("number", pa.int32()),
        ("parent", pa.int32()),
        ("level", pa.int16()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("anchors", pa.list_(pa.string())),
        ("links", pa.list_(LINK)),
        ("marks", pa.binary()),  # see packed_marks
        ("mark_details", pa.list_(pa.string())),
    ]
)
DOCUMENTS = pa.schema(
    [
        ("number", pa.int32()),
        ("id", pa.string()),
        ("title", pa.string()),
        ("path", pa.string()),
        ("file", pa.string()),  # the file it was read from: the path, or the archive or dump that holds it
        ("format", pa.string()),
        ("names", pa.list_(pa.string())),
        ("language", pa.string()),
        ("metadata", pa.string()),
        ("sections", pa.int32()),
    ]
)
ALIAS = pa.struct([("name", pa.string()), ("target", pa.string())])
SOURCES = pa.schema(
    [
        ("path", pa.string()),
        ("file", pa.string()),
        ("piece", pa.int32()),  # of a file that was read in pieces; -1 for the others
        ("format", pa.string()),
        ("why", pa.string()),  # what the format was recognised by
        ("sha256", pa.string()),
        ("size", pa.int64()),
        ("status", pa.string()),  # read, empty, part, failed, skipped
        ("documents", pa.int32()),
        ("messages", pa.list_(pa.string())),
        ("dependencies", pa.list_(pa.string())),  # "digest path" of the other files that the reading took from
        ("aliases", pa.list_(ALIAS)),  # further names, of documents that may be anywhere
        ("bytes", pa.int64()),  # read
        ("characters", pa.int64()),  # of text that came of it
    ]
)

Row = dict[str, Any]
_KINDS = {kind.value: kind for kind in LinkKind}


def storable(text: str) -> str:
    """Return text that UTF-8 can hold: lone surrogates, which some sources' escapes yield, become U+FFFD."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def kept_metadata(metadata: Mapping[Any, Any], say: Callable[[str], None] = lambda problem: None) -> dict[str, Any]:
    """Metadata as every later step can hold it: JSON's types, at most 50 deep, numbers finite and of 64 bits.

    Dates, and numbers that are none, become text; so do longer numbers and other objects, and what is nested deeper is
    left out: `say` is called with a line on each of these that names the key.
    """

    def text(value: Any) -> str:
        # Python refuses to write an integer of over 4,300 decimal digits.
        return storable(hex(value) if isinstance(value, int) and value.bit_length() > 10_000 else str(value))

    def kept(value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and (isinstance(value, float) or value.bit_length() <= _MOST_BITS):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            if depth == _MOST_DEPTH:
                raise RecursionError
            if isinstance(value, Mapping):
                return {text(key): kept(inner, depth + 1) for key, inner in value.items()}
            return [kept(inner, depth + 1) for inner in value]
        if not isinstance(value, str):
            kind = "number of over 64 bits" if isinstance(value, int | Decimal) else type(value).__name__
            say(f"metadata {text(key)!r:.100}: a {kind}: kept as text")
        return text(value)

    values: dict[str, Any] = {}
    for key, value in metadata.items():
        try:
            values[text(key)] = kept(value, 1)
        except RecursionError:
            say(f"metadata {text(key)!r:.100}: nested over {_MOST_DEPTH} deep: left out")
    return values


def document_rows(
    document: Document, file: str = "", say: Callable[[str], None] = lambda problem: None
) -> tuple[Row, list[Row]]:
    """Return the document's row and its sections' rows; the caller numbers the document. say: see `kept_metadata`."""
    parents: dict[int, int] = {id(document.root): -1}
    rows: list[Row] = []
    for number, section in enumerate(document.root.walk()):
        for child in section.children:
            parents[id(child)] = number
        marks, details = packed_marks(section.marks)
        rows.append(
            {
                "document": 0,
                "number": number,
                "parent": parents[id(section)],
                "level": max(-32768, min(32767, section.level)),
                "title": storable(section.title),
                "text": storable(section.text),
                "anchors": [storable(anchor) for anchor in section.anchors],
                "links": [
                    {
                        "kind": link.kind.value,
                        "target": storable(link.target),
                        "text": storable(link.text),
                        "start": link.start,
                        "end": link.end,
                    }
                    for link in section.links
                ],
                "marks": marks,
                "mark_details": [storable(detail) for detail in details],
            }
        )
    if any((row["title"], row["text"]) != (s.title, s.text) for row, s in zip(rows, document.sections(), strict=True)):
        say("half of a surrogate pair in its text: kept as \N{REPLACEMENT CHARACTER}")
    row = {
        "number": 0,
        "id": storable(document.id),
        "title": storable(document.title),
        "path": document.source.path,
        "file": file or document.source.path,
        "format": document.source.format,
        "names": [storable(name) for name in document.names],
        "language": document.language and storable(document.language),
        "metadata": json.dumps(kept_metadata(document.metadata, say), sort_keys=True, ensure_ascii=True),
        "sections": len(rows),
    }
    return row, rows


def rows_document(row: Row, section_rows: Sequence[Row]) -> Document:
    """Return the Document of its rows."""
    sections: list[Section] = []
    for section_row in section_rows:
        section = Section(
            title=section_row["title"],
            level=section_row["level"],
            text=section_row["text"],
            anchors=tuple(section_row.get("anchors", ())),
            links=[
                Link(_KINDS[link["kind"]], link["target"], link["text"], link["start"], link["end"])
                for link in section_row.get("links", ())
            ],
            marks=unpacked_marks(section_row.get("marks") or b"", section_row.get("mark_details") or ()),
        )
        if section_row["parent"] >= 0:
            sections[section_row["parent"]].children.append(section)
        sections.append(section)
    return Document(
        id=row["id"],
        title=row["title"],
        root=sections[0],
        source=Source(row["path"], row["format"]),
        names=tuple(row["names"]),
        language=row["language"],
        metadata=json.loads(row["metadata"]),
    )


def packed_marks(marks: Sequence[Mark]) -> tuple[bytes, list[str]]:
    """Return the marks as bytes, empty where there are none, and the details of those that have one."""
    if not marks:
        return b"", []
    starts = [mark.start for mark in marks]
    columns = (
        [_NUMBERS[mark.kind] + (_HAS_DETAIL if mark.detail else 0) for mark in marks],
        [mark.depth for mark in marks],
        [start - before for before, start in zip([0, *starts], starts, strict=False)],
        [mark.end - mark.start for mark in marks],
    )
    arrays = [np.array(column, f"<i{_width(column)}") for column in columns]
    header = bytes(each.itemsize for each in arrays)
    return header + b"".join(each.tobytes() for each in arrays), [mark.detail for mark in marks if mark.detail]


def unpacked_marks(data: bytes, details: Iterable[str]) -> list[Mark]:
    """Return the marks of such bytes."""
    if not data:
        return []
    widths = data[:_HEADER]
    count = (len(data) - _HEADER) // sum(widths)
    columns = []
    place = _HEADER
    for width in widths:
        columns.append(np.frombuffer(data, f"<i{width}", count, place).tolist())
        place += width * count
    marks: list[Mark] = []
    remaining_details = iter(details)
    start = 0
    for number, depth, gap, length in zip(*columns, strict=True):
        start += gap
        detail = next(remaining_details, "") if number & _HAS_DETAIL else ""
        marks.append(Mark(KINDS[number & ~_HAS_DETAIL], start, start + length, depth, detail))
    return marks


def _width(numbers: list[int]) -> int:
    most = max(max(numbers), -min(numbers))
    return 1 if most < 1 << 7 else 2 if most < 1 << 15 else 4 if most < 1 << 31 else 8
