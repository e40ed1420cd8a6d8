"""A search stage: its kind, with options and what it does; and one stage of a pipeline, as it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from structformer.errors import UsageError
from structformer.plugins import load_plugins
from structformer.retrieval.ranking import Ranking
from structformer.workspace import checked_name

LEARNED = "learned"  # of an option `weights`
Value = float | str
# (the opened index, the stage, the queries' rankings so far, numbers of the documents that may be found): changes the
# rankings
Run = Callable[[Any, "Stage", Sequence[Ranking], Collection[int] | None], None]
_BARE = re.compile(r"[\w./~-]+")


@dataclass(frozen=True, slots=True)
class StageKind:
    """What a stage of a name is.

    finds: it finds units, so it stands first; otherwise it orders those found. run: what it does with the rankings of
    some queries, see `Run`. model: the one it uses when none is named, "" for a stage without. options: with their
    defaults; `k` is how many units it finds, or looks at. choices: what an option that is a word may be. needs(opened,
    stage): what must be there before anything is searched, so that a wrong name is an error even where nothing is
    found. vectors: its model is a bi-encoder, whose vectors of the queries it compares with those of the index. fuses:
    it sums scores by the weights that were learned for that encoder, unless its option `weights` says otherwise."""

    name: str
    run: Run
    finds: bool
    options: Mapping[str, Value]
    model: str = ""
    choices: Mapping[str, tuple[str, ...]] | None = None
    needs: Callable[[Any, Any], object] | None = None
    vectors: bool = False
    fuses: bool = False

    def __post_init__(self) -> None:
        checked_name(self.name, "the stage's name")
        if "k" not in self.options:
            raise ValueError(f"the stage {self.name} has no option k")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a pipeline: its name, the model it uses ("" for none) and the options that are not their defaults,
    sorted.
    """

    name: str
    model: str
    options: tuple[tuple[str, Value], ...] = ()

    @property
    def kind(self) -> StageKind:
        return stage_kind(self.name)

    def option(self, name: str) -> Value:
        """An option's value."""
        return dict(self.options).get(name, self.kind.options[name])

    @property
    def k(self) -> int:
        return int(self.option("k"))

    @property
    def learned_weights(self) -> bool:
        """Whether it sums scores by learned weights."""
        return self.kind.fuses and ("weights" not in self.kind.options or self.option("weights") == LEARNED)

    def __rshift__(self, other: Any) -> Any:
        """This stage and then another stage, or another pipeline's stages."""
        from structformer.retrieval.pipeline import Pipeline

        return Pipeline((self,)) >> other

    def __str__(self) -> str:
        model = "" if not self.model else f":{self.model}" if _BARE.fullmatch(self.model) else f'("{self.model}")'
        options = ", ".join(
            f"{name}={value:g}" if not isinstance(value, str) else f"{name}={value}" for name, value in self.options
        )
        return f"{self.name}{model}" + (f"[{options}]" if options else "")


@cache
def _built_in() -> dict[str, StageKind]:
    from structformer.retrieval.stages import BUILT_IN

    return {kind.name: kind for kind in BUILT_IN}


def stage_kind(name: str) -> StageKind:
    """A kind of stage by its name; plugins are loaded only for a name that is not built in. Raises UsageError."""
    found = _built_in().get(name) or stage_kinds().get(name)
    if found is None:
        raise UsageError(f"no stage {name!r}; there are: {', '.join(stage_kinds())}")
    return found


@cache
def stage_kinds() -> dict[str, StageKind]:
    """All kinds of stages by name: the built-in ones and those of plugins."""
    found = _built_in()
    supplied = load_plugins().supplied("structformer_stages", "stage", StageKind, found)
    return {**found, **{name: kind for name, (kind, _) in supplied.items()}}


def make_stage(name: str, model: str | None = None, **options: Any) -> Stage:
    """A stage by name. Raises UsageError naming what there is."""
    kind = stage_kind(name)
    if model and not kind.model:
        raise UsageError(f"the stage {name} takes no model")
    chosen: dict[str, Value] = {}
    for key, value in options.items():
        if key not in kind.options:
            raise UsageError(f"{name} has no option {key!r}; there are: {', '.join(kind.options)}")
        chosen[key] = _checked(kind, key, value)
    given = tuple(sorted((key, value) for key, value in chosen.items() if value != kind.options[key]))
    return Stage(name, model or kind.model, given)


def _checked(kind: StageKind, key: str, value: Any) -> Value:
    default = kind.options[key]
    if isinstance(default, str):
        allowed = (kind.choices or {}).get(key, ())
        if allowed and value not in allowed:
            raise UsageError(f"{kind.name}[{key}={value}]: choose {' or '.join(allowed)}")
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    whole = isinstance(default, int)
    if isinstance(value, bool) or not 0 <= number < 1e9 or (whole and (number < 1 or number != int(number))):
        raise UsageError(
            f"{kind.name}[{key}={value}]: it must be a "
            f"{'whole number of at least 1' if whole else 'number of at least 0'}"
        )
    return int(number) if whole else number
