"""AsciiDoc's tables: lines to rows of cells."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from structformer_asciidoc.attributes import Element

_COLUMN = re.compile(r"(?:(\d{1,3})\*)?[<^>.]*(?:\d+%?|~)?[<^>.]*([a-z])?")
_SPEC = re.compile(r"(?:(?<=\s)|\A)(?:(\d{1,3})?(?:\.(\d{1,3}))?([+*]))?[<^>.]{0,3}([a-z])?\Z")
_MOST_COLUMNS = 1000


@dataclass(slots=True)
class Cell:
    """A cell's text, and how it is read: `a` as AsciiDoc, `l` and `m` as it stands, any other as a paragraph."""

    text: str
    style: str = ""
    columns: int = 1
    rows: int = 1


def table_rows(lines: list[str], delimiter: str, element: Element) -> tuple[list[list[Cell]], bool]:
    """Return the rows of a table, and whether the first is its header."""
    styles: list[str] = []
    cols = element.named.get("cols", "")
    for part in cols.replace(";", ",").split(",") if cols.strip() else ():
        column = _COLUMN.match(part.strip())
        styles += [column[2] or ""] * int(column[1] or 1) if column else [""]
    del styles[_MOST_COLUMNS:]
    form = element.named.get("format", "") or {",": "csv", ":": "dsv"}.get(delimiter[0], "psv")
    separator = element.named.get("separator", "").replace("\\t", "\t")
    first = next((number for number, line in enumerate(lines) if line), 0)
    if form in ("csv", "tsv"):
        records = _records(lines[first:], separator or ("\t" if form == "tsv" else ","))
        width = len(styles) or (len(records[0]) if records else 0)
        cells: Iterable[Cell] = (Cell(text) for record in records for text in (*record, *[""] * (width - len(record))))
    else:
        separator = separator or (":" if form == "dsv" else delimiter[0])
        cells = _cells("\n".join(lines[first:]) if form != "dsv" else ":".join(filter(None, lines)), separator)
        width = len(styles) or sum(cell.columns for cell in _cells(lines[first] if lines else "", separator))
    has_gap = len(lines) > first + 1 and not lines[first + 1] and first == 0
    rows = list(_rows(cells, width, styles))
    has_gap = has_gap and not any("\n\n" in cell.text for cell in next(iter(rows), ()))  # none within a cell
    return rows, "header" in element.options or (has_gap and "noheader" not in element.options)


def _records(lines: list[str], separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=separator[:1]) if row]
    except (csv.Error, ValueError, TypeError):  # a field of over 128 kB, a separator that csv has no use for
        return [line.split(separator) for line in lines if line]


def _cells(text: str, separator: str) -> Iterator[Cell]:
    """The cells of a text; what stands right before a cell's separator says how many columns, rows or copies it is."""
    pieces = re.split(rf"(?<!\\){re.escape(separator)}", text)
    spec = _SPEC.search(pieces[0][-20:]) if separator != ":" else None
    for left in range(len(pieces) - (separator != ":"), 0, -1):
        piece = pieces[-left]
        following = _SPEC.search(piece[-20:]) if separator != ":" and left > 1 else None
        kept = piece[: len(piece) - len(following[0])] if following else piece
        cell = Cell(kept.strip().replace("\\" + separator, separator), (spec[4] or "") if spec else "")
        if spec is not None and spec[3] == "+":
            cell.columns, cell.rows = int(spec[1] or 1), int(spec[2] or 1)
        yield from [cell] * (int(spec[1] or 1) if spec is not None and spec[3] == "*" else 1)
        spec = following


def _rows(cells: Iterable[Cell], width: int, styles: list[str]) -> Iterator[list[Cell]]:
    """Yield cells in rows of a width, less the columns that cells of rows above reach into."""
    row: list[Cell] = []
    number = used = 0
    reached: Counter[int] = Counter()
    for cell in cells:
        if not cell.style and used < len(styles):
            cell = Cell(cell.text, styles[used], cell.columns, cell.rows)
        row.append(cell)
        used += cell.columns
        for below in range(1, cell.rows):
            reached[number + below] += cell.columns
        if used + reached[number] >= width:
            yield row
            row, used, number = [], 0, number + 1
    if row:
        yield row
