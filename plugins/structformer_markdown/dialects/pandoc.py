"""Pandoc, R Markdown: references (`@fig-x`, `[@key]`, `\\@ref(fig:x)`), notes (`^[...]`), scripts (`x^2^`, `H~2~O`),
line blocks, grid and simple tables, numbered examples (`(@x)`), commands of LaTeX (`\\index{x}`).

Source: Pandoc's manual. A cell of a table is one line, or blocks between tags of HTML.
"""

import itertools
import re
from collections.abc import Callable

from markdown_it.rules_block import StateBlock

from structformer_markdown.dialects.containers import ENDS
from structformer_markdown.dialects.page import HEADING, SYNTAXES, Dialect, Inline, Page
from structformer_markdown.formulas import NEXT, line_of
from structformer_markdown.tables import push_rows

SUFFIXES = (".qmd", ".rmd")
_DRAWN = "drawn"  # key of the environment: the line up to which lines of a grid are a drawing
_PLACES = "fig tbl lst sec eq thm lem cor prp cnj def exm exr sol rem alg tip nte wrn imp cau".split()
_KEY = r"@(?:\{([^{}\s]+)\}|(\w(?:[\w:.#$%&+?<>~/-]*\w)?))"
_REFERENCE = re.compile(rf"(?<![\w\\@./\]\"'=]){_KEY}|\\@ref\(([\w:.-]+)\)")
_EXAMPLE = re.compile(r"^( {0,3})\(@([\w-]*)\)(?=[ \t])", re.MULTILINE)  # an item of the one list that goes on
_TO_EXAMPLE = re.compile(r"\(@([\w-]+)\)")
_CITED = re.compile(r"\[([^\[\]\n@]{0,200}(?<![\w.])@[^\[\]]{1,1000})\](?![(\[{]|:[ \t]+\S*:)")
_IN_NOTE = r"\^\[((?:[^\[\]]|\[[^\[\]]*\])*+)\](?![(\[])"
_NOTE = re.compile(  # of one word, which does not follow another one, it may be none
    rf"(?<=[\w.,;:!?)\]”\"* `])(?=\^\[[^\[\]]*[\s.。！？]|(?<=[\w\]])\^\[[^\W\d_]{{3,}}\]){_IN_NOTE}"
)
_SCRIPT = re.compile(r"(?<=[^\s^~])(?:\^([^\s^~\[\]]{1,100})\^|(?<!~)~([^\s^~\[\]]{1,100})~(?!~))")
# Commands of LaTeX outside formulas. They show nothing, except those that style text or make links.
_COMMAND = re.compile(
    r"(?<!\\)\\([a-zA-Z]+)\*?(?:\[[^\[\]\n]*\])*((?:\{(?:[^{}\n]|\{[^{}\n]*\})*\})+)|^\\[a-zA-Z]+[ \t]*$", re.MULTILINE
)
_SHOWS = re.compile(r"emph|text\w+|underline|mbox|href|url|footnote")
_LINE_BLOCK = re.compile(r"(?:\A|(?<=\n\n))(?:\|(?:[ \t][^\n]*[^\n|\s])?[ \t]*(?:\n(?=[|\n])|\n?\Z))+")
_GRID_LINE = re.compile(r"\+(?:[-=:]{3,}\+)+[ \t]*")
_RULE = re.compile(r"[-=:+]{3,}")
_MOST_CELLS = 65_536
_RULES = re.compile(r"[ ]{0,3}-{2,}(?:[ ]+-{2,})+[ ]*")
_FULL_RULE = re.compile(r"[ ]{0,3}-{3,}[ ]*")


def _plain(text: str, page: Page) -> str:
    if not page.path.lower().endswith(SUFFIXES):
        return text
    text = _LINE_BLOCK.sub(_lines, text) if "\n| " in text else text
    return _with_examples(text) if "(@" in text else text


def _shown(command: re.Match[str]) -> str:
    return command[2][1:-1].rpartition("}{")[2] if _SHOWS.fullmatch(command[1] or "") else ""


