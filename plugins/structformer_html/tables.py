"""Tables as text: a row is a line, whatever blocks its cells hold."""

from dataclasses import dataclass

from structformer.document import MarkKind
from structformer.formats import TreeBuilder


@dataclass(slots=True)
class _Cell:
    """A cell being read, and the breaks asked for in it since its last text."""

    as_words: bool
    has_text: bool = False
    line_ends: int = 0  # of code
    due: int = 0  # 1: a line, 2: a paragraph
    ends_line: bool = False


class TableBuilder(TreeBuilder):
    """Breaks before a cell's first text and after its last one are none, as of a paragraph that is all of a cell."""

    def __init__(self, *, slugs: bool = True) -> None:
        super().__init__(slugs=slugs)
        self._cells: list[_Cell] = []

    def open_cell(self, *, first: bool, as_words: bool) -> None:
        """A cell begins: in its row's line, unless it is the first one there.

        as_words: whether spaces part its blocks, as in a table of data; else a cell of several ones ends the line.
        """
        if first:
            self.line()
        else:
            self.text(" | ")
        self._cells.append(_Cell(as_words))

    @property
    def in_data(self) -> bool:
        """Whether a cell of a table of data is open: all in it is text of one line."""
        return bool(self._cells) and self._cells[-1].as_words

    def close_cell(self) -> bool:
        """A cell ends; whether its row goes on in another line."""
        return bool(self._cells) and self._cells.pop().ends_line

    def _break(self, due: int) -> None:
        cell = self._cells[-1]
        cell.due = max(cell.due, due)

    def _settle(self) -> None:
        """Before a text in a cell: the breaks that wait are some between two texts."""
        for cell in reversed(self._cells):
            if cell.has_text and (cell.due or cell.line_ends):
                self._body.append_verbatim("\n" * cell.line_ends)
                self._body.separate(" " if cell.as_words and cell.due else ("", "\n", "\n\n")[cell.due])
                cell.ends_line = cell.ends_line or not cell.as_words
            elif cell.has_text:
                break
            cell.has_text, cell.due, cell.line_ends = True, 0, 0

    # The next three are called for nearly every element: they have no call of super().
    def line(self) -> None:
        self._break(1) if self._cells else TreeBuilder.line(self)

    def paragraph(self) -> None:
        self._break(2) if self._cells else TreeBuilder.paragraph(self)

    def text(self, text: str) -> None:
        if self._cells and text.strip():
            self._settle()
        super().text(text)

    def flow(self, text: str) -> None:
        if self._cells and text.strip():
            self._settle()
        (self._heading or self._body).flow(text)

    def marked_text(self, kind: MarkKind, text: str) -> None:
        if self._cells and text.strip():
            self._settle()
        super().marked_text(kind, text)

    def verbatim(self, text: str) -> None:
        if not self._cells or self.in_data:
            if text.strip():
                self._settle()
            super().verbatim(text)
            return
        code = text.strip("\n")
        cell = self._cells[-1]
        cell.line_ends += len(text) - len(text.lstrip("\n"))
        if code:
            self._settle()
            self._body.append_verbatim(code)
            cell.line_ends = len(text) - len(text.rstrip("\n"))
            cell.ends_line = cell.ends_line or "\n" in code

    def open_heading(self, level: int, anchors: tuple[str, ...] = ()) -> None:
        """A heading in a cell ends its table."""
        self._cells.clear()
        super().open_heading(level, anchors)
