"""Search engines that people run already: an index written to one, and the hybrid search from it."""

from __future__ import annotations

from structformer.search_engines.interface import (
    APPROXIMATE_FROM,
    EngineDocument,
    EngineIndex,
    EngineUnit,
    SearchEngine,
    Vector,
    folder_of,
    local_folder,
    open_engine,
    search_engines,
    without_password,
)
from structformer.search_engines.retriever import EngineRetriever, write_engine

__all__ = [
    "APPROXIMATE_FROM", "EngineDocument", "EngineIndex", "EngineRetriever", "EngineUnit", "SearchEngine",
    "Vector", "folder_of", "local_folder", "open_engine", "search_engines", "without_password",
    "write_engine",
]  # fmt: skip
