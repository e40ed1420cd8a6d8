"""Cutting a compressed dump into ranges that are read anywhere: Wikipedia's multistream dumps are thousands of bzip2
streams one after another, each of whole pages.

The cuts depend on the file alone, so whoever makes a range's shard makes the same one. A file of a single stream, and
one whose streams end within pages, is not cut; its pieces are handed out by who decompresses it.
"""

import bz2
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from structformer.errors import ReadError
from structformer.formats.protocol import CutFormat, Frame, StreamFormat
from structformer.formats.source import Limits, open_file
from structformer.ingestion.archives import decompressed, split_compression
from structformer.ingestion.unpacking_limits import Budget

RANGE_BYTES = 2_000_000  # of the compressed file: about one piece
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_BEGINNING_BYTES = 1 << 20
_PEEK_BYTES = 1 << 16
_MOST = 8  # times its size that a range may have


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a compressed file: bytes [start, end), of which the first range begins with the file's own head."""

    start: int
    end: int
    frame: Frame
    last: bool


def ranges(location: Path, format: StreamFormat, size: int = RANGE_BYTES) -> list[Range]:
    """Return the ranges of a file, about so many bytes each; none where it cannot be cut."""
    if split_compression(location.name)[1] != "bzip2" or not isinstance(format, CutFormat):
        return []
    try:
        whole = location.stat().st_size
        with open_file(location) as file:
            frame = format.frame(bz2.BZ2File(file).read(_BEGINNING_BYTES)) if whole > size else None
            cuts = list(_cuts(file, whole, size, frame)) if frame is not None else []
    except (OSError, EOFError, ReadError):  # said when it is read
        return []
    edges = [0, *cuts, whole]
    if frame is None or not cuts or max(end - start for start, end in pairwise(edges)) > _MOST * size:
        return []  # a worker's time for a range is bounded
    return [Range(start, end, frame, end == whole) for start, end in pairwise(edges)]


def _cuts(file: BinaryIO, whole: int, size: int, frame: Frame) -> Iterator[int]:
    """Yield the first stream that begins with a record from every multiple of the size on."""
    for target in range(size, whole, size):
        file.seek(target)
        window = file.read(min(size, whole - target) + len(b"BZh91AY&SY") - 1)
        for found in _STREAM.finditer(window):
            start = target + found.start()
            if start < target + size and _begins_with(file, start, frame.start):
                yield start
                break


def _begins_with(file: BinaryIO, start: int, record: bytes) -> bool:
    file.seek(start)
    try:
        beginning = bz2.BZ2Decompressor().decompress(file.read(_PEEK_BYTES * 16), _PEEK_BYTES)
    except (OSError, ValueError):
        return False
    return beginning.lstrip().startswith(record)


def range_pieces(location: Path, part: Range, format: StreamFormat, limit: int) -> Iterator[bytes | str]:
    """Yield a range's pieces, or what is wrong with it."""
    # What makes it a dump of its own: two more streams around its own.
    head = b"" if part.start == 0 else bz2.compress(part.frame.head)
    tail = b"" if part.last else bz2.compress(part.frame.tail)
    try:
        with open_file(location) as packed:
            packed.seek(part.start)
            content = io.BytesIO(head + packed.read(part.end - part.start) + tail)
        with decompressed(content, "bzip2") as stream:
            yield from format.pieces(stream, limit)
    except ReadError as error:
        yield str(error)
    except Exception as error:
        yield _damaged(error)


def pieces(
    location: Path, format: StreamFormat, limits: Limits, *, workers: int, now: Callable[[], float]
) -> Iterator[tuple[bytes | str, int]]:
    """A file's pieces, or what was left out, with the bytes taken. Raises ReadError. now: processor time of pieces."""
    size = location.stat().st_size
    budget = Budget(limits, size, now)
    try:
        kind = split_compression(location.name)[1]
        with open_file(location) as packed, decompressed(packed, kind, location=location, workers=workers) as content:
            for piece in format.pieces(budget.metered(content) if kind else content, limits.file_bytes):
                if not kind:  # it may be packed in its own way, as Parquet is
                    budget.passed(len(piece))
                yield piece, packed.tell()
    except ReadError:
        raise
    except Exception as error:
        raise ReadError(_damaged(error)) from error


def _damaged(error: Exception) -> str:
    """Return the message for whatever a decompressor says of damaged data."""
    return f"damaged ({error or type(error).__name__}): what precedes the damage is kept"
