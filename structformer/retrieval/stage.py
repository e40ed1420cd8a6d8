"""Parts of a search: kinds of stages, stages, and pipelines of them. Values only: kinds are looked up by name,
and pipelines are written and read, in structformer.retrieval.pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from structformer.errors import UsageError
from structformer.retrieval.rankings.ranking import Ranking
from structformer.retrieval.vectors.encoder_names import DEFAULT
from structformer.workspace import checked_name

STANDARDISED = "standardised"  # of an option `weights`
Value = float | str
# (the opened index, the stage, the queries' rankings so far, numbers of the documents that may be found): changes the
# rankings
Run = Callable[[Any, "Stage", Sequence[Ranking], Collection[int] | None], None]
_BARE = re.compile(r"[\w./~-]+")


@dataclass(frozen=True, slots=True)
class StageKind:
    """A kind of stage, by its name."""

    name: str
    run: Run
    """Changes the rankings of some queries, see `Run`."""
    finds: bool
    """Whether it finds units, and so comes first; other stages reorder what was found."""
    options: Mapping[str, Value]
    """Names and defaults. `k`: how many units it finds or looks at; documents, if its option `of` says so."""
    model: str = ""
    """The model it uses when none is named: "" for none, DEFAULT for the default search's encoder (encoder_names)."""
    choices: Mapping[str, tuple[str, ...]] | None = None
    """The allowed words of options that are words."""
    needs: Callable[[Any, Any], object] | None = None
    """needs(opened, stage) checks what must be there before anything is searched, so that a wrong name is an error even
    where nothing is found.
    """
    vectors: bool = False
    """Whether its model is a bi-encoder, whose vectors of queries it compares with those of the index."""
    fuses: bool = False
    """Whether it sums standardised scores (hybrid_score.py), unless its option `weights` says otherwise."""
    ranks: bool = False
    """Whether it orders by its model's scores alone; tables then call it by the model's name."""
    likely: Callable[[Any, Stage, Ranking], float | None] | None = None
    """How likely a ranking's first document is right, asked where this is a pipeline's only stage."""

    def __post_init__(self) -> None:
        checked_name(self.name, "the stage's name")
        if "k" not in self.options:
            raise ValueError(f"the stage {self.name} has no option k")

    def checked(self, option: str, value: Any) -> Value:
        """Return the value of an option, of the type of its default. Raises UsageError naming what it may be."""
        default = self.options[option]
        if isinstance(default, str):
            allowed = (self.choices or {}).get(option, ())
            if allowed and value not in allowed:
                raise UsageError(f"{self.name}[{option}={value}]: choose {' or '.join(allowed)}")
            return str(value)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        whole = isinstance(default, int)
        if isinstance(value, bool) or not 0 <= number < 1e9 or (whole and (number < 1 or number != int(number))):
            raise UsageError(
                f"{self.name}[{option}={value}]: it must be a "
                f"{'whole number of at least 1' if whole else 'number of at least 0'}"
            )
        return int(number) if whole else number


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a pipeline."""

    name: str
    model: str
    """The model it uses; "" for none."""
    options: tuple[tuple[str, Value], ...] = ()
    """Those that are not the defaults, sorted."""
    kind: StageKind = field(compare=False, repr=False, kw_only=True)

    def option(self, name: str) -> Value:
        """Return an option's value."""
        return dict(self.options).get(name, self.kind.options[name])

    @property
    def k(self) -> int:
        return int(self.option("k"))

    @property
    def is_weighed(self) -> bool:
        """Whether it sums standardised scores."""
        return self.kind.fuses and ("weights" not in self.kind.options or self.option("weights") == STANDARDISED)

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        """Return this stage and then another stage, or another pipeline's stages."""
        return Pipeline((self,)) >> other

    def __str__(self) -> str:
        named = "" if self.model == DEFAULT else self.model
        model = "" if not named else f":{named}" if _BARE.fullmatch(named) else f'("{named}")'
        options = ", ".join(
            f"{name}={value:g}" if not isinstance(value, str) else f"{name}={value}" for name, value in self.options
        )
        return f"{self.name}{model}" + (f"[{options}]" if options else "")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages, the first of which finds units and the others reorder them."""

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        if not self.stages:
            raise UsageError("a pipeline has at least one stage, for example hybrid")
        if not self.first.kind.finds:
            raise UsageError(
                f"{self.first.name} orders what a stage before it found: begin with one that finds, for example "
                f"lexical >> {self.first.name}"
            )
        for stage in self.stages[1:]:
            if stage.kind.finds:
                raise UsageError(f"{stage.name} finds units, so it can only come first")

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        return Pipeline(self.stages + (other.stages if isinstance(other, Pipeline) else (other,)))

    def __str__(self) -> str:
        return " >> ".join(map(str, self.stages))

    @property
    def first(self) -> Stage:
        return self.stages[0]

    @property
    def encoder(self) -> str:
        """The bi-encoder whose vectors it compares, the last stage's where several do; "" where none does."""
        return next((stage.model for stage in reversed(self.stages) if stage.kind.vectors), "")
