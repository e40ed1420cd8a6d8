"""Measures by name, ir_measures' and plugins'; and tests of their differences, intervals, Holm's correction."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from subprocess import CalledProcessError
from typing import Any

import ir_measures
import numpy as np

from structformer.did_you_mean import nearest
from structformer.errors import UsageError
from structformer.extras import require
from structformer.plugins import load_plugins
from structformer.retrieval.rankings.run_files import Qrel

Ranked = Sequence[tuple[str, float]]
_NAME = re.compile(r"[A-Za-z_]+")
_MOST = 1_000_000_000
_ROUNDS = 10_000
_ENDS = (0.025, 0.975)  # of an interval of 95 %
_EXACT_UP_TO = 14  # non-zero differences up to which all sign patterns are tried
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of one's own."""

    name: str
    value: Callable[[Mapping[str, int], Ranked], float]
    """Called with a query's grades by document id and its ranking of (document id, score), best first."""

    def __post_init__(self) -> None:
        if not self.name or "," in self.name:
            raise ValueError(f"a measure's name has a letter and no comma: {self.name!r}")

    def __str__(self) -> str:
        return self.name


def own_measures() -> dict[str, Measure]:
    """Return the measures of plugins by name."""
    supplied = load_plugins().supplied("structformer_measures", "measure", Measure)
    return {name: measure for name, (measure, _) in supplied.items()}


def parse_measure(name: str) -> Any:
    """Return a measure by its name. Raises UsageError."""
    if name in own_measures():
        return own_measures()[name]
    try:
        measure: Any = ir_measures.parse_measure(name)
    except (ValueError, NameError, SyntaxError, KeyError) as error:
        raise UsageError(f"no measure {name!r}{_meant(name)}") from error
    try:
        measure.validate_params()
    except AssertionError as error:
        raise UsageError(f"the measure {name}: {error}") from error
    # Tools in C end the process at such numbers.
    for param in ("cutoff", "rel"):
        if not 0 < measure.params.get(param, 1) <= _MOST:
            raise UsageError(f"the measure {name}: its {param} must be between 1 and {_MOST:,}")
    if not ir_measures.pyndeval.supports(measure):
        trial = ir_measures.evaluator([measure], [ir_measures.Qrel("q", "d", 1)])
        _computed([measure], [ir_measures.ScoredDoc("q", "d", 1.0)], trial)
    return measure


def _computed(measures: Sequence[Any], scored: Sequence[Any], evaluator: Any) -> list[Any]:
    """Return the score of each query. Raises UsageError where the tool that computes a measure fails."""
    try:
        return list(evaluator.iter_calc(scored))
    except (AssertionError, TypeError, ValueError, ArithmeticError, OSError, CalledProcessError) as error:
        names = ", ".join(map(str, measures))
        raise UsageError(f"{names} cannot be computed here: {error or type(error).__name__}") from error


def _meant(name: str) -> str:
    """Return the measure of the nearest name, with what is asked of it; else examples."""
    own = own_measures()
    word = _NAME.match(name)
    if word and (near := nearest(word[0], [*own, *ir_measures.measures.registry])) and near != word[0]:
        return f"; did you mean {near}{'' if near in own else name[word.end() :]}?"
    plugins = f"; of plugins: {', '.join(own)}" if own else ""
    return f" (for example nDCG@10, RR@10, Success@1, AP, R@100{plugins})"


class Evaluator:
    """Computes measures of runs for the same judgements."""

    def __init__(
        self, measures: Sequence[Any], qrels: Mapping[str, Mapping[str, int]], subtopics: Sequence[Qrel] = ()
    ) -> None:
        """subtopics: single judgements, for measures by subtopic. Raises UsageError without them, or their package."""
        self._own = [measure for measure in measures if isinstance(measure, Measure)]
        others = [measure for measure in measures if not isinstance(measure, Measure)]
        by_subtopic = [measure for measure in others if ir_measures.pyndeval.supports(measure)]
        if by_subtopic and not subtopics:
            raise UsageError(
                f"{by_subtopic[0]} needs judgements by subtopic: TREC's qrels with the subtopic in the second column"
            )
        if by_subtopic:
            require(str(by_subtopic[0]), "pyndeval")
        self._qrels = qrels
        plain = [measure for measure in others if measure not in by_subtopic]
        qrel = ir_measures.Qrel
        listed = [qrel(query, document, grade) for query, grades in qrels.items() for document, grade in grades.items()]
        divided = [qrel(row.query, row.document, row.grade, row.subtopic) for row in subtopics if row.query in qrels]
        each_with_rows = ((plain, listed), (by_subtopic, divided))
        self._evaluators = [(each, ir_measures.evaluator(each, rows)) for each, rows in each_with_rows if each]

    def values(self, run: Mapping[str, Ranked]) -> Iterator[tuple[str, str, float]]:
        """Yield (measure, query id, value)."""
        scored = [
            ir_measures.ScoredDoc(query, document, score) for query, ranked in run.items() for document, score in ranked
        ]
        for measures, evaluator in self._evaluators:
            for metric in _computed(measures, scored, evaluator):
                yield str(metric.measure), metric.query_id, metric.value
        for measure in self._own:
            for query, grades in self._qrels.items():
                yield measure.name, query, measure.value(grades, run.get(query, ()))


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
