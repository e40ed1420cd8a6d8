"""The stages of search pipelines, a module for each family."""

from structformer.retrieval.stages.dense import DENSE, DENSE_FUSION, HYBRID
from structformer.retrieval.stages.lexical import LEXICAL
from structformer.retrieval.stages.rerank import RERANK

BUILT_IN = (LEXICAL, DENSE, HYBRID, DENSE_FUSION, RERANK)
__all__ = ["BUILT_IN"]
