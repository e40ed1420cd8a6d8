"""`dense`: cosines of a bi-encoder's vectors; `hybrid`: these and words together; `dense-fusion`: vectors for units
found otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from structformer.retrieval.encoder_names import STRUCTURE
from structformer.retrieval.fusion import reciprocal_rank_fusion
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.ranking import Ranked, Ranking, append_tail, normalize_by_max, top_k
from structformer.retrieval.stage import LEARNED, Stage, StageKind

if TYPE_CHECKING:
    from structformer.retrieval.dense import DenseIndex

_RRF = "rrf"
Vector = npt.NDArray[np.float32]


def _found(
    opened: OpenedIndex,
    stage: Stage,
    rankings: Sequence[Ranking],
    documents: Collection[int] | None,
    *,
    with_overviews: bool,
) -> list[tuple[Ranking, Vector, Ranked]]:
    """Each query's ranking, vector, and units by their vectors."""
    encoder, index, weights = opened.encoder(stage.model)
    vectors = encoder.encode_queries([ranking.query for ranking in rankings])
    weight = weights.overview if with_overviews else 0.0
    found = _nearest(index, vectors, stage, weight, documents)
    return list(zip(rankings, vectors, found, strict=True))


def _nearest(
    index: DenseIndex, vectors: Vector, stage: Stage, weight: float, documents: Collection[int] | None
) -> list[Ranked]:
    """The units that are nearest to each of the (queries, dimensions) vectors; none where a vector is all zeros, as the
    static encoder's is of a query without a known word.
    """
    found = index.search_all(vectors, stage.k, overview_weight=weight, documents=documents)
    return [ranked if vector.any() else [] for ranked, vector in zip(found, vectors, strict=True)]


def _dense(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    for ranking, _, by_vector in _found(opened, stage, rankings, documents, with_overviews=False):
        ranking.add(stage.name, by_vector)


def _hybrid(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    learned = stage.learned_weights
    by_structure = _by_structure(opened, stage, rankings, documents) if learned else [[] for _ in rankings]
    found = _found(opened, stage, rankings, documents, with_overviews=learned)
    for (ranking, vector, by_vector), more in zip(found, by_structure, strict=True):
        lexical = opened.lexical.search(ranking.query, stage.k, documents)
        if learned:
            whole = normalize_by_max(opened.lexical.search_documents(ranking.query, stage.k, documents))
            units = sorted({unit for unit, _ in (*lexical, *by_vector, *more)})
            ranking.add(stage.name, _weighed(opened, ranking, vector, units, normalize_by_max(lexical), whole, stage))
        else:
            ranking.scores["dense"] = dict(by_vector)
            ranking.add(stage.name, reciprocal_rank_fusion([lexical, by_vector], stage.k))
        ranking.scores["lexical"] = dict(lexical)


def _by_structure(
    opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None
) -> list[Ranked]:
    """For each query the units that the static encoder finds, where it takes part beside the stage's own."""
    if not _with_structure(opened, stage):
        return [[] for _ in rankings]
    _, _, weights = opened.encoder(stage.model)
    encoder, index, _ = opened.encoder(STRUCTURE)
    vectors = encoder.encode_queries([ranking.query for ranking in rankings])
    share = weights.structure_overview / max(weights.structure, _LEAST)
    return _nearest(index, vectors, stage, share, documents)


def _with_structure(opened: OpenedIndex, stage: Stage) -> bool:
    """Whether the static encoder takes part: it has a weight, and its vectors are there."""
    return stage.model != STRUCTURE and opened.encoder(stage.model)[2].with_structure and opened.has_structure


def _fusion(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    encoder, index, _ = opened.encoder(stage.model)
    vectors = encoder.encode_queries([ranking.query for ranking in rankings])
    for ranking, vector in zip(rankings, vectors, strict=True):
        head, tail = ranking.ranked[: stage.k], ranking.ranked[stage.k :]
        units = [unit for unit, _ in head]
        if stage.option("weights") == _RRF:
            cosines, _ = index.scores(vector, np.array(units, np.int64))
            dense = top_k(dict(zip(units, map(float, cosines), strict=True)), stage.k)
            ranking.scores["dense"] = dict(dense)
            fused = reciprocal_rank_fusion([head, dense], stage.k)
        else:
            # The share is of the best that may be found, as in `hybrid`: a filter must not change it.
            whole = normalize_by_max(opened.lexical.search_documents(ranking.query, stage.k, documents))
            fused = _weighed(opened, ranking, vector, units, normalize_by_max(head), whole, stage)
        ranking.add(stage.name, append_tail(fused, tail))


def _weighed(
    opened: OpenedIndex,
    ranking: Ranking,
    vector: Vector,
    units: list[int],
    lexical: Mapping[int, float],
    whole: Mapping[int, float],
    stage: Stage,
) -> Ranked:
    """The best units by the weighted sum of their scores, which the ranking keeps."""
    _, index, weights = opened.encoder(stage.model)
    numbers = np.array(units, np.int64)
    cosines, overviews = index.scores(vector, numbers)
    owners = index.owners[numbers].tolist() if units else []
    by_document = [whole.get(owner, 0.0) for owner in owners]
    kept: dict[str, Sequence[float] | Vector] = {"dense": cosines, "overview": overviews, "document": by_document}
    static = np.zeros((2, len(units)), np.float32)
    if _with_structure(opened, stage):
        encoder, by_structure, _ = opened.encoder(STRUCTURE)
        static = np.stack(by_structure.scores(encoder.encode_queries([ranking.query])[0], numbers))
        kept |= {"structure": static[0], "structure_overview": static[1]}
    features = np.stack([cosines, overviews, [lexical.get(unit, 0.0) for unit in units], by_document, *static], axis=1)
    totals = features.astype(np.float64) @ weights.as_array() if units else np.empty(0)
    ranking.scores.update({name: dict(zip(units, map(float, found), strict=True)) for name, found in kept.items()})
    return top_k(dict(zip(units, map(float, totals), strict=True)), stage.k)


_LEAST = 1e-6
_CHOICES = {"weights": (LEARNED, _RRF)}
DENSE = StageKind("dense", _dense, finds=True, options={"k": 200}, model="bi-encoder", vectors=True)
HYBRID = StageKind(
    "hybrid",
    _hybrid,
    finds=True,
    options={"k": 200, "weights": LEARNED},
    model="bi-encoder",
    choices=_CHOICES,
    vectors=True,
    fuses=True,
)
DENSE_FUSION = StageKind(
    "dense-fusion",
    _fusion,
    finds=False,
    options={"k": 200, "weights": LEARNED},
    model="bi-encoder",
    choices=_CHOICES,
    vectors=True,
    fuses=True,
)
