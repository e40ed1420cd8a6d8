"""The engines by their names, those of plugins too."""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.engines.engine import Engine, Work
from structformer.engines.local import LocalEngine
from structformer.errors import UsageError
from structformer.plugins import load_plugins


def get_engine(engine: str | Engine = "local") -> Engine:
    """An engine by its name. Raises UsageError naming those there are."""
    if not isinstance(engine, str):
        return engine
    engines: dict[str, Engine] = {LocalEngine.name: LocalEngine()}
    if engine not in engines:
        found = load_plugins().supplied("structformer_engines", "engine", Engine, engines)  # type: ignore[type-abstract]
        engines.update({name: each for name, (each, _) in found.items()})
    if engine not in engines:
        raise UsageError(f"no engine {engine!r}; {did_you_mean(engine, sorted(engines))}")
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
