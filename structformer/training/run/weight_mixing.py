"""Choosing the weights a run keeps, trained or mixed with the base's, by their scores on a development set."""

from dataclasses import dataclass, replace

from structformer.errors import ModelError
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.held_out_verdict import Judged
from structformer.models.kinds import Ranker, ranker_kind
from structformer.sampling.held_out import DevelopmentSet
from structformer.training.judged.judging import (
    Judge,
    Ranks,
    Weights,
    chosen_apart,
    compared,
    given_ranks,
    groups_of,
    mean_gain,
    measure_of,
    mix_weights,
    question_weights,
    ranks_on,
    weights_of,
)
from structformer.training.options import TrainingOptions

# People's queries are unlike those drawn from structure, and half-way between two sets of weights lies most of the gain
# on the new kind of queries with most of what was good on the old (Wortsman et al., CVPR 2022, section 4), so more than
# half is not taken.
_SHARES = (0.25, 0.5)
# Query-side training holds its vectors near to the base's by itself.
_QUERY_SIDE_SHARES = (0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Judging:
    """The judge of a run, and its untrained ranker to compare with."""

    development: DevelopmentSet | Judge | None
    judged_by: str
    """Source of the development set, in words."""
    shares: tuple[float, ...]
    """Shares of trained weights to try."""
    base_ranks: Ranks | None
    base_weights: Weights
    taught: Judge | None = None
    """Held-out questions of documents that other questions taught."""
    taught_base: Ranks | None = None
    """Their ranks by the untrained ranker."""
    site: bool = False
    """Whether pages have outlines of their own."""


def shares_to_try(
    ranker: Ranker, base: BaseModel, options: TrainingOptions, *, query_side: bool = False
) -> tuple[float, ...]:
    """Return shares of trained weights to try. A fresh head, or a fresh model, has no base worth mixing with."""
    if not options.interpolate or not ranker_kind(ranker.kind).interpolates or base.scratch:
        return (1.0,)
    return _QUERY_SIDE_SHARES if query_side else _SHARES


def choose(ranker: Ranker, base: BaseModel, judging: Judging) -> tuple[dict[float, float], float, Judged | None]:
    """Judge a trained ranker, which is left with the share of its weights that did best. Return the scores on the
    development set by share of trained weights, 0 for the untrained ones, the best share, and the trained weights
    against what the search has without them, None if nothing was held out. The share for each half of the queries was
    chosen by the other half.
    """
    before, trained, shares = judging.base_weights, weights_of(ranker.model), judging.shares
    development = judging.development
    if development is None or judging.base_ranks is None:
        mix_weights(ranker.model, before, trained, shares[-1])
        return {}, shares[-1], None
    ranks = {}
    for share in shares:
        mix_weights(ranker.model, before, trained, share)
        ranks[share] = ranks_on(ranker, development)
    scores = {share: mean_gain(ranks_of_share, development) for share, ranks_of_share in ranks.items()}
    kept = max(scores, key=lambda share: (scores[share], share))
    mix_weights(ranker.model, before, trained, kept)
    taught = _taught(ranker, judging)
    scores = {0.0: mean_gain(judging.base_ranks, development), **scores}
    without, against = judging.base_ranks, "the untrained model"
    if ranker_kind(ranker.kind).joint and (given := given_ranks(development)) is not None:
        without, against = given, "the order that it changes, BM25's or a given run's,"
    if (encoder := _encoder_without(ranker, base)) is not None:
        ranks_now = ranks_on(encoder, development)
        if mean_gain(ranks_now, development) > scores[0.0]:
            without, against = ranks_now, "the encoder that the search uses without it"
    judged = compared(
        without,
        chosen_apart(ranks, development),
        question_weights(without, development),
        by=judging.judged_by,
        against=against,
        measure=measure_of(development),
        groups=groups_of(without, development),
    )
    return scores, kept, replace(judged, taught=taught, site=judging.site)


def _taught(ranker: Ranker, judging: Judging) -> tuple[int, float, float] | None:
    """Return how many held-out questions of taught documents there are, and their means before and after."""
    if judging.taught is None or judging.taught_base is None:
        return None
    ranks = ranks_on(ranker, judging.taught)
    untrained, trained = (round(mean_gain(each, judging.taught), 4) for each in (judging.taught_base, ranks))
    return len(ranks), untrained, trained


def _encoder_without(ranker: Ranker, base: BaseModel) -> Ranker | None:
    """The encoder the search would use instead of a model from scratch; None if the ranker's base, or none at hand."""
    if not base.scratch or not ranker_kind(ranker.kind).sentence_encoder:
        return None
    try:
        default = resolve_base_model("auto", "bi-encoder")
    except ModelError:
        return None
    return ranker_kind(ranker.kind).load(default.location)
