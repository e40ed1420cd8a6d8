"""The part of a passage that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_WORDS = 40
_WORD = re.compile(r"\S+")
_PART = re.compile(r"\w+")


def snippet(
    text: str, terms: Sequence[str], words_of: Callable[[str], list[str]]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """About 40 words of a text with most of the query's terms, and the [start, end) of every matching word in them.

    terms: the query's terms; words_of gives a text's terms as the lexical index has them.
    """
    words = _WORD.findall(text)
    wanted = set(terms)
    matches = [bool(wanted.intersection(words_of(word))) for word in words]
    place = 0
    if len(words) > _WORDS:
        here = most = sum(matches[:_WORDS])
        for position in range(1, len(words) - _WORDS + 1):
            here += matches[position + _WORDS - 1] - matches[position - 1]
            if here > most:
                most, place = here, position
    shown = " ".join(words[place : place + _WORDS])
    shown = ("… " if place else "") + shown + (" …" if place + _WORDS < len(words) else "")
    spans = tuple(found.span() for found in _PART.finditer(shown) if wanted.intersection(words_of(found.group())))
    return shown, spans
