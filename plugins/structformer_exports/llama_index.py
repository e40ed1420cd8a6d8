"""LlamaIndex: `StructformerRetriever("workspace")` is a BaseRetriever. Needs structformer[llama-index]."""

from pathlib import Path

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from structformer.retrieval import AnyPipeline, Filter, Retriever

from structformer_exports.hit import content, metadata


class StructformerRetriever(BaseRetriever):
    """Finds a workspace's best sections as nodes with scores. Raises WorkspaceError when the index is missing, broken
    or older than the corpus.
    """

    def __init__(
        self,
        workspace: str | Path = ".structformer",
        *,
        k: int = 10,
        pipeline: AnyPipeline | None = None,
        where: Filter | None = None,
    ) -> None:
        self._retriever = Retriever.open(workspace)
        self._k = k
        self._pipeline = pipeline
        self._where = where
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._retriever.search(query_bundle.query_str, self._k, self._pipeline, where=self._where)
        return [
            NodeWithScore(
                node=TextNode(id_=f"{hit.address}/{number}", text=content(hit), metadata=metadata(hit, hits)),
                score=hit.score,
            )
            for number, hit in enumerate(hits)
        ]
