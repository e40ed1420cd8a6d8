"""Tables: their rows and cells, and which rows are column titles."""

import re
from dataclasses import dataclass, field

from structformer.document import MarkKind

from structformer_latex.commands import TABLES, by_name
from structformer_latex.output import Part

_TOKEN = re.compile(r"\\(?:(\\|tabularnewline(?![a-zA-Z]))|(caption|begin|end)(?![a-zA-Z])|.)|[{}]|%[^\n]*", re.DOTALL)
_RULES = re.compile(
    r"(?:\*|\s|\[[^\[\]\n]{0,40}\]|%[^\n]*\n)*+((?:\\(?:midrule|hline|end(?:first)?head)\s*)*)(\\end\b)?"
)
_HEADS = re.compile(r"\\end(?:firsthead|head|foot|(lastfoot))(?![a-zA-Z])|(\\end\s*\{)")
_WIDTH = re.compile(r"\s*(?:to|spread)\b[^{}\[\]&\n]{1,80}")
_HEADER_CHARACTERS = 3000  # in which the rule below the column titles is looked for
_HEADER_ROWS = 3


@dataclass(slots=True)
class _Table:
    depth: int  # of its groups: a line that ends deeper ends no row
    headers: int  # rows of column titles that are to come
    has_rows: bool  # not within a cell, where a table mostly breaks lines
    is_marked: bool  # not where a float around it is the table
    in_row: bool = False
    foot: str = ""  # of a longtable: what is below its last row


@dataclass(eq=False)
class Tables(Part):
    """The tables that are open, the innermost last."""

    _open: list[_Table] = field(default_factory=list)
    _titles: str = ""  # the column titles of supertabular's and xtab's next tables

    @property
    def in_table(self) -> bool:
        """Whether & separates cells."""
        return bool(self._open)

    def begin(self, name: str) -> None:
        """Read the columns' description; what follows is the first row."""
        cursor, output = self._cursor, self._output
        if name in ("tabu", "longtabu"):
            cursor.take(_WIDTH)
        for _ in range(TABLES[name]):
            cursor.optional()
            cursor.group()
        if name == "NiceTabular":
            cursor.optional()
        if name in ("supertabular", "xtabular") and self._titles:
            cursor.push(self._titles)
        builder = output.builder
        builder.paragraph()
        is_marked = not builder.in_mark(MarkKind.TABLE)
        output.end_spans()
        if is_marked:
            builder.open_mark(MarkKind.TABLE)
        headers = _header_rows(cursor.text, cursor.position)
        self._open.append(_Table(output.depth, headers, not builder.in_mark(MarkKind.CELL), is_marked))
        self._begin_row()

    def end(self) -> None:
        """The innermost table ends."""
        if self._open:
            if foot := self._open[-1].foot:
                self._output.typeset(foot)
            self.leave_row()
            if self._open.pop().is_marked:
                self._output.builder.close_mark(MarkKind.TABLE)

    def next_cell(self) -> None:
        """Read &."""
        builder = self._output.builder
        if not self._open[-1].in_row:
            builder.text(" | ")
            return
        self._output.end_spans()  # a cell is a group
        builder.close_mark(MarkKind.CELL)
        builder.text(" | ")
        builder.open_mark(MarkKind.CELL)

    def line(self) -> None:
        """A line ends and, where it is one of a table, its row."""
        builder = self._output.builder
        if self._open and self._output.depth <= self._open[-1].depth:
            self._open[-1].headers -= self._open[-1].in_row
            self.leave_row()
            builder.line()
            self._begin_row()
        else:
            builder.line()

    def leave_row(self) -> None:
        """Leave the row: the text that follows, to the end of the line, belongs to none, as a caption."""
        if self._open and self._open[-1].in_row:
            self._open[-1].in_row = False
            self._output.end_spans()
            self._output.builder.close_mark(MarkKind.ROW)

    def _begin_row(self) -> None:
        table, builder = self._open[-1], self._output.builder
        if table.has_rows:
            builder.open_mark(MarkKind.ROW, "header" if table.headers > 0 else "")
            builder.open_mark(MarkKind.CELL)
            table.in_row = True

    def _head_ends(self, name: str) -> None:
        """Below a longtable's first head stand, in its source, those of further pages and the feet of pages."""
        cursor = self._cursor
        begin = cursor.position
        for found in _HEADS.finditer(cursor.text, begin):
            if found[2]:
                break
            if found[1] and self._open:
                self._open[-1].foot = cursor.text[begin : found.start()]
            begin = cursor.position = found.end()

    def _head(self, name: str) -> None:
        """The column titles of astronomers' tables, \\tablehead{\\colhead{A} & \\colhead{B}}, or of long tables."""
        titles = self._cursor.argument()
        if not self._open:
            self._titles = titles if name == "tablefirsthead" else self._titles or titles
        elif name == "tablehead":
            self._open[-1].headers = 1
            self.leave_row()
            self.line()
            self._cursor.push(titles + "\\\\")

    def _below(self, name: str) -> None:
        """A note below such a table: \\tablenotetext{a}{words}."""
        self.leave_row()
        self._output.builder.line()
        if name == "tablenotetext":
            self._cursor.push(f"{self._cursor.argument()} ")

    COMMANDS = by_name(
        ("endfirsthead endhead endfoot endlastfoot", _head_ends),
        ("tablehead tablefirsthead", _head),
        ("tablenotetext tablecomments tablerefs", _below),
        ("cmidrule", lambda tables, name: tables._cursor.drop("[({")),
        ("hbox vbox vtop", lambda tables, name: tables._cursor.take(_WIDTH)),
    )


def _header_rows(text: str, position: int) -> int:
    """Return how many rows from here on stand above a rule of their own: \\midrule, or an \\hline not below all."""
    rows = depth = 0
    is_caption = lined = False
    for token in _TOKEN.finditer(text, position, position + _HEADER_CHARACTERS):
        if token[0] in "{}":
            depth += 1 if token[0] == "{" else -1
        elif token[2] in ("begin", "end"):  # of a cell's box, or of the table
            depth += 1 if token[2] == "begin" else -1
            if depth < 0:
                break
        elif depth:
            continue
        elif token[2]:
            is_caption = True
        elif token[1]:
            found = _RULES.match(text, token.end())
            rules = found[1] if found is not None else ""
            if lined:
                return 0 if "\\hline" in rules and found is not None and not found[2] else rows
            rows += not is_caption
            is_caption = False
            if rows and ("\\midrule" in rules or "head" in rules or rules.count("\\hline") > 1):
                return rows
            lined = rows > 0 and "\\hline" in rules
            if rows >= _HEADER_ROWS:
                break
    return rows if lined else 0
