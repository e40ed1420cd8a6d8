"""LanceDB, Qdrant, PostgreSQL with pgvector, OpenSearch and Elasticsearch for structformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.search_engines import SearchEngine


@hookimpl
def structformer_search_engines() -> list[SearchEngine]:
    # Imported when engines are asked for: plugins are loaded by every command.
    from structformer_engines.engines import ENGINES

    return list(ENGINES)
