"""Arrays of JSON objects, objects in several lines, and Parquet tables as pieces of JSON lines, read as streams."""

import codecs
import json
from collections.abc import Iterator, Mapping
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
