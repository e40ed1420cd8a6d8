"""The reference graph: raw link targets resolved to edges between sections."""

from __future__ import annotations

from structformer.graph.graph import ReferenceGraph, build_graph, write_graph
from structformer.graph.incoming import NOWHERE

__all__ = ["NOWHERE", "ReferenceGraph", "build_graph", "write_graph"]
