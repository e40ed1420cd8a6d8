"""How a file of records is laid out, recognised by its first bytes, and how it is cut into pieces of whole records: of
arrays of JSON objects, objects in several lines, and Parquet tables into JSON lines. All are read as streams."""

import codecs
import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, BinaryIO

from structformer.errors import ReadError

_ROWS = 64  # at once: a few rows of a small file may hold much
_READ_BYTES = 1 << 20
_MOST_DIGITS = 4000  # Python makes no number of more than 4,300


def whole_number(digits: str) -> int | Decimal:
    """Return a whole number of JSON; one that is too long for Python is a Decimal, whose digits nobody counts with."""
    return int(digits) if len(digits) <= _MOST_DIGITS else Decimal(digits)


def packed_pieces(kind: str, stream: BinaryIO, head: bytes, size: int, limit: int) -> Iterator[bytes | str]:
    """Yield pieces of about `size` bytes of JSON lines, and, as a str, what was left out: a record over `limit` bytes.

    kind: "array", "object" or "parquet". head: what was read of the stream already. Raises ReadError on what is
    damaged.
    """
    piece, damage = bytearray(), None
    try:
        for number, record in enumerate(_rows(stream) if kind == "parquet" else _objects(stream, head, kind, limit), 1):
            if not isinstance(record, Mapping):
                yield f"record {number}: not an object: left out"
                continue
            line = json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
            if len(line) > limit:
                yield f"record {number}: {len(line) / 1e6:.1f} MB, over the limit of {limit / 1e6:.1f} MB: left out"
                continue
            piece += line
            if len(piece) >= size:
                yield bytes(piece)
                piece.clear()
    except ReadError as error:
        damage = error  # the records before it are kept
    if piece:
        yield bytes(piece)
    if damage is not None:
        raise damage


def _objects(stream: BinaryIO, head: bytes, kind: str, limit: int) -> Iterator[Any]:
    """The values of an array, or of objects one after the other. Raises ReadError naming the record that is no JSON."""
    decode, utf8 = json.JSONDecoder(parse_int=whole_number).raw_decode, codecs.getincrementaldecoder("utf-8")()
    text, number, problem = "", 0, ""
    more = head.lstrip(b"\xef\xbb\xbf \t\r\n").removeprefix(b"[" if kind == "array" else b"")
    while not problem:
        try:
            text += utf8.decode(more, final=not more)
            problem = "" if more else "it ends too early"
        except UnicodeDecodeError as error:
            text, problem = text + error.object[: error.start].decode(), str(error)
        place = 0
        try:
            while (place := _after_blanks(text, place)) < len(text) and text[place] != "]":
                value, place = decode(text, place)
                number += 1
                yield value
            if text[place : place + 1] == "]" or (kind == "object" and not more):
                return
        except RecursionError as error:
            problem = str(error)
        except ValueError as error:
            # What looks wrong may be cut off: it is looked at again with twice as much.
            problem = str(error) if problem or len(text) - place > 4 * limit + _READ_BYTES else ""
        text = text[place:]
        more = stream.read(max(_READ_BYTES, len(text)))
    raise ReadError(f"not JSON after record {number} ({problem}): what follows is left out")


def _after_blanks(text: str, place: int) -> int:
    """Return where the next value begins."""
    while text[place : place + 1] in (" ", "\t", "\r", "\n", ","):
        place += 1
    return place


def _rows(stream: BinaryIO) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not stream.seekable():
        raise ReadError("Parquet within a compressed file: unpack it first")
    stream.seek(0)
    try:
        for batch in pq.ParquetFile(stream).iter_batches(batch_size=_ROWS):
            columns = [_values(column) for column in batch.columns]
            yield from (dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True))
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"damaged Parquet ({error}): skipped") from error


def _values(column: Any) -> list[Any]:
    """A column's values; those of dates and spans that Python cannot hold as Arrow writes them, else as numbers."""
    import pyarrow as pa

    for form in (None, pa.string(), pa.int64()):
        try:
            values: list[Any] = (column if form is None else column.cast(form)).to_pylist()
            return values
        except (ValueError, OverflowError, NotImplementedError):  # Arrow's own errors are ValueErrors too
            continue
    return [None] * len(column)


