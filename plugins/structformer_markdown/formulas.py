"""Formulas in TeX: where they begin and end, and the rules by which markdown-it reads nothing in them as Markdown.

Sources: Pandoc's manual (tex_math_dollars: `$5 and $6` holds no formula; tex_math_double_backslash), Jupyter, which
takes formulas out before it reads Markdown, and MyST (amsmath, the label behind `$$`). An opening mark without its
closing one is text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MARKS = ("$", "\\begin{", "\\(", "\\[")
_ENVIRONMENT = (
    r"\\begin\{((?:equation|multline|gather(?:ed)?|align(?:ed)?|alignat|flalign|[pbBvV]?matrix|eqnarray|displaymath"
    r"|math|split|d?cases|array)\*?)\}"
)
_MARK = re.compile(r"\$|\\begin\{|\\[(\[]")
NEXT = "next formula"  # key of the environment: where a mark comes next
_OPENING = re.compile(rf"(`+)|\$\$?|{_ENVIRONMENT}|\\{{1,2}}[(\[]|\\.", re.DOTALL)
# A variable of a shell and another one behind it are no formula: $HOME and /$USER.
_SPAN = re.compile(r"(?s)\$(?=[^\s$])(?![A-Z][A-Z0-9_]+\b[^$]*\$[A-Za-z_])((?:[^$\\]|\\.)*+)\$(?![\d{$]|(?<=\s.)\w)")
_DISPLAY = re.compile(rf"\$\$(?!\$)|{_ENVIRONMENT}|\\{{1,2}}\[(?=[ \t]*$)")
_COMMAND = re.compile(r"\\[A-Za-z]{2}")
_LABEL = re.compile(r"[ \t]*(?:\{#([\w:.-]+)[^{}\n]*\}|\(([^()\s]+)\))[ \t]*(?=\n|$)")
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
_NO_FORMULA = re.compile(r"#{1,6}[ \t]|```|~~~")
_ENDS_PARAGRAPH = re.compile(r"[|:=-][|:=\- \t]*$|[:~][ \t]")  # an underline, a table's second row, a definition
_TEX = re.compile(r"[\\^_={}]")
_CLOSINGS = {"\\(": "\\)", "\\[": "\\]", "\\\\(": "\\\\)", "\\\\[": "\\\\]", "$": "$", "$$": "$$"}
_LONGEST = 10_000  # characters
_MOST_LINES = 300


class Formula(NamedTuple):
    """A formula at [start, end) of a text."""

    start: int
    end: int
    label: str
    """Its name, which is between `end` and `after`; "" if it has none."""
    after: int
    """Where the text goes on, behind the formula and its label."""


def formulas(text: str) -> Iterator[Formula]:
    """Yield the formulas of a text without code, in order."""
    place = 0
    while (opening := _OPENING.search(text, place)) is not None:
        place = opening.end()
        if _closing(opening) and (formula := formula_at(text, opening.start())) is not None:
            place = formula.after
            yield formula


def formula_at(text: str, start: int) -> Formula | None:
    """Return the formula that begins there; None where none does."""
    opening = _OPENING.match(text, start)
    closing = _closing(opening) if opening is not None else ""
    if opening is None or not closing:
        return None
    if closing == "$":
        span = _SPAN.match(text, start)
        if span is None or not _is_span(span[1]) or text[start - 1 : start].isdigit() or text[start - 1 : start] == "$":
            return None
        return Formula(start, span.end(), "", span.end())
    place = _unescaped(text, closing, opening.end())
    content = text[opening.end() : max(place, 0)]
    if not content.strip() or (closing == "$$" and "$" in (text[start + 2], text[place + 2 : place + 3])):
        return None
    if len(opening[0]) == 2 and opening[0][0] == "\\" and not _COMMAND.search(content):
        return None  # brackets that are escaped
    if _BLANK_LINE.search(content) and content[: content.index("\n")].strip():
        return None
    end = place + len(closing)
    label = _LABEL.match(text, end) if closing not in ("\\)", "\\\\)") else None
    if label is not None and label[2] and text[:start].rpartition("\n")[2].strip(" \t>"):
        label = None  # words in brackets
    return Formula(start, end, (label[1] or label[2]) if label else "", label.end() if label else end)


def _closing(opening: re.Match[str]) -> str:
    """Return the mark that ends what begins so; "" where no formula does."""
    return f"\\end{{{opening[2]}}}" if opening[2] else _CLOSINGS.get(opening[0], "")


def _is_span(content: str) -> bool:
    """Whether what is between two dollars on the lines of one paragraph is a formula: no link or code begins in it."""
    if content[-1].isspace() and not _TEX.search(content):  # Jupyter and MyST let a space be there
        return False
    is_code = content[:1] == "`" == content[-1:]  # as GitHub has it
    if "](" in content or (content[-1] == "[" and "]" not in content):
        return False
    return ("`" not in content or is_code) and not _BLANK_LINE.search(content)


def _unescaped(text: str, mark: str, start: int) -> int:
    """Return where a mark comes next that no backslash escapes; -1 where none does."""
    place = text.find(mark, start, start + _LONGEST)
    while place >= 0 and mark[0] == "$" and (place - len(text[start:place].rstrip("\\")) - start) % 2:
        place = text.find(mark, place + 1, start + _LONGEST)
    return place


def formula_span(state: StateInline, silent: bool) -> bool:
    """An inline rule for markdown-it: one token `formula`, whose info is its label."""
    if state.src[state.pos] not in "$\\":
        return False
    formula = formula_at(state.src, state.pos)
    if formula is None or formula.after > state.posMax:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.info = state.src[formula.start : formula.end], formula.label
    state.pos = formula.after
    return True


def formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule for markdown-it: a paragraph with formulas that go over lines, in which no other block begins."""
    is_display = state.src.startswith(("$", "\\"), state.bMarks[start] + state.tShift[start])
    if (silent and not is_display) or state.is_code_block(start):
        return False
    last = _display_end(state, start, end) if is_display else -1
    if last < 0:
        last = -1 if silent else _paragraph_end(state, start, state.lineMax)
    if last < 0 or silent:
        return last >= 0
    state.line = last + 1
    content = state.getLines(start, state.line, state.blkIndent, False).strip()
    push_paragraph(state, "paragraph", content, [start, state.line])
    return True


