"""Pipelines as values: stages one after another, written as text, as TOML or in Python.

lexical[k=200] >> dense-fusion >> rerank("models/ce")[k=50]

lexical(k=200) >> dense_fusion() >> rerank("models/ce", k=50)

[[stages]]
stage = "lexical"
k = 200
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structformer.errors import UsageError

UNTRAINED = "base"  # the encoder name that means: the untrained base model
ENCODER = "bi-encoder"
Value = float | str


@dataclass(frozen=True, slots=True)
class StageKind:
    """What a stage of a name is. role: "first" finds units, "scores" orders those found anew. model: the one it takes when none is
    named, "" for none. options: its options with their defaults."""

    role: str
    model: str
    options: Mapping[str, Value]


# k: units that a first stage gives, or that a later one looks at (the rest follow in their own order).
KINDS: dict[str, StageKind] = {
    "lexical": StageKind("first", "", {"k": 200}),
    "dense": StageKind("first", ENCODER, {"k": 200}),
    "late": StageKind("first", "late-interaction", {"k": 200}),
    "hybrid": StageKind("first", ENCODER, {"k": 200, "weights": "learned"}),
    "dense-fusion": StageKind("scores", ENCODER, {"k": 200, "weights": "learned"}),
    "bm25": StageKind("scores", "", {"k": 200, "k1": 1.2, "b": 0.75}),
    "ql": StageKind("scores", "", {"k": 200, "mu": 1000.0}),
    "tfidf": StageKind("scores", "", {"k": 200}),
    "rerank": StageKind("scores", "cross-encoder", {"k": 50}),
}
FUSIONS = ("learned", "rrf")
FIRST_STAGES = tuple(name for name, kind in KINDS.items() if kind.role == "first")
_STAGE = re.compile(
    r"""\s*(?P<name>[\w-]+)(?: : (?P<short>[\w./~-]+) | \(\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[\w./~-]*))\s*\) )?
    (?:\[(?P<options>[^\]]*)\])?\s*""",
    re.VERBOSE,
)
_BARE = re.compile(r"[\w./~-]+")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its name, the model it uses ("" for none) and the options that are not their defaults, sorted."""

    name: str
    model: str
    options: tuple[tuple[str, Value], ...] = ()

    def option(self, name: str) -> Value:
        """An option's value."""
        return dict(self.options).get(name, KINDS[self.name].options[name])

    @property
    def k(self) -> int:
        return int(self.option("k"))

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        return Pipeline((self,)) >> other

    def __str__(self) -> str:
        model = "" if not self.model else f":{self.model}" if _BARE.fullmatch(self.model) else f'("{self.model}")'
        options = ", ".join(f"{name}={value:g}" if not isinstance(value, str) else f"{name}={value}" for name, value in self.options)
        return f"{self.name}{model}" + (f"[{options}]" if options else "")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages, the first of which finds units and the others order them anew."""

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        if not self.stages or KINDS[self.stages[0].name].role != "first":
            raise UsageError(f"a pipeline begins with one of {', '.join(FIRST_STAGES)}")
        for stage in self.stages[1:]:
            if KINDS[stage.name].role == "first":
                raise UsageError(f"{stage.name} finds units and so stands first; then come {', '.join(_later())}")

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        return Pipeline(self.stages + (other.stages if isinstance(other, Pipeline) else (other,)))

    def __str__(self) -> str:
        return " >> ".join(map(str, self.stages))

    @property
    def first(self) -> Stage:
        return self.stages[0]


def _later() -> list[str]:
    return [name for name, kind in KINDS.items() if kind.role != "first"]


def make_stage(name: str, model: str | None = None, **options: Any) -> Stage:
    """A stage by name. Raises UsageError naming what there is."""
    kind = KINDS.get(name)
    if kind is None:
        raise UsageError(f"no stage {name!r}; there are: {', '.join(KINDS)}")
    if model and not kind.model:
        raise UsageError(f"the stage {name} takes no model")
    chosen: dict[str, Value] = {}
    for key, value in options.items():
        if key not in kind.options:
            raise UsageError(f"{name} has no option {key!r}; there are: {', '.join(kind.options)}")
        chosen[key] = _checked(name, key, value, kind.options[key])
    given = tuple(sorted((key, value) for key, value in chosen.items() if value != kind.options[key]))
    return Stage(name, model or kind.model, given)


def _checked(name: str, key: str, value: Any, default: Value) -> Value:
    if isinstance(default, str):
        if value not in FUSIONS:
            raise UsageError(f"{name}[{key}={value}]: choose {' or '.join(FUSIONS)}")
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    whole = isinstance(default, int)
    if isinstance(value, bool) or not 0 <= number < 1e9 or (whole and (number < 1 or number != int(number))):
        raise UsageError(f"{name}[{key}={value}]: it must be a {'whole number of at least 1' if whole else 'number of at least 0'}")
    return int(number) if whole else number


def parse_pipeline(text: str) -> Pipeline:
    """A pipeline from its written form, or from a TOML file whose path is given. Raises UsageError naming the stage."""
    if text.strip().endswith(".toml"):
        return read_pipeline(Path(text.strip()))
    stages: list[Stage] = []
    for part in text.split(">>"):
        found = _STAGE.fullmatch(part)
        if found is None:
            raise UsageError(f'{part.strip() or text!r} is no stage; write NAME, NAME:MODEL or NAME("MODEL"), then [option=value, ...]')
        options: dict[str, str] = {}
        for setting in filter(None, map(str.strip, (found["options"] or "").split(","))):
            key, equals, value = setting.partition("=")
            if not equals:
                raise UsageError(f"{part.strip()}: write [option=value], for example [k=50]")
            options[key.strip()] = value.strip().strip("\"'")
        model = found["short"] or found["double"] or found["single"] or found["bare"]
        stages.append(make_stage(found["name"], model, **options))
    return Pipeline(tuple(stages))


def read_pipeline(path: Path) -> Pipeline:
    """A pipeline from a TOML file of [[stages]] tables, each with `stage`, maybe `model`, and options. Raises UsageError naming the file."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    return pipeline_of(value.get("stages"), str(path))


