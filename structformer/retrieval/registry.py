"""The kinds of search stages by their names: the built-in ones and those of plugins."""

from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.plugins import load_plugins
from structformer.retrieval.stage import Stage, StageKind, Value
from structformer.retrieval.stages import BUILT_IN

_BUILT_IN = {kind.name: kind for kind in BUILT_IN}


def stage_kind(name: str) -> StageKind:
    """A kind of stage by its name; plugins are loaded only for a name that is not built in. Raises UsageError."""
    kind = _BUILT_IN.get(name) or stage_kinds().get(name)
    if kind is None:
        raise UsageError(f"no stage {name!r}; {did_you_mean(name, stage_kinds())}")
    return kind


def stage_kinds() -> dict[str, StageKind]:
    """Return all kinds of stages by name: the built-in ones and those of plugins."""
    supplied = load_plugins().supplied("structformer_stages", "stage", StageKind, _BUILT_IN)
    return {**_BUILT_IN, **{name: kind for name, (kind, _) in supplied.items()}}


def make_stage(name: str, model: str | None = None, **options: Any) -> Stage:
    """Return a stage by name. Raises UsageError naming what there is."""
    kind = stage_kind(name)
    if model and not kind.model:
        raise UsageError(f"the stage {name} takes no model")
    chosen: dict[str, Value] = {}
    for key, value in options.items():
        if key not in kind.options:
            raise UsageError(f"{name} has no option {key!r}; {did_you_mean(key, kind.options)}")
        chosen[key] = kind.checked(key, value)
    given = tuple(sorted((key, value) for key, value in chosen.items() if value != kind.options[key]))
    return Stage(name, model or kind.model, given, kind=kind)
