"""A comparison as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.notebook_html import box, count_of, note, table, text

if TYPE_CHECKING:
    from structformer.evaluation.comparison import Evaluation


def evaluation_html(result: Evaluation) -> str:
    """A row for each pipeline: its scores, the interval of the first, and how it differs from what it is compared
    with.
    """
    compared = list(dict.fromkeys(name for row in result.rows for name in row.against))
    rows = []
    for row in result.rows:
        against = (row.against.get(name) for name in compared)
        low, high = row.interval
        rows.append(
            [
                text(row.label),
                *(f"{row.scores[measure]:.3f}" for measure in result.measures),
                f"{low:.3f} to {high:.3f}",
                *("" if found is None else f"{found[0]:+.3f} (p {found[1]:.3f})" for found in against),
            ]
        )
    heads = ["", *result.measures, "95 % interval", *(f"against {name}" for name in compared)]
    return box(
        f"{result.title}: {count_of(result.queries, 'query', 'queries')}",
        table(heads, rows),
        note(result.caveat) if result.caveat else "",
    )
