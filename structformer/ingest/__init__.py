"""Ingest: folders, files, archives and dumps to a corpus of documents and the graph of their references."""

from __future__ import annotations

from structformer.ingest.ingest import ingest, read
from structformer.ingest.report import IngestReport

__all__ = ["IngestReport", "ingest", "read"]
