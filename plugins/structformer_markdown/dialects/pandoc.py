"""Pandoc, R Markdown: references (`@fig-x`, `[@key]`, `\\@ref(fig:x)`), notes in the line (`^[...]`), raised
and lowered text (`x^2^`, `H~2~O`), line blocks, grid and simple tables, numbered examples (`(@x)`), commands of LaTeX
(`\\index{x}`).

Source: Pandoc's manual. A table becomes one of bars, each cell one line, or one of HTML where cells hold blocks.
"""

import itertools
import re
from collections.abc import Iterable

from structformer_markdown.dialects.page import Dialect, Page
from structformer_markdown.dialects.shown import HEADING
from structformer_markdown.inline_text import spliced
from structformer_markdown.tables import BAR

_SUFFIXES = (".qmd", ".rmd")
_PLACES = "fig tbl lst sec eq thm lem cor prp cnj def exm exr sol rem alg tip nte wrn imp cau".split()
_KEY = r"@(?:\{([^{}\s]+)\}|(\w(?:[\w:.#$%&+?<>~/-]*\w)?))"
_REFERENCE = re.compile(rf"(?<![\w\\@./\]\"'=]){_KEY}|\\@ref\(([\w:.-]+)\)")
_EXAMPLE = re.compile(r"^( {0,3})\(@([\w-]*)\)(?=[ \t])", re.MULTILINE)  # an item of the one list that goes on
_TO_EXAMPLE = re.compile(r"\(@([\w-]+)\)")
_CITED = re.compile(r"\[([^\[\]\n@]{0,200}(?<![\w.])@[^\[\]]{1,1000})\](?![(\[{]|:[ \t]+\S*:)")
_NOTE = re.compile(r"(?<=[\w.,;:!?)”\"* \0])\^\[[^\[\]\n]*[\s.。！？]")
_BRACKET = re.compile(r"\\.|\^?\[|\]|\n[ \t]*\n")
_SCRIPT = re.compile(r"(?<=[^\s^~])(?:\^([^\s^~\[\]]{1,100})\^|(?<!~)~([^\s^~\[\]]{1,100})~(?!~))")
# Commands of LaTeX outside formulas. They show nothing, except those that style text or make links.
_COMMAND = re.compile(r"(?<!\\)\\([a-zA-Z]+)\*?(?:\[[^\[\]\n]*\])*((?:\{(?:[^{}\n]|\{[^{}\n]*\})*\})+)")
_BREAK = re.compile(r"^[ \t]*\\[a-zA-Z]+[ \t]*$", re.MULTILINE)
_SHOWS = re.compile(r"emph|text\w+|underline|mbox|href|url|footnote")
_LINE_BLOCK = re.compile(r"(?:\A|(?<=\n\n))(?:\|(?:[ \t][^\n]*[^\n|\s])?[ \t]*(?:\n(?=[|\n])|\n?\Z))+")
_GRID_LINE = re.compile(r"[ \t]*\+(?:[-=:]{3,}\+)+[ \t]*")
_RULE = re.compile(r"[-=:+]{3,}")
_BLOCKS = re.compile(r"\S\n\n++.|^(?:[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+\S|```|~~~)| {4,}\S)", re.MULTILINE)
_MOST_CELLS = 65_536
_RULES = re.compile(r"[ ]{0,3}-{2,}(?:[ ]+-{2,})+[ ]*")
_FULL_RULE = re.compile(r"[ ]{0,3}-{3,}[ ]*")


def _plain(text: str, page: Page) -> str:
    is_own = page.path.lower().endswith(_SUFFIXES)
    if "+--" in text or "-- " in text:
        text = _with_tables(text, page, is_own=is_own)
    if "^[" in text:
        text = _with_notes(text, is_own=is_own)
    if not is_own:
        return text
    if "\n| " in text:
        text = _LINE_BLOCK.sub(_lines, text)
    if "^" in text or "~" in text:
        text = _SCRIPT.sub(lambda found: f"<sup>{found[1]}</sup>" if found[1] else f"<sub>{found[2]}</sub>", text)
    if "\\" in text:
        text = _BREAK.sub("", _COMMAND.sub(_shown, text))
    if "(@" in text:
        text = _with_examples(text)
    if "@" in text:
        text = _CITED.sub(lambda found: found[1], text)
        text = _REFERENCE.sub(_reference, text)
    return text


def _shown(found: re.Match[str]) -> str:
    return found[2][1:-1].rpartition("}{")[2] if _SHOWS.fullmatch(found[1]) else ""


