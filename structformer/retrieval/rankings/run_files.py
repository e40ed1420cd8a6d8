"""Run files: rankings of documents by query, in TREC's six columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from structformer.errors import UsageError
from structformer.storage.files import write_bytes
from structformer.text.lines import lines_of

Run = dict[str, list[tuple[str, float]]]


def read_run(path: Path) -> tuple[str, Run]:
    """A run's tag and its rankings, from TREC's six columns. Raises UsageError naming the line."""
    run: Run = {}
    tag = path.stem
    for number, line in enumerate(lines_of(path), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            continue
        try:
            query, _, document, _, score, tag = (each.strip() for each in fields)
            run.setdefault(query, []).append((document, float(score)))
        except ValueError:
            raise UsageError(f"{path}, line {number}: not TREC's `query Q0 document rank score tag`") from None
    if not run:
        raise UsageError(f"{path} has no ranking")
    return tag, {query: sorted(ranked, key=lambda each: (-each[1], each[0])) for query, ranked in run.items()}


def write_run(path: Path, run: Mapping[str, list[tuple[str, float]]], tag: str) -> None:
    """Write rankings as a TREC run; tab-separated where a document's id has a space, which TREC's columns cannot
    hold.
    """
    spaced = any(" " in document for ranked in run.values() for document, _ in ranked)
    joint = "\t" if spaced else " "
    lines = (
        joint.join((query, "Q0", document, str(rank), f"{score:g}", tag)) + "\n"
        for query, ranked in run.items()
        for rank, (document, score) in enumerate(ranked, 1)
    )
    write_bytes(path, "".join(lines).encode())
