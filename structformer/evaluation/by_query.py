"""Every query's scores as a table, for other programs to draw figures of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from structformer.storage.files import write_bytes

if TYPE_CHECKING:
    from structformer.evaluation.comparison import Evaluation


def write_by_query(path: Path, result: Evaluation) -> None:
    """Write every query's score of every row and measure, separated by tabs."""
    lines = ["\t".join(("query", "row", *result.measures))]
    for row in result.rows:
        for query in row.per_query[result.measures[0]]:
            scores = (f"{row.per_query[measure][query]:.4f}" for measure in result.measures)
            lines.append("\t".join((query, row.label, *scores)))
    write_bytes(path, ("\n".join(lines) + "\n").encode())
