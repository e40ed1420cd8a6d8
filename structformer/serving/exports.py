"""Whether what encodes queries is exported, so that a server needs no torch."""

from __future__ import annotations

from pathlib import Path

from structformer.errors import StructformerError
from structformer.extras import TORCH, are_installed
from structformer.models.onnx_encoder import exported
from structformer.retrieval.encoder_names import ENCODER, UNTRAINED
from structformer.retrieval.index import Index, encoder_kind, trained_encoder
from structformer.retrieval.opened import query_encoder_folder
from structformer.workspace import Workspace


def missing_export(workspace: str | Path | Workspace) -> str | None:
    """The name of the encoder that the search uses and that is not exported yet; None where there is nothing to do, or
    nothing to do it with. A static encoder needs no export: it runs without torch as it is.
    """
    workspace = Workspace(workspace)
    if not are_installed("onnxruntime", "onnx", "onnxscript", *TORCH):
        return None
    try:
        index = Index(workspace)
        for name in (ENCODER, UNTRAINED) if trained_encoder(workspace) else (UNTRAINED,):
            if index.has_vectors(name):
                able = encoder_kind(workspace, name).exported
                return name if able and not exported(query_encoder_folder(workspace, name)) else None
    except StructformerError:  # the server says what is wrong
        return None
    return None
