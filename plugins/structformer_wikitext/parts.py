"""Parts of a text that go over lines: lists by their signs, tables, HTML elements. Each tells a builder its marks."""

from collections import Counter
from collections.abc import Sequence

from structformer.document import MarkKind
from structformer.formats import TreeBuilder

from structformer_html import PARTS

_AROUND = {
    MarkKind.ITEM: MarkKind.LIST,
    MarkKind.TERM: MarkKind.DEFINITIONS,
    MarkKind.DEFINITION: MarkKind.DEFINITIONS,
    MarkKind.QUOTE: MarkKind.QUOTE,
}
_DEEPEST = 30  # lists within each other
CODE_LINES = " "  # the shape of lines that begin with a blank
# By element, those that end where it begins; of other elements, a part begins in the part that is open.
_ENDED_BY = {
    "li": frozenset({"li"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"dt", "dd"})),
    **dict.fromkeys(("tr", "caption"), frozenset({"tr", "td", "th", "caption"})),
    **dict.fromkeys(("td", "th"), frozenset({"td", "th", "caption"})),
}


class Lists:
    """The lists that are open, by the signs that their lines begin with, or a block of code."""

    def __init__(self, builder: TreeBuilder) -> None:
        self._builder = builder
        self.shape = ""  # the signs of the last line, ";" standing for ":" too
        self._parts: list[MarkKind | None] = []  # open at each sign; None where a line goes on with the item around it

    def item(self, signs: str) -> None:
        """A line begins with these signs."""
        signs = signs[:_DEEPEST]
        shape = signs.replace(":", ";")
        if self.shape == CODE_LINES:
            self.end()
        depth = same = len(shape)
        if shape != self.shape:
            pairs = enumerate(zip(shape, self.shape, strict=False))
            same = next((place for place, (new, old) in pairs if new != old), min(depth, len(self.shape)))
            self._end_after(same)
            self.shape = shape
        if same == depth:
            same -= 1
            part = self._parts[-1]
            if part in (MarkKind.ITEM, MarkKind.TERM, MarkKind.DEFINITION):
                self._builder.close_mark(part)
                self._parts[-1] = self._begin(signs[same])
                return
            if part is MarkKind.QUOTE and signs[same] == ":":
                return
            self._end_after(same)
        for level in range(same, depth):
            self._open(signs[level], level)

    def meaning(self) -> None:
        """End the term of this line and begin its meaning."""
        if self._parts and self._parts[-1] is MarkKind.TERM:
            self._builder.close_mark(MarkKind.TERM)
            self._parts[-1] = self._begin(":")

    def code(self) -> None:
        """A line of code."""
        if self.shape != CODE_LINES:
            self.end()
            self._builder.open_mark(MarkKind.CODE)
            self.shape = CODE_LINES

    def end(self) -> None:
        """End all lists and lines of code."""
        if self.shape == CODE_LINES:
            self._builder.close_mark(MarkKind.CODE)
        self._end_after(0)
        self.shape = ""

    def forget(self) -> None:
        """A heading has ended them."""
        self.shape = ""
        self._parts.clear()

    def _open(self, sign: str, level: int) -> None:
        if sign == ":":
            # What is indented without a term is displayed, a quotation more often than not.
            if not level:
                self._builder.open_mark(MarkKind.QUOTE)
            self._parts.append(None if level else MarkKind.QUOTE)
            return
        if sign == ";":
            self._builder.open_mark(MarkKind.DEFINITIONS)
        else:
            self._builder.open_mark(MarkKind.LIST, "1" if sign == "#" else "")
        self._parts.append(self._begin(sign))

    def _begin(self, sign: str) -> MarkKind:
        part = MarkKind.TERM if sign == ";" else MarkKind.DEFINITION if sign == ":" else MarkKind.ITEM
        self._builder.open_mark(part)
        return part

    def _end_after(self, levels: int) -> None:
        while len(self._parts) > levels:
            part = self._parts.pop()
            if part is not None:
                self._builder.close_mark(_AROUND[part])


class Elements:
    """The HTML elements that are open and go over lines; an end tag may be left out."""

    def __init__(self, builder: TreeBuilder) -> None:
        self._builder = builder
        self._open: list[str] = []
        self._count: Counter[str] = Counter()

    def begin(self, name: str, start: str | None = None) -> None:
        """A tag opens an element. start: the first number of an ordered list."""
        kind = PARTS.get(name)
        if kind is None:
            return
        ended = _ENDED_BY.get(name)
        if ended is not None:
            self._end_parts(ended)
        detail = "" if name != "ol" else start if start and start.isascii() and start.isdecimal() else "1"
        self._builder.open_mark(kind, detail)
        self._open.append(name)
        self._count[name] += 1

    def end(self, name: str) -> None:
        """A tag closes an element."""
        if self._count[name]:
            while self._close() != name:
                pass

    def forget(self) -> None:
        """A heading has ended them."""
        self._open.clear()
        self._count.clear()

    def _end_parts(self, ended: frozenset[str]) -> None:
        """End the parts of the list or table that is innermost, up to the outermost of these."""
        place = len(self._open)
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index] not in _ENDED_BY:
                break
            if self._open[index] in ended:
                place = index
        while len(self._open) > place:
            self._close()

    def _close(self) -> str:
        name = self._open.pop()
        self._count[name] -= 1
        self._builder.close_mark(PARTS[name])
        return name


class Tables:
    """The wikitext tables that are open."""

    def __init__(self, builder: TreeBuilder) -> None:
        self._builder = builder
        self._open: list[MarkKind] = []  # what is open in each: the table itself, a row of it, or a cell

    def __bool__(self) -> bool:
        return bool(self._open)

    def begin(self) -> None:
        """A table begins."""
        self._open.append(MarkKind.TABLE)
        self._builder.open_mark(MarkKind.TABLE)

    def end(self) -> None:
        """The innermost table ends."""
        self._open.pop()
        self._builder.close_mark(MarkKind.TABLE)

    def begin_row(self, line: str, following: Sequence[str], number: int) -> None:
        """Begin a row with this line, which the lines after a number of them follow, if none is open."""
        if self._open[-1] is MarkKind.TABLE:
            self._builder.open_mark(MarkKind.ROW, "header" if _has_titles(line, following, number) else "")
            self._open[-1] = MarkKind.ROW

    def end_row(self) -> None:
        """End the row, if one is open."""
        if self._open[-1] is not MarkKind.TABLE:
            self._builder.close_mark(MarkKind.ROW)
            self._open[-1] = MarkKind.TABLE

    def begin_cell(self) -> None:
        """A cell of the row begins."""
        self._builder.open_mark(MarkKind.CELL)
        self._open[-1] = MarkKind.CELL

    def end_cell(self) -> None:
        """End the cell, if one is open."""
        if self._open[-1] is MarkKind.CELL:
            self._builder.close_mark(MarkKind.CELL)

    def forget(self) -> None:
        """A heading has ended them."""
        self._open.clear()


def _has_titles(line: str, lines: Sequence[str], number: int) -> bool:
    """Whether a row that begins with this line has titles of columns only."""
    if line[0] != "!":
        return False
    for index in range(number + 1, len(lines)):
        following = lines[index].lstrip(" \t*#:;")
        if following.startswith(("|-", "|}", "{|")):
            return True
        if following.startswith("|"):
            return False
    return True
