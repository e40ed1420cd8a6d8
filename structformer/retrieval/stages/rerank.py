"""`rerank`: the first k in the order of any ranker's scores; and the helper for every stage that scores again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from structformer.retrieval.opened import OpenedIndex
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


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    ranker = opened.reranker(stage.model)

    def scores(query: str, units: list[int]) -> list[float]:
        texts = opened.units.ranker_texts(units)
        return [float(score) for score in ranker.score([query] * len(texts), texts)]

    for ranking in rankings:
        rescore(ranking, stage, scores)


def _needs(opened: OpenedIndex, stage: Stage) -> None:
    opened.reranker(stage.model)


RERANK = StageKind("rerank", _run, finds=False, options={"k": 50}, model="cross-encoder", needs=_needs)
