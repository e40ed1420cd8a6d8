"""Ingestion: folders, files, archives and dumps to a corpus of documents and the graph of their references."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.ingestion.direct import read
    from structformer.ingestion.ingesting import ingest
    from structformer.ingestion.losses import find_losses, text_of
    from structformer.ingestion.report import Fate, IngestReport
    from structformer.ingestion.sources import Fetched, SourceKind, kind_of
    from structformer.ingestion.walk import FileFilter
    from structformer.ingestion.warc import page_name

__all__ = [
    "Fate", "Fetched", "FileFilter", "IngestReport", "SourceKind", "find_losses", "ingest", "kind_of", "page_name",
    "read", "text_of",
]  # fmt: skip
__getattr__ = lazy_names(__name__)
