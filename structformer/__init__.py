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
    from structformer.upserting import delete as delete
    from structformer.upserting import upsert as upsert
    from structformer.workspace import Workspace as Workspace
    from structformer_exports.forms import export as export
    from structformer_serve.served import Served as Served
    from structformer_serve.served import serve as serve
    from structformer_serve.served import up as up

# Each name with the package that defines it; `index` is called build_index there, beside the class Index. Nothing else
# in the core names a plugin.
_PUBLIC = {
    "Corpus": "structformer.corpus",
    "Document": "structformer.document",
    "Filter": "structformer.retrieval",
    "Hit": "structformer.retrieval",
    "Hits": "structformer.retrieval",
    "Limits": "structformer.formats",
    "Link": "structformer.document",
    "LinkKind": "structformer.document",
    "ModelError": "structformer.errors",
    "ReadError": "structformer.errors",
    "ReferenceGraph": "structformer.graph",
    "Retriever": "structformer.retrieval",
    "Samples": "structformer.sampling",
    "SamplingOptions": "structformer.sampling",
    "Section": "structformer.document",
    "Served": "structformer_serve.served",
    "StructformerError": "structformer.errors",
    "TrainingOptions": "structformer.training",
    "UsageError": "structformer.errors",
    "Workspace": "structformer.workspace",
    "WorkspaceError": "structformer.errors",
    "delete": "structformer.upserting",
    "evaluate": "structformer.evaluation",
    "export": "structformer_exports.forms",
    "hookimpl": "structformer.plugins",
    "index": "structformer.retrieval",
    "ingest": "structformer.ingestion",
    "read": "structformer.ingestion",
    "sample": "structformer.sampling",
    "serve": "structformer_serve.served",
    "train": "structformer.query_side",
    "up": "structformer_serve.served",
    "upsert": "structformer.upserting",
}
_RENAMED = {"index": "build_index"}
__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        import importlib

        from structformer.extras import needed_for

        with needed_for(f"structformer.{name}"):
            return getattr(importlib.import_module(_PUBLIC[name]), _RENAMED.get(name, name))
    raise AttributeError(f"module 'structformer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
