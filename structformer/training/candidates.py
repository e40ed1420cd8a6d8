"""Which documents are put in order for a judged query: those of a run, else those of BM25's best passages."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from structformer.corpus import Corpus
from structformer.errors import UsageError
from structformer.graph import ReferenceGraph
from structformer.sampling import SamplingOptions
from structformer.sampling.negatives import PassageTable, write_passages
from structformer.workspace import Workspace

Run = Mapping[str, Sequence[tuple[str, float]]]
FIRST = 100  # documents of each query that are put in order, as in the papers
_PASSAGES = 1000  # among which BM25's first documents are looked for


def candidate_documents(
    workspace: Workspace, corpus: Corpus, queries: Mapping[str, str], numbers: Mapping[str, int], run: Run | None
) -> dict[str, list[int]]:
    """The numbers of each query's candidates, best first: its first hundred in a run, without those that the corpus
    does not have, or in BM25's order. numbers: of the corpus's documents by id. Raises UsageError on a run of which the
    corpus has no document for any of the queries.
    """
    if run is None:
        return _by_words(workspace, corpus, queries)
    found = {
        name: list(dict.fromkeys(numbers[document] for document, _ in run.get(name, ())[:FIRST] if document in numbers))
        for name in queries
    }
    if not any(found.values()):
        raise UsageError(
            f"the run has none of {workspace}'s documents for any of these queries: are its query ids those of the "
            "queries, and its document ids those of `structformer inspect`?"
        )
    return found


def _by_words(workspace: Workspace, corpus: Corpus, queries: Mapping[str, str]) -> dict[str, list[int]]:
    with tempfile.TemporaryDirectory(prefix="structformer-") as folder:
        passages = Path(folder) / "passages"
        write_passages(corpus, passages, seed=0, held_out=0.0)
        table = PassageTable(passages, ReferenceGraph.open(workspace, corpus), SamplingOptions())
        return {
            name: list(islice(dict.fromkeys(number for number, _, _ in table.search(text, _PASSAGES)), FIRST))
            for name, text in queries.items()
        }
