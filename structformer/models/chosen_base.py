"""The pretrained encoder that is meant by "base" in a workspace, where somebody has named one by `index --base-model`
or `up --base-model`: its index, its search, and training that names no other start from it. What was named last holds.
"""

from __future__ import annotations

from structformer.errors import ModelError, WorkspaceError
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.kinds import ranker_kind
from structformer.storage.files import read_json, write_json
from structformer.workspace import Workspace

_FILE = "base.json"
_AUTO = "auto"
_FIELDS = ("name", "location", "revision")


def usable_base(name: str) -> BaseModel:
    """The base of a name, as for `choose_base`. Raises ModelError as that does."""
    base = resolve_base_model(name, "bi-encoder")
    if base.scratch:
        raise ModelError("--base-model scratch is for training: random weights find nothing")
    return base


def choose_base(workspace: Workspace, name: str) -> BaseModel:
    """Name a workspace's base: a folder, a name on the hub, "minilm", or "auto" to name none. Raises ModelError on one
    that is not there, or no encoder by itself.
    """
    base = usable_base(name)
    path = workspace.path / _FILE
    if name == _AUTO:
        path.unlink(missing_ok=True)
    else:
        write_json(path, {field: getattr(base, field) for field in _FIELDS}, digest=True)
    return base


def chosen_base(workspace: Workspace) -> BaseModel | None:
    """The base that was named, None where none was. Raises WorkspaceError where the file is damaged."""
    path = workspace.path / _FILE
    if not path.exists():
        return None
    found = read_json(path, digest=True)
    if not isinstance(found, dict) or not all(isinstance(found.get(field), str) for field in _FIELDS):
        raise WorkspaceError(f"{path} is damaged: name the base again with `structformer index --base-model NAME`")
    return BaseModel(found["name"], found["location"], revision=found["revision"])


def base_for(workspace: Workspace, name: str, ranker: str) -> BaseModel:
    """What a ranker's training starts from: "auto" is the workspace's base where one was named, for a sentence encoder.
    Raises ModelError.
    """
    if name == _AUTO and ranker_kind(ranker).sentence_encoder and (base := chosen_base(workspace)) is not None:
        return base
    return resolve_base_model(name, ranker)
