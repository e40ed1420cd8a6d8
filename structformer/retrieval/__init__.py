"""Retrieval: units, first stages, fusion, reranking, and the retriever that runs them."""

from __future__ import annotations

from structformer.retrieval.hits import Filter, Hit
from structformer.retrieval.index import build_index
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import Pipeline, parse_pipeline
from structformer.retrieval.ranking import Ranking
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.stage import Stage, StageKind, make_stage

__all__ = [
    "Filter",
    "Hit",
    "OpenedIndex",
    "Pipeline",
    "Ranking",
    "Retriever",
    "Stage",
    "StageKind",
    "build_index",
    "make_stage",
    "parse_pipeline",
]
