"""Sampling tasks: what one is, those there are, and the random source that each document's Examples come from."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from pathlib import Path
from random import Random
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.document import Document
from structformer.errors import StructformerError, UsageError, WorkspaceError
from structformer.plugins import load_plugins
from structformer.sampling.collection import CollectionCounts
from structformer.sampling.example import Census, Example, SamplingOptions
from structformer.sampling.neighbourhood import PageTexts, WordWeights
from structformer.sampling.view import DocumentView
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


def tasks() -> dict[str, Task]:
    """Return all tasks by name, which plugins supply."""
    return {name: task for name, (task, _) in load_plugins().supplied("structformer_tasks", "task", Task).items()}


def default_tasks() -> tuple[str, ...]:
    """Return the names of the tasks that are drawn unasked."""
    return tuple(name for name, task in tasks().items() if task.default)


def chosen_tasks(names: Iterable[str]) -> list[Task]:
    """Return tasks by name, each once. Raises UsageError naming those there are."""
    wanted = list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in tasks()]
    if unknown or not wanted:
        raise UsageError(f"no task {', '.join(unknown) or '(none named)'}; {did_you_mean(unknown, sorted(tasks()))}")
    return [tasks()[name] for name in wanted]


def has_long_queries(name: str) -> bool:
    """Whether queries of a task are as long as documents; Examples of judged queries are of no task."""
    return name in tasks() and tasks()[name].long_query


def needs_attention(names: Iterable[str]) -> bool:
    """Whether a task among these draws words by a model's attention."""
    return any(name in tasks() and tasks()[name].by_attention for name in names)


def generator(seed: int, epoch: int, task: str, document_id: str) -> Random:
    """The random source of one document's Examples of one task: the same in any order of work and any process."""
    digest = hashlib.blake2b(
        f"{seed}/{epoch}/{task}/{document_id}".encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
    return Random(int.from_bytes(digest, "big"))


def drawn_examples(task: Task, seen: Any, document_id: str, rng: Random, census: Census) -> Iterator[Example]:
    """Draw a document's Examples of a task. Raises WorkspaceError naming both when the task's code fails."""
    try:
        yield from task.draw(seen, rng, census)
    except StructformerError:
        raise
    except Exception as error:  # a plugin's mistake
        raise WorkspaceError(
            f"the task {task.name} failed on the document {document_id} ({type(error).__name__}: "
            f"{error}): leave it out with --tasks"
        ) from error


def document_examples(
    document: Document,
    names: Sequence[str],
    *,
    options: SamplingOptions | None = None,
    seed: int = 0,
    epoch: int = 0,
    census: Census | None = None,
) -> Iterator[Example]:
    """One document's Examples, of those tasks that look at its tree alone. Raises UsageError on an unknown task."""
    view = DocumentView(document, options or SamplingOptions())
    census = census if census is not None else Census()
    for task in chosen_tasks(names):
        if not task.in_corpus:
            yield from drawn_examples(task, view, document.id, generator(seed, epoch, task.name, document.id), census)
