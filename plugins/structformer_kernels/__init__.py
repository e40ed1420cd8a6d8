"""The papers' neural baselines, KNRM, Conv-KNRM, DRMM and DUET, as rankers; `structformer ngraphs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.models import RankerKind


@hookimpl
def structformer_rankers() -> list[RankerKind]:
    from structformer_kernels.kinds import KINDS

    return list(KINDS)


@hookimpl
def structformer_commands(app: Any) -> None:
    help_line = "Write the corpus's most common n-graphs, which DUET reads."
    app.add_lazy("ngraphs", "structformer_kernels.command:command", help_line, "Research")
