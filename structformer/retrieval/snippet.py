"""The part of a passage that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from structformer.lengths import SPACELESS, pieces_of

_WORDS = 40
_UNSPACED = re.compile(f"[{SPACELESS}]")
# Python's \\w leaves out the marks that stand on letters, which in Indic scripts are half of a word.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0dff"
_PART = re.compile(f"[{SPACELESS}]+|(?:[^\\W{SPACELESS}]|[{_MARKS}])+")


def snippet(
    text: str, terms: Sequence[str], words_of: Callable[[str], Collection[str]]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """About 40 words of a text with most of the query's terms, and the [start, end) of every matching word in them.

    terms: the query's terms; words_of gives a text's terms as the lexical index has them.
    """
    words = pieces_of(text)
    wanted = set(terms)
    # A pair of characters that is a term begins at the first of them.
    if text.isascii():
        matches = [not wanted.isdisjoint(words_of(text[start:end])) for start, end in words]
    else:
        matches = [not wanted.isdisjoint(words_of(_with_next(text, words, number))) for number in range(len(words))]
    place = 0
    if len(words) > _WORDS:
        here = most = sum(matches[:_WORDS])
        for position in range(1, len(words) - _WORDS + 1):
            here += matches[position + _WORDS - 1] - matches[position - 1]
            if here > most:
                most, place = here, position
    shown = " ".join(text[words[place][0] : words[min(len(words), place + _WORDS) - 1][1]].split()) if words else ""
    shown = ("… " if place else "") + shown + (" …" if place + _WORDS < len(words) else "")
    return shown, tuple(_matching(shown, wanted, words_of))


def _with_next(text: str, words: Sequence[tuple[int, int]], number: int) -> str:
    """A word; a character of a script without spaces with the one that follows it at once."""
    start, end = words[number]
    if end - start <= 4 and number + 1 < len(words) and words[number + 1][0] == end:
        return text[start : words[number + 1][1]]
    return text[start:end]


def _matching(shown: str, wanted: set[str], words_of: Callable[[str], Collection[str]]) -> Iterator[tuple[int, int]]:
    """The [start, end) of every matching word, of overlapping pairs of characters as one."""
    found: list[tuple[int, int]] = []
    for part in _PART.finditer(shown):
        start, end = part.span()
        places = [(start, end)] if not _UNSPACED.match(part[0]) else [(at, at + 2) for at in range(start, end - 1)]
        for first, last in places or [(start, end)]:
            if wanted.isdisjoint(words_of(shown[first:last])):
                continue
            if found and found[-1][1] >= first:
                first = found.pop()[0]
            found.append((first, last))
    yield from found
