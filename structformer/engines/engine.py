"""An engine maps a function over tasks and returns the results in order, whatever happens to its workers."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

Task = TypeVar("Task")
Lost = Callable[[Any, Any, str], Any]  # (task, item, reason) -> the task to run instead


@dataclass(frozen=True, slots=True)
class Work:
    """A job for an engine to run."""

    function: str
    """`module:name`, called with a task and a callback; it calls that with each item that it begins."""
    workers: int
    """How many at once."""
    seconds: float
    """Processor time that one item may take."""
    memory_bytes: int
    """For one worker."""
    lost: Lost
    """Gives the task to run instead when a worker was killed, or died, at an item; an error from it ends everything."""
    keep: bool = True
    """Whether workers may wait for other work afterwards: not those that hold a model."""


def passing_over(task: Task, item: Any, reason: str) -> Task:
    """Return a task, a dataclass with `lost`, that passes over an item at which a worker ended, and says why."""
    return replace(task, lost=(*task.lost, (str(item), f"{reason}: skipped")))  # type: ignore[type-var,attr-defined]


@runtime_checkable
class Engine(Protocol):
    """Runs work somewhere. The function is pure in its task, which may run again, wherever the same files are seen."""

    @property
    def name(self) -> str: ...

    def map(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield results in the order of the tasks. Raises a task's own StructformerError, any other as RuntimeError."""
