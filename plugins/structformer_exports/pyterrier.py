"""PyTerrier: `StructformerRetriever("workspace")` is a transformer from queries (qid, query) to rankings of documents.

Needs structformer[pyterrier]; no Java is started.
"""

from pathlib import Path

import pandas as pd
import pyterrier as pt
from structformer.retrieval import AnyPipeline, Retriever

_COLUMNS = ["qid", "query", "docno", "score", "rank"]


class StructformerRetriever(pt.Transformer):
    """Ranks a workspace's documents by a pipeline, each by its best section; k: how many for each query. Raises
    WorkspaceError when the index is missing, broken or older than the corpus.
    """

    def __init__(
        self, workspace: str | Path = ".structformer", *, pipeline: AnyPipeline | None = None, k: int = 100
    ) -> None:
        super().__init__()
        self._retriever = Retriever.open(workspace)
        self._pipeline = pipeline
        self._k = k

    def transform(self, queries: pd.DataFrame) -> pd.DataFrame:
        """Return (queries x k) rows of qid, query, docno, score and rank from 0."""
        texts = [str(text) for text in queries["query"]]
        ranked = self._retriever.rank_documents(texts, self._pipeline, self._k) if texts else []
        rows = [
            (str(qid), text, document, score, rank)
            for qid, text, documents in zip(queries["qid"], texts, ranked, strict=True)
            for rank, (document, score) in enumerate(documents)
        ]
        return pd.DataFrame(rows, columns=_COLUMNS)
