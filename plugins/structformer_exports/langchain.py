"""LangChain: `StructformerRetriever(workspace="...")` is a BaseRetriever. Needs structformer[langchain]."""

from pathlib import Path
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

    workspace: str | Path = ".structformer"
    k: int = 10
    pipeline: str | None = None
    paths: tuple[str, ...] = ()
    where: dict[str, str] = {}  # noqa: RUF012 (pydantic copies it)
    _retriever: Retriever = PrivateAttr()

    def __init__(self, workspace: str | Path = ".structformer", **options: Any) -> None:
        options["workspace"] = workspace  # a field of ours, which the base's signature does not name
        super().__init__(**options)

    def model_post_init(self, context: Any, /) -> None:
        """Open the index. Raises WorkspaceError when it is missing, broken or older than the corpus."""
        self._retriever = Retriever.open(self.workspace)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        """Search. k: as in `invoke(query, k=3)`; None: the retriever's own."""
        wanted = Filter(self.paths, self.where)
        hits = self._retriever.search(query, self.k if k is None else k, self.pipeline, where=wanted)
        return [Document(page_content=content(hit), metadata=metadata(hit, hits), id=hit.address) for hit in hits]
