"""Experiments: variants of training and search, described in one TOML file, each trained, searched with and compared in
one table.

    title = "Which tasks help"
    measures = ["nDCG@10", "RR@10"]
    baseline = "all tasks"

    [[rows]]
    label = "all tasks"
    pipeline = "lexical[k=100] >> rerank:{model}[k=50]"

    [rows.train]
    ranker = "cross-encoder"
    mix = { srr = 1, rwi = 1, ati = 1, ltm = 1 }
    max_seconds = 600

A row without [rows.train] trains nothing. `{model}` in a pipeline is the row's own model. A row with `finetune = true`
is trained on half of the judged queries after that; all rows of the experiment are then judged on the other half.
`sizes = [100, 1000]` in a row makes one row of each number of Examples."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from structformer.errors import UsageError

_TOP = {"title", "measures", "baseline", "rows", "description"}
_ROW = {"label", "pipeline", "train", "finetune", "sizes"}


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One variant. train: options of TrainingOptions, None for a row that trains nothing. finetune: on half of the
    judged queries.
    """

    label: str
    pipeline: str
    train: Mapping[str, Any] | None = None
    finetune: bool = False

    @property
    def model(self) -> str:
        """The name of the row's model in the workspace."""
        plain = "-".join("".join(c if c.isalnum() else " " for c in self.label.lower()).split())
        return f"experiment-{plain}-{hashlib.sha256(self.label.encode()).hexdigest()[:6]}"


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment as its file has it. baseline: the label of the row that the others are compared with, "" for
    none.
    """

    title: str
    rows: list[ExperimentRow]
    measures: list[str] = field(default_factory=lambda: ["nDCG@10", "RR@10", "Success@1"])
    baseline: str = ""


def experiment_names() -> list[str]:
    """The experiments that come with the package."""
    folder = files("structformer").joinpath("experiments")
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def read_experiment(name: str) -> Experiment:
    """An experiment of the package by its name, or a TOML file. Raises UsageError naming what is wrong in it."""
    try:
        if name in experiment_names():
            text = files("structformer").joinpath("experiments", f"{name}.toml").read_text(encoding="utf-8")
        else:
            text = Path(name).read_text(encoding="utf-8")
        value = tomllib.loads(text)
    except OSError as error:
        there = ", ".join(experiment_names())
        raise UsageError(
            f"no experiment {name!r} ({error.strerror or error}); there are: {there}, or give the path of a TOML file"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {error}") from error
    _known(value, _TOP, name)
    rows: list[ExperimentRow] = []
    for number, row in enumerate(value.get("rows", []), 1):
        where = f"{name}, row {number}"
        _known(row, _ROW, where)
        if not isinstance(row.get("label"), str) or not isinstance(row.get("pipeline"), str):
            raise UsageError(f"{where}: a row needs a label and a pipeline")
        rows += _sized(row, where)
    if not rows:
        raise UsageError(f"{name} has no [[rows]]")
    labels = [row.label for row in rows]
    if len(set(labels)) < len(labels):
        raise UsageError(
            f"{name}: two rows have the label {next(label for label in labels if labels.count(label) > 1)!r}"
        )
    baseline = value.get("baseline", "")
    if baseline and baseline not in labels:
        raise UsageError(f"{name}: the baseline {baseline!r} is not the label of a row")
    return Experiment(
        value.get("title", Path(name).stem), rows, value.get("measures") or Experiment("", []).measures, baseline
    )


def _sized(row: Mapping[str, Any], where: str) -> list[ExperimentRow]:
    train, finetune = row.get("train"), bool(row.get("finetune"))
    if not row.get("sizes"):
        return [ExperimentRow(row["label"], row["pipeline"], train, finetune)]
    if train is None:
        raise UsageError(f"{where}: sizes go with [rows.train]")
    groups = int(train.get("groups", 32))
    sized = [
        {**train, "groups": groups, "max_steps": max(1, round(size / groups)), "max_seconds": "none"}
        for size in row["sizes"]
    ]
    return [
        ExperimentRow(f"{row['label']}, {size} Examples", row["pipeline"], options, finetune)
        for size, options in zip(row["sizes"], sized, strict=True)
    ]


def _known(value: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(value) - known)
    if unknown:
        raise UsageError(f"{where}: no key {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
