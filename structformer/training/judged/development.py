"""Judged queries to choose a checkpoint by: documents of a run, or of BM25, to be put in order; or passages of the
relevant ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from random import Random

from structformer.corpus import Corpus
from structformer.errors import UsageError
from structformer.sampling import SamplingOptions
from structformer.sampling.held_out import DevelopmentSet
from structformer.sampling.view import DocumentView
from structformer.text.passages import section_passages, with_path
from structformer.training.data.document_texts import DocumentTexts
from structformer.training.judged.candidates import JudgedCandidates, Run, candidate_documents
from structformer.workspace import Workspace

Qrels = Mapping[str, Mapping[str, int]]
_MAX_ASKED = 150
_MAX_PER_DOCUMENT = 10
_POOL = 400


def judged_development(
    workspace: str | Path | Workspace, queries: Mapping[str, str], qrels: Qrels, *, run: Run | None = None
) -> JudgedCandidates:
    """All judged queries, each with its first hundred documents of a run, or of BM25 in the judged workspace. Raises
    UsageError when no query has a relevant document in the corpus, or the run no document of it.
    """
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    numbers = {name: number for number, name in enumerate(corpus.document_ids())}
    relevant = relevant_documents(queries, qrels, numbers)
    asked = {name: queries[name] for name in sorted(relevant)}
    found = candidate_documents(workspace, corpus, asked, numbers, run)
    with tempfile.TemporaryDirectory(prefix="structformer-") as folder:
        wanted = {number for candidates in found.values() for number in candidates}
        with DocumentTexts(corpus, wanted, Path(folder) / "texts") as texts:
            return judged_candidates(asked, relevant, numbers, found, texts)


def judged_candidates(
    asked: Mapping[str, str],
    relevant: Mapping[str, set[str]],
    numbers: Mapping[str, int],
    found: Mapping[str, Sequence[int]],
    texts: DocumentTexts,
) -> JudgedCandidates:
    """Queries with the candidates found for them, whose texts are at hand."""
    used = sorted({number for name in asked for number in found[name]})
    places = {number: place for place, number in enumerate(used)}
    right = [{numbers[document] for document in relevant[name]} for name in asked]
    return JudgedCandidates(
        list(asked.values()),
        [texts[number] for number in used],
        [[places[number] for number in found[name]] for name in asked],
        [
            frozenset(places[number] for number in found[name] if number in its)
            for name, its in zip(asked, right, strict=True)
        ],
    )


def relevant_documents(queries: Mapping[str, str], qrels: Qrels, known: Collection[str]) -> dict[str, set[str]]:
    """The relevant documents of every query that has one in the corpus. Raises UsageError when none has."""
    relevant = {
        query: {document for document, grade in judged.items() if grade > 0 and document in known}
        for query, judged in qrels.items()
        if query in queries
    }
    relevant = {query: documents for query, documents in relevant.items() if documents}
    if not relevant:
        raise UsageError(
            "no judged query has a relevant document in the corpus: are the qrels' document ids "
            "those of `structformer inspect`?"
        )
    return relevant


def passages_of(corpus: Corpus, documents: set[str], seed: int) -> tuple[dict[str, list[str]], list[str]]:
    """The passages of some documents by id, and a random choice of the others' passages, evenly drawn in constant
    memory.
    """
    rng = Random(f"judged pool/{seed}")
    found: dict[str, list[str]] = {}
    pool: list[str] = []
    seen = 0
    for document in corpus.documents():
        view = DocumentView(document, SamplingOptions())
        for number, section in enumerate(view.sections):
            for piece in (each.text for each in section_passages(section)):
                text = with_path(view.path_text(number), piece)
                if document.id in documents:
                    found.setdefault(document.id, []).append(text)
                    continue
                seen += 1
                if len(pool) < _POOL:
                    pool.append(text)
                elif (place := rng.randrange(seen)) < _POOL:
                    pool[place] = text
    return found, pool


def development_of(
    held: list[str],
    queries: Mapping[str, str],
    relevant: Mapping[str, set[str]],
    cut: Mapping[str, list[str]],
    pool: list[str],
) -> DevelopmentSet | None:
    """Queries with the passages of their relevant documents, among a pool of others; None if no document has a
    passage.
    """
    texts: list[str] = []
    places: dict[str, range] = {}
    chosen = [name for name in held[:_MAX_ASKED] if any(cut.get(document) for document in relevant[name])]
    for name in chosen:
        for document in sorted(relevant[name]):
            if document not in places:
                some = cut.get(document, [])[:_MAX_PER_DOCUMENT]
                places[document] = range(len(texts), len(texts) + len(some))
                texts += some
    if not chosen:
        return None
    answers = [frozenset(number for document in relevant[name] for number in places[document]) for name in chosen]
    return DevelopmentSet([queries[name] for name in chosen], texts + pool, answers)
