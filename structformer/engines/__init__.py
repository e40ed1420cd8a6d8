"""Engines: the same function over many tasks, on this machine's cores or elsewhere."""

from structformer.engines.deadline import Deadline
from structformer.engines.engine import Engine, Lost, Work
from structformer.engines.local import LocalEngine
from structformer.engines.pool import perform
from structformer.engines.registry import get_engine, mapped

__all__ = ["Deadline", "Engine", "LocalEngine", "Lost", "Work", "get_engine", "mapped", "perform"]