PIECE_BYTES = 8_000_000
# Names of what a record's parts are called, the first that a record has being taken. The last ones are LeCaRD's.
NAMES: dict[str, tuple[str, ...]] = {
    "id": ("_id", "id", "docid", "doc_id", "docno", "document_id", "pid", "ajId"),
    "title": ("title", "headline", "heading", "name", "ajName"),
    "text": ("text", "contents", "content", "body", "passage", "abstract", "qw"),
    "url": ("url", "link", "href", "uri"),
}
_TREC = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<DOC>\s*<DOCNO>", re.IGNORECASE)
_PARQUET = b"PAR1"
_ARRAY = re.compile(rb"\[\s*\{")
_BROKEN = re.compile(rb"\{[ \t]*\r?\n")  # an object that goes on in the next line, as people indent them
PACKED = frozenset({"array", "object", "parquet"})  # layouts whose pieces are made into JSON lines
_OF_WIKI_EXTRACTOR = re.compile(rb'"revid"\s*:|\?curid=\d')
_SAMPLE_LINES = 20
_LONG = 12  # average words of a text from which on a table holds passages, and not queries


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file holds its records."""

    kind: str
    """ "json" for one object a line, "object" for objects of several lines, "array", "parquet", "trec", "tsv" or
    "csv"."""
    columns: Mapping[str, int] = field(default_factory=dict)
    """For a table, the column of each part of a record."""
    header: bytes = b""
    """For a table, the bytes of its first line, which every piece begins with."""


def layout_of(head: bytes, chosen: Mapping[str, str] | None = None) -> Layout | None:
    """Return the layout of a file with these first bytes; None of one that holds no records.

    chosen: what the parts of a record are called, where that is not usual.
    """
    names = {name: (chosen[name], *usual) if chosen and name in chosen else usual for name, usual in NAMES.items()}
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(_PARQUET):
        return Layout("parquet")
    if _TREC.match(start):
        return Layout("trec")
    first = start.split(b"\n", 1)[0]
    if start.startswith(b"{"):
        if _BROKEN.match(start):
            return Layout("object") if _is_indented_record(start, names) else None
        return Layout("json") if _is_record(first, start, names) and not _OF_WIKI_EXTRACTOR.search(first) else None
    if _ARRAY.match(start):
        keys = set(re.findall(rb'"(\w+)"\s*:', start))
        return Layout("array") if _has_parts({key.decode("ascii", "replace") for key in keys}, names) else None
    for kind, separator in (("tsv", "\t"), ("csv", separator_of(first))):
        columns = _named_columns(first, separator, names)
        if columns:
            return Layout(kind, columns, first + b"\n")
    columns = _ms_marco(start)
    return Layout("tsv", columns) if columns else None


def separator_of(header: bytes) -> str:
    """Return the separator of a CSV's columns; a semicolon where Excel writes decimals with a comma."""
    return ";" if header.count(b";") > header.count(b",") else ","


def part(record: Mapping[str, Any], name: str, chosen: Mapping[str, str]) -> Any:
    """Return a part of a record under the name chosen for it, else the first usual one that it has."""
    if name in chosen and record.get(chosen[name]) not in (None, ""):
        return record[chosen[name]]
    return next((record[each] for each in NAMES[name] if record.get(each) not in (None, "")), None)


def pieces(stream: BinaryIO, limit: int) -> Iterator[bytes | str]:
    """Pieces of whole records, each beginning with the table's header; a record over `limit` bytes is left out, and
    said, as a str.
    """
    buffer = stream.read(_READ_BYTES)
    layout = layout_of(buffer) or _layout_by_form(buffer)
    if layout.kind in PACKED:
        yield from packed_pieces(layout.kind, stream, buffer, PIECE_BYTES, limit)
        return
    end = b"</DOC>" if layout.kind == "trec" else b"\n"
    if layout.header:
        buffer = buffer.lstrip(b"\xef\xbb\xbf \t\r\n")[len(layout.header) :]
    skipping = 0  # bytes so far of a record that is too long
    while True:
        more = stream.read(_READ_BYTES)
        buffer += more
        if len(buffer) < PIECE_BYTES and more:
            continue
        cut = _last_end(buffer, end, quoted=layout.kind == "csv") if more else len(buffer)
        if skipping and cut:
            skipped = buffer.find(end) + len(end)
            if skipped >= len(end):
                size = (skipping + skipped) / 1e6
                yield f"a record of {size:.1f} MB, over the limit of {limit / 1e6:.1f} MB: left out"
                buffer, cut, skipping = buffer[skipped:], cut - skipped, 0
        if cut > 0 and buffer[:cut].strip():
            yield layout.header + buffer[:cut]
        buffer = buffer[max(0, cut) :]
        if len(buffer) > limit:
            skipping += len(buffer)
            buffer = b""
        if not more:
            return


