"""The encoder that "base" stands for, as last named with --base-model: for the index, the search, and training that
names no other start; and the query model beside it, which encodes queries into its vector space.
"""

from typing import Any

from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.kinds import ranker_kind
from structformer.storage.files import read_json, write_json
from structformer.storage.seal import compared, seal
from structformer.workspace import Workspace
from structformer.workspace.workspace import BASE, BASE_ADVICE

_AUTO = "auto"
_FIELDS = ("name", "location", "revision")
_QUERIES = "queries"


def usable_base(name: str) -> BaseModel:
    """Return the base of a name, as for `choose_base`. Raises ModelError as that does."""
    base = resolve_base_model(name, "bi-encoder")
    if base.scratch:
        raise ModelError("--base-model scratch is for training: random weights find nothing")
    return base


def usable_pair(workspace: Workspace, name: str, queries: str) -> tuple[BaseModel, BaseModel] | None:
    """The base and the query model that are named together, with the workspace's base if a query model alone is named;
    None without a query model. Raises ModelError if either is missing, UsageError without a base.
    """
    if queries in ("", _AUTO):
        return None
    if name == _AUTO:
        raise UsageError("--query-model goes with a base that is named: --base-model NAME, not auto")
    base = usable_base(name) if name else chosen_base(workspace)
    if base is None:
        raise UsageError("--query-model goes with --base-model NAME, which encodes the passages")
    return base, usable_base(queries)


def choose_base(workspace: Workspace, name: str) -> BaseModel:
    """Name a workspace's base: folder, hub name, "minilm", "auto" for none. Raises ModelError if it cannot be one."""
    base = usable_base(name)
    if name == _AUTO:
        seal(workspace.path, ())
        (workspace.path / BASE).unlink(missing_ok=True)
    else:
        keep_base(workspace, base)
    return base


def keep_base(workspace: Workspace, base: BaseModel, queries: BaseModel | None = None) -> None:
    """Keep what was named."""
    kept: dict[str, Any] = _fields(base)
    if queries is not None:
        kept[_QUERIES] = _fields(queries)
    write_json(workspace.path / BASE, kept, digest=True)
    seal(workspace.path, [BASE])  # so that it is missed when it is gone


def chosen_base(workspace: Workspace) -> BaseModel | None:
    """Return the base that was named; None if none was. Raises WorkspaceError if the file is damaged or gone."""
    chosen = _read(workspace)
    return None if chosen is None else _base(chosen)


def chosen_query_model(workspace: Workspace) -> BaseModel | None:
    """Return the query model named beside the base; None if the base encodes queries too. Raises as `chosen_base`."""
    chosen = (_read(workspace) or {}).get(_QUERIES)
    return None if chosen is None else _base(chosen)


def base_for(workspace: Workspace, name: str, ranker: str) -> BaseModel:
    """Return the base to train from: for "auto" the workspace's, of a sentence encoder. Raises ModelError."""
    if name == _AUTO and ranker_kind(ranker).sentence_encoder and (base := chosen_base(workspace)) is not None:
        return base
    return resolve_base_model(name, ranker)


def query_model_for(workspace: Workspace, name: str, ranker: str) -> BaseModel | None:
    """Return the query model beside `base_for`; None if the base encodes queries too."""
    return chosen_query_model(workspace) if name == _AUTO and ranker_kind(ranker).sentence_encoder else None


def _fields(base: BaseModel) -> dict[str, str]:
    return {field: getattr(base, field) for field in _FIELDS}


def _base(value: Any) -> BaseModel:
    return BaseModel(value["name"], value["location"], revision=value["revision"])


def _read(workspace: Workspace) -> dict[str, Any] | None:
    if (path := compared(workspace.path, BASE, BASE_ADVICE)) is None:
        return None
    value = read_json(path, digest=True)
    if not _is_base(value) or not (_QUERIES not in value or _is_base(value[_QUERIES])):
        raise WorkspaceError(f"{path} is damaged: {BASE_ADVICE}")
    return dict(value)


def _is_base(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(field), str) for field in _FIELDS)
