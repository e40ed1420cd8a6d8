"""How much of a query rows have: of its names and words, weighed by how rare they are."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import tantivy

from structformer.retrieval.words.names import Names
from structformer.retrieval.words.rows import EXACT, LONGEST_PHRASE, NAMES, Rows, all_of, any_of, either
from structformer.text.bm25 import idf
from structformer.text.lexical_analysis import query_terms
from structformer.text.words import RUN, WRITTEN, bare_words, names_of

_COMPOUNDING = frozenset(("da", "de", "et", "fi", "hu", "is", "nb", "nl", "nn", "no", "sv"))
_LETTERS = 4  # of each part of a compound
_AN_ACTION = 0.4  # the weight of a missing word that may be a verb: it has more synonyms than a name


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
