"""`late`: late-interaction retrieval over all token vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.rankings.ranking import Ranking
from structformer.retrieval.stage import Stage, StageKind


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    index = opened.token_index(stage.model)
    for ranking in rankings:
        ranking.add(stage.name, index.search(ranking.query, stage.k, documents, int(stage.option("k_hat"))))


LATE = StageKind("late", _run, finds=True, options={"k": 200, "k_hat": 0.0}, model="late-interaction")
