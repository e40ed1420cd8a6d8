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

A row without [rows.train] trains nothing. `{model}` in a pipeline is the row's own model; `{candidates}` is what the
rows put in order: `lexical[k=200]`, or the run file that the command names. `budget` is the seconds that each training
has, the same for all rows, unless a row says otherwise.

A row with `finetune = true`, or with a table of options, is trained on judged queries after that: on those given to
train on, else on half of the queries, and then all rows are judged on the other half. A `finetune` without
[rows.train] starts from the base model of its `ranker`. `finetune.queries = N` takes N queries;
`queries = [5, 10]` in a row makes one row of each. A row with `ensemble = [LABEL, ...]`, and no
pipeline, averages the ranks of those rows. `sizes = [100, 1000]` makes one row of each number of Examples."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from structformer.errors import UsageError
from structformer.training.options import TrainingOptions

_TOP = {"title", "measures", "baseline", "rows", "description", "budget"}
_ROW = {"label", "pipeline", "train", "finetune", "sizes", "queries", "ensemble"}
_TUNING = {field.name for field in fields(TrainingOptions)} - {"sampling", "recipe", "mix", "name"} | {
    "queries",
    "negatives",
}
CANDIDATES = "lexical[k=200]"


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One variant. train: options of TrainingOptions, None for a row that trains nothing. finetune: those of a training
    on judged queries after that, with `queries` and `negatives`; None for none.
    """

    label: str
    pipeline: str
    train: Mapping[str, Any] | None = None
    finetune: Mapping[str, Any] | None = None
    ensemble: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The name of the row's model in the workspace."""
        plain = "-".join("".join(c if c.isalnum() else " " for c in self.label.lower()).split())
        return f"experiment-{plain}-{hashlib.sha256(self.label.encode()).hexdigest()[:6]}"


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment as its file has it. baselines: labels of the rows that the others are compared with. budget:
    seconds of each training, None for the trainer's own default.
    """

    title: str
    rows: list[ExperimentRow]
    measures: list[str] = field(default_factory=lambda: ["nDCG@10", "RR@10", "Success@1"])
    baselines: list[str] = field(default_factory=list)
    budget: float | None = None


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
        members = row.get("ensemble", [])
        if members and isinstance(members, list) and isinstance(row.get("label"), str) and len(row) == 2:
            if unknown := [member for member in members if member not in {each.label for each in rows}]:
                raise UsageError(f"{where}: no row above has the label {unknown[0]!r}")
            rows.append(ExperimentRow(row["label"], "", ensemble=tuple(members)))
            continue
        if members or not isinstance(row.get("label"), str) or not isinstance(row.get("pipeline"), str):
            raise UsageError(f"{where}: a row needs a label and a pipeline, or a label and an ensemble of others")
        rows += _sized(row, where)
    if not rows:
        raise UsageError(f"{name} has no [[rows]]")
    labels = [row.label for row in rows]
    if len(set(labels)) < len(labels):
        raise UsageError(
            f"{name}: two rows have the label {next(label for label in labels if labels.count(label) > 1)!r}"
        )
    given = value.get("baseline", [])
    baselines = [given] if isinstance(given, str) else list(given)
    for baseline in filter(None, baselines):
        if baseline not in labels:
            raise UsageError(f"{name}: the baseline {baseline!r} is not the label of a row")
    budget = value.get("budget")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int | float) or budget <= 0):
        raise UsageError(f"{name}: budget is {budget!r}: it must be seconds")
    measures = value.get("measures") or Experiment("", []).measures
    return Experiment(value.get("title", Path(name).stem), rows, measures, list(filter(None, baselines)), budget)


def _sized(row: Mapping[str, Any], where: str) -> list[ExperimentRow]:
    train, finetune = row.get("train"), _tuning(row, where)
    if asked := row.get("queries"):
        if finetune is None or row.get("sizes"):
            raise UsageError(f"{where}: queries go with finetune, and not with sizes")
        return [
            ExperimentRow(f"{row['label']}, {count} queries", row["pipeline"], train, {**finetune, "queries": count})
            for count in asked
        ]
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


def _tuning(row: Mapping[str, Any], where: str) -> Mapping[str, Any] | None:
    """The options of a row's fine-tuning."""
    given = row.get("finetune", False)
    if not isinstance(given, bool | dict):
        raise UsageError(f"{where}: finetune is {given!r}: it must be true, or a table of options")
    if given is False:
        return None
    options = {} if given is True else given
    _known(options, _TUNING, f"{where}, finetune")
    for name in ("queries", "negatives"):
        if name in options and (not isinstance(options[name], int) or options[name] < 1):
            raise UsageError(f"{where}, finetune: {name} is {options[name]!r}: it must be a number of at least 1")
    return options


def _known(value: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(value) - known)
    if unknown:
        raise UsageError(f"{where}: no key {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
