"""A section's text as Markdown (GFM): code in fences, tables, lists, notes. What Markdown would take for markup is
escaped, and nothing else.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from urllib.parse import quote

from structformer.document import Block, MarkKind, Section

from structformer_serve.spans import Resolve, Span, leaves, note_opening, spans_of_leaves

Kinds = frozenset[MarkKind | None]  # of spans, None for a link
_DEEPEST = 12  # lists, quotes and notes in each other; what is deeper stands in the last of these
_ALERTS = frozenset({"note", "tip", "important", "warning", "caution"})  # GitHub's
_STARS = {MarkKind.EMPHASIS: "*", MarkKind.STRONG: "**"}
_LANGUAGE = re.compile(r"[^\s`]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_BACKTICKS = re.compile(r"`+")
_RUNS = re.compile(r"\*+|_+|~+")
_HTML = re.compile(r"<[A-Za-z/!?]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~\n])")
_BRACKETS = re.compile(r"\[\[(?=\S)|\[\^[^\]\s]{1,100}\]|\[!|\]\(|(?<=\\)[\[\]()]")  # `\\[` begins a formula
_LINE_BREAK = re.compile(r"(?<![ \t\r])[ \t\r]*\n\s*")
_LONE_RETURN = re.compile(r"\r(?!\n)")  # ends a line in Markdown too
_UNSAFE_IN_ADDRESS = re.compile(r"[\s()<>\\]")
# What makes a line something else than a paragraph's; `point` is where a number's sign stands.
_LINE = re.compile(
    r"""
    \#{1,6}(?=\s|$) | > | [-+*](?=\s|$) | [0-9]{1,9}(?P<point>[.)])(?=\s|$)     # headings, quotes, lists
    | -[|:\- \t]*$ | (?:\*[ \t]*){3,}$ | (?:_[ \t]*){3,}$ | =+\s*$                # rules, underlined headings, tables
    | `{3,} | ~{3,} | :{3} | !!!\s | \?{3} | ={3} | \{[^}]*\}\s*$                # code, admonitions, attributes
    | \[[^\]]*\]: | [:~](?=[ \t]) | [|:][|:\- \t]*$                            # targets, definitions
    """,
    re.VERBOSE,
)
_FENCE = re.compile(r"(?P<before>(?:[ >]|[-*:] |[0-9]{1,9}[.)] )*)(?P<fence>`{3,}|\$\$$)(?P<after>[^`]*)$")


def as_markdown(section: Section, resolve: Resolve | None = None) -> str:
    """Return the section's text. resolve: gives a link's address; without it links are plain text."""
    blocks = section.blocks
    return "\n".join(_Writer(section.text, spans_of_leaves(section, blocks, resolve)).lines(blocks))


def open_fence(markdown: str) -> tuple[int, str] | None:
    """Where the code or formula begins that a beginning of such a text leaves open, and the line that closes it."""
    opened: tuple[int, str] | None = None
    position = 0
    for line in markdown.split("\n"):
        if opened is not None:
            if line.rstrip() == opened[1]:
                opened = None
        elif (fence := _FENCE.match(line)) is not None:
            opened = position, re.sub(r"[^\s>]", " ", fence["before"]) + fence["fence"]
        position += len(line) + 1
    return opened


class _Writer:
    def __init__(self, text: str, spans: dict[int, list[Span]]) -> None:
        self._text = _LONE_RETURN.sub("\n", text)
        self._spans = spans
        self._depth = 0
        self._begins: dict[int, int] = {}  # where leaves begin whose first words are said otherwise
        self._escapes: list[int] = []  # where a backslash is needed in the leaf that is written

    def lines(self, blocks: Iterable[Block], *, tight: bool = False) -> list[str]:
        """Return the lines of blocks that follow each other. tight: with no blank line where it is not needed."""
        written: list[str] = []
        before: Block | None = None
        marker = 0
        self._depth += 1
        for block in blocks if self._depth <= _DEEPEST else leaves(blocks):
            # Two lists with the same signs would be one: they take turns.
            alike = before and before.kind is block.kind is MarkKind.LIST and bool(before.detail) == bool(block.detail)
            marker = 1 - marker if alike else 0
            lines = self._list(block, marker) if block.kind is MarkKind.LIST else self._block(block)
            if not lines:
                continue
            if before is not None and not (tight and _follows_at_once(before, block)):
                written.append("")
            written += lines
            before = block
        self._depth -= 1
        return written

    def _block(self, block: Block) -> list[str]:
        match block.kind:
            case MarkKind.PARAGRAPH:
                return self._inline(block).split("\n")
            case MarkKind.CODE | MarkKind.RAW:
                return _fenced(self._text[block.start : block.end], block.detail)
            case MarkKind.FORMULA:
                return self._formula(block)
            case MarkKind.DEFINITIONS:
                return self._definitions(block)
            case MarkKind.TABLE:
                return self._table(block)
            case MarkKind.QUOTE:
                return _indented(self.lines(block.children), "> ", "> ")
            case MarkKind.NOTE:
                return self._note(block)
            case _:
                return self.lines(block.children)

    def _list(self, block: Block, marker: int) -> list[str]:
        """marker: which of the two signs; lists that follow each other differ in it."""
        items: list[list[str]] = []
        number = int(block.detail) if _NUMBER.fullmatch(block.detail) else 1
        for item in block.children:
            lines = self.lines(item.children if item.kind is MarkKind.ITEM else [item], tight=True)
            sign = f"{min(number, 999_999_999)}{'.)'[marker]} " if block.detail else f"{'-*'[marker]} "
            items.append(_indented(lines, sign, " " * len(sign)))
            number += 1
        return _joined(items, loose=any("" in lines for lines in items))

    def _definitions(self, block: Block) -> list[str]:
        written: list[str] = []
        before: Block | None = None
        for child in block.children:
            if child.kind is MarkKind.TERM:
                lines = [self._flat(child, " ")]
            elif child.kind is MarkKind.DEFINITION and before is not None:
                lines = _indented(self.lines(child.children), ":   ", "    ")
            else:  # a definition of nothing would be one of the paragraph in front of it
                lines = self.lines(child.children if child.kind is MarkKind.DEFINITION else [child])
            if before is not None and (child.kind is not MarkKind.DEFINITION or "" in lines):
                written.append("")
            written += lines
            before = child
        return written

    def _table(self, block: Block) -> list[str]:
        rows = [child for child in block.children if child.kind is MarkKind.ROW]
        cells = [[self._flat(cell, "<br>").replace("|", r"\|") for cell in row.children] for row in rows]
        columns = max(map(len, cells), default=0)
        # A table without column titles keeps its columns under empty ones: GFM knows no table without.
        titles = cells.pop(0) if rows and rows[0].detail else []
        titles += [""] * (columns - len(titles))
        drawn = [titles, ["---"] * columns, *cells] if columns else []
        lines = ["| " + " | ".join(row) + " |" for row in drawn]
        before = [child for child in block.children if child.kind is not MarkKind.ROW]
        above = self.lines([child for child in before if not rows or child.start <= rows[0].start])
        below = self.lines([child for child in before if rows and child.start > rows[0].start])
        return _joined([part for part in (above, lines, below) if part], loose=True)

    def _flat(self, block: Block, line_break: str) -> str:
        """Return all that is in a part on one line."""
        pieces: list[str] = []
        for leaf in leaves([block]):
            if leaf.kind is MarkKind.PARAGRAPH:
                pieces += self._inline(leaf, starts_line=line_break == " ").split("  \n")
            elif leaf.kind is MarkKind.FORMULA:
                pieces.append(_formula_span(self._text[leaf.start : leaf.end]))
            else:
                lines = self._text[leaf.start : leaf.end].split("\n")
                pieces += [_code_span(line.strip()) for line in lines if line.strip()]
        return line_break.join(pieces)

    def _formula(self, block: Block) -> list[str]:
        formula = _without_signs(self._text[block.start : block.end])
        lines = [line for line in formula.replace("\r", "\n").split("\n") if line.strip()]
        return _fenced(formula, "math") if "$" in formula or not lines else ["$$", *lines, "$$"]

    def _note(self, block: Block) -> list[str]:
        label, title_block, content, begins = note_opening(self._text, block)
        if begins:
            self._begins[content[0].start] = begins
        title = self._flat(title_block, " ") if title_block is not None else ""
        if label.lower() in _ALERTS:
            head = [f"[!{label.upper()}]", *([title, ""] if title else [])]
        elif label:
            head = [f"**{label}:** {title}" if title else f"**{label}**", ""]
        else:
            head = [title, ""] if title else []
        lines = [*head, *self.lines(content)]
        while lines and not lines[-1]:
            lines.pop()
        return _indented(lines, "> ", "> ")

    def _inline(self, leaf: Block, *, starts_line: bool = True) -> str:
        """Return a paragraph; its line ends are hard breaks."""
        spans = self._spans.get(leaf.start, [])
        start = self._begins.get(leaf.start, leaf.start)
        self._escapes = sorted(_escapes(self._text, start, leaf.end, spans, starts_line=starts_line))
        written = self._spanned(start, leaf.end, spans, frozenset(), "").strip()
        return _LINE_BREAK.sub("  \n", written) if "\n" in written else written

    def _spanned(self, start: int, end: int, spans: Sequence[Span], around: Kinds, before: str) -> str:
        """before: the character that was written last."""
        written = before
        parts: list[str] = []
        for span in spans:
            begin = max(span.start, start)
            if begin >= span.end:
                continue
            written = self._plain(start, begin) or written
            parts.append(written if begin > start else "")
            written = self._span(span, begin, around, written[-1:])
            parts.append(written)
            start = span.end
        parts.append(self._plain(start, end))
        return "".join(parts)

    def _span(self, span: Span, start: int, around: Kinds, before: str) -> str:
        own = self._text[start : span.end]
        if span.kind is MarkKind.CODE_SPAN:
            return _code_span(own)
        if span.kind is MarkKind.FORMULA_SPAN:
            return _formula_span(own)
        if span.kind in around or (span.kind is not None and before == "*"):  # signs would be taken for others
            return self._spanned(start, span.end, span.children, around, before)
        inner = self._spanned(start, span.end, span.children, around | {span.kind}, "")
        core = inner.strip()
        if not core:
            return inner
        lead, trail = inner[: len(inner) - len(inner.lstrip())], inner[len(inner.rstrip()) :]
        if span.kind is None:
            address = _UNSAFE_IN_ADDRESS.sub(lambda found: quote(found[0], safe=""), span.address)
            return f"{lead}[{core}]({address}){trail}"
        sign_before = lead[-1:] or before
        after = trail[:1] or self._text[span.end : span.end + 1]
        if not _flanks(sign_before, core[0])[0] or not _flanks(core[-1], after)[1]:  # signs would mean nothing
            return self._spanned(start, span.end, span.children, around, before)
        return f"{lead}{_STARS[span.kind]}{core}{_STARS[span.kind]}{trail}"

    def _plain(self, start: int, end: int) -> str:
        parts: list[str] = []
        for place in self._escapes[bisect_left(self._escapes, start) : bisect_left(self._escapes, end)]:
            parts += (self._text[start:place], "\\")
            start = place
        parts.append(self._text[start:end])
        return "".join(parts)


def _follows_at_once(before: Block, block: Block) -> bool:
    """Whether no blank line is needed between two blocks: a list or code after the words that introduce it."""
    return before.kind is MarkKind.PARAGRAPH and (
        block.kind is MarkKind.CODE or (block.kind is MarkKind.LIST and block.detail in ("", "1"))
    )


def _indented(lines: Iterable[str], first: str, others: str) -> list[str]:
    signs = chain([first], repeat(others))
    return [sign + line if line else sign.rstrip() for sign, line in zip(signs, lines, strict=False)]


def _joined(groups: Sequence[list[str]], *, loose: bool) -> list[str]:
    joined: list[str] = []
    for lines in groups:
        if joined and loose:
            joined.append("")
        joined += lines
    return joined


def _longest(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


def _fenced(code: str, language: str) -> list[str]:
    fence = "`" * max(3, _longest(code) + 1)
    name = _LANGUAGE.match(language)
    return [fence + (name[0] if name else ""), *code.replace("\r\n", "\n").replace("\r", "\n").split("\n"), fence]


def _code_span(code: str) -> str:
    code = " ".join(code.splitlines())
    fence = "`" * (_longest(code) + 1)
    padded = code[:1] == "`" or code[-1:] == "`" or (code[:1] == code[-1:] == " " and code.strip())
    return f"{fence} {code} {fence}" if padded else f"{fence}{code}{fence}"


def _without_signs(formula: str) -> str:
    """Return a formula without the dollars or brackets that its source has around it."""
    formula = formula.strip()
    for opening, closing in (("$$", "$$"), (r"\[", r"\]"), (r"\(", r"\)"), ("$", "$")):
        inner = formula[len(opening) : -len(closing)]
        if formula.startswith(opening) and formula.endswith(closing) and inner.strip():
            return inner.strip()
    return formula


def _formula_span(formula: str) -> str:
    inner = " ".join(_without_signs(formula).split())
    return _code_span(inner) if "$" in inner or not inner else f"${inner}$"


def _flanks(before: str, after: str) -> tuple[bool, bool]:
    """Return (can_open, can_close) of a delimiter between two characters, "" at an end of the text."""
    space_before, space_after = not before.strip(), not after.strip()
    sign_before, sign_after = _is_sign(before), _is_sign(after)
    opens = not space_after and (not sign_after or space_before or sign_before)
    closes = not space_before and (not sign_before or space_after or sign_after)
    return opens, closes


def _is_sign(character: str) -> bool:
    return bool(character.strip()) and not character.isalnum()


def unlinked(text: str) -> str:
    """A title or an id as one line of Markdown: whoever wrote it can begin no link, end none, and open no tag."""
    return re.sub(r"([\\\[\]<>`])", r"\\\1", " ".join(text.split()))


def _escapes(text: str, start: int, end: int, spans: Sequence[Span], *, starts_line: bool) -> set[int]:
    """Return the places in a paragraph where a backslash is needed, so that its signs are signs."""
    kinds: set[MarkKind | None] = set()
    ends: set[int] = set()  # of spans
    starred: set[int] = set()  # of those that stars are written around
    verbatim: list[tuple[int, int]] = []
    places: set[int] = set()
    stack = list(spans)
    while stack:
        span = stack.pop()
        kinds.add(span.kind)
        ends |= {span.start, span.end}
        if span.kind in _STARS:
            starred |= {span.start, span.end}
        if span.kind in (MarkKind.CODE_SPAN, MarkKind.FORMULA_SPAN):
            verbatim.append((span.start, span.end))
            continue
        if span.kind is None:
            places |= {place for place in range(span.start, span.end) if text[place] in "[]"}
        stack += span.children
    verbatim.sort()
    part = _blanked(text, start, end, verbatim)
    for sign in (each for each in "*_~" if each in part):
        places |= _paired(part, start, sign, starred if sign == "*" else set())
    ticks = [each.span() for each in _BACKTICKS.finditer(part)]
    if MarkKind.CODE_SPAN in kinds or len({stop - at for at, stop in ticks}) < len(ticks):
        places |= {start + place for at, stop in ticks for place in range(at, stop)}
    last = part.rfind(">")
    places |= {start + each.start() for each in _HTML.finditer(part) if each.start() < last}
    for pattern in (_ENTITY, _BACKSLASH):
        places |= {start + each.start() for each in pattern.finditer(part)}
    for each in _BRACKETS.finditer(part):
        places |= set(range(start + each.start(), start + each.start() + (2 if each[0] == "[[" else 1)))
    places |= {place - 1 for place in {*ends, end} if place > start and part[place - 1 - start : place - start] == "\\"}
    if starts_line:
        position = 0
        for line in part.split("\n"):
            stripped = line.lstrip()
            if (begins := _LINE.match(stripped)) is not None:
                column = position + len(line) - len(stripped)
                places.add(start + column + (begins.start("point") if begins["point"] else 0))
            position += len(line) + 1
    return places


def _blanked(text: str, start: int, end: int, verbatim: Iterable[tuple[int, int]]) -> str:
    """Return a part of a text with letters for its code and formulas, in which nothing is escaped."""
    parts: list[str] = []
    for first, last in verbatim:
        if first >= start:
            parts += (text[start:first], "x" * (last - first))
        start = max(start, last)
    return "".join([*parts, text[start:end]])


def _paired(part: str, start: int, sign: str, written: set[int]) -> set[int]:
    """The places of the signs that could begin and end an emphasis. written: where more such signs will stand."""
    runs: list[range] = []
    opened = paired = bool(written)
    for run in _RUNS.finditer(part):
        if run[0][0] != sign:
            continue
        before, after = part[run.start() - 1 : run.start()] if run.start() else "", part[run.end() : run.end() + 1]
        opens, closes = _flanks(before, after)
        if sign == "_":
            opens, closes = opens and (not closes or _is_sign(before)), closes and (not opens or _is_sign(after))
        paired = paired or (opened and closes)
        opened = opened or opens
        places = range(start + run.start(), start + run.end())
        if opens or closes or not written.isdisjoint((*places, places.stop)):
            runs.append(places)
    return {place for each in runs for place in each} if paired else set()
