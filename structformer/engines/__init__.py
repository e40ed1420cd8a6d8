"""Engines: the same function over many tasks, on this machine's cores or elsewhere."""

from structformer.engines.deadline import Deadline, as_address, is_loopback
from structformer.engines.engine import Engine, Lost, Work, passing_over
from structformer.engines.local import LocalEngine, get_engine, mapped
from structformer.engines.pool import perform

__all__ = [
    "Deadline", "Engine", "LocalEngine", "Lost", "Work", "as_address", "get_engine", "is_loopback", "mapped",
    "passing_over", "perform",
]  # fmt: skip
