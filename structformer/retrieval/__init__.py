"""Retrieval: units, first stages, fusion, reranking, and the retriever that runs them."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.retrieval.curated import curated_file, read_curated
    from structformer.retrieval.documents.copies import Copies
    from structformer.retrieval.documents.document_filter import Allowed, Mask
    from structformer.retrieval.documents.metadata import Facet, open_facets
    from structformer.retrieval.documents.page_places import page_places
    from structformer.retrieval.documents.release_logs import ASKS_FOR_CHANGES
    from structformer.retrieval.documents.translations import asked_in
    from structformer.retrieval.documents.units import IndexedDocuments, Unit, Units
    from structformer.retrieval.hits import (
        Filter,
        Hit,
        Hits,
        Place,
        Translation,
        parse_filter,
        web_address,
        with_anchor,
    )
    from structformer.retrieval.index import Index, has_vectors, is_stale
    from structformer.retrieval.indexing import (
        build_index,
        encoders_advice,
        pretrained_here,
        unrepeatable,
        would_lose_vectors,
    )
    from structformer.retrieval.learning.pseudo_query_scores import NOTHING, PseudoQueryScores, document_ranks
    from structformer.retrieval.loading import (
        QueryEncoder,
        has_ranking_head,
        load_query_encoder,
        model_fingerprint,
        query_encoder_folder,
        searches_without_torch,
    )
    from structformer.retrieval.opened import WHOLE, OpenedIndex
    from structformer.retrieval.pipeline import as_pipeline, hybrid, make_stage, parse_pipeline, stage_kinds
    from structformer.retrieval.questions.pseudo_queries import ALL_SOURCES, draw_pseudo_queries, read_query_log
    from structformer.retrieval.rankings.hybrid_score import (
        RELEASE_LOG,
        STATIC_WORDS,
        FusionWeights,
        fusion_weights,
        scaled_weights,
        what_parts_give,
    )
    from structformer.retrieval.rankings.ranking import Ranked, Ranking, in_order, is_confident
    from structformer.retrieval.rankings.run_files import read_qrels, read_run
    from structformer.retrieval.retriever import AnyPipeline, Retriever, checked_query
    from structformer.retrieval.search_suggestions import Help, help_with, slips
    from structformer.retrieval.snippet import Matches
    from structformer.retrieval.snippet import snippet as snippet_of
    from structformer.retrieval.stage import Pipeline, Run, Stage, StageKind
    from structformer.retrieval.stages import OF, rescore, texts_of
    from structformer.retrieval.vectors.dense import approximate_files, has_faiss, write_approximate
    from structformer.retrieval.vectors.encoder_checks import choose_encoders
    from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE, UNTRAINED, UNTRAINED_OF
    from structformer.retrieval.vectors.encoder_places import (
        TrainingVerdict,
        default_encoders,
        encoder_kind,
        encoder_place,
        trained_encoder,
        training_verdict,
    )
    from structformer.retrieval.vectors.second_look import EncodedQuery, SecondLook, encoded_queries
    from structformer.retrieval.words.lexical import FIELDS, Begun, document_text
    from structformer.retrieval.words.names import REFERENCE
    from structformer.text.lexical_analysis import idf, saturation

__all__ = [
    "ALL_SOURCES", "ASKS_FOR_CHANGES", "ENCODER", "FIELDS", "NOTHING", "OF", "REFERENCE", "RELEASE_LOG", "STATIC_WORDS",
    "STRUCTURE", "UNTRAINED", "UNTRAINED_OF", "WHOLE", "Allowed", "AnyPipeline", "Begun", "Copies",
    "EncodedQuery", "Facet", "Filter", "FusionWeights", "Help", "Hit", "Hits", "Index", "IndexedDocuments", "Mask",
    "Matches", "OpenedIndex", "Pipeline", "Place", "PseudoQueryScores", "QueryEncoder", "Ranked", "Ranking",
    "Retriever", "Run", "SecondLook", "Stage", "StageKind", "TrainingVerdict", "Translation", "Unit", "Units",
    "approximate_files", "as_pipeline", "asked_in", "build_index", "checked_query", "choose_encoders", "curated_file",
    "default_encoders", "document_ranks", "document_text", "draw_pseudo_queries", "encoded_queries", "encoder_kind",
    "encoder_place", "encoders_advice", "fusion_weights", "has_faiss", "has_ranking_head", "has_vectors", "help_with",
    "hybrid", "idf", "in_order", "is_confident", "is_stale", "load_query_encoder", "make_stage", "model_fingerprint",
    "open_facets", "page_places", "parse_filter", "parse_pipeline", "pretrained_here", "query_encoder_folder",
    "read_curated", "read_qrels", "read_query_log", "read_run", "rescore", "saturation", "scaled_weights",
    "searches_without_torch", "slips", "snippet_of", "stage_kinds", "texts_of", "trained_encoder", "training_verdict",
    "unrepeatable", "web_address", "what_parts_give", "with_anchor", "would_lose_vectors",
    "write_approximate",
]  # fmt: skip
__getattr__ = lazy_names(__name__)
