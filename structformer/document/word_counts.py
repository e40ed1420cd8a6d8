"""How long a text is in words, whatever its script: Chinese, Japanese, Thai, Lao, Khmer and Burmese put no spaces
between theirs.

All limits in words (passages, queries, the least that a section must say) are counted here, so that a page in any
script is cut into passages that fit a ranker's window and gives its share of Examples."""

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
# Python's \\w leaves out combining marks, which are half of a word in Indic scripts: here with letters between.
MARKS = (
    "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u07fd\u0816-\u082d\u0859-\u085b"
    "\u0898-\u08e1\u08e3-\u0963\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63"
    "\u0c81-\u0c83\u0cbc-\u0d4d\u0d57-\u0d63\u0d81-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u0f18-\u0f19\u0f35"
    "\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6\u102b-\u103e\u1056-\u109d\u135d-\u135f\u1712-\u1734\u1752-\u1773"
    "\u17b6-\u17d3\u17dd\u1885-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37"
    "\u1cd0-\u1cd2\u1cd4-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f-\u2dff\u302a-\u302f\u3099-\u309a\ua66f-\ua672"
    "\ua674-\ua67d\ua69e-\ua6f1\ua802-\ua827\ua82c\ua880-\ua8c5\ua8e0-\ua8f1\ua8ff-\ua92d\ua947-\ua953\ua980-\ua9c0"
    "\ua9e5-\uaa4d\uaa7b-\uaac1\uaaeb-\uaaef\uaaf5-\uaaf6\uabe3-\uabea\uabec-\uabed\ufb1e\ufe20-\ufe2f"
    # of living scripts outside of the first 65,536
    "\U00010d24-\U00010d27\U00011100-\U00011134\U00011145-\U00011146\U00011435-\U00011446\U000114b0-\U000114c3"
    "\U00011d31-\U00011d45\U00011d8a-\U00011d97\U00016b30-\U00016b36\U00016f4f-\U00016f92\U0001e130-\U0001e136"
    "\U0001e2ae\U0001e2ec-\U0001e2ef\U0001e944-\U0001e94a"
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
    """Return the text in pieces of at most about `most` words, white space as single blanks."""
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
    """Return the beginning of a text, of at most about `most` words, white space as single blanks."""
    if text.isascii() or _SPACELESS.search(text) is None:
        return " ".join(text.split(None, most)[:most])
    pieces = cut_words(text, most)
    return pieces[0] if pieces else ""


def pieces_of(text: str) -> list[tuple[int, int]]:
    """Return the [start, end) of every word, and in scripts without spaces of every character or few letters."""
    return [found.span() for found in _PIECE.finditer(text)]
