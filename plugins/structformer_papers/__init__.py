"""Pre-training tasks of papers beside Wikiformer's, HARP's and PROP's: B-PROP's and ARES's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.sampling import Task


@hookimpl
def structformer_tasks() -> list[Task]:
    from structformer_papers.ares import TASKS
    from structformer_papers.bprop import TASK

    return [TASK, *TASKS]
