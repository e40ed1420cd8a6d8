"""Whether what encodes queries is exported, so that a server needs no torch."""

from pathlib import Path

from structformer.errors import StructformerError
from structformer.extras import TORCH, are_installed
from structformer.models import exported
from structformer.retrieval import ENCODER, UNTRAINED, Index, encoder_kind, query_encoder_folder, trained_encoder
from structformer.workspace import Workspace


def missing_exports(workspace: str | Path | Workspace) -> list[str]:
    """The names of encoders that are not exported yet: first the one that the search uses, then the one that its page
    compares it with. Empty where there is nothing to do, or nothing to do it with. A static encoder needs no export: it
    runs without torch as it is.
    """
    workspace = Workspace(workspace)
    if not are_installed("onnxruntime", "onnx", "onnxscript", *TORCH):
        return []
    try:
        index = Index(workspace)
        names = (ENCODER, UNTRAINED) if trained_encoder(workspace) else (UNTRAINED, ENCODER)
    except StructformerError:  # the server says what is wrong
        return []
    return [name for name in names if _is_missing(index, name)]


def _is_missing(index: Index, name: str) -> bool:
    workspace = index.workspace
    try:
        return (
            index.has_vectors(name)
            and encoder_kind(workspace, name).exported
            and not exported(query_encoder_folder(workspace, name))
        )
    except StructformerError:  # no such model, or its base is not at hand
        return False
