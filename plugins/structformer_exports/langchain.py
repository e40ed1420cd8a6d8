"""LangChain: `StructformerRetriever(workspace="...")` is a BaseRetriever. Needs structformer[langchain]."""

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr
from structformer.retrieval import Filter, Retriever

from structformer_exports.hit import content, metadata


class StructformerRetriever(BaseRetriever):
    """Finds a workspace's best sections as LangChain documents. k: how many; pipeline: as `structformer search
    --pipeline` has it.
    """

    workspace: str = ".structformer"
    k: int = 10
    pipeline: str | None = None
    paths: tuple[str, ...] = ()
    where: dict[str, str] = {}  # noqa: RUF012 (pydantic copies it)
    _retriever: Retriever = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Open the index. Raises WorkspaceError when it is missing, broken or older than the corpus."""
        self._retriever = Retriever.open(self.workspace)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self._retriever.search(query, self.k, self.pipeline, where=Filter(self.paths, self.where))
        return [Document(page_content=content(hit), metadata=metadata(hit), id=hit.address) for hit in hits]
