"""The rule of words for the index, queries, typing, highlights, filters and static encoder; the script of the search
without a server (static-search.js) has the same rule, and tests/text/words.json is run against both.

Texts are compared in Unicode's form NFKC with case folded, without what cannot be seen. A word is a run of letters and
digits with their marks; of scripts without spaces every pair of neighbours. Unlike in UAX 29 a full stop, an apostrophe
and an underscore part words, so that a name is found by its parts. Beside its words a text has other forms of them,
the parts of camelCase and words without accents, and names: what is more than one word by its signs, as a whole.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

from structformer.document import MARKS, UNSPACED

LONGEST = 255  # characters of a word or name that count
MOST_ASKED = 200_000  # characters of a query
_KEPT, _SHORT = 200_000, 40  # chunks of text whose words are known already, and their length
_MOST_PARTS = 8  # of a word: what has more is no name
_MOST_NAMES = 16  # of a chunk
_MOST_SIGNS = 64  # chunks of a query that are looked at for signs
# Default_Ignorable_Code_Point, as far as texts have them.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff"
)
# Letters that have no canonical decomposition, those that Persian's keyboards write for Arabic's, letters that sound as
# a stop, dead letters of Indic scripts, and the digits of other scripts.
PLAIN = {"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "ı": "i", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t"}
PLAIN |= {"ə": "e", "ɛ": "e", "ɔ": "o", "ŋ": "n", "ɓ": "b", "ɗ": "d", "ɖ": "d", "ƙ": "k", "ƴ": "y", "ґ": "г"}
PLAIN |= {"ک": "ك", "ی": "ي", "ى": "ي", "ٱ": "ا", "ة": "ه", "ۀ": "ه", "ہ": "ه"}
PLAIN |= dict.fromkeys("\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02bf", "")
PLAIN |= {"ৎ": "ত্", "ൺ": "ണ്", "ൻ": "ന്", "ർ": "ര്", "ൽ": "ല്", "ൾ": "ള്", "ൿ": "ക്"}
# Signs that people write as others do, or leave out: apostrophes that are letters, a cross, Catalan's middle dot.
SPELT = {"\u02bb": "'", "\u02bc": "'", "×": "x", "·": ""}
_ZEROS = (0x660, 0x6F0, 0x7C0, *range(0x966, 0xDE7, 0x80), 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0, 0x1810)
PLAIN |= {chr(zero + digit): str(digit) for zero in _ZEROS for digit in range(10)}
# Marks that many leave out: accents, vowels of Hebrew and Arabic, nukta.
LEFT_OUT = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u093c\u09bc"
# Nasals of Hindi for which a dot over the letter before is as good.
NASALS = "ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])|ँ"
DOT = "ं"
_PLAIN, _SPELT, _LEFT_OUT = str.maketrans(PLAIN), str.maketrans(SPELT), re.compile(f"[{LEFT_OUT}]")
_NASALS = re.compile(NASALS)
# Arabic's article, with prepositions and "and" before it, or "and" alone, as Lucene's light stemmer has it; Hebrew's.
ARTICLE = "^(?:[وف]?[بك]?ال|[وف]?لل)(?=..)|^و(?=...)|^ה(?=...)"
_ARTICLE = re.compile(ARTICLE)
# For the site's script.
FOLDING = {"plain": PLAIN, "left": LEFT_OUT, "spelt": SPELT, "nasals": NASALS, "dot": DOT, "article": ARTICLE}
_UNSEEN = re.compile(f"[{IGNORABLE}]")
_DASHES = re.compile("[\u2010-\u2013\u2212]")  # for which people type the hyphen
_WORD = re.compile(f"[^\\W_][^\\W_]*(?:[{MARKS}]+[^\\W_]*)*")
_ASCII_WORD = re.compile("[a-z0-9]+")
_ASCII_LETTERS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
_PLAIN_CHUNK = re.compile("[(\"']*([A-Za-z][a-z]*)[)\"']*[.,;]?[)\"']*")  # one word with what is around it in prose
# As it is written, with what cannot be seen.
WRITTEN = re.compile(f"[^\\W_]+(?:[{MARKS}{IGNORABLE}]+[^\\W_]*)*")
RUN = re.compile(f"[{UNSPACED}]+")
_CAMEL = re.compile("[a-z][A-Z]|[0-9][A-Z][a-z]|[A-Z]{2}[a-z]{2}|^[A-Za-z]+[0-9]+$")
_MAY_BE_CAMEL = re.compile("[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[^\\x00-\\x7f]")
_PART = re.compile("[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# A name's signs before it, between its words and after it; signs alone.
_NAME = "[-.@$#%~/:^+&!\\\\]{{0,3}}{letters}(?:(?:->|[-.:/@+#~=\\\\&%$]{{1,3}}){letters})*(?:\\+\\+?|#)?"
_ASCII_NAME = re.compile(_NAME.format(letters="[a-z0-9_]+"))
_ANY_NAME = re.compile(_NAME.format(letters=f"(?:[^\\W{UNSPACED}]+[{MARKS}]*)+"))
_VERSION = re.compile("v([0-9]+[.].+)")  # people leave the letter out, or put it in
_BEFORE = "-.@$#%~/:^+&!\\"
_BETWEEN_PIECES = [re.compile(signs) for signs in ("[=&]", ":?\\\\+", ":?/+", "[:@]+", "\\.+")]
_IN_PIECES = re.compile("[=&\\\\/:@.]")
_SIGNS = re.compile("[!#$%&*+\\-/:<=>?@\\\\^|~]+")
_ONLY_BETWEEN = frozenset(("-", "--", "/", "//", ":", "://", "@", "#", "?", "!", "=", "&", "%", "+", "$"))
_OPERATOR = re.compile('(?<!\\S)(-?)["“„«]([^"“”„«»]+)["“”»](?![\\w)\\]};])|(?<!\\S)-([^\\W\\d_]\\S*)')
_SYMBOLS = frozenset(("So", "Sm", "Sc"))
_Found = TypeVar("_Found")


def normal(text: str) -> str:
    """Return the form in which texts are compared: NFKC, case folded, without what cannot be seen."""
    if text.isascii():
        return text.lower()
    lower = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold()
    return _DASHES.sub("-", unicodedata.normalize("NFKC", lower))


def folded(word: str) -> str:
    """Return a word, in normal form, without accents and other marks that many leave out."""
    if word.isascii():
        return word
    plain = _LEFT_OUT.sub("", unicodedata.normalize("NFD", word.translate(_PLAIN)))
    return _NASALS.sub(DOT, unicodedata.normalize("NFC", plain))


def written_words(text: str) -> list[str]:
    """Return the words in normal form, runs of scripts without spaces as one."""
    if text.isascii():
        return [word[:LONGEST] for word in _ASCII_WORD.findall(text.lower())]
    return [word if RUN.search(word) else word[:LONGEST] for word in _WORD.findall(normal(text))]


def spaced(text: str) -> str:
    """Return a text's words and their other forms, with blanks between them; what cuts at blanks gives its terms."""
    return cut_text(text).spaced


