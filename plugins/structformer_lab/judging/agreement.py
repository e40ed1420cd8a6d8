"""How far two judges agree: Cohen's kappa of their judgements, Kendall's tau of how they put systems in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from scipy.stats import kendalltau
from structformer.evaluation import Comparison, FoundRun, Judgements, compare_runs

from structformer_lab.judging.grading import RELEVANT

MEASURE = "nDCG@10"


def cohens_kappa(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Return the agreement of two judges beyond chance, 1 for the same judgements (Cohen, 1960); None if chance alone
    would give the same ones, as where both say one thing of everything.
    """
    count = max(len(first), 1)
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) / count
    ones, others = Counter(first), Counter(second)
    chance = sum(ones[each] * others[each] for each in ones) / count**2
    return (agreed - chance) / (1 - chance) if first and chance < 1 else None


def kendalls_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the rank correlation tau-b of two lists of scores; None where one of them puts nothing in order."""
    value = float(kendalltau(first, second).statistic) if len(first) > 1 else math.nan
    return None if math.isnan(value) else value


def agreement(people: Judgements, model: Judgements, runs: Sequence[FoundRun]) -> dict[str, Any]:
    """Compare a model's judgements with people's of the same queries, over the pairs that the model has judged; what
    people's do not list counts as 0, as in measures.

    Return, in JSON's types, the `pairs`; those relevant by `both`, by `people_alone` (a grade over 0) and by
    `model_alone` (2 or 3); their `kappa`; the pipelines' `scores`, means of nDCG@10 by people's judgements and by the
    model's; and the `tau` of these.
    """
    judged = [
        (people.qrels[query].get(document, 0) > 0, grade >= RELEVANT)
        for query, grades in model.qrels.items()
        for document, grade in grades.items()
    ]
    counts = Counter(judged)
    by_model = means_of(model, runs)
    scores = {name: [mean, by_model[name]] for name, mean in means_of(people, runs).items()}
    return {
        "pairs": len(judged),
        "both": counts[True, True],
        "people_alone": counts[True, False],
        "model_alone": counts[False, True],
        "kappa": cohens_kappa([one for one, _ in judged], [other for _, other in judged]),
        "tau": kendalls_tau([one for one, _ in scores.values()], [other for _, other in scores.values()]),
        "scores": scores,
    }


def means_of(judgements: Judgements, runs: Sequence[FoundRun]) -> dict[str, float]:
    """Return each run's mean of nDCG@10 by its label, 0 where nothing is relevant."""
    if not any(grade > 0 for grades in judgements.qrels.values() for grade in grades.values()):
        return {each.label: 0.0 for each in runs}
    rows = compare_runs(runs, judgements, Comparison((MEASURE,), standard=False)).rows
    return {row.label: row.scores[MEASURE] for row in rows}
