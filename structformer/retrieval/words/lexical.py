"""The lexical first stage: BM25 in tantivy indexes of units and of whole documents; how much of a query they have."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tantivy

from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.documents.document_filter import Names as LinkNames
from structformer.retrieval.documents.page_places import page_places
from structformer.retrieval.documents.units import IndexedDocument, Unit
from structformer.retrieval.rankings.ranking import in_order
from structformer.retrieval.words.names import Names
from structformer.retrieval.words.rows import (
    DOCUMENT_FIELDS,
    EXACT,
    FIELDS,
    INCOMING,
    LONGEST_PHRASE,
    NAMES,
    Begun,
    Rows,
    RowWriter,
    all_of,
    any_of,
    either,
)
from structformer.text.lexical_analysis import idf, lone_characters, query_terms, weighed_terms
from structformer.text.words import (
    RUN,
    WRITTEN,
    CutText,
    bare_words,
    cut_text,
    cut_together,
    names_of,
    spaced,
    written_words,
)

__all__ = ["DOCUMENT_FIELDS", "FIELDS", "Begun", "LexicalIndex", "LexicalWriter", "document_text"]
_OWN = {field: weight for field, weight in FIELDS.items() if field != INCOMING}
_CALLED = 1000  # units that are looked at for what others call them
_KEPT_WORDS = 20_000
_UNITS, _DOCUMENTS = "units", "documents"
_COMPOUNDING = frozenset(("da", "de", "et", "fi", "hu", "is", "nb", "nl", "nn", "no", "sv"))
_LETTERS = 4  # of each part of a compound
_AN_ACTION = 0.4  # the weight of a missing word that may be a verb: it has more synonyms than a name


class LexicalWriter:
    """Writes the lexical index of units and documents. languages: the corpus's, see translations.py."""

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


class _Said(NamedTuple):
    """A word of a query."""

    terms: list[str]
    rows: int
    """How many have it."""
    weight: float = 1.0


def _may_be_action(word: str, query: str) -> bool:
    """Whether a word may be a verb: in small letters at the start, or beside words with a capital, as in German."""
    words = WRITTEN.findall(query)
    place = next((at for at, each in enumerate(words) if each == word), None)
    if place is None or any(map(str.isdigit, word)):
        return False
    return place == 0 or any(each[:1].isupper() for each in words)


class Coverage:
    """Says how much of a query the rows of an index have."""

    def __init__(self, rows: Rows, names: Names) -> None:
        self._rows, self._names = rows, names

    def presence(self, query: str, rows: Sequence[int]) -> dict[int, float]:
        """Return the share of a query, by idf, that rows have as it is written."""
        atoms: list[tuple[tantivy.Query, float]] = []
        ways = self._names.whole_spellings(query)
        for chunk in list(dict.fromkeys(query.split()))[:LONGEST_PHRASE]:
            atoms += () if ways and self._names.hides_words(chunk) else self._atoms(chunk)
        if ways:
            joined, parts = filter(None, map(self._names.literal, ways)), sum(weight for _, weight in atoms)
            atoms.append((either(joined), max(parts, idf(sum(ways.values()), self._rows.searcher.num_docs))))
        total = sum(weight for _, weight in atoms) or 1.0
        return {row: score / total for row, score in self._rows.weighed(atoms, rows).items()}

    def coverage(self, query: str, documents: Collection[int] | None, apart: Collection[int]) -> float:
        """The greatest share of a query's words, by idf, without function words, that a row has; 1 without any."""
        atoms = [(self._rows.any_of_terms(word.terms), self._worth(word)) for word in self._said(query)]
        rows = self._rows.run(any_of(atoms), 1 + len(apart), documents) if atoms else []
        best = next((score for row, score in rows if row not in apart), 0.0)
        return best / sum(weight for _, weight in atoms) if atoms else 1.0

    def share(self, query: str, row: int, score: float) -> float:
        """A row's score as a share of the query's idf: 0 where no row has its words, 1 or more where this has all."""
        words = self._said(query)
        worth = sum(map(self._worth, words))
        share = score / worth if any(word.rows for word in words) else float(not words)
        if not words or share >= 1:
            return share
        asked = [tantivy.Query.term_query(self._rows.schema, "number", row)]
        asked += [self._rows.any_of_terms(word.terms, ("title", "path", "text")) for word in words]
        return 1.0 if self._rows.run(all_of(asked), 1, None) else share

    def _worth(self, word: _Said) -> float:
        """Return how rare a word is; one that no row has is as rare as one that one row has."""
        return word.weight * idf(max(word.rows, 1), self._rows.searcher.num_docs)

    def _said(self, query: str) -> list[_Said]:
        """A query's words, function words apart. Of a script without spaces no pair of characters that is rarer than
        those on both sides: it is of two words. A compound that no row has is there in its parts.
        """
        terms = {word: query_terms(self._rows.analyzer, word) for word in self._rows.telling(query)}
        counts = {word: self._count(them) for word, them in terms.items() if them}
        words = bare_words(query).split()[:LONGEST_PHRASE]
        for before, pair, after in zip(words, words[1:], words[2:], strict=False):
            if pair not in counts or before[1:] + after[:1] != pair or not RUN.fullmatch(pair):
                continue
            if counts[pair] < min(counts.get(before, math.inf), counts.get(after, math.inf)):
                terms.pop(pair, None)
        query_words = []
        for word, count in counts.items():
            if word in terms and count:
                query_words.append(_Said(terms[word], count))
            elif word in terms:
                parts = [_Said(each, self._count(each)) for each in self._parts(word)]
                query_words += parts or [_Said(terms[word], 0, _AN_ACTION if _may_be_action(word, query) else 1.0)]
        return query_words

    def _count(self, terms: Iterable[str]) -> int:
        return max(self._rows.searcher.doc_freq("text", term) for term in terms)

    def _parts(self, word: str) -> list[list[str]]:
        """The terms of both parts of a compound, as even as may be: `Kontaktformular`, with a letter between or not."""
        joins = len(word) <= LONGEST_PHRASE and not _COMPOUNDING.isdisjoint(self._rows.languages)
        places = range(_LETTERS, len(word) - _LETTERS + 1) if joins else range(0)
        for at in sorted(places, key=lambda place: abs(2 * place - len(word))):
            for first in (word[:at], word[: at - 1]):
                parts = [query_terms(self._rows.analyzer, part) for part in (first, word[at:])]
                if len(first) >= _LETTERS and all(part and self._count(part) for part in parts):
                    return parts
        return []

    def _atoms(self, chunk: str) -> Iterator[tuple[tantivy.Query, float]]:
        """Yield a name as a whole; else words, and that they stand together as much as they are worth."""
        total, (name, rows) = self._rows.searcher.num_docs, self._names.known(chunk)
        words = self._rows.analyzers[EXACT].analyze(bare_words(chunk))
        weights = [idf(self._rows.searcher.doc_freq(EXACT, word), total) for word in words]
        if rows:
            yield self._rows.term(NAMES, name), idf(rows, total)
        if not rows or bare_words(name) != bare_words(chunk):
            for word, weight in zip(words, weights, strict=True):
                yield self._rows.term(EXACT, word), weight
            if (len(words) > 1 or names_of(chunk)) and (together := self._names.literal(chunk)) is not None:
                yield together, sum(weights)