def bare_words(text: str) -> str:
    """Return a text's words alone, one after another."""
    return cut_text(text).words


def names_of(text: str) -> str:
    """Return a text's names, whole and in pieces that are names, and its signs."""
    return cut_text(text).names


def signs_in(query: str) -> list[str]:
    """Return the signs of a query apart from words: `>>=`, an emoji; not a sign between words."""
    chunks = query[:MOST_ASKED].split()
    signs = [chunk for chunk in chunks[:_MOST_SIGNS] if not any(map(str.isalnum, chunk))]
    return [chunk for chunk in signs if len(chunks) == 1 or len(chunk) > 1 or unicodedata.category(chunk) == "So"]


class Asked(NamedTuple):
    """A query's parts."""

    text: str
    """Words to search for: the query without its quotation marks and the unwanted words."""
    phrases: tuple[str, ...] = ()
    """The phrases in quotes."""
    without: tuple[str, ...] = ()
    """The words with a minus before them."""
    is_quoted: bool = False
    """Whether the query is nothing but phrases."""


def asked(query: str) -> Asked:
    """Return a query with its `"phrases in quotes"` and `-words`; words alone where nothing else would be asked for."""
    query = query[:MOST_ASKED]
    phrases: list[str] = []
    without: list[str] = []
    for minus, phrase, word in _OPERATOR.findall(query):
        (without if minus or word else phrases).append(word or phrase)
    text = _OPERATOR.sub(lambda found: "" if found[1] or found[3] else f" {found[2]} ", query)
    if not spaced(text) and not names_of(text):
        return Asked(query)
    wanted, unwanted = (
        tuple(dict.fromkeys(part for part in parts if spaced(part)))[:_MOST_PARTS] for parts in (phrases, without)
    )
    is_quoted = bool(phrases) and not bare_words(_OPERATOR.sub("", query))
    return Asked(text.strip(), wanted, unwanted, is_quoted)


class CutText(NamedTuple):
    """A text as it is found: each field's words have blanks between them."""

    words: str
    """Its words, one after another."""
    forms: str
    """Other forms of them: parts of camelCase, words without accents or an article."""
    names: str
    """Its names, whole and in pieces that are names, and its signs."""

    @property
    def spaced(self) -> str:
        """The words, then their other forms."""
        return f"{self.words} {self.forms}" if self.forms else self.words


