"""Engines: the same function over many tasks, on this machine's cores or elsewhere."""

from structformer.engines.deadline import Deadline
from structformer.engines.engine import Engine, Lost, Work
from structformer.engines.local import LocalEngine, get_engine, mapped
from structformer.engines.pool import perform

__all__ = ["Deadline", "Engine", "LocalEngine", "Lost", "Work", "get_engine", "mapped", "perform"]