def _last_end(buffer: bytes, end: bytes, *, quoted: bool) -> int:
    """Where the last whole record ends; 0 where none does. quoted: line ends within quotes are part of a record."""
    position = buffer.rfind(end)
    quotes = buffer.count(b'"', 0, max(0, position)) if quoted else 0
    while quotes % 2 and position >= 0:
        # All line ends up to the last quote before this one are within the same quotes.
        before = buffer.rfind(end, 0, max(0, buffer.rfind(b'"', 0, position)))
        quotes -= buffer.count(b'"', max(0, before), position)
        position = before
    return position + len(end) if position >= 0 else 0


def _layout_by_form(head: bytes) -> Layout:
    """Return the layout of records whose parts have names that only the user knows."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"{"):
        return Layout("object" if _BROKEN.match(start) else "json")
    if _ARRAY.match(start):
        return Layout("array")
    first = start.split(b"\n", 1)[0]
    return Layout("tsv" if b"\t" in first else "csv", header=first + b"\n")


def _is_record(first: bytes, start: bytes, parts: Mapping[str, tuple[str, ...]]) -> bool:
    try:
        record = json.loads(first, parse_int=whole_number)
    except (ValueError, RecursionError):
        # The first line may be longer than what was read of it.
        keys = set(re.findall(rb'"(\w+)"\s*:', start[:4000]))
        return b"\n" not in start and _has_parts({key.decode("ascii", "replace") for key in keys}, parts)
    return isinstance(record, dict) and _has_parts(set(map(str, record)), parts)


def _is_indented_record(start: bytes, parts: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether an object in several lines has the parts of a record: those that are indented as the first of them is."""
    indent = re.search(rb'\n([ \t]*)"', start)
    if indent is None:
        return False
    keys = re.findall(rb"\n" + indent[1] + rb'"(\w+)"\s*:', start)
    return _has_parts({key.decode("ascii", "replace") for key in keys}, parts)


def _has_parts(names: set[str], parts: Mapping[str, tuple[str, ...]]) -> bool:
    return not names.isdisjoint(parts["id"]) and not names.isdisjoint(parts["text"])


def _named_columns(line: bytes, separator: str, parts: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return where the parts stand by a table's header; empty where it names no id or no text."""
    try:
        names = next(csv.reader([line.decode("utf-8", "replace").strip()], delimiter=separator), [])
    except csv.Error:  # control characters
        return {}
    names = [name.strip().lower() for name in names]
    columns = {
        name: names.index(each.lower())
        for name, usual in parts.items()
        for each in reversed(usual)
        if each.lower() in names
    }
    return columns if "id" in columns and "text" in columns and len(names) > 1 else {}


def _ms_marco(start: bytes) -> dict[str, int]:
    """Where the parts stand in MS MARCO's tables, which have no header: id and text, or id, address, title and text."""
    lines = start.decode("utf-8", "replace").split("\n")[:_SAMPLE_LINES]
    rows = [line.split("\t") for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()]
    if not rows or any(len(row) != len(rows[0]) or not re.fullmatch(r"[\w.:-]+", row[0]) for row in rows):
        return {}
    words = sum(len(row[-1].split()) for row in rows) / len(rows)
    if len(rows[0]) == 2 and words >= _LONG:
        return {"id": 0, "text": 1}
    if len(rows[0]) == 4 and all("//" in row[1] for row in rows):
        return {"id": 0, "url": 1, "title": 2, "text": 3}
    return {}
