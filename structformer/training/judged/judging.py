"""Ranks on held-out structure or judged queries, by which a run judges itself and mixes its weights with the base's."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from structformer.errors import ModelError
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.kinds import Ranker, ranker_kind
from structformer.models.registry import Judged
from structformer.sampling.held_out import DevelopmentSet
from structformer.text.lexical_analysis import analyzer, idf, saturation
from structformer.text.words import spaced
from structformer.training.options import TrainingOptions

_CANDIDATES = 20  # of BM25's first passages of a query of held-out structure, which a cross-encoder puts in order
_MAX_DEV_QUERIES = 60  # such queries that it is asked


_TOP = 10
_STANDARD_ERRORS = 1.96  # of a 95 % interval

Ranks = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Weights = dict[str, torch.Tensor]
# People's queries are unlike those drawn from structure, and half-way between two sets of weights lies most of the gain
# on the new kind of queries with most of what was good on the old (Wortsman et al., CVPR 2022, section 4), so more than
# half is not taken.
_SHARES = (0.25, 0.5)
# Query-side training holds its vectors near to the base's by itself.
_QUERY_SIDE_SHARES = (0.5, 1.0)


class Judge(Protocol):
    """Held-out questions that know themselves how they are ranked."""

    def ranks(self, ranker: Ranker) -> Ranks:
        """Return (questions,) the rank from 1 of each one's right answer."""

    @property
    def weights(self) -> Floats:
        """(questions,) what each counts."""

    @property
    def measure(self) -> str:
        """The measure made of the ranks, of GAINS."""

    @property
    def groups(self) -> Ranks:
        """(questions,) what each belongs to, a document: questions of one gain or lose together."""


def ranks_on(ranker: Ranker, task: DevelopmentSet | Judge) -> Ranks:
    """(queries,) rank from 1 of each query's relevant passage on a development set (any of a judged document's). A
    ranker that reads pairs orders BM25's first _CANDIDATES, the last of which makes place for a relevant one.
    """
    if not isinstance(task, DevelopmentSet):
        return task.ranks(ranker)
    if ranker_kind(ranker.kind).joint:
        return np.array(
            [
                _rank(ranker.score([task.queries[query]] * len(given), [task.passages[each] for each in given]), right)
                for query, (given, right) in enumerate(_given(task))
            ],
            np.int64,
        )
    scores = ranker.score_all(task.queries, task.passages)
    ranks = [min(_rank(scores[query], passage) for passage in relevant) for query, relevant in enumerate(task.relevant)]
    return np.array(ranks, np.int64)


def given_ranks(task: DevelopmentSet | Judge) -> Ranks | None:
    """Return (queries,) the ranks in the order that a reranker is given; None if the task has no such order."""
    if isinstance(task, DevelopmentSet):
        return np.array([1 + right for _, right in _given(task)], np.int64)
    given: Callable[[], Ranks] | None = getattr(task, "given_ranks", None)
    return given() if given else None


def _given(task: DevelopmentSet) -> Iterator[tuple[list[int], int]]:
    """For each query the passages that a reranker is given, best first, and the place of the best relevant one."""
    queries = task.queries[:_MAX_DEV_QUERIES]
    for order, relevant in zip(order_by_words(queries, task.passages), task.relevant, strict=False):
        given = order[:_CANDIDATES].tolist()
        if not relevant.intersection(given):
            given[-1] = min(relevant)
        yield given, next(place for place, number in enumerate(given) if number in relevant)


def question_weights(ranks: Ranks, task: DevelopmentSet | Judge) -> Floats:
    """Return (queries,) what each query of a development set counts that has such a rank."""
    return np.ones(len(ranks)) if isinstance(task, DevelopmentSet) else task.weights


def groups_of(ranks: Ranks, task: DevelopmentSet | Judge) -> Ranks:
    """Return (queries,) what each query of a development set belongs to that has such a rank."""
    if not isinstance(task, DevelopmentSet):
        return task.groups
    return np.array([min(relevant) for relevant in task.relevant[: len(ranks)]], np.int64)


def measure_of(task: DevelopmentSet | Judge) -> str:
    """Return the measure that a task is scored with."""
    return NDCG if isinstance(task, DevelopmentSet) else task.measure


def mean_gain(ranks: Ranks, task: DevelopmentSet | Judge) -> float:
    """Return the mean of the task's measure over its queries."""
    return float(np.average(GAINS[measure_of(task)](ranks), weights=question_weights(ranks, task)))


