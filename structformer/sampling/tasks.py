"""The tasks there are, and the random source that each document's Examples come from."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.document import Document
from structformer.errors import StructformerError, UsageError, WorkspaceError
from structformer.plugins import load_plugins
from structformer.sampling.example import Census, Example, SamplingOptions
from structformer.sampling.task import Task
from structformer.sampling.view import DocumentView


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
