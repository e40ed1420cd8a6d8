"""`lexical`: BM25 over title, path, text and anchor texts of incoming links."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.ranking import Ranking
from structformer.retrieval.stage import Stage, StageKind


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    for ranking in rankings:
        ranking.add(stage.name, opened.lexical.search(ranking.query, stage.k, documents))


LEXICAL = StageKind("lexical", _run, finds=True, options={"k": 200})
