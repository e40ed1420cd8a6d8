"""`rerank`: the first k in the order of any ranker's scores; and the helpers for every stage that scores again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from structformer.retrieval.opened import DOCUMENTS, SECTIONS, WHOLE, OpenedIndex
from structformer.retrieval.ranking import Ranking, append_tail, top_k
from structformer.retrieval.stage import Stage, StageKind


def rescore(ranking: Ranking, stage: Stage, scores: Callable[[str, list[int]], Sequence[float]]) -> None:
    """Put the first k units in the order of `scores(query, units)`, then the rest below them in their own order."""
    head, tail = ranking.ranked[: stage.k], ranking.ranked[stage.k :]
    if not head:
        ranking.add(stage.name, [])
        return
    units = [unit for unit, _ in head]
    ordered = top_k(dict(zip(units, scores(ranking.query, units), strict=True)), stage.k)
    ranking.add(stage.name, append_tail(ordered, tail))


def texts_of(opened: OpenedIndex, units: Sequence[int], of: str) -> tuple[list[str], list[int]]:
    """(what is scored, for each unit which of it): the units' own texts, or those of their documents, each once."""
    if of != DOCUMENTS:
        return opened.units.ranker_texts(units), list(range(len(units)))
    owners = [int(opened.owners[unit]) for unit in units]
    places = {document: place for place, document in enumerate(dict.fromkeys(owners))}
    return [opened.document_text(document, WHOLE) for document in places], [places[owner] for owner in owners]


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    ranker = opened.reranker(stage.model)

    def scores(query: str, units: list[int]) -> list[float]:
        texts, places = texts_of(opened, units, str(stage.option("of")))
        texts = [text[:_CHARACTERS] for text in texts]
        found = ranker.score([query] * len(texts), texts)
        return [float(found[place]) for place in places]

    for ranking in rankings:
        rescore(ranking, stage, scores)


def _needs(opened: OpenedIndex, stage: Stage) -> None:
    opened.reranker(stage.model)


OF = {"of": (SECTIONS, DOCUMENTS)}
_CHARACTERS = 8000  # more than any ranker reads
RERANK = StageKind(
    "rerank",
    _run,
    finds=False,
    options={"k": 50, "of": SECTIONS},
    model="cross-encoder",
    choices=OF,
    needs=_needs,
    ranks=True,
)
