"""How long a text is in words, whatever its script: Chinese, Japanese, Thai, Lao, Khmer and Burmese put no spaces
between theirs.

All limits in words (passages, queries, the least that a section must say) are counted here, so that a page in any
script is cut into passages that fit a ranker's window and gives its share of Examples."""

from __future__ import annotations

import re

# Kana, Han; what a character of these counts as: a subword model reads most of them one by one, and reads about four
# tokens for three words of English.
_CHARACTERS = "\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
_CHARACTER = 0.75
# Thai, Lao, Burmese, Khmer: alphabets, in which a word is some four or five letters.
ALPHABETS = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17d3"
_LETTER = 0.25
SPACELESS = f"{_CHARACTERS}{ALPHABETS}"
UNSPACED = f"{SPACELESS}\uac00-\ud7a3"  # with Hangul, in which endings grow on to words
# Python's \\w leaves out combining marks, which in Indic scripts are half of a word; the last ones are
# of scripts without spaces.
MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0dff"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064"
    "\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u3099\u309a"
)
_SPACELESS = re.compile(f"[{SPACELESS}]+")
_HAN_OR_KANA = re.compile(f"[{_CHARACTERS}]")
_PIECE = re.compile(f"[{_CHARACTERS}]|[{ALPHABETS}]{{1,4}}|[^\\s{SPACELESS}]+")


def word_count(text: str) -> int:
    """The number of words: what white space parts, and of scripts without it as many as the characters make up."""
    if text.isascii():
        return len(text.split())
    characters = letters = 0
    for run in _SPACELESS.findall(text):
        wide = len(_HAN_OR_KANA.findall(run))
        characters += wide
        letters += len(run) - wide
    if not characters and not letters:
        return len(text.split())
    others = len(_SPACELESS.sub(" ", text).split())
    return others + max(1, round(_CHARACTER * characters + _LETTER * letters))


def has_words(text: str, fewest: int) -> bool:
    """Whether a text has at least so many words, without counting them all where it need not."""
    if text.isascii() or _SPACELESS.search(text) is None:
        return len(text.split(None, fewest)) >= fewest
    return word_count(text) >= fewest


def cut_words(text: str, most: int) -> list[str]:
    """The text in pieces of at most about `most` words, white space as single blanks."""
    if text.isascii() or _SPACELESS.search(text) is None:
        words = text.split()
        return [" ".join(words[start : start + most]) for start in range(0, len(words), most)]
    pieces: list[str] = []
    begun: int | None = None
    end = 0
    length = 0.0
    for found in _PIECE.finditer(text):
        size = _CHARACTER if _HAN_OR_KANA.match(found[0]) else 1.0
        if begun is not None and length + size > most:
            pieces.append(" ".join(text[begun:end].split()))
            begun, length = None, 0.0
        if begun is None:
            begun = found.start()
        end = found.end()
        length += size
    if begun is not None:
        pieces.append(" ".join(text[begun:end].split()))
    return pieces


def first_words(text: str, most: int) -> str:
    """The beginning of a text, of at most about `most` words, white space as single blanks."""
    if text.isascii() or _SPACELESS.search(text) is None:
        return " ".join(text.split(None, most)[:most])
    pieces = cut_words(text, most)
    return pieces[0] if pieces else ""


def pieces_of(text: str) -> list[tuple[int, int]]:
    """The [start, end) of every word, and in scripts without spaces of every character or few letters."""
    return [found.span() for found in _PIECE.finditer(text)]
