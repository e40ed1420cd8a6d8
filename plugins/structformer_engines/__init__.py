"""Search engines that people run already: an index written to one, and the hybrid search from it. LanceDB, Qdrant,
PostgreSQL with pgvector, OpenSearch and Elasticsearch are here; plugins bring others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_engines.interface import (
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
    from structformer_engines.retriever import EngineRetriever, write_engine

__all__ = [
    "APPROXIMATE_FROM", "EngineDocument", "EngineIndex", "EngineRetriever", "EngineUnit", "SearchEngine",
    "Vector", "folder_of", "local_folder", "open_engine", "search_engines", "without_password",
    "write_engine",
]  # fmt: skip
__getattr__ = lazy_names(__name__)


@hookimpl
def structformer_search_engines() -> list[SearchEngine]:
    # Imported when engines are asked for: plugins are loaded by every command.
    from structformer_engines.interface import SearchEngine, local_folder
    from structformer_engines.lance import LanceIndex
    from structformer_engines.opensearch import ElasticsearchIndex, OpenSearchIndex
    from structformer_engines.postgres import PostgresIndex
    from structformer_engines.qdrant import QdrantIndex

    files, postgres = ("FOLDER",), ("postgresql://USER@HOST/DATABASE#NAME",)
    rest, by_rest = ("http://HOST:PORT/NAME",), "structformer[opensearch]"
    return [
        SearchEngine("lancedb", files, LanceIndex, local_folder, "structformer[lancedb]"),
        SearchEngine("qdrant", files + rest, QdrantIndex, local_folder, "structformer[qdrant]"),
        SearchEngine("pgvector", postgres, PostgresIndex, install="structformer[pgvector]"),
        SearchEngine("opensearch", rest, OpenSearchIndex, install=by_rest, experimental=True),
        SearchEngine("elasticsearch", rest, ElasticsearchIndex, install=by_rest, experimental=True),
    ]


@hookimpl
def structformer_commands(app: Any) -> None:
    app.extend("search", "structformer_engines.search_option:with_engine")
