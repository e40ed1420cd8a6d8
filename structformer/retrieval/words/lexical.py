"""The lexical first stage: BM25 in embedded tantivy indexes, one of the units and one of whole documents."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.documents.document_filter import Names as LinkNames
from structformer.retrieval.documents.page_places import page_places
from structformer.retrieval.documents.units import IndexedDocument, Unit
from structformer.retrieval.rankings.ranking import in_order
from structformer.retrieval.words.coverage import Coverage
from structformer.retrieval.words.names import Names
from structformer.retrieval.words.rows import DOCUMENT_FIELDS, EXACT, FIELDS, INCOMING, NAMES, Begun, Rows, RowWriter
from structformer.text.bm25 import idf
from structformer.text.lexical_analysis import lone_characters, query_terms, weighed_terms
from structformer.text.words import RUN, CutText, bare_words, cut_text, cut_together, spaced, written_words

__all__ = ["DOCUMENT_FIELDS", "FIELDS", "Begun", "LexicalIndex", "LexicalWriter", "document_text"]
_OWN = {field: weight for field, weight in FIELDS.items() if field != INCOMING}
_CALLED = 1000  # units that are looked at for what others call them
_KEPT_WORDS = 20_000
_UNITS, _DOCUMENTS = "units", "documents"


class LexicalWriter:
    """Writes the lexical index of units and documents. languages: the corpus's, see corpus_languages.py."""

    def __init__(self, folder: Path, languages: Sequence[str]) -> None:
        self._units = RowWriter(folder / _UNITS, FIELDS, languages)
        self._documents = RowWriter(folder / _DOCUMENTS, DOCUMENT_FIELDS, languages)

    def add(self, document: IndexedDocument, units: Sequence[Unit], language: str) -> None:
        """Index the next document with its units. language: its own, which counts where the corpus has several."""
        number, whole = self._documents.count, [cut_text(document.title)]
        for unit in units:
            title, text = cut_text(unit.title), cut_text(unit.text)
            self._units.add(_unit_words(unit, title, text), number, language)
            whole += title, text
        document_text = cut_together(whole)
        places = page_places(document.id, str(document.values().get("url", "")))
        self._documents.add({"text": document_text.spaced, EXACT: document_text.words}, number, language, places)

    def close(self) -> None:
        """Commit both."""
        self._units.close()
        self._documents.close()


def _unit_words(unit: Unit, title: CutText, text: CutText) -> dict[str, str]:
    path = cut_text("\n".join(unit.path))
    both = cut_together((path if unit.path else title, text))  # the titles above are words of the passage
    return {
        "title": title.spaced,
        "path": path.spaced,
        "text": text.spaced,
        EXACT: both.words,
        NAMES: both.names,
        INCOMING: spaced(unit.incoming),
    }


def document_text(title: str, units: Sequence[Unit]) -> str:
    """Return a whole document as its lexical index has it."""
    return "\n".join([title, *(text for unit in units for text in (unit.title, unit.text))])


def _has(text: str, begun: Begun) -> bool:
    """Whether a text has a word as far as it is written."""
    if lone_characters(begun.word) == [begun.word]:
        return begun.word in text
    words = written_words(text)
    return any(word.startswith(begun.word) if begun.goes_on else word == begun.word for word in words)


