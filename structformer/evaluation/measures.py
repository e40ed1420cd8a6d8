"""Measures by name: ir_measures', and those of plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import ir_measures

from structformer.errors import UsageError
from structformer.plugins import load_plugins

Ranked = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of one's own. value: called with a query's grades by document id and its ranking of (document id,
    score), best first.
    """

    name: str
    value: Callable[[Mapping[str, int], Ranked], float]

    def __post_init__(self) -> None:
        if not self.name or "," in self.name:
            raise ValueError(f"a measure's name has a letter and no comma: {self.name!r}")

    def __str__(self) -> str:
        return self.name


@cache
def own_measures() -> dict[str, Measure]:
    """The measures of plugins by name."""
    return {
        name: measure
        for name, (measure, _) in load_plugins().supplied("structformer_measures", "measure", Measure).items()
    }


def parse_measure(name: str) -> Any:
    """A measure by its name. Raises UsageError."""
    if name in own_measures():
        return own_measures()[name]
    try:
        return ir_measures.parse_measure(name)
    except (ValueError, NameError, SyntaxError, KeyError) as error:
        own = f"; of plugins: {', '.join(own_measures())}" if own_measures() else ""
        raise UsageError(f"no measure {name!r} (for example nDCG@10, RR@10, Success@1, AP, R@100{own})") from error


class Evaluator:
    """Computes measures of runs for the same judgements."""

    def __init__(self, measures: Sequence[Any], qrels: Mapping[str, Mapping[str, int]]) -> None:
        self._own = [measure for measure in measures if isinstance(measure, Measure)]
        others = [measure for measure in measures if not isinstance(measure, Measure)]
        self._qrels = qrels
        listed = [
            ir_measures.Qrel(query, document, grade)
            for query, grades in qrels.items()
            for document, grade in grades.items()
        ]
        self._evaluator = ir_measures.evaluator(others, listed) if others else None

    def values(self, run: Mapping[str, Ranked]) -> Iterator[tuple[str, str, float]]:
        """(measure, query id, value)."""
        if self._evaluator is not None:
            scored = [
                ir_measures.ScoredDoc(query, document, score)
                for query, ranked in run.items()
                for document, score in ranked
            ]
            for metric in self._evaluator.iter_calc(scored):
                yield str(metric.measure), metric.query_id, metric.value
        for measure in self._own:
            for query, grades in self._qrels.items():
                yield measure.name, query, measure.value(grades, run.get(query, ()))