def pipeline_of(tables: Any, where: str) -> Pipeline:
    """A pipeline from the values of [[stages]] tables. Raises UsageError naming `where`."""
    if (
        not isinstance(tables, list)
        or not tables
        or not all(isinstance(each, dict) and isinstance(each.get("stage"), str) for each in tables)
    ):
        raise UsageError(f'{where}: a pipeline is [[stages]] tables, each with stage = "NAME"')
    try:
        return Pipeline(
            tuple(
                make_stage(each["stage"], each.get("model"), **{key: value for key, value in each.items() if key not in ("stage", "model")})
                for each in tables
            )
        )
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def as_pipeline(value: str | Pipeline | Stage) -> Pipeline:
    """A pipeline from any of its forms."""
    if isinstance(value, Stage):
        return Pipeline((value,))
    return parse_pipeline(value) if isinstance(value, str) else value


def lexical(**options: Any) -> Stage:
    """BM25 over title, path, text and anchor texts of incoming links."""
    return make_stage("lexical", **options)


def dense(model: str | None = None, **options: Any) -> Stage:
    """Cosine of a bi-encoder's vectors."""
    return make_stage("dense", model, **options)


def late(model: str | None = None, **options: Any) -> Stage:
    """Late-interaction retrieval over all token vectors."""
    return make_stage("late", model, **options)


def hybrid(model: str | None = None, **options: Any) -> Stage:
    """Lexical and dense together: learned weights, or reciprocal rank fusion."""
    return make_stage("hybrid", model, **options)


def dense_fusion(model: str | None = None, **options: Any) -> Stage:
    """Adds dense scores to the units that the stage before found."""
    return make_stage("dense-fusion", model, **options)


def rerank(model: str | None = None, **options: Any) -> Stage:
    """Orders the first k by any ranker: cross-encoder, late interaction, bi-encoder, KNRM."""
    return make_stage("rerank", model, **options)
