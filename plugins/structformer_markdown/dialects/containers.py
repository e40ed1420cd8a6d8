"""Containers of colons: `:::note[Title]{.class}`, `::: tip Title`; directives, `:::{figure} a.png`."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markdown_it.rules_block import StateBlock

from structformer_markdown.dialects.page import HEADING, SPOKEN, Dialect, Page, arguments, kind_of
from structformer_markdown.formulas import line_of, push_paragraph
from structformer_markdown.inline_text import names_in

ENDS = "container ends"  # key of the environment: the line after each container's content, by its first line
UNENDED = "unended"  # the same: what began and never ended, once parsed
_MOST_UNENDED = 20  # that end before a heading
_LINE = re.compile(r"^([ \t]*(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t])[ \t]*)*)(:::[^\n]*)", re.MULTILINE)
_ITEM = re.compile(r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*")
_FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
_LIST = r"\{(?:[^{}\"]|\"[^\"\n]*\")*\}"
_KIND = re.compile(rf"{_LIST}|[\w-]+")
_DIRECTIVE = re.compile(r"\{[A-Za-z][\w:-]*\}(?!\{)")
_VIDEO = re.compile(r"^([ \t>]*)@\[[\w-]+\]\([^()\n]+\)[ \t]*$", re.MULTILINE)  # that VuePress shows there
_ATTRIBUTES = re.compile(rf"{_LIST}$")


@dataclass(frozen=True, slots=True)
class Container:
    """A container as its first line describes it."""

    kind: str
    """In one word: "warning"; "" if it has none."""
    title: str
    is_note: bool
    """Whether it is an admonition."""
    ids: tuple[str, ...] = ()
    has_tabs: bool = False
    """Whether headings in it are the labels of tabs."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A block rule for markdown-it: a token `container_open` with a Container, its blocks, `container_close`."""

    mark: str
    """The characters that the lines around a container begin with."""
    words: Callable[[str], str | None]
    """Return the words of a line that begins a container; "" for one that ends one, None for any other line."""
    container: Callable[[str], Container]
    """Return the container that the words of its first line describe."""

    def __call__(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:
        begin = state.bMarks[start] + state.tShift[start]
        if not state.src.startswith(self.mark, begin) or state.is_code_block(start):
            return False
        words = self.words(line_of(state, start))
        if words is None or silent:
            return words is not None
        state.line = start + 1
        if not words:
            return True  # ends nothing
        if start not in state.env[ENDS]:
            _find_ends(self, state, start, end)
        close = min(state.env[ENDS][start], end)
        if _DIRECTIVE.match(words):
            token = state.push("fence", "code", 0)
            token.info, token.map = words, [start, close]
            token.content = state.getLines(start + 1, close, state.sCount[start], True)
        else:
            made, first = self.container(words), start + 1
            if not made.title and ".callout-" in words:  # a callout has a heading as its title
                below = next((line for line in range(first, close) if not state.isEmpty(line)), close)
                if below < close and (heading := HEADING.match(text := line_of(state, below))) is not None:
                    title, first = _ATTRIBUTES.sub("", text[heading.end() :].strip()), below + 1
                    made = Container(made.kind, title, made.is_note, made.ids, made.has_tabs)
            push_container(state, made, start, first, close)
        state.line = close + (close < end and self.words(line_of(state, close)) == "")
        return True


def push_container(state: StateBlock, made: Container, start: int, first: int, close: int, indent: int = 0) -> None:
    """Push a container whose content is at [first, close) of the lines, `indent` columns in at the least."""
    token = state.push("container_open", "div", 1)
    token.meta, token.map = {"container": made}, [start, close]
    if made.title:
        push_paragraph(state, "alert_title" if made.is_note else "paragraph", made.title, [start, start + 1])
    around = state.parentType, state.lineMax, state.blkIndent
    state.parentType, state.lineMax, state.blkIndent = "container", close, max(indent, state.blkIndent)
    state.md.block.tokenize(state, first, close)
    state.parentType, state.lineMax, state.blkIndent = around
    state.push("container_close", "div", -1).meta = {"container": made}


def _words(line: str) -> str | None:
    """Return the words of a line of colons."""
    return line.lstrip(":").strip(" \t").rstrip(":").rstrip(" \t")


def section_end(state: StateBlock, start: int, lines: Iterable[int], end: int) -> int:
    """Return the first of the lines that ends what has no end: a heading as high, which is noted; `end` without one."""
    unended = state.env.setdefault(UNENDED, [])
    if state.level or len(unended) >= _MOST_UNENDED:
        return end
    above = (int(each.tag[1]) for each in reversed(state.tokens) if each.type == "heading_open")
    level = max(2, next(above, 6))  # below the page's title, any section ends it
    for line in lines:
        if line > start and (mark := HEADING.match(line_of(state, line))) and mark[0].count("#") <= level:
            unended.append(line_of(state, start)[:20])
            return line
    return end


def _find_ends(marks: Fence, state: StateBlock, start: int, end: int) -> None:
    """Find where a container ends, and those that begin in it, which end with it at the latest."""
    opened: list[int] = []
    headings: list[int] = []
    never: set[str] = set()  # fences that are known to have no end
    line = start
    while line < end and not (line > start and state.sCount[line] < state.blkIndent and not state.isEmpty(line)):
        text = line_of(state, line)
        fence = _FENCE.match(text) if text[:1] in ("`", "~") else None
        if fence is not None and fence[0] not in never:
            below = ((at, line_of(state, at)) for at in range(line + 1, end))
            ends = (at for at, row in below if row.startswith(fence[0]) and not row.strip(fence[0][0] + " \t"))
            last = next(ends, -1)
            never.update([fence[0]] if last < 0 else ())
            line = max(line, last)
        elif marks.mark in text and (item := _ITEM.match(text)) is not None and text.startswith(marks.mark, item.end()):
            words = marks.words(text[item.end() :])
            if words:
                opened.append(line)
            elif words == "" and opened:
                state.env[ENDS][opened.pop()] = line
                if not opened:
                    return
        elif HEADING.match(text):
            headings.append(line)
        line += 1
    state.env[ENDS].update(dict.fromkeys(opened, line))
    for opening in opened[:_MOST_UNENDED]:
        state.env[ENDS][opening] = section_end(state, opening, headings, line)


def _container(rest: str) -> Container:
    kind = match[0] if (match := _KIND.match(rest)) is not None else ""
    attributes, rest = kind, rest[len(kind) :].strip(" \t")
    if (match := _ATTRIBUTES.search(rest)) is not None and not rest.startswith("["):
        attributes, rest = match[0], rest[: match.start()].rstrip()
    title = _bracketed(rest) if rest.startswith("[") else rest
    title = HEADING.sub("", title.strip()) or arguments(attributes).get("title", "")
    ids = tuple(names_in(attributes)) if attributes.startswith("{") else ()
    kind = kind_of(kind.strip("{}"))
    return Container(kind, title, kind in SPOKEN or kind == "details", ids, ".panel-tabset" in attributes)


def _bracketed(text: str) -> str:
    """Return the text between a bracket and the one that closes it; all text after it if none does."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if not depth:
            after = text[place + 1 :].strip()
            return text[1:place] + (f" {after}" if after and not after.startswith("{") else "")
    return text[1:]


def _plain(text: str, page: Page) -> str:
    """Return the text with the first and last lines of containers kept from the dialects that come later."""
    text = _VIDEO.sub(r"\1", text) if "@[" in text else text
    return _LINE.sub(lambda match: match[1] + page.keep(match[2]), text) if ":::" in text else text


DIALECT = Dialect("containers", _plain, {":::": None, "@[": _VIDEO}, blocks=(Fence(":::", _words, _container),))
