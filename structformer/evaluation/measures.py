"""Measures by name: ir_measures', and those of plugins."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from subprocess import CalledProcessError
from typing import Any

import ir_measures

from structformer.did_you_mean import nearest
from structformer.errors import UsageError
from structformer.extras import require
from structformer.plugins import load_plugins
from structformer.retrieval.rankings.run_files import Qrel

Ranked = Sequence[tuple[str, float]]
_NAME = re.compile(r"[A-Za-z_]+")
_MOST = 1_000_000_000


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
