"""Judged queries to choose a checkpoint by: documents of a run, or of BM25, to be put in order."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from structformer.corpus import Corpus
from structformer.corpus.whole_text import whole_text
from structformer.errors import UsageError
from structformer.training.judged.candidates import JudgedCandidates, Run, candidate_documents
from structformer.workspace import Workspace

Qrels = Mapping[str, Mapping[str, int]]


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
