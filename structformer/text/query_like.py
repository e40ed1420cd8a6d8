"""Which sentences read like what people type into a search box: short, whole, and understood without their page.

The imperative rule is for manuals in English, whose readers ask as their options are described ("remove unused
networks"). Whether a corpus is such a manual, and what instructions begin with in other languages, is decided by its
own openings, see structformer.retrieval.questions.pseudo_queries."""

import re
import unicodedata
from functools import cache
from importlib.resources import files

from structformer.document import ALPHABETS, SPACELESS, word_count
from structformer.text.passages import CLOSING, STOPS, as_typed

FEWEST_WORDS, MOST_WORDS = 4, 16
# Words that point to what is elsewhere on the page.
_POINTING = frozenset(
    "this these those it its they them he him she his her such see also if note however therefore thus which who whose "
    "here there above below following previous same other another then otherwise i we us our let's let’s".split()
)
# A sentence that begins so goes on from the one before.
_GOES_ON = re.compile(
    r"(?:for (?:example|instance)|in (?:particular|fact|general|addition)|hence|moreover|furthermore|similarly|"
    r"conversely|consequently|indeed|namely|finally|next|again|by|let|suppose|assume|consider|clearly|clear from)\b",
    re.IGNORECASE,
)
# "Lemma", "Section 3", the hole that a reference left ("by Lemma ."), and formulas.
_REFERENCE = re.compile(
    r"\b(?:Lemmas?|Theorems?|Propositions?|Corollary|Definitions?|Remarks?|Sections?|Chapters?|Figures?|Tables?|"
    r"Equations?|Appendix)\b|\s[.,;]|[$\\]"
)
# After a word that is verb and noun alike, these tell that it is the noun: "format of", "default is".
_AFTER_NOUNS = frozenset("of is are was were has have will can may must should for".split())
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_BULLET = re.compile(r"^[\s*•·\-–—]+")
_NAME_FIRST = re.compile(r"\S+(?:,? \S+){0,2}\s+[-–—]+\s+(?P<rest>.*)")
# The same in French, German, Spanish, Portuguese and Italian: only words that mean nothing else in another of them.
_POINTING_ELSEWHERE = frozenset(
    "ce cet cette ces ceci celui celle ceux celles voir dies diese dieser dieses diesem diesen siehe esta estos estas "
    "esto véase isto isso essa esse questa questo questi queste vedi vedere".split()
)
# A sentence that begins so in a script without spaces points too: Chinese, Japanese, Korean.
_POINTS = re.compile(
    r"[此该該这這它]|其(?![他它餘余中])|本(?:文|页|頁|节|節|命令|章|手册|手冊)|[上下](?:述|列|面)|参[见看閱阅]|"
    r"この|その|これ|それ|ここ|そこ|こちら|上記|下記|以下|次の|(?:이|그|저)\s|(?:이|그)것|위의|아래"
)
_READABLE = 0.95  # share of characters that are letters or common punctuation
_COMMON = frozenset(" ,.'’()-¿¡、，。！？：；「」『』（）・।॥؟،؛۔።։")
_UNFINISHED = (":", ",", "：", "，", "、", "،")
_OPENING_MARKS = "¿¡「『（"
_SPACELESS = re.compile(f"[{SPACELESS}]")
# A sentence of Thai, Lao, Burmese or Khmer has no stop.
_NO_STOPS = re.compile(f"[{ALPHABETS}]$")
# In a script without spaces a limit in words is reached early: what English says in two words takes some four
# characters, which count as three (see word_counts), so a long question may be longer by half there.
_LONGER_UNSPACED = 1.5
_WRAPPED_LINE = 50  # characters; a line this long that ends without punctuation may go on in the next


def question_text(sentence: str) -> tuple[str, bool]:
    """(what a person might ask, whether a name precedes it): no bullet, no name and dash; a row's longest cell."""
    text = _BULLET.sub("", as_typed(sentence)).strip()
    found = _NAME_FIRST.fullmatch(text)
    return (found["rest"].strip(), True) if found else (text, False)


def stands_alone(text: str, fewest: int = FEWEST_WORDS, most: int = MOST_WORDS) -> bool:
    """Whether a text is of `fewest` to `most` words, most of them words, and points to nothing outside itself."""
    pieces = text.split()
    length = word_count(text)
    longest = most if length == len(pieces) else _LONGER_UNSPACED * most
    if not fewest <= length <= longest or text.endswith(_UNFINISHED) or "  " in text:
        return False
    begun = text.lstrip(_OPENING_MARKS)
    if not begun[:1].isalpha() or _POINTS.match(begun) or _GOES_ON.match(begun) or _REFERENCE.search(text, 1):
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    readable = sum(  # letters, the marks that many scripts write vowels with, and common punctuation
        char.isalpha() or char in _COMMON or (char > "\u02ff" and unicodedata.category(char)[0] == "M") for char in text
    )
    return (
        (length != len(pieces) or len(words) >= max(fewest, 0.8 * length))  # of scripts without spaces one can't tell
        and readable >= _READABLE * len(text)
        and _POINTING.isdisjoint(words)
        and _POINTING_ELSEWHERE.isdisjoint(words)
    )


def is_imperative(text: str) -> bool:
    """Whether an English text begins with a plain verb: "Remove unused networks", not "Format of the output"."""
    words = text.split(None, 2)
    return len(words) > 1 and words[0].lower() in _verbs() and words[1].lower() not in _AFTER_NOUNS


def first_word(text: str) -> str:
    """Return a text's first word in lower case, or two characters of a script without spaces."""
    begun = text.lstrip(_OPENING_MARKS)
    return begun[:2] if _SPACELESS.match(begun) else begun.split(None, 1)[0].lower() if begun else ""


def is_sentence(text: str) -> bool:
    """Whether a text has a sentence's form: a capital first and a stop last, in scripts that have them."""
    if text.lstrip(_OPENING_MARKS)[:1].islower():
        return False
    return text.rstrip(CLOSING).endswith(STOPS) or _NO_STOPS.search(text) is not None


@cache
def _verbs() -> frozenset[str]:
    return frozenset(files("structformer").joinpath("text", "imperatives.txt").read_text(encoding="utf-8").split())


def is_fragment(sentence: str, line: str, before: str, after: str) -> bool:
    """Whether a sentence is cut off by its line's end or begun before, as in wrapped text. before, after: lines."""
    goes_on = line.startswith(sentence) and len(before) > _WRAPPED_LINE and before[-1] not in ".:;!?"
    ends = line.endswith(sentence) and len(line) > _WRAPPED_LINE and sentence[-1:] not in tuple(".:;!?")
    return (goes_on and sentence[:1].islower()) or (ends and after[:1].islower())


def plain(text: str) -> str:
    """Return the text in lower case with single spaces, by which equal questions are known."""
    return " ".join(text.lower().split())
