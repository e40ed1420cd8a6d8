"""Fusing what the stages say: reciprocal ranks, or a weighted sum of up to seven scores with weights learned from the
corpus itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.retrieval.rankings.ranking import Ranked, top_k

RRF_K = 60
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """How much each of a unit's scores counts."""

    dense: float = 1.0
    """The unit's cosine."""
    overview: float = 1.0
    """Its document's overview's cosine."""
    lexical: float = 0.3
    """Its BM25 score, as a share of the query's best."""
    document: float = 0.3
    """Its whole document's BM25 score, as a share of the query's best."""
    structure: float = 0.0
    """The static encoder's cosine of the unit; 0 where that encoder takes no part."""
    structure_overview: float = 0.0
    """The static encoder's cosine of the overview."""
    described: float = 0.0
    """The cosine of the sentence that describes the document best; it counts nothing where no sentences are kept
    (descriptions.py).
    """

    def as_array(self) -> Floats:
        """(7,) float64."""
        return np.array(astuple(self), np.float64)

    @property
    def with_structure(self) -> bool:
        """Whether the static encoder takes part."""
        return self.structure > 0 or self.structure_overview > 0

    @property
    def others(self) -> dict[str, float]:
        """The weights, by name, of those scores that not every hybrid has, where they count."""
        found = {name: getattr(self, name) for name in _NAMES if name not in _OF_ALL}
        return {name: value for name, value in found.items() if value}

    @property
    def learned(self) -> bool:
        """Whether they were learned from the corpus, and are not those that everything begins with."""
        return self not in _STARTING

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> FusionWeights:
        """From stored JSON."""
        return cls(**{name: float(value[name] if name in _OF_ALL else value.get(name, 0.0)) for name in _NAMES})


_NAMES = tuple(each.name for each in fields(FusionWeights))
_OF_ALL = _NAMES[:4]
DEFAULT_WEIGHTS = FusionWeights()
# Beside a pretrained encoder the static one counts as much.
WITH_STRUCTURE = FusionWeights(structure=1.0, structure_overview=0.5)
_DESCRIBED = 0.5


def starting_weights(*, structure: bool = False, described: bool = False) -> FusionWeights:
    """Those that learning begins with. structure: the static encoder takes part beside another one; described:
    descriptions are kept.
    """
    return replace(WITH_STRUCTURE if structure else DEFAULT_WEIGHTS, described=_DESCRIBED if described else 0.0)


_STARTING = [
    starting_weights(structure=structure, described=described)
    for structure, described in product((False, True), repeat=2)
]


def reciprocal_rank_fusion(lists: Sequence[Sequence[tuple[int, float]]], k: int) -> Ranked:
    """Up to k (unit, fused score), best first; equal scores in unit order.

    A unit scores the sum over lists of 1 / (60 + its rank), ranks from 1 (Cormack, Clarke and Buettcher, SIGIR 2009).
    """
    scores: dict[int, float] = {}
    for ranked in lists:
        for rank, (unit, _) in enumerate(ranked, 1):
            scores[unit] = scores.get(unit, 0.0) + 1.0 / (RRF_K + rank)
    return top_k(scores, k)


def learn_weights(
    groups: Sequence[Floats], *, prior: FusionWeights = DEFAULT_WEIGHTS, scale: float = 12.0, ridge: float = 0.2
) -> FusionWeights:
    """Weights under which the first row of each group, the relevant one, is likeliest.

    groups: (candidates, 7) features of one query each. Minimises the mean softmax cross-entropy of the rows' weighted
    sums plus ridge / scale x |w - scale x prior|^2 / 2, a convex problem, by Newton's method. Weights below zero are
    set to zero and the others learned again; weights that the prior has at zero stay there.

    The result is divided by the larger of the cosine's weight and the static encoder's. The prior counts the same
    however many queries there are: it guards against their bias, which more of them don't lessen.
    """
    if not groups:
        return prior
    centre = prior.as_array() * scale
    ridge *= len(groups)
    free = centre > 0
    weights = centre.copy()
    while True:
        weights = np.where(free, weights, 0.0)
        for _ in range(50):
            gradient = -(weights - centre) * ridge / scale
            curvature = np.eye(len(centre)) * ridge / scale
            for rows in groups:
                scores = rows @ weights
                likely = np.exp(scores - scores.max())
                likely /= likely.sum()
                mean = likely @ rows
                gradient += rows[0] - mean
                curvature += (rows * likely[:, None]).T @ rows - np.outer(mean, mean)
            step = np.zeros(len(centre))
            step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
            weights = weights + step
            if np.abs(step).max() < 1e-6:
                break
        below = free & (weights < 0)
        if not below.any():
            break
        free &= ~below
    largest = max(weights[0], weights[4])
    if largest <= 0:
        return prior
    return FusionWeights(*(round(float(each), 4) for each in np.maximum(weights, 0.0) / largest))
