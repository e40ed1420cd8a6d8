"""Where one pipeline wins and loses against another, query by query, with the texts."""

from dataclasses import asdict, dataclass
from typing import Any

from structformer.evaluation.comparison import Evaluation, Row
from structformer.retrieval.documents.units import IndexedDocuments


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
    queries = [_query(result, query, one, two, measure) for query in one.per_query[measure]]
    wins = sorted((each for each in queries if each.change > 0), key=lambda each: (-each.change, each.query))
    losses = sorted((each for each in queries if each.change < 0), key=lambda each: (each.change, each.query))
    return Difference(one.label, two.label, measure, wins, losses, len(queries) - len(wins) - len(losses))


def _query(result: Evaluation, query: str, one: Row, two: Row, measure: str) -> QueryDifference:
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
