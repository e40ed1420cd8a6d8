"""GFM tables (GitHub Flavored Markdown Spec 0.29, section 4.10) as one token a row, since a token a cell costs more."""

import re

from markdown_it.rules_block import StateBlock
from structformer.text import spliced

from structformer_markdown.formulas import formulas, line_of

_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CODE = re.compile(r"`[^`]*`")
_CELL = re.compile(r"((?:[^\\|]|\\.?)*+)(?:\||\Z)")
_MAX_CELLS = 65_536
LOOSE = "loose"  # key of the environment: whether a delimiter row may have any cells, and a bar in code ends none


def table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule for markdown-it: a header row, a delimiter row with as many cells, rows to a blank line."""
    if start + 2 > end or state.sCount[start + 1] < state.blkIndent or state.is_code_block(start + 1):
        return False
    # A delimiter row begins with one of its three characters; most lines don't.
    delimiter = line_of(state, start + 1).strip()
    if delimiter[:1] not in ("|", "-", ":"):
        return False
    header = line_of(state, start).strip()
    if "|" not in header or not _DELIMITER.fullmatch(delimiter) or state.is_code_block(start):
        return False
    columns, named = len(_cells(delimiter)), len(_cells(_plain_bars(state, header)))
    if named != columns and LOOSE not in state.env:
        return False
    columns = max(columns, named)
    if silent:
        return True
    rows = [_row(state, header, columns)]
    before, state.parentType = state.parentType, "table"
    terminators = state.md.block.ruler.getRules("blockquote")
    line = start + 2
    while line < end and (len(rows) + 1) * columns <= _MAX_CELLS:
        if state.sCount[line] < state.blkIndent or state.isEmpty(line) or state.is_code_block(line):
            break
        if any(rule(state, line, end, True) for rule in terminators) or not (text := line_of(state, line).strip()):
            break
        rows.append(_row(state, text, columns))
        line += 1
    push_rows(state, rows, start, headed=True)
    state.parentType = before
    state.line = line
    return True


def push_rows(state: StateBlock, rows: list[list[str]], start: int, *, headed: bool) -> None:
    """Push a table that begins in a line: a token for each row, with its cells in its meta."""
    state.push("table_open", "table", 1).map = [start, start]
    for row in rows if headed else [[""] * len(rows[0]), *rows]:
        state.push("table_row", "tr", 0).meta = {"cells": row}
    state.push("table_close", "table", -1)


def _row(state: StateBlock, text: str, columns: int) -> list[str]:
    """Return a row's cells, at most as many as the table has columns."""
    cells = _cells(_plain_bars(state, text))
    if len(cells) > columns and "$" in text:  # a bar in a formula
        bars = ((each.start, each.end, text[each.start : each.end].replace("|", "\\|")) for each in formulas(text))
        cells = _cells(spliced(text, bars))
    return cells[:columns]


def _plain_bars(state: StateBlock, text: str) -> str:
    """Return the text with the bars in its code escaped where they end no cell."""
    if "`" not in text or LOOSE not in state.env:
        return text
    return _CODE.sub(lambda code: code[0].replace("\\|", "|").replace("|", "\\|"), text)


def _cells(text: str) -> list[str]:
    text = text.removeprefix("|")
    if "\\" not in text:
        return [cell.strip() for cell in text.removesuffix("|").split("|")]
    *cells, _ = _CELL.findall(text)  # behind the last, at the end of the text, the pattern matches nothing
    return [cell.strip().replace("\\|", "|") for cell in cells]
