"""`bm25`, `ql`, `tfidf`: exact lexical scores of found units or their documents, as the papers use them.

`run:FILE`: the documents of a run file, as other systems or the makers of a test collection found them, to be put in
another order: `run:top100.trec >> rerank[of=documents]`.

The scores' statistics are of the units' texts as rankers read them, path in front, or of whole documents; counted once,
when a pipeline first asks, and kept beside the index."""

from __future__ import annotations

import math
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from threading import RLock
from weakref import WeakKeyDictionary

from structformer.errors import UsageError
from structformer.retrieval import (
    OF,
    WHOLE,
    OpenedIndex,
    Ranked,
    Ranking,
    Run,
    Stage,
    StageKind,
    idf,
    read_run,
    rescore,
    saturation,
    texts_of,
)
from structformer.storage import read_only, temporary_name

_SECTIONS, _DOCUMENTS = OF["of"]
_FILES = {_SECTIONS: "terms.sqlite", _DOCUMENTS: "document-terms.sqlite"}
_K1, _B = 1.2, 0.75  # those of the lexical index
_QUERY_CHARACTERS = 200_000
_COUNTED: WeakKeyDictionary[OpenedIndex, dict[str, CollectionStatistics]] = WeakKeyDictionary()
_COUNTING = RLock()  # several threads may search; terms are counted once
_NO_FILE = "FILE"
_UNITS = 10_000  # of the candidates, among which each document's best is looked for
Score = Callable[..., float]  # of a query's words and a text's, of CollectionStatistics and options


class CollectionStatistics:
    """Document and collection frequencies of terms, the number of units, and their length in words."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.units, self.words = self._database.execute("SELECT units, words FROM totals").fetchone()
        self.average_words = float(self.words / max(1, self.units))

    def frequencies(self, term: str) -> tuple[int, int]:
        """Return (units that hold a term, its occurrences in all of them)."""
        row = self._database.execute("SELECT units, occurrences FROM terms WHERE term = ?", (term,)).fetchone()
        return (0, 0) if row is None else (int(row[0]), int(row[1]))


def statistics(opened: OpenedIndex, of: str) -> CollectionStatistics:
    """Return term statistics of the sections' passages or of whole "documents", counted at the first call and kept
    beside the index; for this process alone where the workspace may only be read.
    """
    with _COUNTING:
        counted = _COUNTED.setdefault(opened, {})
        if of not in counted:
            counted[of] = CollectionStatistics(_database(opened, of))
        return counted[of]


def _database(opened: OpenedIndex, of: str) -> sqlite3.Connection:
    index, name = opened.index, _FILES[of]
    if not index.has(name):
        if not os.access(index.folder, os.W_OK):
            database = sqlite3.connect(":memory:", check_same_thread=False)
            _count(database, opened, of)
            return database
        with index.adding("counting terms", [name]):
            temporary = index.folder / temporary_name(name)
            with closing(sqlite3.connect(temporary)) as database:
                _count(database, opened, of)
            os.replace(temporary, index.folder / name)
    return read_only(index.path(name))


def _count(database: sqlite3.Connection, opened: OpenedIndex, of: str) -> None:
    texts = (
        (opened.document_text(number, WHOLE) for number in range(len(opened.documents)))
        if of == _DOCUMENTS
        else (unit.ranker_text for unit in opened.units)
    )
    in_units: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    count = 0
    for text in texts:
        terms = opened.lexical.words(text)
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


def _rescoring(score: Score, *options: str) -> Run:
    def run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
        of = str(stage.option("of"))
        counted = statistics(opened, of)
        values = {name: float(stage.option(name)) for name in options}

        def scores(query: str, units: list[int]) -> list[float]:
            asked = opened.lexical.words(query[:_QUERY_CHARACTERS])
            texts, places = texts_of(opened, units, of)
            scores = [score(asked, opened.lexical.words(text), counted, **values) for text in texts]
            return [scores[place] for place in places]

        for ranking in rankings:
            rescore(ranking, stage, scores, opened)

    return run


_kind = partial(StageKind, finds=False, choices=OF)
BM25 = _kind("bm25", _rescoring(bm25, "k1", "b"), options={"k": 200, "k1": _K1, "b": _B, "of": _SECTIONS})
QUERY_LIKELIHOOD = _kind("ql", _rescoring(query_likelihood, "mu"), options={"k": 200, "mu": 1000.0, "of": _SECTIONS})
TF_IDF = _kind("tfidf", _rescoring(tf_idf), options={"k": 200, "of": _SECTIONS})


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    run = _read(stage.model)
    for ranking in rankings:
        if not ranking.name:
            raise UsageError(f"run:{stage.model} needs queries with ids, as `evaluate` asks them")
        scores: dict[int, float] = {}
        for name, score in run.get(ranking.name, ()):
            number = opened.document_number(name)
            if number is not None and (documents is None or number in documents) and len(scores) < stage.k:
                scores.setdefault(number, score)
        ranking.add(stage.name, _best_units(opened, ranking.query, scores))


def _best_units(opened: OpenedIndex, query: str, scores: dict[int, float]) -> Ranked:
    """Return each document as the unit that BM25 ranks first of it, or its first."""
    best: dict[int, int] = {}
    for unit, _ in opened.lexical.search(query, _UNITS, list(scores)):
        best.setdefault(int(opened.owners[unit]), unit)
    return [(best.get(document, opened.units_of(document)[0]), score) for document, score in scores.items()]


@lru_cache(maxsize=4)
def _read(path: str) -> dict[str, list[tuple[str, float]]]:
    return read_run(Path(path))[1]


def _needs(opened: OpenedIndex, stage: Stage) -> None:
    if stage.model == _NO_FILE:
        raise UsageError("run needs a run file: run:FILE")
    _read(stage.model)


RUN = StageKind("run", _run, finds=True, options={"k": 1000}, model=_NO_FILE, needs=_needs)
