"""structformer turns a structured corpus into a custom retriever, without annotations.

    import structformer

    structformer.ingest("docs", "workspace")
    structformer.train("workspace")
    structformer.index("workspace")
    for hit in structformer.Retriever.open("workspace").search("how do I undo a commit", k=5):
        print(hit.breadcrumb, hit.address)

Every name below is imported when it is first used, so that `import structformer` brings in no torch.
"""

from typing import TYPE_CHECKING, Any

from structformer._version import __version__
from structformer.lazy_names import lazy_names, named_object

if TYPE_CHECKING:
    from structformer.corpus import Corpus
    from structformer.document import Document, Link, LinkKind, Section
    from structformer.errors import ModelError, ReadError, StructformerError, UsageError, WorkspaceError
    from structformer.evaluation import evaluate
    from structformer.formats import Limits
    from structformer.graph import ReferenceGraph
    from structformer.ingestion import ingest, read
    from structformer.plugins import hookimpl
    from structformer.query_side import train
    from structformer.retrieval import Filter, Hit, Hits, Retriever
    from structformer.retrieval import build_index as index
    from structformer.sampling import Samples, SamplingOptions, sample
    from structformer.training import TrainingOptions
    from structformer.upserting import delete, upsert
    from structformer.workspace import Workspace

__all__ = [
    "Corpus", "Document", "Filter", "Hit", "Hits", "Limits", "Link", "LinkKind", "ModelError", "ReadError",
    "ReferenceGraph", "Retriever", "Samples", "SamplingOptions", "Section", "Served", "StructformerError",
    "TrainingOptions", "UsageError", "Workspace", "WorkspaceError", "__version__", "delete", "evaluate",
    "export", "hookimpl", "index", "ingest", "read", "sample", "serve", "train", "up", "upsert",
]  # fmt: skip
# Supplied by plugins, which nothing else in the core names.
_SUPPLIED = {
    "Served": "structformer_serve:Served",
    "export": "structformer_exports:export",
    "serve": "structformer_serve:serve",
    "up": "structformer_serve:up",
}
_attribute = lazy_names(__name__)


def __getattr__(name: str) -> Any:
    from structformer.extras import needed_for

    with needed_for(f"structformer.{name}"):
        return named_object(_SUPPLIED[name]) if name in _SUPPLIED else _attribute(name)


def __dir__() -> list[str]:
    return __all__
