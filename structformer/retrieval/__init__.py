"""Retrieval: units, first stages, fusion, reranking, and the retriever that runs them."""

from __future__ import annotations

from structformer.retrieval.hits import Filter, Hit, Hits, parse_filter
from structformer.retrieval.indexing import build_index
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import parse_pipeline
from structformer.retrieval.rankings.qrels_files import read_qrels
from structformer.retrieval.rankings.ranking import Ranked, Ranking, in_order
from structformer.retrieval.registry import make_stage
from structformer.retrieval.retriever import Retriever, checked_query
from structformer.retrieval.stage import Pipeline, Stage, StageKind
from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.words.bm25 import idf, saturation

__all__ = [
    "ENCODER",
    "STRUCTURE",
    "UNTRAINED",
    "Filter",
    "Hit",
    "Hits",
    "OpenedIndex",
    "Pipeline",
    "Ranked",
    "Ranking",
    "Retriever",
    "Stage",
    "StageKind",
    "build_index",
    "checked_query",
    "idf",
    "in_order",
    "make_stage",
    "parse_filter",
    "parse_pipeline",
    "read_qrels",
    "saturation",
]
