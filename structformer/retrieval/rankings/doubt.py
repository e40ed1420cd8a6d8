"""How likely the first document that the hybrid finds is one that was asked for, by how its parts agree.

No judgement of the corpus is needed: the coefficients are those of a logistic regression over the judged sets of
docs/why-it-works.md, where they hold on sets left out of it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from structformer.retrieval.rankings.hybrid_score import PARTS, Floats, FusionWeights

_AGREEMENT, _LEAD, _PRESENCE, _CONSTANT = 2.5, 0.23, 1.35, -2.6
_PRESENT = PARTS.index("present")
_SAYS = np.array([name not in ("present", "called") for name in PARTS])
_COUNTS = 0.01  # the least weight of a part that has a say
_NEXT = 9  # documents that the first one is compared with


def likely_right(parts: Floats, totals: Floats, owners: npt.NDArray[np.int64], weights: FusionWeights) -> float:
    """Between 0 and 1; 0 where nothing was found. It grows with

    - the mean reciprocal rank of the first document by each part that counts,
    - its lead over the mean of the next nine, in units of the score,
    - and with how much of the query its first passage has, by how rare the words are.

    parts: (candidates, parts); totals: (candidates,) the hybrid's score; owners: (candidates,) their documents,
    ascending.
    """
    if not len(totals):
        return 0.0
    starts = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
    says = parts[:, _SAYS & (weights.as_array() > _COUNTS)]
    scores, counted = np.maximum.reduceat(totals, starts), np.maximum.reduceat(says, starts, axis=0)
    first = int(scores.argmax())
    ranks = 1 + (counted > counted[first]).sum(0)
    telling = counted[first] > says.min(0)  # a part in which it has nothing does not agree
    agreement = float(np.where(telling, 1 / ranks, 0.0).mean())
    present = float(parts[int(totals.argmax()), _PRESENT])
    others = np.sort(np.delete(scores, first))[::-1][:_NEXT]
    unit = float(np.linalg.norm(weights.as_array())) or 1.0
    lead = (float(scores[first]) - float(others.mean())) / unit if len(others) > 1 else 0.0
    return 1 / (1 + math.exp(-(_CONSTANT + _AGREEMENT * agreement + _LEAD * lead + _PRESENCE * present)))
