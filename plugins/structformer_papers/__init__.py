"""Pre-training tasks of papers beside Wikiformer's, HARP's and PROP's, PROP as released, questions that a language
model writes, and as kinds of rankers masked autoencoders of texts and passages in the context of their document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.models import RankerKind
    from structformer.sampling import Task


@hookimpl
def structformer_tasks() -> list[Task]:
    from structformer_papers import anchors, ares, bprop, neighbours, released_prop, seal, written

    return [bprop.TASK, released_prop.TASK, *ares.TASKS, written.TASK, *anchors.TASKS, neighbours.TASK, *seal.TASKS]


@hookimpl
def structformer_recipes() -> Path:
    return Path(__file__).parent / "recipes"


@hookimpl
def structformer_rankers() -> list[RankerKind]:
    from structformer_papers.kinds import CONTEXTUAL, MASKED_AUTOENCODER

    return [MASKED_AUTOENCODER, CONTEXTUAL]
