"""The part of a passage that shows why it was found."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from structformer.document import MARKS, SPACELESS, MarkKind, pieces_of
from structformer.text.passages import Stretch
from structformer.text.words import IGNORABLE

_WORDS, _MOST = 40, 1000  # of prose; characters of them
_LINES, _LINE = 6, 200  # of code; characters of one line
_UNSPACED = re.compile(f"[{SPACELESS}]")
_PART = re.compile(f"[{SPACELESS}]+|(?:[^\\W{SPACELESS}]|[{MARKS}{IGNORABLE}])+")
# What changes an emoji's look or colour, and what is joined to it.
_BETWEEN = re.compile(r"\W+")
_SAME_EMOJI = "(?:[\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[^\\w\\s])*"


class Matches:
    """Whether words are matches of a query: looked up once each, since a page of results passes thousands of them.
    terms: the query's; words_of gives a text's terms as the lexical index has them. lone: terms that are characters,
    which match in any word (see lexical_analysis.py). signs: of no letters, found in any place, and names."""

    def __init__(
        self,
        terms: Iterable[str],
        words_of: Callable[[str], Collection[str]],
        lone: Iterable[str] = (),
        signs: Sequence[str] = (),
    ) -> None:
        self._wanted = frozenset(terms)
        self._words_of = words_of
        self._seen: set[str] = set()
        self._found: set[str] = set()
        self.lone = frozenset(lone)
        ways = [f"(?<!\\w){re.escape(sign)}(?!\\w)" if sign[0].isalnum() else re.escape(sign) for sign in signs]
        self._signs = re.compile(f"(?:{'|'.join(ways)}){_SAME_EMOJI}", re.IGNORECASE) if signs else None

    def of(self, words: Collection[str]) -> list[bool]:
        """Whether each of some words matches."""
        wanted, words_of = self._wanted, self._words_of
        new = {*words} - self._seen
        self._found.update(word for word in new if not wanted.isdisjoint(words_of(word)))
        self._seen |= new
        return [word in self._found for word in words]

    def have(self, words: Collection[str], parts: Collection[str] | None = None) -> list[bool]:
        """Whether each of some words matches, or one of its characters, or a sign in it. parts: what of them is looked
        up, if not they themselves.
        """
        flags = self.of(words if parts is None else parts)
        if self.lone:
            flags = [matches or not self.lone.isdisjoint(word) for matches, word in zip(flags, words, strict=True)]
        if self._signs:
            flags = [matches or bool(self.signs(word)) for matches, word in zip(flags, words, strict=True)]
        return flags

    def signs(self, text: str) -> list[tuple[int, int]]:
        """[start, end) of the signs in a text."""
        return [found.span() for found in self._signs.finditer(text)] if self._signs else []


@dataclass(frozen=True, slots=True)
class Snippet:
    """Excerpt of a passage, as it is shown."""

    text: str
    highlights: tuple[tuple[int, int], ...] = ()
    """[start, end) of every matching word."""
    is_code: bool = False
    """Whether it is code, whose line ends matter."""


def snippet(text: str, matches: Matches, stretches: Sequence[Stretch] = ()) -> Snippet:
    """About 40 words of a text with most of the query's terms. stretches: what in it is not prose. Code and what is not
    code are never shown together; where both match alike it is the text.
    """
    code = [each for each in stretches if each.kind is MarkKind.CODE]
    if not code:
        return _of_prose(text, matches)[1]
    snippets: list[tuple[int, Snippet]] = []
    position = 0
    for part in (*code, None):
        start, end = (part.start, part.end) if part else (len(text), len(text))
        if (prose := text[position:start]).strip():
            count, shown = _of_prose(prose, matches)
            before = "… " if position and not shown.text.startswith("…") else ""
            after = " …" if end < len(text) and not shown.text.endswith("…") else ""
            marked = tuple((first + len(before), last + len(before)) for first, last in shown.highlights)
            snippets.append((3 * count + 2, Snippet(before + shown.text + after, marked)))
        if part:
            count, shown = _of_code(text[start:end], matches)
            snippets.append((3 * count, shown))
        position = end
    return max(snippets, key=lambda each: each[0])[1]


def _of_prose(text: str, matches: Matches) -> tuple[int, Snippet]:
    """Return (number of matching words, the snippet)."""
    if text.isascii():
        words = text.split()
        flags = matches.have(words)
        place = _place(flags, _WORDS)
        shown = " ".join(words[place : place + _WORDS])
    else:
        spans = pieces_of(text)
        words = [text[start:end] for start, end in spans]
        # A pair of characters that is a term begins at the first of them.
        flags = matches.have(words, [_with_next(text, spans, at) for at in range(len(spans))])
        place = _place(flags, _WORDS)
        last = min(len(spans), place + _WORDS) - 1
        if spans and flags[last] and len(_with_next(text, spans, last)) > len(words[last]):
            last += 1  # to the end of the word
        shown = " ".join(text[spans[place][0] : spans[last][1]].split()) if spans else ""
    shown = ("… " if place else "") + _near(shown, matches, _MOST) + (" …" if place + _WORDS < len(words) else "")
    count = sum(flags[place : place + _WORDS])
    return count, Snippet(shown, tuple(_matching(shown, matches)) if any(flags) else ())


def _of_code(text: str, matches: Matches) -> tuple[int, Snippet]:
    """Return (number of matching words, the lines that hold most of them)."""
    lines = text.split("\n")
    counts = [sum(matches.have(_PART.findall(line))) + len(matches.signs(line)) for line in lines]
    place = _place(counts, _LINES)
    shown = dedent("\n".join(_near(line, matches, _LINE) for line in lines[place : place + _LINES])).strip("\n")
    return sum(counts[place : place + _LINES]), Snippet(shown, tuple(_matching(shown, matches)), is_code=True)


def _near(text: str, matches: Matches, most: int) -> str:
    """So many characters of a text from a little before its first match on, where it is longer."""
    if len(text) <= most:
        return text
    first = next(_matching(text, matches), (0, 0))[0]
    start = max(0, min(first - most // 4, len(text) - most))
    if start and (between := _BETWEEN.search(text, start, first)):
        start = between.end()
    return ("…" if start else "") + text[start : start + most] + ("…" if start + most < len(text) else "")


def _place(matches: Sequence[int], window: int) -> int:
    """Return where the `window` words, or lines, begin that hold most matches."""
    if len(matches) <= window:
        return 0
    place, here = 0, sum(matches[:window])
    most = here
    for position in range(1, len(matches) - window + 1):
        here += matches[position + window - 1] - matches[position - 1]
        if here > most:
            most, place = here, position
    return place


def _with_next(text: str, words: Sequence[tuple[int, int]], number: int) -> str:
    """Return a word; a character of a script without spaces with the one that follows it at once."""
    start, end = words[number]
    if end - start <= 4 and number + 1 < len(words) and words[number + 1][0] == end:
        return text[start : words[number + 1][1]]
    return text[start:end]


def _matching(shown: str, matches: Matches) -> Iterator[tuple[int, int]]:
    """Yield the [start, end) of every matching word, of overlapping pairs of characters as one."""
    parts = list(_PART.finditer(shown))
    words = matches.have([part[0] for part in parts])
    spans: list[tuple[int, int]] = []
    for part, is_match in zip(parts, words, strict=True):
        spaceless = not part[0].isascii() and _UNSPACED.match(part[0])
        for first, last in _pairs(part, matches) if spaceless else [part.span()] if is_match else ():
            if spans and spans[-1][1] >= first:
                first = spans.pop()[0]
            spans.append((first, last))
    reached = 0  # a name is marked as one
    for first, last in sorted(spans + matches.signs(shown), key=lambda span: (span[0], -span[1])):
        if first >= reached:
            yield first, last
            reached = last


def _pairs(part: re.Match[str], matches: Matches) -> Iterator[tuple[int, int]]:
    """In a run of characters each one, and each pair, that matches."""
    start, end = part.span()
    pairs = [part.string[place : min(place + 2, end)] for place in range(start, end)]
    for place, pair, is_match in zip(range(start, end), pairs, matches.of(pairs), strict=True):
        if is_match and (len(pair) == 2 or end - start == 1):
            yield place, place + len(pair)
        elif pair[0] in matches.lone:
            yield place, place + 1
