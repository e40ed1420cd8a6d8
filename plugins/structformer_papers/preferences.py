"""Which of two pseudo-queries a document answers better, by the signs of the axioms' scores: +1 the first, -1 the
second, 0 undecided.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from structformer_papers.axioms import AXIOMS

RANK = AXIOMS.index("RANK")
_RIDGE = 1.0
_STEPS = 25


def hard(signs: Sequence[int]) -> int:
    """The majority of the axioms, RANK deciding ties (ARES_hard)."""
    votes = sum(signs)
    return (votes > 0) - (votes < 0) or signs[RANK]


def strict(signs: Sequence[int]) -> int:
    """What all axioms that tell the two apart agree on (ARES_strict)."""
    found = set(signs) - {0}
    return found.pop() if len(found) == 1 else 0


def weighted(signs: Sequence[int], weights: Sequence[float]) -> int:
    """The sign of the weighted sum of the axioms."""
    votes = sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return (votes > 0) - (votes < 0)


def fitted_weights(preferred: npt.NDArray[np.float64]) -> list[float]:
    """Weights of a logistic regression without intercept, by Newton's method, with a ridge of one.

    preferred: (pairs, axioms), the signs of pairs of which the first is preferred; a pair turned round says the same,
    so none is needed.
    """
    weights = np.zeros(preferred.shape[1])
    for _ in range(_STEPS):
        wrong = 1.0 / (1.0 + np.exp(preferred @ weights))
        gradient = _RIDGE * weights - preferred.T @ wrong
        curvature = (preferred.T * (wrong * (1.0 - wrong))) @ preferred + _RIDGE * np.eye(len(weights))
        weights = weights - np.linalg.solve(curvature, gradient)
    return [round(float(weight), 6) for weight in weights]
