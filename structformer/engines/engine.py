"""What an engine is: it maps a function over tasks and returns the results in order, whatever happens to its
workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

Task = TypeVar("Task")
Lost = Callable[[Any, Any, str], Any]  # (task, item, reason) -> the task to run instead


@dataclass(frozen=True, slots=True)
class Work:
    """What to run: `function` is "module:name", called with a task and a callback that it tells each item it begins.

    workers: how many at once. seconds: processor time that one item may take. memory_bytes: of one worker. lost: gives
    the task to run instead when a worker was killed, or died, while at an item; what it raises ends the whole. keep:
    whether workers may wait for other work afterwards: not those that hold a model."""

    function: str
    workers: int
    seconds: float
    memory_bytes: int
    lost: Lost
    keep: bool = True


@runtime_checkable
class Engine(Protocol):
    """Runs work somewhere. The function is pure in its task, so a task may be run again, and anywhere that sees the
    same files.
    """

    @property
    def name(self) -> str: ...

    def map(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Results in the order of the tasks. A task's own StructformerError is raised here as it is, any other as
        RuntimeError.
        """
        ...
