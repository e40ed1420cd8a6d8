"""Telling prose from code, for files whose names say nothing."""

from __future__ import annotations

import re

from structformer.document import word_count

_NO_PROSE = re.compile(r"\s*(?:#(?!#{0,5} )|//|--|/\*|;|%|@|\$|\.\.?/|[\w.-]+\s*[:=]\s)")
_HEADING = re.compile(r"\s*#{1,6} ")
_SENTENCE = re.compile(r"[\W_]*[A-Z\u00C0-\U0010FFFF].*[.!?:;。！？…][\W_]*\Z", re.DOTALL)
_FEWEST_WORDS, _MANY_WORDS = 3, 8
_LETTERS = 0.75  # share of a line's characters that are letters or spaces


def has_prose(text: str) -> bool:
    """Whether any line reads like a sentence: words, mostly letters, begun with a capital and ended with a stop, or
    long; and is neither a comment nor a setting.
    """
    return any(_is_prose(line) for line in text.split("\n"))


def _is_prose(line: str) -> bool:
    line = line.strip()
    if len(line) < 8 or _NO_PROSE.match(line) or _HEADING.match(line):
        return False
    letters = sum(char.isalpha() or char.isspace() for char in line)
    if letters < _LETTERS * len(line):
        return False
    words = word_count(line)
    return words >= _MANY_WORDS or (words >= _FEWEST_WORDS and _SENTENCE.match(line) is not None)
