"""`agent`: the section-title search agent as a first stage, so that it can be evaluated: `agent:first`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from structformer.errors import UsageError
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.ranking import Ranking
from structformer.retrieval.stage import Stage, StageKind

_WITH, _WITHOUT = "with", "without"
_CHOICES = ("first", "embedding", "classifier")


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    from structformer.retrieval.agent import SearchAgent, merge
    from structformer.retrieval.retriever import Retriever

    agent = SearchAgent(Retriever.of(opened), stage.model)
    pipeline = f"{stage.option('search')}[k={stage.k}]"
    for ranking in rankings:
        asked = agent.rank(ranking.query, pipeline, documents)
        merged = merge(asked[1:] if stage.option("query") == _WITHOUT and len(asked) > 1 else asked)
        ranking.add(stage.name, merged[: stage.k])


def _needs(opened: OpenedIndex, stage: Stage) -> None:
    if stage.model not in _CHOICES:
        raise UsageError(f"no agent {stage.model!r}; there are: {', '.join(_CHOICES)}")


AGENT = StageKind(
    "agent",
    _run,
    finds=True,
    options={"k": 100, "search": "lexical", "query": _WITH},
    model="embedding",
    choices={"search": ("lexical", "hybrid"), "query": (_WITH, _WITHOUT)},
    needs=_needs,
)
