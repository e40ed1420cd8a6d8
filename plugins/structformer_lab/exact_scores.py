"""Exact lexical scorers over candidates, as the papers use them: BM25, query likelihood, TF-IDF.

The statistics are of the units' texts as rankers read them, path in front, or of whole documents; counted once, when a
pipeline first asks, and kept beside the index."""

from __future__ import annotations

import math
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from structformer.retrieval import Index, idf, saturation
from structformer.storage import read_only, temporary_name

Words = Callable[[str], list[str]]
_FILES = {"sections": "terms.sqlite", "documents": "document-terms.sqlite"}


class CollectionStatistics:
    """Document and collection frequencies of terms, the number of units, and their length in words."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.units, self.words = self._database.execute("SELECT units, words FROM totals").fetchone()

    @classmethod
    def of(cls, index: Index, what: str, texts: Iterable[str], words: Words) -> CollectionStatistics:
        """The statistics of an index's sections or documents, counted when they are not there yet; for this process
        alone where the workspace may only be read.
        """
        name = _FILES[what]
        if not index.has(name):
            if not os.access(index.folder, os.W_OK):
                database = sqlite3.connect(":memory:", check_same_thread=False)
                _count(database, texts, words)
                return cls(database)
            with index.adding("counting terms", [name]):
                temporary = index.folder / temporary_name(name)
                with closing(sqlite3.connect(temporary)) as database:
                    _count(database, texts, words)
                os.replace(temporary, index.folder / name)
        return cls(read_only(index.path(name)))

    @property
    def average_words(self) -> float:
        """Mean number of words of a unit."""
        return float(self.words / max(1, self.units))

    def frequencies(self, term: str) -> tuple[int, int]:
        """Return (units that hold a term, its occurrences in all of them)."""
        row = self._database.execute("SELECT units, occurrences FROM terms WHERE term = ?", (term,)).fetchone()
        return (0, 0) if row is None else (int(row[0]), int(row[1]))


def _count(database: sqlite3.Connection, texts: Iterable[str], words: Words) -> None:
    in_units: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    count = 0
    for text in texts:
        terms = words(text)
        occurrences.update(terms)
        in_units.update(set(terms))
        count += 1
    database.execute("CREATE TABLE terms (term TEXT PRIMARY KEY, units INTEGER, occurrences INTEGER) WITHOUT ROWID")
    database.execute("CREATE TABLE totals (units INTEGER, words INTEGER)")
    rows = ((term, in_units[term], times) for term, times in sorted(occurrences.items()))
    database.executemany("INSERT INTO terms VALUES (?, ?, ?)", rows)
    database.execute("INSERT INTO totals VALUES (?, ?)", (count, occurrences.total()))
    database.commit()


def bm25(query: Sequence[str], text: Sequence[str], statistics: CollectionStatistics, *, k1: float, b: float) -> float:
    """BM25 of a text for the query's terms (see `idf` and `saturation`)."""
    counts = Counter(text)
    total = 0.0
    for term in dict.fromkeys(query):
        if frequency := counts[term]:
            units, _ = statistics.frequencies(term)
            share = saturation(frequency, len(text), statistics.average_words, k1=k1, b=b)
            total += idf(units, statistics.units) * share
    return total


def query_likelihood(
    query: Sequence[str], text: Sequence[str], statistics: CollectionStatistics, *, mu: float
) -> float:
    """log P(query | text) with Dirichlet smoothing; terms that the collection lacks are passed over.

    Source: Zhai and Lafferty, TOIS 2004, section 3.2: P(w|d) = (c(w, d) + mu P(w|C)) / (|d| + mu).
    """
    counts = Counter(text)
    total = 0.0
    for term in query:
        _, occurrences = statistics.frequencies(term)
        if occurrences:
            total += math.log((counts[term] + mu * occurrences / statistics.words) / (len(text) + mu))
    return total


def tf_idf(query: Sequence[str], text: Sequence[str], statistics: CollectionStatistics) -> float:
    """Return cosine of the vectors of (1 + ln tf) ln(N / n), without the query's length.

    Source: Salton and Buckley 1988, "ltc" weighting of documents, "ltn" of queries.
    """
    counts, asked = Counter(text), Counter(query)

    def weight(term: str, frequency: int) -> float:
        containing, _ = statistics.frequencies(term)
        return (1 + math.log(frequency)) * math.log(statistics.units / containing) if containing else 0.0

    length = math.sqrt(sum(weight(term, frequency) ** 2 for term, frequency in counts.items()))
    shared = (term for term in asked if counts[term])
    products = sum(weight(term, asked[term]) * weight(term, counts[term]) for term in shared)
    return products / length if length else 0.0
