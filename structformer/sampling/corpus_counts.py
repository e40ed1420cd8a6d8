"""What a task finds out of the whole corpus, once, before any of its Examples is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structformer.sampling.example import SamplingOptions
from structformer.sampling.neighbourhood import CollectionModel, PageTexts, WordWeights


@dataclass(frozen=True, slots=True)
class Ground:
    """What a survey looks at. weights: for a task that needs attention; collection: for one that needs word counts."""

    pages: PageTexts
    options: SamplingOptions
    seed: int
    weights: WordWeights | None = None
    collection: CollectionModel | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """A pass over the corpus. name: tasks with a survey of one name share it; write: puts what it finds into a folder,
    in one process; read: opens it, in each process that draws.
    """

    name: str
    write: Callable[[Ground, Path], None]
    read: Callable[[Path], Any]
