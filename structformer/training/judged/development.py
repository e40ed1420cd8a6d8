"""Judged queries that choose a checkpoint, with the candidates that a ranker puts in order, of a run or of BM25."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from structformer.corpus import Corpus
from structformer.corpus.site import whole_text
from structformer.errors import UsageError
from structformer.graph import ReferenceGraph
from structformer.models.kinds import Ranker, ranker_kind
from structformer.sampling import SamplingOptions
from structformer.sampling.negatives import PassageTable, write_passages
from structformer.training.judged.judging import RECIPROCAL, Floats, Ranks
from structformer.workspace import Workspace

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Sequence[tuple[str, float]]]
FIRST = 100  # documents of each query that are put in order, as in the papers
_PASSAGES = 1000  # among which BM25's first documents are looked for

_NOT_FOUND = 1_000_000  # the rank of what is not among the candidates


@dataclass(frozen=True, slots=True)
class JudgedCandidates:
    """Chooses the checkpoint by MRR@10 of each query's candidates (Su et al., AAAI 2024), whatever the ranker."""

    queries: list[str]
    texts: list[str]
    """The documents' texts, each once."""
    candidates: list[list[int]]
    """For each query, places in `texts`."""
    relevant: list[frozenset[int]]
    """The candidates of each query that are relevant."""
    measure: ClassVar[str] = RECIPROCAL

    @property
    def weights(self) -> Floats:
        """(queries,) each counts the same."""
        return np.ones(len(self.queries))

    @property
    def groups(self) -> Ranks:
        """(queries,) each by itself."""
        return np.arange(len(self.queries), dtype=np.int64)

    def given_ranks(self) -> Ranks:
        """Return (queries,) the rank from 1 of each one's best relevant candidate in the order of the candidates."""
        return np.array(
            [
                1 + next((at for at, place in enumerate(places) if place in relevant), _NOT_FOUND)
                for places, relevant in zip(self.candidates, self.relevant, strict=True)
            ],
            np.int64,
        )

    def ranks(self, ranker: Ranker) -> Ranks:
        """Return (queries,) the rank from 1 of each one's best relevant candidate; ties count against it."""
        # A text that is a candidate of many queries is encoded once.
        apart = None if ranker_kind(ranker.kind).joint else ranker.score_all(self.queries, self.texts)
        ranks = np.full(len(self.queries), _NOT_FOUND, np.int64)
        for number, (query, places, relevant) in enumerate(
            zip(self.queries, self.candidates, self.relevant, strict=True)
        ):
            if relevant:
                pairs = [query] * len(places), [self.texts[place] for place in places]
                scores = ranker.score(*pairs) if apart is None else apart[number, places]
                right = np.array([place in relevant for place in places])
                ranks[number] = 1 + int((scores[~right] >= scores[right].max()).sum())
        return ranks


def candidate_documents(
    workspace: Workspace, corpus: Corpus, queries: Mapping[str, str], numbers: Mapping[str, int], run: Run | None
) -> dict[str, list[int]]:
    """Return numbers of each query's candidates, best first: the first hundred of a run that the corpus has, or BM25's.
    numbers: of documents by id. Raises UsageError if the corpus has none of the run's.
    """
    if run is None:
        return _by_words(workspace, corpus, queries)
    candidates = {
        name: list(dict.fromkeys(numbers[document] for document, _ in run.get(name, ())[:FIRST] if document in numbers))
        for name in queries
    }
    if not any(candidates.values()):
        raise UsageError(
            f"the run has none of {workspace}'s documents for any of these queries: are its query ids those of the "
            "queries, and its document ids those of `structformer inspect`?"
        )
    return candidates


def _by_words(workspace: Workspace, corpus: Corpus, queries: Mapping[str, str]) -> dict[str, list[int]]:
    # tantivy's threads may still write while the folder goes.
    with tempfile.TemporaryDirectory(prefix="structformer-", ignore_cleanup_errors=True) as folder:
        passages = Path(folder) / "passages"
        write_passages(corpus, passages, seed=0, held_out=0.0)
        table = PassageTable(passages, ReferenceGraph.open(workspace, corpus), SamplingOptions())
        return {
            name: list(islice(dict.fromkeys(number for number, _, _ in table.search(text, _PASSAGES)), FIRST))
            for name, text in queries.items()
        }


class DocumentTexts:
    """Texts of a corpus's documents by number, kept in a file beyond memory; a context manager, as it stays open."""

    def __init__(self, corpus: Corpus, wanted: Collection[int], path: Path) -> None:
        """Read the corpus once, but for shards without a wanted document, and write the texts to `path`."""
        self._places: dict[int, tuple[int, int]] = {}
        site, start = corpus.site, 0
        with path.open("wb") as file:
            for shard in sorted({bisect_right(corpus.starts, number) - 1 for number in wanted}):
                for number, document in enumerate(corpus.shard_documents(shard), corpus.starts[shard]):
                    if number in wanted:
                        text = whole_text(document, site).encode("utf-8", "surrogatepass")
                        self._places[number] = (start, len(text))
                        start += file.write(text)
        self._file = path.open("rb")

    def __getitem__(self, number: int) -> str:
        start, length = self._places[number]
        self._file.seek(start)
        return self._file.read(length).decode("utf-8", "surrogatepass")

    def __enter__(self) -> DocumentTexts:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()


def judged_development(
    workspace: str | Path | Workspace, queries: Mapping[str, str], qrels: Qrels, *, run: Run | None = None
) -> JudgedCandidates:
    """Return judged queries with 100 candidates each, of a run or BM25. Raises UsageError if none can be found."""
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    numbers = {name: number for number, name in enumerate(corpus.document_ids())}
    relevant = relevant_documents(queries, qrels, numbers)
    asked = {name: queries[name] for name in sorted(relevant)}
    listed = candidate_documents(workspace, corpus, asked, numbers, run)
    with tempfile.TemporaryDirectory(prefix="structformer-") as folder:
        wanted = {number for candidates in listed.values() for number in candidates}
        with DocumentTexts(corpus, wanted, Path(folder) / "texts") as texts:
            return judged_candidates(asked, relevant, numbers, listed, texts)


def judged_candidates(
    asked: Mapping[str, str],
    relevant: Mapping[str, set[str]],
    numbers: Mapping[str, int],
    candidates: Mapping[str, Sequence[int]],
    texts: DocumentTexts,
) -> JudgedCandidates:
    """Return queries with the candidates found for them, whose texts are at hand."""
    used = sorted({number for name in asked for number in candidates[name]})
    places = {number: place for place, number in enumerate(used)}
    right = [{numbers[document] for document in relevant[name]}.intersection(candidates[name]) for name in asked]
    return JudgedCandidates(
        list(asked.values()),
        [texts[number] for number in used],
        [[places[number] for number in candidates[name]] for name in asked],
        [frozenset(places[number] for number in documents) for documents in right],
    )


def relevant_documents(queries: Mapping[str, str], qrels: Qrels, known: Collection[str]) -> dict[str, set[str]]:
    """Return the relevant documents of every query that has one in the corpus. Raises UsageError when none has."""
    relevant = {
        query: documents
        for query, judged in qrels.items()
        if query in queries
        and (documents := {document for document, grade in judged.items() if grade > 0 and document in known})
    }
    if not relevant:
        raise UsageError(
            "no judged query has a relevant document in the corpus: are the qrels' document ids "
            "those of `structformer inspect`?"
        )
    return relevant
