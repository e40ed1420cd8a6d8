"""structformer turns a structured corpus into a custom retriever, without annotations.

    import structformer

    structformer.ingest("docs", "workspace")
    structformer.train("workspace")
    structformer.index("workspace")
    for hit in structformer.Retriever.open("workspace").search("how do I undo a commit", k=5):
        print(hit.breadcrumb, hit.address)

Every name below is imported when it is first used, so that `import structformer` brings in no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structformer._version import __version__ as __version__

if TYPE_CHECKING:
    from structformer.api_documents import delete as delete
    from structformer.api_documents import upsert as upsert
    from structformer.api_export import export as export
    from structformer.api_serving import Served as Served
    from structformer.api_serving import serve as serve
    from structformer.api_serving import up as up
    from structformer.corpus import Corpus as Corpus
    from structformer.document import Document as Document
    from structformer.document import Link as Link
    from structformer.document import LinkKind as LinkKind
    from structformer.document import Section as Section
    from structformer.errors import ModelError as ModelError
    from structformer.errors import ReadError as ReadError
    from structformer.errors import StructformerError as StructformerError
    from structformer.errors import UsageError as UsageError
    from structformer.errors import WorkspaceError as WorkspaceError
    from structformer.evaluation import evaluate as evaluate
    from structformer.formats import Limits as Limits
    from structformer.graph import ReferenceGraph as ReferenceGraph
    from structformer.ingestion import ingest as ingest
    from structformer.ingestion import read as read
    from structformer.plugins import hookimpl as hookimpl
    from structformer.query_side import train as train
    from structformer.retrieval import Filter as Filter
    from structformer.retrieval import Hit as Hit
    from structformer.retrieval import Hits as Hits
    from structformer.retrieval import Retriever as Retriever
    from structformer.retrieval import build_index as index  # noqa: F401
    from structformer.sampling import Samples as Samples
    from structformer.sampling import SamplingOptions as SamplingOptions
    from structformer.sampling import sample as sample
    from structformer.training import TrainingOptions as TrainingOptions
    from structformer.workspace import Workspace as Workspace

# Each name with the package that defines it; `index` is called build_index there, beside the class Index.
_PUBLIC = {
    "Corpus": "corpus",
    "Document": "document",
    "Filter": "retrieval",
    "Hit": "retrieval",
    "Hits": "retrieval",
    "Limits": "formats",
    "Link": "document",
    "LinkKind": "document",
    "ModelError": "errors",
    "ReadError": "errors",
    "ReferenceGraph": "graph",
    "Retriever": "retrieval",
    "Samples": "sampling",
    "SamplingOptions": "sampling",
    "Section": "document",
    "Served": "api_serving",
    "StructformerError": "errors",
    "TrainingOptions": "training",
    "UsageError": "errors",
    "Workspace": "workspace",
    "WorkspaceError": "errors",
    "delete": "api_documents",
    "evaluate": "evaluation",
    "export": "api_export",
    "hookimpl": "plugins",
    "index": "retrieval",
    "ingest": "ingestion",
    "read": "ingestion",
    "sample": "sampling",
    "serve": "api_serving",
    "train": "query_side",
    "up": "api_serving",
    "upsert": "api_documents",
}
_RENAMED = {"index": "build_index"}
__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        import importlib

        from structformer.extras import needed_for

        with needed_for(f"structformer.{name}"):
            return getattr(importlib.import_module(f"structformer.{_PUBLIC[name]}"), _RENAMED.get(name, name))
    raise AttributeError(f"module 'structformer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
