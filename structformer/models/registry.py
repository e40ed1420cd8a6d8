"""A workspace's trained models: where they are and what they were made from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from structformer.corpus.storage import read_json, write_json
from structformer.errors import ModelError

RECORD = "structformer.json"


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What is known of a trained model: its kind, its base, a digest of its weights, how it was trained."""

    kind: str
    base: str
    base_location: str
    fingerprint: str
    training: dict[str, Any] = field(default_factory=dict)


def model_folder(workspace: str | Path, name: str) -> Path:
    """The folder of a model by its name in the workspace, by its path in the workspace, or by its path."""
    folder = Path(workspace) / "models" / name
    others = (Path(workspace) / name, Path(name))
    return (
        folder
        if folder.exists()
        else next((other for other in others if (other / RECORD).exists() or (other / "config.json").exists()), folder)
    )


def write_record(folder: Path, record: ModelRecord) -> None:
    """Store a model's record beside its weights."""
    write_json(folder / RECORD, asdict(record))


def read_record(workspace: str | Path, name: str) -> ModelRecord:
    """The record of a trained model. Raises ModelError when there is no such model."""
    folder = model_folder(workspace, name)
    if not (folder / RECORD).exists():
        there = ", ".join(trained_models(workspace)) or "none"
        raise ModelError(f"no model {name!r} in {workspace} (there: {there}): run `structformer train --ranker {name}` first")
    return ModelRecord(**read_json(folder / RECORD))


def model_kind(workspace: str | Path, name: str) -> str:
    """The kind of a model: by its record, or for a model from elsewhere by its files. Raises ModelError when there is no such model."""
    folder = model_folder(workspace, name)
    if (folder / RECORD).exists() or not (folder / "config.json").exists():
        return read_record(workspace, name).kind
    architectures = read_json(folder / "config.json").get("architectures") or [""]
    return "cross-encoder" if architectures[0].endswith("ForSequenceClassification") else "bi-encoder"


def trained_models(workspace: str | Path) -> list[str]:
    """Names of the workspace's trained models."""
    folder = Path(workspace) / "models"
    return sorted(path.parent.name for path in folder.glob(f"*/{RECORD}") if not path.parent.name.startswith("."))
