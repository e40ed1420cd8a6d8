"""`late`: search over all token vectors of a model. Importing this loads no torch."""

from collections.abc import Collection, Sequence
from functools import partial

from structformer.extras import TORCH, require
from structformer.retrieval import OpenedIndex, Ranking, Stage, StageKind

from structformer_colbert.kind import LATE_INTERACTION


def _late(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    require(f"the late-interaction model {stage.model}", *TORCH)
    from structformer_colbert.token_index import open_token_index

    index = opened.kept(stage.name, stage.model, partial(open_token_index, opened))
    for ranking in rankings:
        ranking.add(stage.name, index.search(ranking.query, stage.k, documents, int(stage.option("k_hat"))))


LATE = StageKind("late", _late, finds=True, options={"k": 200, "k_hat": 0.0}, model=LATE_INTERACTION.name)
