"""The five engines: their addresses, and what each needs."""

from structformer_engines.interface import SearchEngine, local_folder
from structformer_engines.lance import LanceIndex
from structformer_engines.opensearch import ElasticsearchIndex, OpenSearchIndex
from structformer_engines.postgres import PostgresIndex
from structformer_engines.qdrant import QdrantIndex

_OPENSEARCH = "structformer[opensearch]"
ENGINES = (
    SearchEngine("lancedb", ("FOLDER",), LanceIndex, local_folder, "structformer[lancedb]"),
    SearchEngine("qdrant", ("FOLDER", "http://HOST:PORT/NAME"), QdrantIndex, local_folder, "structformer[qdrant]"),
    SearchEngine(
        "pgvector", ("postgresql://USER@HOST/DATABASE#NAME",), PostgresIndex, install="structformer[pgvector]"
    ),
    SearchEngine("opensearch", ("http://HOST:PORT/NAME",), OpenSearchIndex, install=_OPENSEARCH, experimental=True),
    SearchEngine(
        "elasticsearch", ("http://HOST:PORT/NAME",), ElasticsearchIndex, install=_OPENSEARCH, experimental=True
    ),
)