def _reference(found: re.Match[str]) -> str:
    key = found[1] or found[2] or found[3]
    return f"[{key}](<#{key}>)" if found[3] or key.partition("-")[0] in _PLACES else f"[@{key}](<cite:{key}>)"


def _with_examples(text: str) -> str:
    """The text with the numbers of examples, and with those in references to them."""
    numbers: dict[str, int] = {}
    count = itertools.count(1)

    def item(found: re.Match[str]) -> str:
        numbers.setdefault(found[2], number := next(count))
        return f"{found[1]}{number})"

    text = _EXAMPLE.sub(item, text)
    return _TO_EXAMPLE.sub(lambda found: f"({numbers[found[1]]})" if found[1] in numbers else found[0], text)


def _with_notes(text: str, *, is_own: bool) -> str:
    """Return the text with each note in brackets after what it is of. is_own: whether one word may be a note."""
    opened: list[int] = []  # places of the brackets that are open in this paragraph
    notes: list[tuple[int, int]] = []
    for bracket in _BRACKET.finditer(text):
        if bracket[0][-1] == "[":
            opened.append(bracket.start())
        elif bracket[0] == "]":
            if opened and text[start := opened.pop()] == "^" and (is_own or _NOTE.match(text, start)):
                notes.append((start, bracket.start()))
        elif bracket[0][0] == "\n":
            opened.clear()
    pieces: list[tuple[int, int, str]] = []
    for start, end in sorted(notes):
        place = pieces[-1][1] if pieces else 0
        if start >= place:
            pieces.append((place, end + 1, f"{text[place:start].rstrip(' ')} ({text[start + 2 : end]})"))
    return spliced(text, pieces)


def _lines(found: re.Match[str]) -> str:
    """A block of lines that stay lines."""
    lines = [line[1:].strip() for line in found[0].rstrip("\n").split("\n")]
    if any(line and not line.strip("-:| ") for line in lines):
        return found[0]  # a table of bars
    return "\\\n".join(line or "&nbsp;" for line in lines) + "\n"


def _with_tables(text: str, page: Page, *, is_own: bool) -> str:
    """is_own: whether tables may have no head; elsewhere such may be thematic breaks and drawings."""
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at
        if line.lstrip()[:2] == "+-":
            end = _grid(lines, at, out, page, is_own)
        elif is_own and "--" in line and not (at and lines[at - 1].strip()):
            end = _simple(lines, at, out) if _FULL_RULE.fullmatch(line) or _RULES.fullmatch(line) else at
        elif at + 1 < len(lines) and "-- " in lines[at + 1] and line.strip() and not (at and lines[at - 1].strip()):
            end = _simple(lines, at, out) if _RULES.fullmatch(lines[at + 1]) else at
        if end == at:
            out.append(line)
            end += 1
        at = end
    return "\n".join(out)


def _grid(lines: list[str], start: int, out: list[str], page: Page, headless: bool) -> int:
    """Put a grid table as one of bars or HTML, or what is none as it is; returns the line behind it."""
    if not _GRID_LINE.fullmatch(lines[start]):
        return start
    end = start
    while end < len(lines) and lines[end].strip()[:1] in ("+", "|") and lines[end].strip():
        end += 1
    # Code was kept without regard to the cells that it is in.
    table = [line.strip() for line in page.restored("\n".join(lines[start:end])).split("\n")]
    marks = [place for place, character in enumerate(table[0]) if character == "+"]
    is_small = len(marks) * len(table) <= _MOST_CELLS
    rules = [number for number, line in enumerate(table) if is_small and _GRID_LINE.fullmatch(line)]
    rows: list[list[list[str]]] = []
    for begin, stop in itertools.pairwise(rules):
        cells = [_grid_cells(line, marks) for line in table[begin + 1 : stop]]
        # A heading in a cell is none of the page's.
        rows += [[[HEADING.sub("", first), *rest] for first, *rest in zip(*cells, strict=True)]] if cells else []
    headed = len(rules) > 1 and "=" in table[rules[1]]
    is_whole = rules[-1:] == [len(table) - 1] and {line[:1] for line in table} <= {"+", "|"}
    if not (rows and is_whole and (headed or headless)):
        out += lines[start:end]
        return end
    made: list[str] = []
    if any(_BLOCKS.search("\n".join(cell)) for row in rows for cell in row):
        _put_html(rows, headed, made)
    else:
        _put([[_cell(cell) for cell in row] for row in rows], headed, made)
    out += page.without_code("\n".join(made)).split("\n")
    return end