def _reference(found: re.Match[str]) -> str:
    key = found[1] or found[2] or found[3]
    return f"[{key}](<#{key}>)" if found[3] or key.partition("-")[0] in _PLACES else f"[@{key}](<cite:{key}>)"


def _with_examples(text: str) -> str:
    """Return the text with the numbers of examples, and with those in references to them."""
    numbers: dict[str, int] = {}
    count = itertools.count(1)

    def item(found: re.Match[str]) -> str:
        numbers.setdefault(found[2], number := next(count))
        return f"{found[1]}{number})"

    text = _EXAMPLE.sub(item, text)
    return _TO_EXAMPLE.sub(lambda found: f"({numbers[found[1]]})" if found[1] in numbers else found[0], text)


def _lines(found: re.Match[str]) -> str:
    """Return a block of lines that stay lines."""
    lines = [line[1:].strip() for line in found[0].rstrip("\n").split("\n")]
    if any(line and not line.strip("-:| ") for line in lines):
        return found[0]  # a table of bars
    return "\\\n".join(line or "&nbsp;" for line in lines) + "\n"


def grid(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule for markdown-it: a grid table. One without a head may elsewhere be a drawing."""
    if not state.src.startswith("+-", state.bMarks[start] + state.tShift[start]) or state.is_code_block(start):
        return False
    if start < state.env.get(_DRAWN, 0) or not _GRID_LINE.fullmatch(line_of(state, start)):
        return False
    last, indent = start, min(state.blkIndent, state.sCount[start])
    while last < end and state.sCount[last] >= indent and line_of(state, last)[:1] in ("+", "|"):
        last += 1
    table = [line_of(state, line).rstrip() for line in range(start, last)]
    marks = [place for place, character in enumerate(table[0]) if character == "+"]
    is_small = len(marks) * len(table) <= _MOST_CELLS
    rules = [number for number, line in enumerate(table) if is_small and _GRID_LINE.fullmatch(line)]
    rows: list[list[list[str]]] = []
    for begin, stop in itertools.pairwise(rules):
        cells = [_grid_cells(line, marks) for line in table[begin + 1 : stop]]
        # A heading in a cell is none of the page's.
        rows += [[[HEADING.sub("", first), *rest] for first, *rest in zip(*cells, strict=True)]] if cells else []
    headed = len(rules) > 1 and "=" in table[rules[1]]
    if not rows or rules[-1] != len(table) - 1 or not (headed or OWN.name in state.env[SYNTAXES]):
        state.env[_DRAWN] = last
        return False
    if not silent:
        state.line = last
        _push_html(state, rows, headed)
    return True


def _grid_cells(line: str, marks: list[int]) -> list[str]:
    """Return a line's parts by the columns of a grid; what a cell over several columns holds is in the first."""
    cells = line[1:-1].split("|")
    if len(cells) != len(marks) - 1:
        walls = [mark for mark in marks[:-1] if line[mark : mark + 1] in ("|", "+")]
        ends = [*walls[1:], len(line.rstrip("|"))]
        by_wall = {wall: line[wall + 1 : end] for wall, end in zip(walls, ends, strict=True)}
        cells = ["" if _RULE.fullmatch(cell := by_wall.get(mark, "")) else cell for mark in marks[:-1]]
    return [cell.removeprefix(" ").rstrip() for cell in cells]


def _push_html(state: StateBlock, rows: list[list[list[str]]], headed: bool) -> None:
    """Push a table whose cells hold Markdown."""
    env = {**state.env, ENDS: {}, NEXT: -1, _DRAWN: len(state.src)}  # of other lines; a grid in a cell is a drawing
    tags = "<table>"
    for number, row in enumerate(rows):
        name = "td" if number or not headed else "th"
        tags += "<tr>"
        for cell in row:
            state.push("html_block", "", 0).content = f"{tags}<{name}>"
            inner = StateBlock("\n".join(cell), state.md, env, state.tokens)
            inner.level = state.level + 1
            state.md.block.tokenize(inner, 0, inner.lineMax)
            tags = f"</{name}>"
    state.push("html_block", "", 0).content = f"{tags}</table>"


def simple(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule for markdown-it: a simple table. One without a head may elsewhere be thematic breaks."""
    if silent or state.is_code_block(start):
        return False

    def at(number: int) -> str:
        is_inside = number < end and state.sCount[number] >= state.blkIndent
        return state.getLines(number, number + 1, state.blkIndent, False) if is_inside else ""

    full = _FULL_RULE.fullmatch(at(start)) is not None
    begins = OWN.name in state.env[SYNTAXES] and (full or _RULES.fullmatch(at(start)))
    if not (begins or _RULES.fullmatch(at(start + 1))):
        return False
    first = start
    while not _RULES.fullmatch(at(first)):
        first += 1
        if first >= min(end, start + 10) or not at(first).strip():
            return False
    columns = [match.span() for match in re.finditer("-+", at(first))]
    head = [at(number) for number in range(start + full, first)]
    if not full and len(head) > 1:
        return False
    spaced = full or (not head and _spaced(at, first + 1))

    def goes_on(line: str) -> bool:
        return not (_FULL_RULE.fullmatch(line) or _RULES.fullmatch(line)) and (spaced or bool(line.strip()))

    body = list(itertools.takewhile(goes_on, map(at, range(first + 1, end))))
    last = first + 1 + len(body)
    closes = last < end and bool(at(last).strip())
    parts = itertools.groupby(body, lambda line: bool(line.strip()))
    groups = [list(lines) for has_words, lines in parts if has_words] if spaced else [[line] for line in body]
    rows = [_row(group, columns) for group in ([head, *groups] if head else groups)]
    gaps = [begin - 1 for begin, _ in columns[1:]]
    crosses = any(line[gap : gap + 1].strip() for line in (*head, *body) for gap in gaps)  # a word one of them
    if crosses or len(rows) <= bool(head) or ((full or not head) and not closes):
        return False
    push_rows(state, rows, start, headed=bool(head))
    state.line = last + closes
    return True


def _spaced(at: Callable[[int], str], start: int) -> bool:
    """Whether blank lines part the rows of a table without a head: one comes before the rule that ends it."""
    ends = (number for number in range(start, start + 200) if not at(number).strip() or _RULES.fullmatch(at(number)))
    end = next(ends, None)
    return end is not None and not at(end).strip() and bool(at(end + 1).strip())


def _row(lines: list[str], columns: list[tuple[int, int]]) -> list[str]:
    """The cells of a row's lines, with the breaks that they have. Each column reaches from its dashes to the next's."""
    starts = [0, *(begin for begin, _ in columns[1:])]
    ends = [*starts[1:], None]
    cells = ["\n".join(line[begin:end].strip() for line in lines) for begin, end in zip(starts, ends, strict=True)]
    return [" ".join(cell.strip().removesuffix("\\").replace("\\\n", "<br>").split()) for cell in cells]


def _noted(match: re.Match[str]) -> str:
    """Return a note, in brackets after what it is of."""
    return f"{' ' * (match.string[match.start() - 1 : match.start()] != ' ')}({match[1]})"


_INLINE = (
    Inline("^", re.compile(_IN_NOTE), _noted),
    Inline("^~", _SCRIPT, lambda match: f"<sup>{match[1]}</sup>" if match[1] else f"<sub>{match[2]}</sub>"),
    Inline("\\", _COMMAND, _shown),
    Inline("[", _CITED, lambda match: match[1]),
    Inline("@\\", _REFERENCE, _reference),
)
DIALECT = Dialect(
    "pandoc",
    _plain,
    {
        "+--": re.compile(rf"\n[ \t>]*{_GRID_LINE.pattern}\n[ \t>]*\|"),
        "-- ": re.compile(rf"\n{_RULES.pattern}\n"),
        "^[": _NOTE,
    },
    suffixes=SUFFIXES,
    blocks=(grid, simple),
    inline=(Inline("^", _NOTE, _noted),),
)
OWN = Dialect("r markdown", None, {}, inline=_INLINE)  # what is Pandoc's alone: of a page with its suffix
