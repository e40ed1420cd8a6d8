"""Excel files as HTML, by openpyxl: a section a sheet, its rows as tables, which a wholly empty row ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

from structformer_office.package import safe_package

# The size that a sheet says it has, and numbers that no program writes: one of them costs openpyxl the whole file.
_UNREADABLE = re.compile(rb"<dimension\b[^>]*/>|<v>\s*[+-]?[0-9]{1000,}[^<]*</v>")


def sheets_html(data: bytes) -> str:
    """The sheets of an .xlsx file as HTML, one after the other; of formulas the values that were saved with them."""
    import openpyxl

    book = openpyxl.load_workbook(safe_package(data, _readable), read_only=True, data_only=True, keep_links=False)
    return "\n".join(line for sheet in book.worksheets for line in _sheet(sheet))


def _readable(name: str, part: bytes) -> bytes:
    return _UNREADABLE.sub(b"", part) if name.startswith("xl/worksheets/") else part


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
    """A cell's value as one reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    return " ".join(str(value).split())


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("-", "", 1).isdigit()
