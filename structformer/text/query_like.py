"""Which sentences read like what people type into a search box: short, whole, and understood without their page.

The imperative rule is for manuals in English, whose readers ask as their options are described ("remove unused
networks"). Whether a corpus is such a manual is decided by its own openings, see
structformer.retrieval.pseudo_queries."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from structformer.text.passages import query_like
from structformer.word_counts import word_count

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
_READABLE = 0.95  # share of characters that are letters or common punctuation
# In a script without spaces a limit in words is reached early: what English says in two words takes some four
# characters, which count as three (see word_counts), so a long question may be longer by half there.
_LONGER_UNSPACED = 1.5
_WRAPPED_LINE = 50  # characters; a line this long that ends without punctuation may go on in the next


def question_text(sentence: str) -> tuple[str, bool]:
    """(what of a sentence a person might ask, whether a name precedes it): a table row's longest cell, without a
    bullet, and without a name and a dash ("git-add - Add file contents").
    """
    text = _BULLET.sub("", query_like(sentence)).strip()
    found = _NAME_FIRST.fullmatch(text)
    return (found["rest"].strip(), True) if found else (text, False)


def stands_alone(text: str, fewest: int = FEWEST_WORDS, most: int = MOST_WORDS) -> bool:
    """Whether a text is of `fewest` to `most` words, most of them words, and points to nothing outside itself."""
    pieces = text.split()
    length = word_count(text)
    longest = most if length == len(pieces) else _LONGER_UNSPACED * most
    if not fewest <= length <= longest or not text[0].isalpha() or text.endswith((":", ",")) or "  " in text:
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    readable = sum(char.isalpha() or char in " ,.'’()-" for char in text)
    if _GOES_ON.match(text) or _REFERENCE.search(text, 1):
        return False
    return (
        (length != len(pieces) or len(words) >= max(fewest, 0.8 * length))  # of scripts without spaces one can't tell
        and readable >= _READABLE * len(text)
        and _POINTING.isdisjoint(words)
    )


def is_imperative(text: str) -> bool:
    """Whether an English text begins with a verb in its plain form: "Remove unused networks", not "Format of the
    output".
    """
    words = text.split(None, 2)
    return len(words) > 1 and words[0].lower() in _verbs() and words[1].lower() not in _AFTER_NOUNS


def is_sentence(text: str) -> bool:
    """Whether a text has the form of a sentence: a capital at its beginning and a stop at its end."""
    return not text[:1].islower() and text.endswith((".", "!", "?", "。", "！", "？"))


@cache
def _verbs() -> frozenset[str]:
    return frozenset(files("structformer").joinpath("text", "imperatives.txt").read_text(encoding="utf-8").split())


def is_fragment(sentence: str, line: str, before: str, after: str) -> bool:
    """Whether a sentence of a line is cut off by the line's end or begun in the line before, as in text that is wrapped
    by hand. before, after: the neighbouring lines.
    """
    begun = (
        line.startswith(sentence)
        and len(before) > _WRAPPED_LINE
        and before[-1] not in ".:;!?"
        and sentence[:1].islower()
    )
    cut = (
        line.endswith(sentence)
        and len(line) > _WRAPPED_LINE
        and sentence[-1:] not in tuple(".:;!?")
        and after[:1].islower()
    )
    return begun or cut


def plain(text: str) -> str:
    """The text in lower case with single spaces, by which equal questions are known."""
    return " ".join(text.lower().split())
