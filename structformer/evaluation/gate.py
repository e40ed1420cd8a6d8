"""A gate for continuous integration: whether a search is good enough, and no worse than it was."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structformer.errors import UsageError
from structformer.evaluation.comparison import Evaluation, Row
from structformer.evaluation.measures import Evaluator, parse_measure
from structformer.evaluation.significance import bootstrap_intervals, randomisation_test
from structformer.retrieval.rankings.run_files import Run
from structformer.text.lines import as_number

TOLERANCE = 0.05
_SIGNIFICANT = 0.05
_ROUNDING = 1e-9  # a mean of many sevenths may end just below 0.7


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check."""

    passed: bool
    summary: str
    """In words."""
    figures: dict[str, Any]
    """The same as JSON types."""


def bound(text: str, first: str) -> tuple[str, float]:
    """Return (measure, the least that its mean may be) of `0.7`, for the first measure, or `RR@10>=0.6`. Raises
    UsageError.
    """
    name, sign, number = text.rpartition(">=")
    try:
        least = as_number(number)
    except ValueError:
        least = math.nan
    if math.isnan(least) or (sign and not name.strip()):
        raise UsageError(f"{text!r} is not a bound: write 0.7, or a measure with its bound, as RR@10>=0.6")
    return str(parse_measure(name.strip())) if sign else first, least


def at_least(row: Row, measure: str, least: float) -> Check:
    """Check a row of an evaluation by a bound."""
    score, (low, high) = row.scores[measure], row.intervals[measure]
    passed = score >= least - _ROUNDING
    queries = len(row.per_query[measure])
    end = f"at least {least:g}" if passed else f"{least - score:.3f} under {least:g}"
    outcome = f"{measure} is {score:.3f} [{low:.3f}, {high:.3f}] on {_counted(queries)}: {end}"
    figures = {"measure": measure, "value": score, "interval": [low, high], "least": least}
    return Check(passed, outcome, {**figures, "queries": queries})


def no_worse(result: Evaluation, row: Row, path: Path, earlier: Run, tolerance: float, seed: int) -> Check:
    """Check a row by an earlier run, on the queries that this has: one that came later would count as never answered by
    it. tolerance: how much lower the row may be if that may be chance. Raises UsageError where it has none of them.
    """
    measure = result.measures[0]
    now = {query: value for query, value in row.per_query[measure].items() if query in earlier}
    if not now:
        raise UsageError(f"{path} has none of the queries of {result.title}")
    judged, run = result.judgements, {query: earlier[query] for query in now}
    evaluator = Evaluator([parse_measure(measure)], {query: judged.qrels[query] for query in now}, judged.subtopics)
    before = dict.fromkeys(now, 0.0) | {query: value for _, query, value in evaluator.values(run)}
    changes = [now[query] - before[query] for query in now]
    change = sum(changes) / len(changes)
    [(low, high)] = bootstrap_intervals([changes], seed=seed)
    p = randomisation_test(list(now.values()), [before[query] for query in now], seed=seed)
    significant = p < _SIGNIFICANT
    passed = change >= 0 or not (significant or -change > tolerance + _ROUNDING)
    how = f"{'no worse' if passed else 'worse'} than in {path}: {change:+.3f}"
    missing = len(row.per_query[measure]) - len(now)
    end = f", p = {p:.3f}" + ("" if passed or significant else f"; more than {tolerance:g} lower")
    end += f"; {_counted(missing)} not in that run left out" if missing else ""
    outcome = f"{measure} is {how} [{low:+.3f}, {high:+.3f}] on {_counted(len(now))}{end}"
    figures = {"measure": measure, "earlier": str(path), "difference": change, "interval": [low, high], "p": p}
    return Check(passed, outcome, {**figures, "tolerance": tolerance, "queries": len(now)})


def _counted(queries: int) -> str:
    return f"{queries} quer{'y' if queries == 1 else 'ies'}"