def _grid_cells(line: str, marks: list[int]) -> list[str]:
    """Return a line's parts by the columns of a grid; what a cell over several columns holds is in the first."""
    cells = line[1:-1].split("|")
    if len(cells) != len(marks) - 1:
        walls = [mark for mark in marks[:-1] if line[mark : mark + 1] in ("|", "+")]
        ends = [*walls[1:], len(line.rstrip("|"))]
        found = {wall: line[wall + 1 : end] for wall, end in zip(walls, ends, strict=True)}
        cells = ["" if _RULE.fullmatch(cell := found.get(mark, "")) else cell for mark in marks[:-1]]
    return [cell.removeprefix(" ").rstrip() for cell in cells]


def _put_html(rows: list[list[list[str]]], headed: bool, out: list[str]) -> None:
    """Put a table whose cells hold Markdown."""
    out.append("<table>")
    for number, row in enumerate(rows):
        name = "td" if number or not headed else "th"
        out.append("<tr>")
        for cell in row:
            out += [f"<{name}>", "", *cell, "", f"</{name}>"]
        out.append("</tr>")
    out += ["</table>", ""]


def _simple(lines: list[str], start: int, out: list[str]) -> int:
    """Put a simple table, or one whose rows go over lines, as one of bars; as `_grid`."""
    first = start
    full = _FULL_RULE.fullmatch(lines[first]) is not None
    while first < min(len(lines), start + 10) and not _RULES.fullmatch(lines[first]):
        if not lines[first].strip():
            return start
        first += 1
    if first >= min(len(lines), start + 10):
        return start
    columns = [found.span() for found in re.finditer("-+", lines[first])]
    head = lines[start + full : first]
    headless = not head
    if not full and len(head) > 1:
        return start
    rows: list[list[str]] = [_row(head, columns)] if head else []
    end, row = first + 1, list[str]()
    spaced = full or (headless and _spaced(lines, end))
    while end < len(lines):
        line = lines[end]
        closes = _FULL_RULE.fullmatch(line) or _RULES.fullmatch(line)
        if closes or not line.strip() or not spaced:
            if row or (not spaced and line.strip() and not closes):
                rows.append(_row(row or [line], columns))
                row = []
            if closes or (not spaced and not line.strip()):
                break
        else:
            row.append(line)
        end += 1
    closed = end < len(lines) and lines[end].strip() != ""
    texts = [*head, *(line for line in lines[first + 1 : end] if line.strip())]
    if any(line[begin - 1 : begin].strip() for line in texts for begin, _ in columns[1:]):
        return start  # a word goes over the gap between two columns
    if len(rows) <= bool(head) or ((full or headless) and not closed):
        return start
    _put(rows, bool(head), out)
    return end + closed


def _spaced(lines: list[str], start: int) -> bool:
    """Whether blank lines part the rows of a table without a head: one comes before the rule that ends it."""
    for number in range(start, min(len(lines), start + 200)):
        if not lines[number].strip():
            later = lines[number + 1] if number + 1 < len(lines) else ""
            return bool(later.strip())
        if _RULES.fullmatch(lines[number]):
            return False
    return False


def _row(lines: Iterable[str], columns: list[tuple[int, int]]) -> list[str]:
    """The cells of a row's lines. Each column reaches from its dashes to the next's."""
    starts = [0, *(begin for begin, _ in columns[1:])]
    ends = [*starts[1:], None]
    return [_cell(line[begin:end] for line in lines) for begin, end in zip(starts, ends, strict=True)]


def _cell(parts: Iterable[str]) -> str:
    """A cell in one line, with the breaks that it has."""
    text = "\n".join(part.strip() for part in parts).strip().removesuffix("\\").replace("\\\n", "<br>")
    return " ".join(BAR.sub(r"\\|", text).split())


def _put(rows: list[list[str]], headed: bool, out: list[str]) -> None:
    width = max(map(len, rows), default=0)
    if not headed:
        rows = [[""] * width, *rows]
    out.append("")
    for number, row in enumerate(rows):
        out.append(f"| {' | '.join(row)} |")
        if not number:
            out.append("|" + " --- |" * width)
    out.append("")


DIALECT = Dialect(
    "pandoc",
    _plain,
    {"+--": re.compile(rf"\n{_GRID_LINE.pattern}\n[ \t]*\|"), "-- ": re.compile(rf"\n{_RULES.pattern}\n"), "^[": _NOTE},
    suffixes=_SUFFIXES,
)
