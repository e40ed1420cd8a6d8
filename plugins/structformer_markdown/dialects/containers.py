"""Containers of colons, of MyST, Pandoc and many site generators: `:::note[Title]{.class}`, `::: tip Title`; MyST's
directives between colons (`:::{figure} a.png`).
"""

import re
from dataclasses import dataclass

from markdown_it.rules_block import StateBlock

from structformer_markdown.dialects.page import Dialect, Page
from structformer_markdown.dialects.shown import HEADING, SPOKEN, arguments, kind_of
from structformer_markdown.formulas import line_of, push_paragraph
from structformer_markdown.inline_text import names_in

ENDS = "container ends"  # key of the environment: the line after each container's content, by its first line
_LINE = re.compile(r"^([ \t]*(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t])[ \t]*)*)(:::[^\n]*)", re.MULTILINE)
_ITEM = re.compile(r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(?=:::)")
_FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
_LIST = r"\{(?:[^{}\"]|\"[^\"\n]*\")*\}"
_KIND = re.compile(rf"{_LIST}|[\w-]+")
_DIRECTIVE = re.compile(r"\{[A-Za-z][\w:-]*\}(?!\{)")
_VIDEO = re.compile(r"@\[[\w-]+\]\([^()\n]+\)[ \t]*")  # that VuePress shows there
_ATTRIBUTES = re.compile(rf"{_LIST}$")


@dataclass(frozen=True, slots=True)
class Container:
    """What the first line of a container says."""

    kind: str
    """In one word: "warning"; "" if it has none."""
    title: str
    ids: tuple[str, ...]
    has_tabs: bool
    """Whether headings in it are the labels of tabs."""

    @property
    def is_note(self) -> bool:
        """Whether it is an admonition."""
        return self.kind in SPOKEN or self.kind == "details"


def container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule for markdown-it: a token `container_open` with a Container, its blocks, `container_close`."""
    begin = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith((":::", "@["), begin) or state.is_code_block(start):
        return False
    line = line_of(state, start)
    if line[0] == "@" and not _VIDEO.fullmatch(line):
        return False
    if silent:
        return True
    opened = _opened(line) if line[0] == ":" else None
    state.line = start + 1
    if opened is None:
        return True  # ends nothing
    if start not in state.env[ENDS]:
        _find_ends(state, start, end)
    close = min(state.env[ENDS][start], end)
    if _DIRECTIVE.match(opened):
        token = state.push("fence", "code", 0)
        token.info, token.map = opened, [start, close]
        token.content = state.getLines(start + 1, close, state.sCount[start], True)
    else:
        _push(state, opened, start, close)
    state.line = close + (close < end and _closes(state, close))
    return True


def _push(state: StateBlock, opened: str, start: int, close: int) -> None:
    made, first = _container(opened), start + 1
    title = made.title
    if not title and ".callout-" in opened:  # a callout has a heading as its title
        below = next((line for line in range(first, close) if not state.isEmpty(line)), close)
        if below < close and (heading := HEADING.match(text := line_of(state, below))) is not None:
            title, first = _ATTRIBUTES.sub("", text[heading.end() :].strip()), below + 1
    token = state.push("container_open", "div", 1)
    token.meta, token.map = {"container": made}, [start, close]
    if title:
        push_paragraph(state, "alert_title" if made.is_note else "paragraph", title, [start, start + 1])
    around = state.parentType, state.lineMax
    state.parentType, state.lineMax = "container", close
    state.md.block.tokenize(state, first, close)
    state.parentType, state.lineMax = around
    state.push("container_close", "div", -1).meta = {"container": made}


def _opened(line: str) -> str | None:
    """What the first line of a container says behind its colons; None of a line that ends one."""
    rest = line.lstrip(":").strip(" \t").rstrip(":").rstrip(" \t")
    return rest or None


def _closes(state: StateBlock, line: int) -> bool:
    return (text := line_of(state, line)).startswith(":::") and _opened(text) is None


def _find_ends(state: StateBlock, start: int, end: int) -> None:
    """Find where a container ends, and those that begin in it, which end with it at the latest."""
    opened: list[int] = []
    never: set[str] = set()  # fences that are known to have no end
    line = start
    while line < end and not (line > start and state.sCount[line] < state.blkIndent and not state.isEmpty(line)):
        text = line_of(state, line)
        fence = _FENCE.match(text) if text[:1] in ("`", "~") else None
        if fence is not None and fence[0] not in never:
            last = next((at for at in range(line + 1, end) if _ends_fence(line_of(state, at), fence[0])), -1)
            never.update([fence[0]] if last < 0 else ())
            line = max(line, last)
        elif ":::" in text and (item := _ITEM.match(text)) is not None:
            if _opened(text[item.end() :]) is not None:
                opened.append(line)
            elif opened:
                state.env[ENDS][opened.pop()] = line
                if not opened:
                    return
        line += 1
    state.env[ENDS].update(dict.fromkeys(opened, line))


def _ends_fence(text: str, fence: str) -> bool:
    return text.startswith(fence) and not text.strip(fence[0] + " \t")


def _container(rest: str) -> Container:
    kind = ""
    if (match := _KIND.match(rest)) is not None:
        kind, rest = match[0], rest[match.end() :].strip(" \t")
    attributes = kind
    if (match := _ATTRIBUTES.search(rest)) is not None and not rest.startswith("["):
        attributes, rest = match[0], rest[: match.start()].rstrip()
    title = _bracketed(rest) if rest.startswith("[") else rest
    title = HEADING.sub("", title.strip()) or arguments(attributes).get("title", "")
    ids = tuple(names_in(attributes)) if attributes.startswith("{") else ()
    return Container(kind_of(kind.strip("{}")), title, ids, ".panel-tabset" in attributes)


def _bracketed(text: str) -> str:
    """What is between a bracket and the one that closes it; all of the text behind it where none does."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if not depth:
            after = text[place + 1 :].strip()
            return text[1:place] + (f" {after}" if after and not after.startswith("{") else "")
    return text[1:]


def _plain(text: str, page: Page) -> str:
    """Return the text with the first and last lines of containers kept from the dialects that come later."""
    return _LINE.sub(lambda match: match[1] + page.keep(match[2]), text) if ":::" in text else text


DIALECT = Dialect("containers", _plain, {":::": None, "@[": _VIDEO})
