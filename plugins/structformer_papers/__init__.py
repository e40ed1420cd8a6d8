"""Pre-training tasks of papers beside Wikiformer's, HARP's and PROP's, PROP as released, and questions that a language
model writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.sampling import Task


@hookimpl
def structformer_tasks() -> list[Task]:
    from structformer_papers import anchors, ares, bprop, released_prop, written

    return [bprop.TASK, released_prop.TASK, *ares.TASKS, written.TASK, *anchors.TASKS]
