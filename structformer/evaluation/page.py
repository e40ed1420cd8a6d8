"""Where a pipeline wins and loses against another, with the texts; and a comparison as one self-contained page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from structformer.evaluation.comparison import Evaluation, Row
from structformer.pages import changes, intervals, queries, render
from structformer.retrieval.documents.units import IndexedDocuments
from structformer.storage.files import write_bytes

_SHOWN = 15  # queries of a difference
_CHARTED = 60  # queries that a chart can tell apart
_TEXT = 300  # characters of a document


@dataclass(frozen=True, slots=True)
class QueryDifference:
    """One query under both rows."""

    query: str
    text: str
    scores: tuple[float, float]
    """In the first measure, by row."""
    relevant: tuple[tuple[str, int, int], ...]
    """Documents with their ranks under both; 0 if not found."""
    tops: tuple[str, str]
    """The first document of each."""

    @property
    def change(self) -> float:
        """The second's score minus the first's."""
        return self.scores[1] - self.scores[0]


@dataclass(frozen=True, slots=True)
class Difference:
    """A comparison of two rows."""

    first: str
    second: str
    measure: str
    wins: list[QueryDifference]
    """Queries on which the second does better, the largest gain first."""
    losses: list[QueryDifference]
    ties: int

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON types."""
        value = asdict(self)
        for each in (*value["wins"], *value["losses"]):
            each["relevant"] = [{"document": name, "ranks": ranks} for name, *ranks in each["relevant"]]
        return value


def difference(result: Evaluation, first: str, second: str) -> Difference:
    """Compare two rows of an evaluation, named by label or pipeline. Raises UsageError on a row that isn't there."""
    one, two = result.row(first), result.row(second)
    measure = result.measures[0]
    queries = [_of_query(result, query, one, two, measure) for query in one.per_query[measure]]
    wins = sorted((each for each in queries if each.change > 0), key=lambda each: (-each.change, each.query))
    losses = sorted((each for each in queries if each.change < 0), key=lambda each: (each.change, each.query))
    return Difference(one.label, two.label, measure, wins, losses, len(queries) - len(wins) - len(losses))


def _of_query(result: Evaluation, query: str, one: Row, two: Row, measure: str) -> QueryDifference:
    ranks = [{document: rank for rank, (document, _) in enumerate(row.run.get(query, []), 1)} for row in (one, two)]
    judged = [document for document, grade in result.judgements.qrels[query].items() if grade > 0]
    relevant = tuple((document, ranks[0].get(document, 0), ranks[1].get(document, 0)) for document in judged)
    tops = [next((document for document, _ in row.run.get(query, [])), "") for row in (one, two)]
    scores = (one.per_query[measure][query], two.per_query[measure][query])
    return QueryDifference(query, result.judgements.queries[query], scores, relevant, (tops[0], tops[1]))


def texts_of(compared: Difference, documents: IndexedDocuments, count: int) -> dict[str, str]:
    """Return the overviews, by id, of the documents in the first `count` wins and losses."""
    shown = [*compared.wins[:count], *compared.losses[:count]]
    wanted = {document for each in shown for document in (*(name for name, _, _ in each.relevant), *each.tops)}
    return {document.id: document.overview for document in documents if document.id in wanted}


def write_page(
    path: Path, results: Sequence[Evaluation], differences: Sequence[tuple[Difference, dict[str, str]]] = ()
) -> None:
    """Write the page of these comparisons; a Difference comes with its documents' texts by id."""
    titles = dict.fromkeys(result.title for result in results)
    page = render(
        "evaluation.html",
        title=f"Evaluation: {', '.join(titles)}",
        about="Which search finds the judged documents best.",
        results=[_result(result) for result in results],
        differences=[_difference(delta, texts) for delta, texts in differences],
    )
    write_bytes(path, page)


def _result(result: Evaluation) -> dict[str, Any]:
    measure = result.measures[0]
    best = max(result.rows, key=lambda row: row.scores[measure])
    baseline = next((row for row in result.rows if row.label == result.baseline), None)
    values: list[float] = []
    if baseline is not None and best is not baseline:
        values = [value - baseline.per_query[measure][query] for query, value in best.per_query[measure].items()]
    better, worse = sum(change > 0 for change in values), sum(change < 0 for change in values)
    return {
        "title": result.title,
        "queries": result.queries,
        "head": [*result.measures, "95 %", *result.compared()],
        "rows": [{"label": row.label, "best": row is best, "cells": result.cells(row)} for row in result.rows],
        "note": result.note(),
        "caveat": result.caveat,
        # One row's interval fills any chart and says nothing.
        "intervals": [
            {
                "measure": each,
                "chart": intervals([(row.label, row.scores[each], *row.intervals[each]) for row in result.rows], each),
            }
            for each in result.measures
            if len(result.rows) > 1
        ],
        "by_query": _by_query(result),
        "best": best.label,
        "first": result.rows[0].label,
        "baseline": result.baseline,
        "counted": f"{better} better, {len(values) - better - worse} the same, {worse} worse.",
        "changes": changes(values, f"change in {measure}") if values else "",
    }


def _by_query(result: Evaluation) -> list[dict[str, Any]]:
    """Charts of each measure by query (the search agent's figure 3); none of too many queries to tell them apart."""
    if not 1 < result.queries <= _CHARTED:
        return []
    asked = list(result.rows[0].per_query[result.measures[0]])
    return [
        {
            "measure": measure,
            "chart": queries(
                asked, {row.label: [row.per_query[measure][query] for query in asked] for row in result.rows}, measure
            ),
        }
        for measure in result.measures
    ]


def _difference(delta: Difference, texts: Mapping[str, str]) -> dict[str, Any]:
    parts = [
        (title, len(queries), [_query(each, delta, texts) for each in queries[:_SHOWN]])
        for title, queries in (("Won", delta.wins), ("Lost", delta.losses))
    ]
    return {"first": delta.first, "second": delta.second, "parts": parts}


def _query(each: QueryDifference, delta: Difference, texts: Mapping[str, str]) -> dict[str, Any]:
    def text(name: str) -> str:
        return texts.get(name, "")[:_TEXT]

    return {
        "kind": "plus" if each.change > 0 else "minus",
        "change": f"{each.change:+.2f}",
        "text": each.text[:200],
        "relevant": [
            (name, str(first or "–"), str(second or "–"), text(name)) for name, first, second in each.relevant
        ],
        "tops": [
            (label, top or "–", text(top)) for label, top in ((delta.first, each.tops[0]), (delta.second, each.tops[1]))
        ],
    }
