"""A sampling task: how its Examples are drawn, what it needs for that, and what its Examples are like."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from pathlib import Path
from typing import Any

from structformer.sampling.collection import CollectionCounts
from structformer.sampling.example import Example, SamplingOptions
from structformer.sampling.neighbourhood import PageTexts, WordWeights
from structformer.workspace import checked_name


class Need(Flag):
    """Inputs of a task beside the sections' texts and titles."""

    NOTHING = 0
    LINKS = auto()  # the document's links
    ATTENTION = auto()  # a model's attention, which words are drawn by
    COLLECTION = auto()  # how often words stand in the whole collection
    ANCHORS = auto()  # which documents an anchor text leads to


class Form(StrEnum):
    """How rankers see a document's text; negatives that differ in form from the positive give the answer away."""

    TEXT = "text"  # the passage alone
    PATH = "path"  # with its path of titles in front


@dataclass(frozen=True, slots=True)
class Ground:
    """Inputs of a survey."""

    pages: PageTexts
    options: SamplingOptions
    seed: int
    weights: WordWeights | None = None
    """For a task that needs attention."""
    collection: CollectionCounts | None = None
    """For a task that needs word counts."""
    workspace: str = ""
    """Its path, for a survey that reads whole documents or keeps what it made."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A pass over the corpus."""

    name: str
    """Tasks whose surveys have the same name share one."""
    write: Callable[[Ground, Path], None]
    """Puts its findings into a folder, in one process."""
    read: Callable[[Path], Any]
    """Opens them, in each process that draws."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task by its name."""

    name: str
    draw: Callable[[Any, Any, Any], Iterator[Example]]
    """Yields Examples from what it looks at, the document's own Random and the Census. It looks at the document's tree
    (DocumentView), or with `in_corpus` at its place in the corpus (Neighbourhood)."""
    family: str = ""
    in_corpus: bool = False
    needs: Need = Need.LINKS
    form: Form = Form.TEXT
    replaceable: bool = True
    """Whether `--negatives-from` may replace its negatives, shown in `form`."""
    long_query: bool = False
    """Queries are as long as documents."""
    source: str = ""
    """Paper and section."""
    default: bool = False
    """Whether `structformer sample` draws it unasked."""
    survey: Survey | None = None
    """Looks at the whole corpus first; Neighbourhoods have its findings in `surveyed`."""
    prepare: Callable[[Any, Any, Mapping[str, Any], Any], None] | None = None
    """Asks a language model, where `structformer sample` may, before anything is drawn: called with the workspace, the
    SampleRequest, the values of --llm and its kin, and the Output. What it learns it keeps in the workspace's cache."""

    def __post_init__(self) -> None:
        checked_name(self.name, "the task name")
        if not callable(self.draw):
            raise TypeError(f"the task {self.name} cannot draw: {self.draw!r} is not callable")

    @property
    def by_attention(self) -> bool:
        return Need.ATTENTION in self.needs

    @property
    def drawn_by_attention(self) -> bool:
        """Whether the model is asked while Examples are drawn, not by a survey before that."""
        return self.by_attention and self.survey is None