def push_paragraph(state: StateBlock, kind: str, content: str, lines: list[int]) -> None:
    """Push the three tokens of a paragraph of a kind, which is at [first, last) of the lines."""
    for name, nesting in ((f"{kind}_open", 1), ("inline", 0), (f"{kind}_close", -1)):
        token = state.push(name, "p" if nesting else "", nesting)  # type: ignore[arg-type]
        token.map = lines
        token.content, token.children = (content, []) if not nesting else ("", None)


def line_of(state: StateBlock, line: int) -> str:
    """Return a line of a block, without what is in front of it."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _display_end(state: StateBlock, start: int, end: int) -> int:
    """Return the last line of the formula on lines of its own that begins with this one; -1 where none does."""
    text = line_of(state, start)
    opening = _OPENING.match(text) if _DISPLAY.match(text) else None
    if opening is None:
        return -1
    if (formula := formula_at(text, 0)) is not None:
        return start if not text[formula.after :].strip(" \t.,;") else -1
    return _closing_line(state, start, end, opening)


def _paragraph_end(state: StateBlock, start: int, end: int) -> int:
    """Return the last line of the paragraph that begins here, if a formula goes over lines in it; else -1."""
    line, spanned = start, False
    terminators = state.md.block.ruler.getRules("paragraph")
    first = _first_spanning(state, start, end)
    if first < 0:
        return -1
    before, state.parentType = state.parentType, "paragraph"
    while True:
        last = _spanning(state, line, end) if line >= first else -1
        spanned = spanned or last > line
        line = max(line + 1, last)
        if line >= end or state.isEmpty(line):
            break
        if last == line or state.sCount[line] - state.blkIndent > 3 or state.sCount[line] < 0:
            continue
        if any(rule(state, line, end, True) for rule in terminators):
            break
    state.parentType = before
    return line - 1 if spanned else -1


def _first_spanning(state: StateBlock, start: int, end: int) -> int:
    begin = state.bMarks[start]
    if state.env.get(NEXT, -1) < begin:
        found = _MARK.search(state.src, begin)
        state.env[NEXT] = found.start() if found is not None else len(state.src)
    if 0 <= state.src.find("\n\n", begin) < state.env[NEXT]:
        return -1  # most paragraphs
    for line in range(start, end):
        if state.isEmpty(line) or (line > start and _ENDS_PARAGRAPH.match(line_of(state, line))):
            return -1
        if _spanning(state, line, end) > line:
            return line
    return -1


def _spanning(state: StateBlock, line: int, end: int) -> int:
    """Return the line that ends the formula that this one leaves open; -1 where it leaves none open."""
    begin, stop = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    if state.src.find("$", begin, stop) < 0 and state.src.find("\\", begin, stop) < 0:
        return -1
    text = state.src[begin:stop]
    place = 0
    open_for_good: set[str] = set()  # closing marks that do not come, so that none is sought twice
    while (opening := _OPENING.search(text, place)) is not None:
        place = opening.end()
        closing = opening[1] or _closing(opening)
        if not closing or closing in open_for_good:
            continue
        if (closed := text.find(closing, place)) < 0:
            open_for_good.add(closing)
            if not opening[1] and (last := _closing_line(state, line, end, opening)) >= 0:
                return last
        elif opening[1]:
            place = closed + len(closing)
        elif (formula := formula_at(text, opening.start())) is not None:
            place = formula.after
    return -1


def _closing_line(state: StateBlock, line: int, end: int, opening: re.Match[str]) -> int:
    """Return the line that ends the formula that begins so in a line and does not end there; -1 where none does."""
    closing = _closing(opening)
    lines = [line_of(state, line)[opening.start() :]]
    for later in range(line + 1, min(end, line + _MOST_LINES)):
        text = line_of(state, later)
        if not text:
            if lines[0].strip() != "$$":
                return -1
        elif state.sCount[later] < state.blkIndent or _NO_FORMULA.match(text):
            return -1
        lines.append(text)
        if _unescaped(text, closing, 0) >= 0:
            formula = formula_at("\n".join(lines), 0)
            is_one = formula is not None and (closing != "$" or _TEX.search("".join(lines)[1 : formula.end]))
            return later if is_one else -1
        if opening[0] in text and opening[0][0] != "$":
            return -1
    return -1
