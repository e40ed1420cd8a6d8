"""Haystack: `StructformerRetriever(workspace="...")` is a component with the input `query` and the output `documents`.

Needs structformer[haystack].
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from structformer.retrieval import Filter, Hits, Retriever
from structformer.workspace import Workspace

from structformer_exports.hit import content, metadata


@component
class StructformerRetriever:
    """Finds a workspace's best sections as Haystack documents. The index is opened when the component warms up or first
    runs.
    """

    def __init__(self, workspace: str | Path = ".structformer", top_k: int = 10, pipeline: str | None = None) -> None:
        self.workspace = str(workspace)
        self._absolute = Workspace(workspace)  # at once: the current folder may change before the index is opened
        self.top_k = top_k
        self.pipeline = pipeline
        self._retriever: Retriever | None = None

    def warm_up(self) -> None:
        """Open the index. Raises WorkspaceError when it is missing, broken or older than the corpus."""
        if self._retriever is None:
            self._retriever = Retriever.open(self._absolute)

    def to_dict(self) -> dict[str, Any]:
        """For Haystack's serialisation."""
        return dict(default_to_dict(self, workspace=self.workspace, top_k=self.top_k, pipeline=self.pipeline))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StructformerRetriever:
        """From Haystack's serialisation."""
        made: StructformerRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        top_k: int | None = None,
        paths: list[str] | None = None,
        where: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Search. paths, where: as `structformer search --path --where`; filters: Haystack's, of == joined by AND.
        Raises ValueError on others.
        """
        self.warm_up()
        assert self._retriever is not None
        k = self.top_k if top_k is None else top_k
        wanted = Filter(tuple(paths or ()), {**_equal(filters), **(where or {})})
        hits = self._retriever.search(query, k, self.pipeline, where=wanted) if k and query.strip() else Hits()
        documents = (Document(hit.address, content(hit), meta=metadata(hit, hits), score=hit.score) for hit in hits)
        return {"documents": list(documents)}


def _equal(filters: dict[str, Any] | None) -> dict[str, Any]:
    """Return the values that Haystack's filters want of a document's metadata."""
    if not filters:
        return {}
    if filters.get("operator") == "AND":
        equal: dict[str, Any] = {}
        for each in filters.get("conditions", ()):
            for key, value in _equal(each).items():
                if equal.setdefault(key, value) != value:
                    raise ValueError(f"{key}: a workspace's filter takes one value of each field")
        return equal
    if filters.get("operator") != "==" or "field" not in filters:
        raise ValueError(f"{filters.get('operator')!r}: a workspace's filter takes == and AND")
    return {filters["field"].removeprefix("meta."): filters.get("value")}
