"""What an engine is: it maps a function over tasks and returns the results in order, whatever happens to its
workers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from structformer.errors import UsageError
from structformer.plugins import load_plugins

Task = TypeVar("Task")
Lost = Callable[[Any, Any, str], Any]  # (task, item, reason) -> the task to run instead


@dataclass(frozen=True, slots=True)
class Work:
    """What to run: `function` is "module:name", called with a task and a callback that it tells each item it begins.

    workers: how many at once. seconds: processor time that one item may take. memory_bytes: of one worker. lost: gives
    the task to run instead when a worker was killed, or died, while at an item; what it raises ends the whole."""

    function: str
    workers: int
    seconds: float
    memory_bytes: int
    lost: Lost


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


def get_engine(engine: str | Engine = "local") -> Engine:
    """An engine by its name. Raises UsageError naming those there are."""
    if not isinstance(engine, str):
        return engine
    from structformer.engines.cluster import DaskEngine, RayEngine
    from structformer.engines.local import LocalEngine

    engines: dict[str, Engine] = {each.name: each for each in (LocalEngine(), DaskEngine(), RayEngine())}
    if engine not in engines:
        found = load_plugins().supplied("structformer_engines", "engine", Engine, engines)  # type: ignore[type-abstract]
        engines.update({name: each for name, (each, _) in found.items()})
    if engine not in engines:
        raise UsageError(f"no engine {engine!r}; there are: {', '.join(sorted(engines))}")
    return engines[engine]


def mapped(work: Work, tasks: Sequence[Any], engine: str | Engine = "local") -> Iterator[Any]:
    """Results in the order of the tasks; where one worker is enough, without a process for it: for what cannot
    misbehave.
    """
    if work.workers > 1:
        yield from get_engine(engine).map(work, tasks)
        return
    module, _, name = work.function.partition(":")
    function = getattr(importlib.import_module(module), name)
    for task in tasks:
        yield function(task, lambda item: None)
