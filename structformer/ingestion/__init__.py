"""Ingestion: folders, files, archives and dumps to a corpus of documents and the graph of their references."""

from __future__ import annotations

from structformer.ingestion.ingesting import ingest, read
from structformer.ingestion.report import IngestReport
from structformer.ingestion.walk import FileFilter

__all__ = ["FileFilter", "IngestReport", "ingest", "read"]
