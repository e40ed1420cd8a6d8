"""`dense`: cosines of vectors; `hybrid`: these and words; `dense-fusion`: vectors for units found otherwise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.documents.release_logs import ASKS_FOR_CHANGES
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.rankings.doubt import likely_right
from structformer.retrieval.rankings.hybrid_score import (
    PARTS,
    RELEASE_LOG,
    FusionWeights,
    contributions,
    looked_again,
    reciprocal_rank_fusion,
)
from structformer.retrieval.rankings.ranking import Ranked, Ranking, append_tail, in_order, top_k
from structformer.retrieval.stage import STANDARDISED, Stage, StageKind
from structformer.retrieval.vectors.encoder_names import DEFAULT, STRUCTURE
from structformer.retrieval.vectors.second_look import LOOKED_AT

if TYPE_CHECKING:
    from structformer.retrieval.vectors.dense import DenseIndex

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
    """Return each query's ranking, vector, and units by their vectors."""
    _, index, weights = opened.encoder(stage.model)
    vectors = opened.query_vectors(stage.model, [ranking.query for ranking in rankings])
    weight = weights.overview_share if with_overviews else 0.0
    return list(zip(rankings, vectors, _nearest(index, vectors, stage, weight, documents), strict=True))


def _nearest(
    index: DenseIndex, vectors: Vector, stage: Stage, weight: float, documents: Collection[int] | None
) -> list[Ranked]:
    """The nearest units of each of the (queries, dimensions) vectors; none of zeros: a query of unknown words."""
    nearest = index.search_all(vectors, stage.k, overview_weight=weight, documents=documents)
    return [ranked if vector.any() else [] for ranked, vector in zip(nearest, vectors, strict=True)]


