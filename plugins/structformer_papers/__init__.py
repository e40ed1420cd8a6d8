"""Pre-training tasks of papers beside Wikiformer's, HARP's and PROP's: B-PROP's and ARES's, and PROP's as released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.sampling import Task


@hookimpl
def structformer_tasks() -> list[Task]:
    from structformer_papers.ares import TASKS
    from structformer_papers.bprop import TASK
    from structformer_papers.released_prop import TASK as ROP_RELEASED

    return [TASK, ROP_RELEASED, *TASKS]