@lru_cache(2)  # a query is cut for several fields, one after another
def cut_text(text: str) -> CutText:
    """Return a text's words, their other forms and its names."""
    chunks = text.split()
    others = list(filter(None, map(_known_others.__getitem__, chunks)))
    if text.isascii() and max(map(len, chunks), default=0) <= LONGEST:
        words = " ".join(text.lower().encode().translate(_ASCII_LETTERS).decode().split())
    else:
        words = _joined(map(_known_words.__getitem__, chunks))
    return CutText(words, _joined(forms for forms, _ in others), _joined(names for _, names in others))


def cut_together(texts: Iterable[CutText]) -> CutText:
    """Return one cut text of these, one after another."""
    return CutText(*map(_joined, zip(*texts, strict=True)))


def _joined(parts: Iterable[str]) -> str:
    return " ".join(filter(None, parts))


class _Known(dict[str, _Found]):
    """Results of `find` for chunks of text without blanks; of the short ones it remembers the latest."""

    def __init__(self, find: Callable[[str], _Found]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, chunk: str) -> _Found:
        words = self._find(chunk)
        if len(chunk) <= _SHORT:
            if len(self) >= _KEPT:
                self.clear()
            self[chunk] = words
        return words


def _words_in(chunk: str) -> str:
    return " ".join(pair for word in written_words(chunk) for pair in _with_pairs(word))


def _others_in(chunk: str) -> tuple[str, str] | None:
    """Return other forms of a chunk's words, and its names; None where there are neither, as with most."""
    if _PLAIN_CHUNK.fullmatch(chunk):
        return None
    forms = [word.lower() for word in _camel_parts(chunk)] if _MAY_BE_CAMEL.search(chunk) else []
    whole = normal(chunk)
    if not chunk.isascii():
        words = _words_in(chunk).split()
        plain = list(map(folded, words))
        forms += [form for form, word in zip(plain, words, strict=True) if form and form != word]
        forms += [noun for form in plain if (noun := _ARTICLE.sub("", form)) != form]
        if (spelt := whole.translate(_SPELT)) != whole:
            forms += [folded(word) for word in _words_in(spelt).split() if word not in words]
    its_names = list(dict.fromkeys(_names(whole)))[:_MOST_NAMES]
    return (" ".join(forms), " ".join(its_names)) if forms or its_names else None


_known_words, _known_others = _Known(_words_in), _Known(_others_in)


def _with_pairs(word: str) -> Iterator[str]:
    """Yield a word, runs of a script without spaces as pairs of neighbours."""
    if word.isascii() or RUN.search(word) is None:
        yield word
        return
    place = 0
    for run in RUN.finditer(word):
        if run.start() > place:
            yield word[place : run.start()][:LONGEST]
        characters = run.group()
        yield from (characters[at : at + 2] for at in range(max(1, len(characters) - 1)))
        place = run.end()
    if place < len(word):
        yield word[place:][:LONGEST]


def _camel_parts(chunk: str) -> Iterator[str]:
    text = chunk if chunk.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", chunk))
    for word in WRITTEN.findall(text):
        if len(word) > 2 and word.isascii() and _CAMEL.search(word):
            parts = _PART.findall(word)
            if 1 < len(parts) <= _MOST_PARTS:
                yield from (part for part in parts if len(part) > 1)


def _names(chunk: str) -> Iterator[str]:
    for found in (_ASCII_NAME if chunk.isascii() else _ANY_NAME).finditer(chunk):
        if not _is_word(found[0]):
            yield from _pieces(found[0])
    signs = [found[0] for found in _SIGNS.finditer(chunk)]
    yield from (each for each in signs if each == chunk or each not in _ONLY_BETWEEN)
    if not chunk[:1].isalnum() and all(unicodedata.category(character)[0] in "PS" for character in chunk):
        yield chunk[:LONGEST]
    if not chunk.isascii():
        yield from (character for character in chunk if unicodedata.category(character) in _SYMBOLS)


def _pieces(name: str) -> Iterator[str]:
    """Yield a name, without the signs before it, and what it has between signs, as far as these are names."""
    pieces = level = [name, name.lstrip(_BEFORE)]
    if version := _VERSION.fullmatch(level[1]):
        pieces = [*level, version[1]]
    if _IN_PIECES.search(name):
        for signs in _BETWEEN_PIECES:
            level = [part for piece in level for part in signs.split(piece)]
            pieces = pieces + level
    yield from (piece[:LONGEST] for piece in dict.fromkeys(pieces) if _WORD.search(piece) and not _is_word(piece))


def _is_word(text: str) -> bool:
    return text.isalnum() if text.isascii() else _WORD.fullmatch(text) is not None
