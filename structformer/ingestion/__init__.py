"""Ingestion: folders, files, archives and dumps to a corpus of documents and the graph of their references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.ingestion.ingesting import ingest, read
    from structformer.ingestion.report import IngestReport
    from structformer.ingestion.source_kinds import Fetched, SourceKind, kind_of
    from structformer.ingestion.walk import FileFilter

__all__ = ["Fetched", "FileFilter", "IngestReport", "SourceKind", "ingest", "kind_of", "read"]
# `structformer ingest --help` asks for kinds of sources alone.
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(["ingest", "read"], "structformer.ingestion.ingesting"),
        **dict.fromkeys(["Fetched", "SourceKind", "kind_of"], "structformer.ingestion.source_kinds"),
        "FileFilter": "structformer.ingestion.walk",
        "IngestReport": "structformer.ingestion.report",
    },
)