# Measures of queries with one right answer, whose ranks count from 1.
NDCG, RECIPROCAL = "nDCG@10", "RR@10"
GAINS: Mapping[str, Callable[[Ranks], Floats]] = {
    NDCG: lambda ranks: np.where(ranks <= _TOP, 1 / np.log2(np.maximum(ranks, 1) + 1.0), 0.0),
    RECIPROCAL: lambda ranks: np.where(ranks <= _TOP, 1 / np.maximum(ranks, 1), 0.0),
}


def chosen_apart(ranks: Mapping[float, Ranks], task: DevelopmentSet | Judge) -> Ranks:
    """(queries,) ranks under what the other half of the groups chooses. ranks: by choice; ties go to the greatest."""
    first = next(iter(ranks.values()))
    weights, (_, places) = question_weights(first, task), np.unique(groups_of(first, task), return_inverse=True)
    gains = GAINS[measure_of(task)]
    apart = first.copy()
    for half in (0, 1):
        ours = places % 2 == half
        others = weights * ~ours
        best = max(ranks, key=lambda each: (float((gains(ranks[each]) * others).sum()), each))
        apart[ours] = ranks[best][ours]
    return apart


def compared(
    untrained: Ranks,
    trained: Ranks,
    weights: Floats,
    *,
    by: str,
    against: str,
    measure: str = NDCG,
    groups: Ranks | None = None,
) -> Judged:
    """Compare ranks of the same questions. weights: of each; groups: that gain or lose together, else each alone."""
    gains = GAINS[measure]
    if groups is None:
        groups = np.arange(len(untrained), dtype=np.int64)
    _, places = np.unique(groups, return_inverse=True)
    means, intervals = [], []
    for before, after in (
        (gains(untrained), gains(trained)),
        ((untrained == 1).astype(np.float64), (trained == 1).astype(np.float64)),
    ):
        change = after - before
        mean = float(np.average(change, weights=weights))
        # Of clusters: Cameron and Miller, Journal of Human Resources 50, 2015, equation 11.
        together = np.bincount(places, weights * (change - mean))
        error = math.sqrt(float((together**2).sum())) / float(weights.sum())
        means += [float(np.average(before, weights=weights)), float(np.average(after, weights=weights))]
        intervals += [mean - _STANDARD_ERRORS * error, mean + _STANDARD_ERRORS * error]
    figures = [round(value, 4) for value in (*means[:2], *intervals[:2], *means[2:], *intervals[2:])]
    return Judged(by, against, len(untrained), *figures, measure=measure)


def development_score(ranker: Ranker, task: DevelopmentSet | Judge) -> float:
    """Return a ranker's score on a development set."""
    return mean_gain(ranks_on(ranker, task), task)


def _rank(scores: npt.NDArray[np.float32], relevant: int) -> int:
    """Return the rank from 1 of the relevant item; ties count against it."""
    return int((scores >= scores[relevant]).sum())


def order_by_words(queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """(queries, texts) int64: each query's texts, best first, ties in order (Robertson and Zaragoza 2009, eq. 3.15,
    Lucene's idf, never below 0).
    """
    cut = analyzer("en")
    words = [Counter(cut.analyze(spaced(text))) for text in texts]
    average = sum(each.total() for each in words) / max(1, len(texts))
    weights: dict[str, dict[int, float]] = {}
    for row, (counts, length) in enumerate((each, each.total()) for each in words):
        for word, count in counts.items():
            weights.setdefault(word, {})[row] = saturation(count, length, average)
    scores = np.zeros((len(queries), len(texts)))
    for number, query in enumerate(queries):
        for word in cut.analyze(spaced(query)):
            holding = weights.get(word, {})
            scores[number, list(holding)] += idf(len(holding), len(texts)) * np.array([*holding.values()])
    return np.argsort(-scores, axis=1, kind="stable")


def weights_of(model: torch.nn.Module) -> Weights:
    """Return a copy of all weights, on the CPU."""
    return {name: value.detach().to("cpu", copy=True) for name, value in model.state_dict().items()}


def set_weights(ranker: Ranker, weights: Mapping[str, torch.Tensor]) -> None:
    """Put an objective's weights into the ranker's model, whatever wrapped it while training."""
    state = {name.removeprefix("model."): value for name, value in weights.items() if name.startswith("model.")}
    ranker.model.load_state_dict(state)


def mix_weights(model: torch.nn.Module, base: Weights, trained: Weights, share: float) -> None:
    """Set (1 - share) x base + share x trained (Wortsman et al., "Robust fine-tuning", CVPR 2022, eq. 1)."""
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                value.copy_((1 - share) * base[name].to(value.device) + share * trained[name].to(value.device))


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