class LexicalIndex:
    """Searches a lexical index."""

    def __init__(self, folder: Path, languages: Sequence[str]) -> None:
        self._units = Rows(folder / _UNITS, FIELDS, languages)
        self._documents = Rows(folder / _DOCUMENTS, DOCUMENT_FIELDS, languages)
        self.names = Names(self._units)
        self._coverage = Coverage(self._units, self.names)
        self._of_documents = Coverage(self._documents, self.names)
        # Snippets ask for the terms of every word that they pass, most of them again and again.
        self.word_terms: Callable[[str], frozenset[str]] = lru_cache(_KEPT_WORDS)(
            lambda word: frozenset(self.words(word))
        )

    def terms(self, query: str) -> list[str]:
        """Return the query's distinct terms in order, as many as count."""
        return query_terms(self._units.analyzer, query)

    def words(self, text: str) -> list[str]:
        """Return all terms of a text, in order."""
        words: list[str] = self._units.analyzer.analyze(spaced(text))
        return words

    def held(self, query: str, text: str) -> set[str]:
        """Return the terms of a text, with the characters that stand alone in a query where the text has them."""
        return {*self.words(text), *(character for character in lone_characters(query) if character in text)}

    def search(self, query: str, k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Up to k (unit number, score), best first; equal scores in unit order. documents: only units of these."""
        if not isinstance(documents, Allowed) or documents.names is None:
            return self._units.search(query, k, documents, beside=self.names.name(query))
        found = dict(self._units.search(query, k, documents, _OWN))
        called = self._called(query, documents, documents.names)
        if others := [unit for unit in called if unit not in found]:
            theirs = self._units.search(query, _CALLED, documents.owners_of(others), _OWN)
            found.update({unit: score for unit, score in theirs if unit in called})
        return in_order((unit, found.get(unit, 0.0) + called.get(unit, 0.0)) for unit in {**found, **called})[:k]

    def _called(self, query: str, documents: Allowed, names: LinkNames) -> dict[int, float]:
        """Return what link texts with a word of the query, as far as the asker may see them, add to units' scores."""
        units = [unit for unit, _ in self._units.search(query, _CALLED, documents, {INCOMING: FIELDS[INCOMING]})]
        named_units = zip(units, names(units), strict=True)
        return {unit: score for unit, text in named_units if (score := self._units.score(query, {INCOMING: text})) > 0}

    def holding(self, text: str, stored: Callable[[int], str]) -> list[int]:
        """The units that have a text as it is written, whatever its case and its marks of Unicode's. stored: the whole
        text of a unit, in which a phrase with small words is looked up: these have no places in the index.
        """
        rows = self.names.holding(text)
        if not self.names.has_small_words(text):
            return rows
        words = f" {bare_words(text)} "
        return [row for row in rows if words in f" {bare_words(stored(row))} "]

    def documents_at(self, places: Iterable[str]) -> list[int]:
        """Return the documents at the first of these paths, file names and addresses that has any."""
        return next(filter(None, map(self._documents.at_place, places)), [])

    def presence(self, query: str, units: Sequence[int]) -> npt.NDArray[np.float32]:
        """(units,) the share of a query's names and words, by idf, that a unit has as typed; 1 where it has all."""
        presence = self._coverage.presence(query, units)
        return np.array([presence.get(int(unit), 0.0) for unit in units], np.float32)

    def coverage(self, query: str, documents: Collection[int] | None = None, apart: Collection[int] = ()) -> float:
        """The greatest share of a query's words, by idf, without function words, that one of these documents has;
        apart: not these."""
        return self._of_documents.coverage(self.names.respelt(query), documents, apart)

    def share(self, query: str, unit: int, score: float) -> float | None:
        """Return a unit's score over the query's idf, 1 or more if it has all words; None in scripts without spaces."""
        return None if RUN.search(query) else self._coverage.share(self.names.respelt(query), unit, score)

    def called(
        self, query: str, owners: npt.NDArray[np.int64], documents: Collection[int], names: LinkNames | None = None
    ) -> dict[int, float]:
        """By document, of these: the idf sum of the query's words that others call it by in links. owners: (units,)
        each one's document; names: what of that the asker may see, if not all.
        """
        totals: dict[int, float] = {}
        count, rows = self._units.searcher.doc_freq, self._units.searcher.num_docs
        for term, weight in weighed_terms(self._units.analyzer, " ".join(self._units.telling(query))).items():
            calling = count(INCOMING, term)
            among = documents if calling > _CALLED else None
            asked = self._units.run(self._units.term(INCOMING, term), _CALLED, among) if calling else []
            units = [unit for unit, _ in asked if int(owners[unit]) in documents]
            worth = weight * idf(count("text", term), rows)
            if names is not None:
                units = [unit for unit, text in zip(units, names(units), strict=True) if term in self.words(text)]
            for document in set(owners[units].tolist()):
                totals[document] = totals.get(document, 0.0) + worth
        return totals

    def beginnings(
        self, words: Sequence[Begun], k: int, documents: Collection[int] | None = None, *, every: bool = True
    ) -> list[tuple[int, float]]:
        """Up to k (unit number, score) of units that hold every one of these words as far as they are written; with
        `every` false, one of them. documents: only units of these.
        """
        if not isinstance(documents, Allowed) or documents.names is None:
            return self._units.beginnings(words, k, documents, every)
        scores = dict(self._units.beginnings(words, k, documents, every, _OWN))
        others = [unit for unit, _ in self._units.beginnings(words, k, documents, every) if unit not in scores]
        query = " ".join(begun.word for begun in words)
        for unit, text in zip(others, documents.names(others), strict=True):
            # Without slips of the finger, and not where one word is the unit's own and the next one is in a link.
            if (all if every else any)(_has(text, begun) for begun in words):
                scores[unit] = FIELDS[INCOMING] + self._units.score(query, {INCOMING: text})
        return in_order(scores.items())[:k]

    def holds(self, word: str, documents: Collection[int] | None = None) -> bool:
        """Whether any text has this word, in any of its forms. documents: only units of these."""
        return self._units.holds(word, documents)

    def score_document(self, query: str, text: str) -> float:
        """Return the score that a document of this text would have."""
        return self._documents.score(query, dict.fromkeys(DOCUMENT_FIELDS, text))

    def search_documents(self, query: str, k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to k (document number, BM25 score of its whole text), best first; of all documents or of these."""
        return self._documents.search(query, k, documents)
