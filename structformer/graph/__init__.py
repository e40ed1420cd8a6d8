"""The reference graph: raw link targets resolved to edges between sections."""

from structformer.graph.graph import ReferenceGraph, write_graph
from structformer.graph.name_tables import NameTables
from structformer.graph.resolution import FAILURES, FOUND_BY, NOWHERE, format_of, internal_links, resolve_link

__all__ = [
    "FAILURES", "FOUND_BY", "NOWHERE", "NameTables", "ReferenceGraph", "format_of",
    "internal_links", "resolve_link", "write_graph",
]  # fmt: skip
