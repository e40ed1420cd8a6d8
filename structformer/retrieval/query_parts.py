"""The parts of a query: phrases in quotes and words with a minus, where they look meant.

Pasted lines quote names of their own (`no reader for the id "json"`), and hold options (`-deep`), which hide the page
that explains the line. So one quoted word binds only where the query is nothing else, several words only if they
follow each other in the corpus, and a minus only before a plain word among plain words."""

import re
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.document_filter import Allowed, Mask
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.text.words import Asked, asked

_PLAIN = re.compile(r"[^\W\d_]{3,}[?.!,]?")  # a word without signs and digits, of three letters or more
_MOST_PLAIN = 8  # words of a query in which a minus is meant


class Searched(Protocol):
    """An opened index, as far as queries are looked up in it."""

    units: Units
    documents: IndexedDocuments
    lexical: LexicalIndex
    owners: npt.NDArray[np.int64]

    def units_of(self, document: int) -> tuple[int, int]: ...


class Parts(NamedTuple):
    """Parts of a query."""

    text: str
    units: Mask | None = None
    """(units,) whether each may be found; None without a phrase that binds or a word that is not wanted."""
    absent: tuple[str, ...] = ()
    """The phrases that no unit has."""


def parts_of(opened: Searched, query: str, documents: Allowed | None) -> Parts:
    """Return the query's text, and the units that have its phrases, of documents without what is not wanted."""
    parts = asked(query)
    if not parts.phrases and not parts.without:
        return Parts(parts.text)
    without = {word: holding(opened, word, documents) for word in parts.without}
    if without and not _is_meant(opened, parts, without, documents):
        return Parts(query)
    holders = {phrase: holding(opened, phrase, documents) for phrase in parts.phrases}
    binding = [phrase for phrase in holders if parts.is_quoted or len(phrase.split()) > 1]
    absent = tuple(phrase for phrase in binding if not holders[phrase].any())
    bound = [holders[phrase] for phrase in binding if phrase not in absent]
    if parts.is_quoted and absent:
        bound = []
    units = np.logical_and.reduce(bound) if bound else np.ones(len(opened.units), bool)
    if not units.any():  # each phrase is on another page
        units, bound = ~units, []
    for excluded in without.values():
        units &= ~np.isin(opened.owners, opened.owners[excluded])
    if not bound and not without:
        return Parts(parts.text, None, absent)
    return Parts(parts.text, units if documents is None else units & documents.units, absent)


def _is_meant(opened: Searched, parts: Asked, without: dict[str, Mask], documents: Allowed | None) -> bool:
    """Whether a minus excludes: not if the corpus has `-name` itself, or in pasted lines of signs and options."""
    if any(" " not in word and holding(opened, f"-{word}", documents).any() for word in without):
        return False
    chunks = [chunk for phrase in parts.phrases for chunk in phrase.split()]
    plain = [chunk for chunk in parts.text.split() if chunk not in chunks]
    if len(plain) > _MOST_PLAIN or not all(_PLAIN.fullmatch(chunk) or chunk.isalnum() for chunk in plain):
        return False
    return all((" " in word or _PLAIN.fullmatch(word)) and mask.any() for word, mask in without.items())


def holding(opened: Searched, text: str, documents: Allowed | None) -> Mask:
    """Return (units,) whether each may be found and has a text as it is written."""
    mask = np.zeros(len(opened.units), bool)
    mask[opened.lexical.holding(text, lambda unit: opened.units[unit].whole)] = True
    return mask if documents is None else mask & documents.units