def _dense(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    for ranking, _, by_vector in _found(opened, stage, rankings, documents, with_overviews=False):
        ranking.add(stage.name, by_vector)


def _hybrid(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    weighed = stage.is_weighed
    static = _static_vectors(opened, stage, rankings) if weighed else [None] * len(rankings)
    by_meaning = _found(opened, stage, rankings, documents, with_overviews=weighed)
    by_structure = _by_structure(opened, stage, static, documents)
    looks = opened.query_tokens(stage.model, [ranking.query for ranking in rankings])
    for (ranking, vector, by_vector), asked, more, tokens in zip(by_meaning, static, by_structure, looks, strict=True):
        lexical = opened.lexical.search(ranking.query, stage.k, documents)
        if weighed:
            best = _best_descriptions(opened, stage, vector, documents)
            described = _described(opened, stage, vector, best, documents)
            units = sorted({*(unit for unit, _ in (*lexical, *by_vector, *more)), *described})
            ranking.add(
                stage.name,
                _weighed(opened, ranking, vector, asked, tokens, best, units, lexical, stage, documents),
            )
        else:
            ranking.scores["dense"] = dict(by_vector)
            ranking.add(stage.name, reciprocal_rank_fusion([lexical, by_vector], stage.k))
        ranking.scores["lexical"] = dict(lexical)


def _best_descriptions(
    opened: OpenedIndex, stage: Stage, vector: Vector, documents: Collection[int] | None
) -> Vector | None:
    """Return `Descriptions.best` of a query among what the asker may see; None if they do not count."""
    _, index, weights = opened.encoder(stage.model)
    if index.descriptions is None or not weights.described:
        return None
    sources = documents.sources if isinstance(documents, Allowed) else None
    return index.descriptions.best(vector, index.descriptions.hidden(sources))[0]


def _described(
    opened: OpenedIndex, stage: Stage, vector: Vector, best: Vector | None, documents: Collection[int] | None
) -> list[int]:
    """Return the nearest unit of each of the documents that are described best."""
    _, index, _ = opened.encoder(stage.model)
    if best is None or index.descriptions is None:
        return []
    described = []
    for place in np.argsort(-best, kind="stable")[:_DESCRIBED].tolist():
        if not np.isfinite(best[place]):  # all that describes it is hidden
            break
        document = int(index.descriptions.documents[place])
        if documents is None or document in documents:
            units = np.arange(*opened.units_of(document))  # never none: a page without text has its title
            cosines, _ = index.scores(vector, units)
            described.append(int(units[cosines.argmax()]))
    return described


def _static_vectors(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking]) -> Sequence[Vector | None]:
    """Each query's vector by the static encoder, None where that has no weight or no vectors beside the stage's."""
    if stage.model == STRUCTURE or not opened.encoder(stage.model)[2].with_structure or not opened.has_structure:
        return [None] * len(rankings)
    return list(opened.query_vectors(STRUCTURE, [ranking.query for ranking in rankings]))


def _by_structure(
    opened: OpenedIndex, stage: Stage, static: Sequence[Vector | None], documents: Collection[int] | None
) -> list[Ranked]:
    """For each query the units that the static encoder finds, none for one without its vector."""
    vectors = [vector for vector in static if vector is not None]
    if not vectors:
        return [[] for _ in static]
    _, _, weights = opened.encoder(stage.model)
    share = weights.static_overview_share
    return _nearest(opened.encoder(STRUCTURE)[1], np.stack(vectors), stage, share, documents)


def _fusion(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    _, index, _ = opened.encoder(stage.model)
    vectors = opened.query_vectors(stage.model, [ranking.query for ranking in rankings])
    fused_by_rank = stage.option("weights") == _RRF
    static = [None] * len(rankings) if fused_by_rank else _static_vectors(opened, stage, rankings)
    looks = opened.query_tokens(stage.model, [ranking.query for ranking in rankings])
    for ranking, vector, asked, tokens in zip(rankings, vectors, static, looks, strict=True):
        head, tail = ranking.ranked[: stage.k], ranking.ranked[stage.k :]
        units = [unit for unit, _ in head]
        if fused_by_rank:
            cosines, _ = index.scores(vector, np.array(units, np.int64))
            dense = top_k(dict(zip(units, map(float, cosines), strict=True)), stage.k)
            ranking.scores["dense"] = dict(dense)
            fused = reciprocal_rank_fusion([head, dense], stage.k)
        else:
            best = _best_descriptions(opened, stage, vector, documents)
            fused = _weighed(opened, ranking, vector, asked, tokens, best, units, head, stage, documents)
        ranking.add(stage.name, append_tail(fused, tail))


def _weighed(
    opened: OpenedIndex,
    ranking: Ranking,
    vector: Vector,
    asked: Vector | None,
    tokens: Vector | None,
    best: Vector | None,
    units: list[int],
    lexical: Ranked,
    stage: Stage,
    documents: Collection[int] | None,
) -> Ranked:
    """The best units by the hybrid's score, whose parts the ranking keeps. asked: the query's vector by the static
    encoder, None where that takes no part; tokens: those of its tokens, None without a second look; best: its best
    descriptions, None where they do not count; lexical: units by their words.
    """
    _, index, weights = opened.encoder(stage.model)
    numbers = np.array(units, np.int64)
    owners = index.owners[numbers].tolist()
    cosines, overviews = index.scores(vector, numbers)
    by_words, by_document = dict(lexical), dict(opened.lexical.search_documents(ranking.query, stage.k, documents))
    names = documents.names if isinstance(documents, Allowed) else None
    called = opened.lexical.called(ranking.query, index.owners, set(owners), names) if weights.called else {}
    parts: dict[str, Sequence[float] | npt.NDArray[np.floating]] = {
        "dense": cosines,
        "overview": overviews,
        "lexical": [by_words.get(unit, 0.0) for unit in units],
        "document": [by_document.get(owner, 0.0) for owner in owners],
        "present": opened.lexical.presence(ranking.query, units),
        "called": [called.get(owner, 0.0) for owner in owners],
    }
    if asked is not None:
        static = opened.encoder(STRUCTURE)[1].scores(asked, numbers)
        parts |= {"structure": static[0], "structure_overview": static[1]}
    if best is not None and index.descriptions is not None:
        parts["described"] = index.descriptions.scores(best, owners, cosines)
    nothing = np.zeros(len(units))
    table = np.stack([parts.get(name, nothing) for name in PARTS], axis=1).astype(np.float64)
    weights = weights.asked(ranking.query)
    totals = contributions(table, weights).sum(1)
    logs = opened.release_logs[owners]
    if logs.any() and not ASKS_FOR_CHANGES.search(ranking.query):
        totals = totals - RELEASE_LOG * logs
        ranking.scores["release_log"] = dict.fromkeys(numbers[logs].tolist(), 1.0)
    del parts["lexical"]  # the stage that found them says it
    ranking.scores.update({name: dict(zip(units, map(float, values), strict=True)) for name, values in parts.items()})
    ranked = top_k(dict(zip(units, map(float, totals), strict=True)), stage.k)
    if tokens is not None and stage.option("look") == _TOKENS:
        ranked = _looked_again(ranking, ranked, tokens, weights, index)
    first = int(index.owners[ranked[0][0]]) if ranked else 0
    # A release log has words of all that was ever asked for, so it counts only if it comes first itself.
    apart = set() if opened.release_logs[first] else set(np.flatnonzero(opened.release_logs).tolist())
    held = opened.lexical.coverage(ranking.query, documents, apart)
    ranking.likely = likely_right(table, totals, index.owners[numbers], first, held, weights, ranking.query)
    return ranked


def _looked_again(ranking: Ranking, order: Ranked, tokens: Vector, weights: FusionWeights, index: DenseIndex) -> Ranked:
    """Return the first units in the order that a second look gives them, then the others. weights: for this query."""
    if index.look is None or weights.look <= 0:
        return order
    head, tail = order[:LOOKED_AT], order[LOOKED_AT:]
    units, totals = np.array([unit for unit, _ in head], np.int64), np.array([total for _, total in head])
    scores, look_scores = looked_again(totals, index.look.scores(tokens, units), index.owners[units], weights)
    ranking.scores["look"] = dict(zip(units.tolist(), look_scores.tolist(), strict=True))
    return append_tail(in_order(zip(units.tolist(), scores.tolist(), strict=True)), tail)


_DESCRIBED = 20  # documents
_TOKENS = "tokens"
_CHOICES = {"weights": (STANDARDISED, _RRF), "look": (_TOKENS, "none")}
DENSE = StageKind("dense", _dense, finds=True, options={"k": 200}, model=DEFAULT, vectors=True)
HYBRID = StageKind(
    "hybrid",
    _hybrid,
    finds=True,
    options={"k": 200, "weights": STANDARDISED, "look": _TOKENS},
    model=DEFAULT,
    choices=_CHOICES,
    vectors=True,
    fuses=True,
)
DENSE_FUSION = replace(HYBRID, name="dense-fusion", run=_fusion, finds=False)
