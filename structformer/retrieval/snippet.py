"""The part of a passage that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from structformer.word_counts import MARKS, SPACELESS, pieces_of

_WORDS = 40
_UNSPACED = re.compile(f"[{SPACELESS}]")
_PART = re.compile(f"[{SPACELESS}]+|(?:[^\\W{SPACELESS}]|[{MARKS}])+")


class Matches(dict[str, bool]):
    """Whether words are matches of a query: looked up once each, since a page of results passes thousands of them.

    terms: the query's; words_of gives a text's terms as the lexical index has them."""

    def __init__(self, terms: Iterable[str], words_of: Callable[[str], Collection[str]]) -> None:
        super().__init__()
        self._wanted = set(terms)
        self._words_of = words_of

    def __missing__(self, word: str) -> bool:
        found = self[word] = not self._wanted.isdisjoint(self._words_of(word))
        return found


def snippet(text: str, matches: Matches) -> tuple[str, tuple[tuple[int, int], ...]]:
    """About 40 words of a text with most of the query's terms, and the [start, end) of every matching word in them."""
    if text.isascii():
        words = text.split()
        flags = [matches[word] for word in words]
        place = _place(flags)
        shown = " ".join(words[place : place + _WORDS])
    else:
        spans = pieces_of(text)
        words = [text[start:end] for start, end in spans]
        # A pair of characters that is a term begins at the first of them.
        flags = [matches[_with_next(text, spans, number)] for number in range(len(spans))]
        place = _place(flags)
        last = min(len(spans), place + _WORDS) - 1
        shown = " ".join(text[spans[place][0] : spans[last][1]].split()) if spans else ""
    shown = ("… " if place else "") + shown + (" …" if place + _WORDS < len(words) else "")
    return shown, tuple(_matching(shown, matches)) if any(flags) else ()


def _place(matches: Sequence[bool]) -> int:
    """Where the words begin that hold most matches."""
    if len(matches) <= _WORDS:
        return 0
    place, here = 0, sum(matches[:_WORDS])
    most = here
    for position in range(1, len(matches) - _WORDS + 1):
        here += matches[position + _WORDS - 1] - matches[position - 1]
        if here > most:
            most, place = here, position
    return place


def _with_next(text: str, words: Sequence[tuple[int, int]], number: int) -> str:
    """A word; a character of a script without spaces with the one that follows it at once."""
    start, end = words[number]
    if end - start <= 4 and number + 1 < len(words) and words[number + 1][0] == end:
        return text[start : words[number + 1][1]]
    return text[start:end]


def _matching(shown: str, matches: Matches) -> Iterator[tuple[int, int]]:
    """The [start, end) of every matching word, of overlapping pairs of characters as one."""
    found: list[tuple[int, int]] = []
    for part in _PART.finditer(shown):
        start, end = part.span()
        places = [(start, end)] if not _UNSPACED.match(part[0]) else [(at, at + 2) for at in range(start, end - 1)]
        for first, last in places or [(start, end)]:
            if not matches[shown[first:last]]:
                continue
            if found and found[-1][1] >= first:
                first = found.pop()[0]
            found.append((first, last))
    yield from found
