"""Exporting a workspace's models for onnxruntime, so that the search needs no torch."""

import os
import shutil
from pathlib import Path

from structformer.errors import ModelError
from structformer.extras import TORCH, require
from structformer.models import (
    EXPORTS,
    WEIGHTS,
    Dense,
    OtherForm,
    RankerKind,
    checked_model,
    dense_folders,
    load_tokenizer,
    model_file,
    model_graph,
    ranker_kind,
    ranker_kinds,
    read_model_json,
    read_modules,
    read_record,
    settings_of,
    write_modules,
)
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


def export_onnx(kind: RankerKind, location: str, folder: Path, *, int8: bool = False) -> Path:
    """Write a saved model's `onnx/model.onnx` into a folder, with `int8` its `onnx/model_int8.onnx` with 8-bit weights;
    return the file, which the search will use. Raises MissingPackage where a form other than BERT's needs torch.
    """
    try:
        body = "" if kind.joint else read_modules(location).body
        data = model_graph(location, body, classifier=kind.joint, inside=True, int8=int8).data
    except OtherForm as form:
        require(f"an export ({form})", *TORCH, "onnx", "onnxscript", "onnxruntime")
        data = b""
    small, plain = (folder / name for name in EXPORTS)
    shutil.rmtree(plain.parent, ignore_errors=True)
    plain.parent.mkdir()
    made = small if int8 else plain
    if data:
        made.write_bytes(data)
    else:
        from structformer_exports.onnx_by_torch import export_by_torch

        export_by_torch(kind.load(location), plain, small if int8 else None)
    return made


def export_encoder(location: str, folder: Path, *, int8: bool = False) -> Path:
    """`export_onnx` of a sentence encoder with all files OnnxEncoder reads; without tokenizer.json by torch."""
    modules = read_modules(location)
    inside = f"{modules.body}/" if modules.body else ""
    config = settings_of(location, f"{inside}config.json")
    write_modules(folder, modules, int((read_model_json(config, f"{inside}config.json") or {}).get("hidden_size", 0)))
    steps = [step.path for step in modules.steps if isinstance(step, Dense)]
    copies = {f"{own}/{WEIGHTS}": f"{path}/{WEIGHTS}" for own, path in zip(dense_folders(modules), steps, strict=True)}
    copies |= {name: f"{inside}{name}" for name in ("config.json", "tokenizer.json")}
    for own, name in copies.items():
        if (path := model_file(settings_of(location, name), name)) is not None:
            shutil.copyfile(path, folder / own)
    if not (folder / "tokenizer.json").exists():
        require(f"an export of {location}", *TORCH)
        load_tokenizer(location, body=modules.body).save_pretrained(folder)
    return export_onnx(ranker_kind("bi-encoder"), location, folder, int8=int8)
