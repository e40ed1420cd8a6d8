"""Search engines that people run already: an index written to one, and the hybrid search from it."""

from __future__ import annotations

from structformer.search_engines.interface import EngineIndex, open_engine, without_password
from structformer.search_engines.retriever import EngineRetriever, write_engine

__all__ = ["EngineIndex", "EngineRetriever", "open_engine", "without_password", "write_engine"]
