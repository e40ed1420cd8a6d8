"""Excel files as HTML, by openpyxl: a section a sheet, its rows as tables, which a wholly empty row ends."""

import re
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from io import BytesIO
from itertools import groupby
from typing import Any

from structformer_office.package import safe_package

# The size that a sheet says it has, and numbers that no program writes: one of them costs openpyxl the whole file.
_UNREADABLE = re.compile(rb"<dimension\b[^>]*/>|<v>\s*[+-]?[0-9]{1000,}[^<]*</v>")


# One cell whose value is not of its kind costs openpyxl the whole file too.
_CELL = re.compile(rb"<((?:\w+:)?c)(\s[^<>]*[^<>/])?>(.{0,40000}?)</\1>", re.DOTALL)
_VALUE = re.compile(rb"<(?:\w+:)?v\b[^<>]*>([^<]*)<")
_KIND, _PLACE = re.compile(rb"""\st=["'](\w*)["']"""), re.compile(rb"""\s(?:r|s)=["']([^"']*)["']""")
_PLACED = re.compile(rb"<(?:\w+:)?(?:c|row)\s[^<>]*>")
_PLACES = re.compile(b"[A-Z]{1,3}[1-9][0-9]{0,6}|[0-9]{1,9}")
_NUMBER = re.compile(rb"\s*[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*")
_TEXTS, _SHARED = "xl/sharedStrings.xml", re.compile(rb"<(?:\w+:)?si\b")


def sheets_html(data: bytes) -> str:
    """The sheets of an .xlsx file as HTML, one after the other; of formulas the values that were saved with them. A
    value that is not of its cell's kind, a date in month 13 say, is text.
    """
    package = safe_package(data, _readable)
    try:
        return _html(package)
    except (ValueError, IndexError):
        with zipfile.ZipFile(package) as parts:
            texts = parts.read(_TEXTS) if _TEXTS in parts.namelist() else b""
        return _html(safe_package(data, partial(_mended, len(_SHARED.findall(texts)))))


def _html(package: BytesIO) -> str:
    import openpyxl

    book = openpyxl.load_workbook(package, read_only=True, data_only=True, keep_links=False)
    return "\n".join(line for sheet in book.worksheets for line in _sheet(sheet))


def _readable(name: str, part: bytes) -> bytes:
    return _UNREADABLE.sub(b"", part) if name.startswith("xl/worksheets/") else part


def _mended(shared: int, name: str, part: bytes) -> bytes:
    """Return a sheet in which each cell whose value is not of its kind has it as text. shared: the number of texts that
    cells name by number."""

    def cell(found: re.Match[bytes]) -> bytes:
        tag, attributes, content = found[1], found[2] or b"", found[3]
        kind, value = _KIND.search(attributes), _VALUE.search(content)
        if value is not None and not _is_of(kind[1] if kind else b"n", value[1], shared):
            attributes = _KIND.sub(b"", attributes) + b' t="str"'
        return b"<%b%b>%b</%b>" % (tag, attributes, content, tag)

    def placed(found: re.Match[bytes]) -> bytes:
        return _PLACE.sub(lambda place: place[0] if _PLACES.fullmatch(place[1]) else b"", found[0])

    return _CELL.sub(cell, _PLACED.sub(placed, _readable(name, part))) if name.startswith("xl/worksheets/") else part


def _is_of(kind: bytes, value: bytes, shared: int) -> bool:
    if kind == b"d":
        return _is_date(value.decode("ascii", "replace"))
    if kind == b"s":
        return value.isdigit() and int(value) < shared
    return kind not in (b"n", b"b") or _NUMBER.fullmatch(value) is not None


def _is_date(value: str) -> bool:
    from openpyxl.utils.datetime import from_ISO8601

    try:
        return from_ISO8601(value) is not None
    except ValueError:
        return False


def _sheet(sheet: Any) -> Iterator[str]:
    sheet.reset_dimensions()  # files say them wrongly
    rows = ([_shown(value) for value in values] for values in sheet.iter_rows(values_only=True))
    tables = [list(group) for filled, group in groupby(rows, key=any) if filled]
    if tables:
        yield f"<h2>{escape(sheet.title)}</h2>"
    for table in tables:
        yield from _table(table)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as a table, without the columns that are empty at its sides; words above a row that has others head it."""
    first = min(next(index for index, value in enumerate(row) if value) for row in rows)
    last = max(next(index for index in range(len(row), 0, -1) if row[index - 1]) for row in rows)
    yield "<table>"
    for number, row in enumerate(rows):
        cells = [*row, *[""] * (last - len(row))][first:last]
        tag = "th" if number == 0 and len(rows) > 1 and all(cells) and not any(map(_is_number, cells)) else "td"
        yield "<tr>" + "".join(f"<{tag}>{escape(value)}</{tag}>" for value in cells) + "</tr>"
    yield "</table>"


def _shown(value: Any) -> str:
    """Return a cell's value as one reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    return " ".join(str(value).split())


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("-", "", 1).isdigit()
