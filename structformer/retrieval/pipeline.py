"""Pipelines as values: stages one after another, written as text, as TOML or in Python; and stages by their names.

lexical[k=200] >> dense-fusion >> rerank("models/ce")[k=50]

lexical(k=200) >> dense_fusion() >> rerank("models/ce", k=50)

[[stages]]
stage = "lexical"
k = 200
"""

import re
from pathlib import Path
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.plugins import load_plugins
from structformer.retrieval.stage import Pipeline, Stage, StageKind, Value
from structformer.retrieval.stages import BUILT_IN
from structformer.storage import read_toml

_BUILT_IN = {kind.name: kind for kind in BUILT_IN}
_STAGE = re.compile(
    r"""\s*(?P<name>[\w-]+)(?:
    : (?P<short>[\w./~-]+) | \(\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[\w./~-]*))\s*\) )?
    (?:\[(?P<options>[^\]]*)\])?\s*""",
    re.VERBOSE,
)


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


def parse_pipeline(text: str) -> Pipeline:
    """A pipeline from its written form, or from a TOML file whose path is given. Raises UsageError naming the stage."""
    if text.strip().endswith(".toml"):
        path = Path(text.strip())
        return pipeline_of(read_toml(path).get("stages"), str(path))
    stages: list[Stage] = []
    for part in text.split(">>"):
        found = _STAGE.fullmatch(part)
        if found is None:
            raise UsageError(
                f"{part.strip() or text!r} is not a stage; write NAME, NAME:MODEL or "
                'NAME("MODEL"), then [option=value, ...]'
            )
        options: dict[str, str] = {}
        for setting in filter(None, map(str.strip, (found["options"] or "").split(","))):
            key, equals, value = setting.partition("=")
            if not equals:
                raise UsageError(f"{part.strip()}: write [option=value], for example [k=50]")
            if key.strip() in ("name", "model"):
                raise UsageError(f"{part.strip()}: the model goes after a colon, {found['name']}:{value.strip()}")
            if key.strip() in options:
                raise UsageError(f"{part.strip()}: {key.strip()} is there twice")
            options[key.strip()] = value.strip().strip("\"'")
        model = found["short"] or found["double"] or found["single"] or found["bare"]
        stages.append(make_stage(found["name"], model, **options))
    return Pipeline(tuple(stages))


def pipeline_of(tables: Any, where: str) -> Pipeline:
    """Return a pipeline from the values of [[stages]] tables. Raises UsageError naming `where`."""
    listed = tables if isinstance(tables, list) and tables else [None]
    if not all(isinstance(each, dict) and isinstance(each.get("stage"), str) for each in listed):
        raise UsageError(f'{where}: a pipeline is [[stages]] tables, each with stage = "NAME"')
    try:
        stages = (make_stage(each.pop("stage"), each.pop("model", None), **each) for each in map(dict, tables))
        return Pipeline(tuple(stages))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def as_pipeline(value: str | Pipeline | Stage) -> Pipeline:
    """Return a pipeline from any of its forms. Raises UsageError."""
    if isinstance(value, Stage):
        return Pipeline((value,))
    if not isinstance(value, str | Pipeline):
        raise UsageError(f"a pipeline is a text or made of stages, not {type(value).__name__}")
    return parse_pipeline(value) if isinstance(value, str) else value


def lexical(**options: Any) -> Stage:
    """BM25 over title, path, text and anchor texts of incoming links."""
    return make_stage("lexical", **options)


def dense(model: str | None = None, **options: Any) -> Stage:
    """Return cosine of an encoder's vectors; without a model those that the default search compares."""
    return make_stage("dense", model, **options)


def hybrid(model: str | None = None, **options: Any) -> Stage:
    """Lexical and dense together, standardised or by reciprocal rank fusion. Without a model the default search."""
    return make_stage("hybrid", model, **options)


def dense_fusion(model: str | None = None, **options: Any) -> Stage:
    """Adds dense scores to the units that the stage before found."""
    return make_stage("dense-fusion", model, **options)


def rerank(model: str | None = None, **options: Any) -> Stage:
    """Orders the first k by any ranker: cross-encoder, late interaction, bi-encoder, KNRM."""
    return make_stage("rerank", model, **options)
