"""A section's marks as bytes: kinds, depths, gaps between starts and lengths, one after the other, each in as few bytes
as its largest number needs. Lists of numbers in a column took two to four times the room.

Byte 0 to 3: bytes a number of each of the four; then the numbers, little-endian. A kind that has a detail is raised by
64, and its detail is in the list beside.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence

from structformer.document import Mark, MarkKind

KINDS = tuple(MarkKind)
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_HAS_DETAIL = 64
_CODES = {array(code).itemsize: code for code in "bhiq"}  # signed, by bytes
_HEADER = 4


def packed_marks(marks: Sequence[Mark]) -> tuple[bytes, list[str]]:
    """The marks as bytes, empty where there are none, and the details of those that have one."""
    if not marks:
        return b"", []
    starts = [mark.start for mark in marks]
    columns = (
        [_NUMBERS[mark.kind] + (_HAS_DETAIL if mark.detail else 0) for mark in marks],
        [mark.depth for mark in marks],
        [start - before for before, start in zip([0, *starts], starts, strict=False)],
        [mark.end - mark.start for mark in marks],
    )
    arrays = [_narrow(column) for column in columns]
    header = bytes(each.itemsize for each in arrays)
    return header + b"".join(map(_bytes, arrays)), [mark.detail for mark in marks if mark.detail]


def unpacked_marks(data: bytes, details: Iterable[str]) -> list[Mark]:
    """The marks of such bytes."""
    if not data:
        return []
    widths = data[:_HEADER]
    count = (len(data) - _HEADER) // sum(widths)
    columns = []
    place = _HEADER
    for width in widths:
        column = array(_CODES[width], data[place : place + width * count])
        if sys.byteorder == "big":
            column.byteswap()
        columns.append(column)
        place += width * count
    found: list[Mark] = []
    said = iter(details)
    start = 0
    for number, depth, gap, length in zip(*columns, strict=True):
        start += gap
        detail = next(said, "") if number & _HAS_DETAIL else ""
        found.append(Mark(KINDS[number & ~_HAS_DETAIL], start, start + length, depth, detail))
    return found


def _narrow(numbers: list[int]) -> array[int]:
    most = max(max(numbers), -min(numbers))
    return array("b" if most < 1 << 7 else "h" if most < 1 << 15 else "i" if most < 1 << 31 else "q", numbers)


def _bytes(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
