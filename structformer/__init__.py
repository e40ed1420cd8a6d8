"""structformer turns a structured corpus into a custom retriever, without annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from structformer.corpus import Corpus as Corpus
    from structformer.document import Document as Document
    from structformer.document import Link as Link
    from structformer.document import LinkKind as LinkKind
    from structformer.document import Section as Section
    from structformer.ingest import read as read
    from structformer.retrieval.retriever import Retriever as Retriever
    from structformer.sampling import sample as sample
    from structformer.training import train as train

# Imported when first asked for, so that `import structformer` and `structformer --help` bring in no torch.
_PUBLIC = {
    "Corpus": "structformer.corpus",
    "Document": "structformer.document",
    "Link": "structformer.document",
    "LinkKind": "structformer.document",
    "Section": "structformer.document",
    "read": "structformer.ingest",
    "Retriever": "structformer.retrieval.retriever",
    "sample": "structformer.sampling",
    "train": "structformer.training",
}
__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        import importlib

        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'structformer' has no attribute {name!r}")
