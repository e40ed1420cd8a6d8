"""Pipelines as values: stages one after another, written as text, as TOML or in Python.

lexical[k=200] >> dense-fusion >> rerank("models/ce")[k=50]

lexical(k=200) >> dense_fusion() >> rerank("models/ce", k=50)

[[stages]]
stage = "lexical"
k = 200
"""

import re
from pathlib import Path
from typing import Any

from structformer.errors import UsageError
from structformer.retrieval.registry import make_stage
from structformer.retrieval.stage import Pipeline, Stage
from structformer.storage import read_toml

_STAGE = re.compile(
    r"""\s*(?P<name>[\w-]+)(?:
    : (?P<short>[\w./~-]+) | \(\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[\w./~-]*))\s*\) )?
    (?:\[(?P<options>[^\]]*)\])?\s*""",
    re.VERBOSE,
)


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
    if (
        not isinstance(tables, list)
        or not tables
        or not all(isinstance(each, dict) and isinstance(each.get("stage"), str) for each in tables)
    ):
        raise UsageError(f'{where}: a pipeline is [[stages]] tables, each with stage = "NAME"')
    try:
        return Pipeline(
            tuple(
                make_stage(
                    each["stage"],
                    each.get("model"),
                    **{key: value for key, value in each.items() if key not in ("stage", "model")},
                )
                for each in tables
            )
        )
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
