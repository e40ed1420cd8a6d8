"""Pre-training tasks that draw Examples from a document's tree and its links, a module for each family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.sampling import Task


@hookimpl
def structformer_tasks() -> list[Task]:
    from structformer_tasks import classic, harp, wikiformer

    return [*wikiformer.TASKS, *harp.TASKS, *classic.TASKS]
