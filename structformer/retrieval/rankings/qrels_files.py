"""Files of relevance judgements (qrels): BEIR's three columns and TREC's four."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from structformer.errors import UsageError
from structformer.text.lines import as_number, columns, lines_of

Qrels = dict[str, dict[str, int]]
_HIGHEST = 10_000  # grade: trec_eval keeps a count for every grade up to the highest


class Qrel(NamedTuple):
    """One judgement."""

    query: str
    subtopic: str
    """TREC's second column, which the diversity tracks use; "0" elsewhere."""
    document: str
    grade: int


def qrel_rows(path: Path) -> Iterator[Qrel]:
    """Judgements from BEIR's tab-separated lines (with header) or TREC's four columns. UsageError names the line."""
    found: dict[tuple[str, str, str], int] = {}
    for number, line in enumerate(lines_of(path), 1):
        fields = columns(line, (3, 4))
        if not line.strip() or (number == 1 and fields[0].replace("_", "-") in ("query-id", "qid")):
            continue
        try:
            if len(fields) == 3:
                query, document, grade = fields
                subtopic = "0"
            else:
                query, subtopic, document, grade = fields
            row = Qrel(query, subtopic, document, _grade(grade))
        except ValueError:
            form = "neither `query<TAB>document<TAB>relevance` nor TREC's four columns, with a whole grade"
            raise UsageError(f"{path}, line {number}: {form} of at most {_HIGHEST:,}") from None
        if found.setdefault(row[:3], row.grade) != row.grade:
            raise UsageError(f"{path}, line {number}: {row.document!r} has another grade on an earlier line")
        yield row
    if not found:
        raise UsageError(f"{path} has no judgements")


def _grade(text: str) -> int:
    """A whole number, as 1.0 too, as tables are exported. Raises ValueError."""
    grade = as_number(text)
    if not grade.is_integer() or abs(grade) > _HIGHEST:
        raise ValueError
    return int(grade)


def read_qrels(path: Path) -> Qrels:
    """Relevance by document id, by query id, the highest of several subtopics. UsageError names the line."""
    return by_query(qrel_rows(path))


def by_query(rows: Iterable[Qrel]) -> Qrels:
    """Relevance by document id, by query id."""
    qrels: Qrels = {}
    for row in rows:
        grades = qrels.setdefault(row.query, {})
        grades[row.document] = max(row.grade, grades.get(row.document, row.grade))
    return qrels
