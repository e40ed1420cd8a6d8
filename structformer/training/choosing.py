"""Which weights a run keeps: the base's, the trained ones or a mixture, by their scores on a development set; and
whether the search should use them.
"""

from __future__ import annotations

from dataclasses import dataclass

from structformer.errors import ModelError
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.kinds import Ranker, ranker_kind
from structformer.sampling.held_out import DevelopmentSet
from structformer.training.judging import Judge, Weights, development_score, mix_weights, weights_of
from structformer.training.options import TrainingOptions

# People's queries are unlike those drawn from structure, and half-way between two sets of weights lies most of the gain
# on the new kind of queries with most of what was good on the old (Wortsman et al., CVPR 2022, section 4), so more than
# half is not taken.
_SHARES = (0.25, 0.5)


@dataclass(frozen=True, slots=True)
class Judging:
    """What a run is judged by. judged_by: what the development set is made of; shares: of trained weights, to try;
    base_score, base_weights: of the untrained ranker.
    """

    development: DevelopmentSet | Judge | None
    judged_by: str
    shares: tuple[float, ...]
    base_score: float
    base_weights: Weights


@dataclass(frozen=True, slots=True)
class Verdict:
    """What judging came to. scores: by share of trained weights; kept: the best share; better_than_base: whether the
    search should use the ranker instead of what it started from, None where nothing was held out; default_score: of the
    encoder that the search would use without it, None where that is the ranker's own base.
    """

    scores: dict[float, float]
    kept: float
    better_than_base: bool | None
    default_score: float | None


def shares_to_try(ranker: Ranker, base: BaseModel, options: TrainingOptions) -> tuple[float, ...]:
    """Shares of trained weights to try. A fresh head, or a fresh model, has no base worth mixing with."""
    return _SHARES if options.interpolate and ranker_kind(ranker.kind).interpolates and not base.scratch else (1.0,)


def choose(ranker: Ranker, base: BaseModel, judging: Judging) -> Verdict:
    """Judge a trained ranker, which is left with the weights that did best."""
    scores, kept = _best_share(ranker, judging)
    default = _default_score(ranker, base, judging.development)
    return Verdict(scores, kept, _better(ranker, judging.development, scores, kept, default), default)


def _best_share(ranker: Ranker, judging: Judging) -> tuple[dict[float, float], float]:
    """Scores on the development set by share of trained weights, and the best share; the ranker is left with it."""
    base, trained, shares = judging.base_weights, weights_of(ranker.model), judging.shares
    if judging.development is None:
        mix_weights(ranker.model, base, trained, shares[-1])
        return {}, shares[-1]
    scores = {0.0: judging.base_score}
    for share in shares:
        mix_weights(ranker.model, base, trained, share)
        scores[share] = development_score(ranker, judging.development)
    # Untrained weights behind a fresh head are no ranker at all, so there the trained ones are kept whatever they
    # score.
    best = max(scores, key=lambda share: (scores[share], share)) if len(shares) > 1 else shares[0]
    mix_weights(ranker.model, base, trained, best)
    return scores, best


def _default_score(ranker: Ranker, base: BaseModel, development: DevelopmentSet | Judge | None) -> float | None:
    if development is None or not base.scratch or not ranker_kind(ranker.kind).sentence_encoder:
        return None
    try:
        default = resolve_base_model("auto", "bi-encoder")
    except ModelError:
        return None
    return development_score(ranker_kind(ranker.kind).load(default.location), development)


def _better(
    ranker: Ranker,
    development: DevelopmentSet | Judge | None,
    scores: dict[float, float],
    kept: float,
    default_score: float | None,
) -> bool | None:
    if development is None:
        return None
    if not isinstance(development, DevelopmentSet):
        return not development.worse(ranker)
    return kept > 0 and scores[kept] > max(scores[0.0], default_score or 0.0)
