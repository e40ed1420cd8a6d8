"""Run files: rankings of documents by query, in TREC's six columns."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from structformer.errors import UsageError
from structformer.storage.files import write_bytes
from structformer.text.lines import as_number, columns, lines_of

Run = dict[str, list[tuple[str, float]]]


def read_run(path: Path) -> tuple[str, Run]:
    """A run's tag and its rankings, equal scores in trec_eval's order, from TREC's six columns or MS MARCO's three.
    Raises UsageError naming the line, or both lines of a document that a query has twice.
    """
    found: dict[str, dict[str, tuple[float, int]]] = {}
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
        score, first = found.setdefault(query, {}).setdefault(document, (score, number))
        if first != number:
            raise UsageError(f"{path}, line {number}: the query {query!r} has {document!r} on line {first} already")
    if not found:
        raise UsageError(f"{path} has no ranking")
    # Of equal scores the greater id comes first, as trec_eval and what measures by it put them.
    scores = {query: {name: score for name, (score, _) in ranked.items()} for query, ranked in found.items()}
    return tag, {query: sorted(its.items(), key=lambda each: each[::-1], reverse=True) for query, its in scores.items()}


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
