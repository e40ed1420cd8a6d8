"""Arrays of JSON objects, objects in several lines, and Parquet tables as pieces of JSON lines, read as streams."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from structformer.errors import ReadError

_ITEMS = {"array": "item", "object": ""}  # where the records are
_ROWS = 64  # at once: a few rows of a small file may hold much


def packed_pieces(kind: str, stream: BinaryIO, head: bytes, size: int, limit: int) -> Iterator[bytes | str]:
    """Pieces of about `size` bytes of JSON lines, and, as a str, what was left out: a record over `limit` bytes.

    kind: "array", "object" or "parquet". head: what was read of the stream already. Raises ReadError on what is
    damaged.
    """
    piece = bytearray()
    for number, record in enumerate(
        _rows(stream, head) if kind == "parquet" else _objects(stream, head, _ITEMS[kind]), 1
    ):
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
    if piece:
        yield bytes(piece)


def _objects(stream: BinaryIO, head: bytes, items: str) -> Iterator[Any]:
    import ijson

    number = 0
    try:
        for value in ijson.items(_Rejoined(head, stream), items, use_float=True, multiple_values=not items):
            number += 1
            yield value
    except (ijson.JSONError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError(f"not JSON after record {number} ({error}): what follows is left out") from error


def _rows(stream: BinaryIO, head: bytes) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not stream.seekable():
        raise ReadError("Parquet within a compressed file: unpack it first")
    stream.seek(0)
    try:
        for batch in pq.ParquetFile(stream).iter_batches(batch_size=_ROWS):
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"damaged Parquet ({error}): skipped") from error


class _Rejoined(io.RawIOBase):
    """A stream with what was read of it in front again."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head.read(len(buffer)) or self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
