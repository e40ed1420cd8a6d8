"""Exporting a workspace's models for onnxruntime, so that the search needs no torch."""

import os
import shutil
from pathlib import Path

from structformer.errors import ModelError
from structformer.models import checked_model, export_encoder, export_onnx, ranker_kind, ranker_kinds, read_record
from structformer.retrieval import UNTRAINED, encoder_place, query_encoder_folder
from structformer.storage import seal, seal_of, writing_errors
from structformer.workspace import Workspace


def export_model(workspace: str | Path | Workspace, name: str, *, int8: bool = False) -> Path:
    """Write a model's ONNX file, with `int8` one with 8-bit weights; return the one that the search will use.

    name: of a trained model, or "base" for the untrained bi-encoder, whose export is kept in the workspace's cache.
    Raises ModelError on an unknown model or one of a kind that cannot be exported, MissingPackage without
    structformer[onnx] on one of another form than BERT's or XLM-R's.
    """
    workspace = Workspace(workspace)
    if name == UNTRAINED:
        return _export_base(workspace, int8)
    folder = workspace.model(name)
    kind = ranker_kind(read_record(workspace, name).kind)
    if not kind.exported:
        able = ", ".join(name for name, other in ranker_kinds().items() if other.exported)
        why = "" if kind.needs_torch else ", which runs without torch as it is"
        raise ModelError(f"{name} is a {kind.name} model{why}; {able} models can be exported")
    with workspace.writing("structformer export"):
        checked_model(workspace, name)
        path = export_onnx(kind, str(folder), folder, int8=int8)
        names = [file.relative_to(folder).as_posix() for file in sorted(path.parent.iterdir()) if file.is_file()]
        seal(folder, names, to=seal_of("onnx"))
    return path


def _export_base(workspace: Workspace, int8: bool) -> Path:
    location = encoder_place(workspace, UNTRAINED).queries
    final = query_encoder_folder(workspace, UNTRAINED)
    # Not a name that writers of the workspace tidy away: this needs no lock.
    making = final.with_name(f"making-{os.getpid()}")
    with writing_errors(final):
        making.mkdir(parents=True)
        try:
            path = export_encoder(location, making, int8=int8)
            seal(making)
            shutil.rmtree(final, ignore_errors=True)
            os.replace(making, final)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return final / path.relative_to(making)
