"""Files of rankings (runs) in TREC's six columns, and of judgements (qrels) in TREC's or BEIR's form."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structformer.errors import UsageError
from structformer.storage.files import write_bytes
from structformer.text.lines import as_number, columns, lines_of

Run = dict[str, list[tuple[str, float]]]
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
    grades: dict[tuple[str, str, str], int] = {}
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
        if grades.setdefault(row[:3], row.grade) != row.grade:
            raise UsageError(f"{path}, line {number}: {row.document!r} has another grade on an earlier line")
        yield row
    if not grades:
        raise UsageError(f"{path} has no judgements")


def _grade(text: str) -> int:
    """Return a whole number, as 1.0 too, as tables are exported. Raises ValueError."""
    grade = as_number(text)
    if not grade.is_integer() or abs(grade) > _HIGHEST:
        raise ValueError
    return int(grade)


def read_qrels(path: Path) -> Qrels:
    """Return relevance by document id, by query id, the highest of several subtopics. UsageError names the line."""
    return by_query(qrel_rows(path))


def by_query(rows: Iterable[Qrel]) -> Qrels:
    """Return relevance by document id, by query id."""
    qrels: Qrels = {}
    for row in rows:
        grades = qrels.setdefault(row.query, {})
        grades[row.document] = max(row.grade, grades.get(row.document, row.grade))
    return qrels


def read_run(path: Path) -> tuple[str, Run]:
    """A run's tag and its rankings, equal scores in trec_eval's order, from TREC's six columns or MS MARCO's three.
    Raises UsageError naming the line, or both lines of a document that a query has twice.
    """
    queries: dict[str, dict[str, tuple[float, int]]] = {}
    tag = path.stem
    for number, line in enumerate(lines_of(path), 1):
        if not line.strip():
            continue
        fields = columns(line, (3, 6))
        try:
            if len(fields) == 3:
                query, document, written = fields
            else:
                query, _, document, _, written, tag = fields
        except ValueError:
            form = "not TREC's `query Q0 document rank score tag`, nor `query document rank`"
            raise UsageError(f"{path}, line {number}: {form}") from None
        try:
            score = as_number(written)
            if len(fields) == 3 and not score.is_integer():
                raise ValueError
        except ValueError:
            form = "a score that is not a number" if len(fields) > 3 else "a rank that is not a whole number"
            raise UsageError(f"{path}, line {number}: {form}: {written[:40]!r}") from None
        score = score if len(fields) > 3 else -score
        score, first = queries.setdefault(query, {}).setdefault(document, (score, number))
        if first != number:
            raise UsageError(f"{path}, line {number}: the query {query!r} has {document!r} on line {first} already")
    if not queries:
        raise UsageError(f"{path} has no ranking")
    # Of equal scores the greater id comes first, as trec_eval and what measures by it put them.
    scores = {query: {name: score for name, (score, _) in ranked.items()} for query, ranked in queries.items()}
    return tag, {query: sorted(row.items(), key=lambda each: each[::-1], reverse=True) for query, row in scores.items()}


def falling_scores(ranked: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return a ranking whose scores fall at each place, in 32 bits too: so no tool breaks ties in another order."""
    falling, last = [], np.float32(np.inf)
    for document, score in ranked:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        falling.append((document, float(last)))
    return falling


def write_run(path: Path, run: Mapping[str, list[tuple[str, float]]], tag: str) -> None:
    """Write rankings as a TREC run; tab-separated where an id has a space, which TREC's columns cannot hold."""
    spaced = any(
        " " in name for query, ranked in run.items() for name in (query, *(document for document, _ in ranked))
    )
    joint = "\t" if spaced else " "
    lines = (
        joint.join((query, "Q0", document, str(rank), f"{score:.9g}", tag)) + "\n"
        for query, ranked in run.items()
        for rank, (document, score) in enumerate(ranked, 1)
    )
    write_bytes(path, "".join(lines).encode())
