"""Tests of differences between pipelines: paired randomisation, bootstrap intervals, Holm's correction."""

from collections.abc import Sequence

import numpy as np

_ROUNDS = 10_000
_ENDS = (0.025, 0.975)  # of an interval of 95 %
_EXACT_UP_TO = 14  # non-zero differences up to which all sign patterns are tried
_CHUNK = 1000


def randomisation_test(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> float:
    """Two-sided p-value of Fisher's paired randomisation test on the mean difference of per-query scores.

    Under the null hypothesis each pair's two scores could as well be swapped; p is the share of random swappings whose
    mean difference is at least as large as the observed (Smucker, Allan and Carterette, CIKM 2007, section 2.1). The
    observed order counts as one of them. Raises ValueError on lists of different or no length.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError("a paired test needs two lists of the same length, not empty")
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    observed = abs(differences.sum()) - 1e-12
    if len(differences) <= _EXACT_UP_TO:
        patterns = np.arange(2 ** len(differences))[:, None] >> np.arange(len(differences)) & 1
        return float(np.mean(np.abs((patterns * 2 - 1) @ differences) >= observed))
    generator = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, _ROUNDS, _CHUNK):
        signs = generator.integers(0, 2, (min(_CHUNK, _ROUNDS - start), len(differences))) * 2 - 1
        extreme += int(np.sum(np.abs(signs @ differences) >= observed))
    return (extreme + 1) / (_ROUNDS + 1)


def t_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p-value of the paired t-test on per-query scores; 1 where no query differs."""
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    if len(differences) < 2 or not differences.any():
        return 1.0
    if np.ptp(differences) < 1e-12:
        return 0.0
    from scipy.stats import ttest_rel

    return float(ttest_rel(first, second).pvalue)


def bootstrap_intervals(columns: Sequence[Sequence[float]], *, seed: int = 0) -> list[tuple[float, float]]:
    """The 95 % percentile bootstrap intervals of the means (Efron and Tibshirani 1993, section 13.3) of several scores
    of the same queries, which are drawn once for all. Raises ValueError.
    """
    array = np.asarray(columns, np.float64).T
    if array.ndim != 2 or not array.size:
        raise ValueError("no values to draw from")
    queries = len(array)
    generator = np.random.default_rng(seed)
    parts = []
    for start in range(0, _ROUNDS, _CHUNK):
        drawn = generator.integers(0, queries, (min(_CHUNK, _ROUNDS - start), queries))
        places = drawn + queries * np.arange(len(drawn))[:, None]
        times = np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape)
        parts.append(times @ array / queries)
    low, high = np.quantile(np.concatenate(parts), _ENDS, axis=0)
    return [(float(first), float(last)) for first, last in zip(low, high, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for making so many tests (Holm 1979), in the given order."""
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, p_values[number] * (len(p_values) - place)))
        corrected[number] = highest
    return corrected
