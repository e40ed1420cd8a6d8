"""Experiments: variants of training and search, described in one TOML file, each trained, searched with and compared in
one table. docs/reference/experiments.md has the keys of the file; `RowTraining` knows which settings of a command
concern which training of which row.

`{NAME}` in a row's pipeline, or in a text of its `finetune`, is the file that is given for NAME, without which
the row is left out; `{NAME?}` is one that it can do without. `{base}` is the base model before any training.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.errors import ModelError, UsageError
from structformer.evaluation import parse_measure
from structformer.training import DEVELOPMENT, TrainingOptions, training_options

from structformer_lab.finetuning import DOCUMENTS, PASSAGES

_TOP = {"title", "measures", "baseline", "rows", "description", "budget"}
_ROW = {"label", "pipeline", "train", "finetune", "sizes", "queries", "ensemble", "checkpoint"}
_TUNING = {field.name for field in fields(TrainingOptions)} - {"sampling", "recipe", "mix", "name", "train_from"} | {
    "queries",
    "negatives",
    "of",
}
_KINDS = {dict: "tables", str: "texts", int: "numbers"}  # as TOML's users call them
# The same documents for all rows, one unit each.
CANDIDATES = "lexical[k=100, of=documents]"
BASE = "{base}"
_PLACE = re.compile(r"\{([a-z]+)(\??)\}")
_OWN = frozenset({"candidates", "model", "base"})
_FOLDER = Path(__file__).with_name("experiments")


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One variant of an experiment."""

    label: str
    pipeline: str
    train: Mapping[str, Any] | None = None
    """Options of TrainingOptions; None for a row that trains nothing."""
    finetune: Mapping[str, Any] | None = None
    """Options of a training on judged queries after that, with `queries`, `negatives` and `of`; None for no such
    training."""
    ensemble: tuple[str, ...] = ()
    """Labels of the rows whose results this one combines."""
    family: str = ""
    """The label in the file, if that makes several rows; else ""."""
    checkpoint: str = ""
    """A published ranker, a folder or hub name, that is used instead of a trained one; "" for none."""

    @property
    def names(self) -> frozenset[str]:
        """Its label, and its family's."""
        return frozenset((self.label, self.family or self.label))

    @property
    def texts(self) -> list[str]:
        """The texts that may speak of files."""
        return [self.pipeline, *(value for value in (self.finetune or {}).values() if isinstance(value, str))]

    def filled(self, places: Mapping[str, str]) -> ExperimentRow:
        """Return the row with the places in its texts filled. Raises ModelError naming the file that it needs."""
        texts = {name: filled(text, places) for name, text in (self.finetune or {}).items() if isinstance(text, str)}
        finetune = None if self.finetune is None else {**self.finetune, **texts}
        return replace(self, pipeline=filled(self.pipeline, places), finetune=finetune)

    @property
    def model(self) -> str:
        """The name of the row's model in the workspace."""
        plain = "-".join("".join(c if c.isalnum() else " " for c in self.label.lower()).split())
        return f"experiment-{plain}-{hashlib.sha256(self.label.encode()).hexdigest()[:6]}"

    @property
    def learned(self) -> str:
        """The name of what it learns from structure: rows that differ in their judged queries alone share it."""
        return replace(self, label=self.label if "max_pairs" in (self.train or {}) else self.family or self.label).model


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment as its file has it."""

    title: str
    rows: list[ExperimentRow]
    measures: list[str] = field(default_factory=lambda: ["nDCG@10", "RR@10", "Success@1"])
    baselines: list[str] = field(default_factory=list)
    """Labels of the rows that the others are compared with."""
    budget: float | str | None = None
    """Seconds of each training, "none" for no limit; None for the trainer's own default."""

    def narrowed(self, measures: Sequence[str] = (), rows: str = "") -> Experiment:
        """The experiment with these measures, if any, and only the rows whose labels `rows` lists between commas, if it
        does; an ensemble brings its members. Raises UsageError on an unknown measure or label.
        """
        for measure in measures:
            parse_measure(measure)
        named = set(_labels(rows, self.rows)) if rows else {row.label for row in self.rows}
        kept = {row.label for row in self.rows if not row.names.isdisjoint(named)}
        kept |= {member for row in self.rows if row.label in kept for member in row.ensemble}
        return replace(
            self,
            measures=list(measures) or self.measures,
            rows=[row for row in self.rows if row.label in kept],
            baselines=[baseline for baseline in self.baselines if baseline in kept],
        )


def _labels(text: str, rows: Iterable[ExperimentRow]) -> list[str]:
    """Return the labels in a list of them between commas, which labels may hold too: the longest at each place."""
    known = {name for row in rows for name in row.names}
    parts = [part.strip() for part in text.split(",")]
    labels = []
    while parts:
        ends = (end for end in range(len(parts), 0, -1) if ", ".join(parts[:end]) in known)
        if (end := next(ends, None)) is None:
            raise UsageError(f"no row {parts[0]!r}; {did_you_mean(parts[0], sorted(known), between='; ')}")
        labels.append(", ".join(parts[:end]))
        parts = parts[end:]
    return labels


def files_of(pipelines: Iterable[str]) -> list[str]:
    """Return the names of the files that pipelines speak of."""
    names = (name for pipeline in pipelines for name, _ in _PLACE.findall(pipeline))
    return sorted(set(names) - _OWN)


def filled(pipeline: str, places: Mapping[str, str]) -> str:
    """Return the pipeline with its places filled. Raises ModelError naming the file that it needs."""

    def place(found: re.Match[str]) -> str:
        name, may_be_missing = found.groups()
        if name not in places and not may_be_missing:
            raise ModelError(f"it needs --file {name}=FILE")
        return places.get(name, "")

    return _PLACE.sub(place, pipeline)


def experiment_names() -> list[str]:
    """Return the experiments that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def read_experiment(name: str) -> Experiment:
    """Return an experiment of the package by its name, or a TOML file. Raises UsageError naming what is wrong in it."""
    path = _FOLDER / f"{name}.toml" if name in experiment_names() else Path(name)
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        meant = did_you_mean(name, experiment_names(), more=", or give the path of a TOML file")
        raise UsageError(f"no experiment {name!r} ({error.strerror or error}); {meant}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: {error}") from error
    _known(value, _TOP, name)
    rows: list[ExperimentRow] = []
    for number, row in enumerate(_listed(value, "rows", dict, name), 1):
        where = f"{name}, row {number}"
        _known(row, _ROW, where)
        members = row.get("ensemble", [])
        if members and isinstance(members, list) and isinstance(row.get("label"), str) and len(row) == 2:
            if unknown := [member for member in members if member not in [each.label for each in rows]]:
                raise UsageError(f"{where}: no row above has the label {unknown[0]!r}")
            rows.append(ExperimentRow(row["label"], "", ensemble=tuple(members)))
            continue
        if members or not isinstance(row.get("label"), str) or not isinstance(row.get("pipeline"), str):
            raise UsageError(f"{where}: a row needs a label and a pipeline, or a label and an ensemble of others")
        rows += _sized(row, where)
    if not rows:
        raise UsageError(f"{name} has no [[rows]]")
    labels = [row.label for row in rows]
    if (twice := next((label for label in labels if labels.count(label) > 1), None)) is not None:
        raise UsageError(f"{name}: two rows have the label {twice!r}")
    given = value.get("baseline", [])
    baselines = [given] if isinstance(given, str) else _listed(value, "baseline", str, name)
    for baseline in filter(None, baselines):
        if baseline not in labels:
            raise UsageError(f"{name}: the baseline {baseline!r} is not the label of a row")
    budget = value.get("budget")
    is_number = isinstance(budget, int | float) and not isinstance(budget, bool)
    if budget not in (None, "none") and not (is_number and budget > 0):
        raise UsageError(f'{name}: budget is {budget!r}: it must be seconds, or "none" for no limit')
    measures = _listed(value, "measures", str, name) or Experiment("", []).measures
    return Experiment(value.get("title", Path(name).stem), rows, measures, list(filter(None, baselines)), budget)


def _sized(row: Mapping[str, Any], where: str) -> list[ExperimentRow]:
    """Return the rows of a table: one, or one for each of its `sizes` or `queries`."""
    label, pipeline, train, finetune = row["label"], row["pipeline"], row.get("train"), _tuning(row, where)
    if not isinstance(train, dict | None):
        raise UsageError(f"{where}: train is {train!r}: it must be a table of options")
    if train is not None and "from" in train:
        train = {**{name: value for name, value in train.items() if name != "from"}, "train_from": train["from"]}
    if asked := _listed(row, "queries", int, where):
        if finetune is None or row.get("sizes"):
            raise UsageError(f"{where}: queries go with finetune, and not with sizes")
        return [
            ExperimentRow(f"{label}, {count} queries", pipeline, train, {**finetune, "queries": count}, family=label)
            for count in asked
        ]
    sizes = _listed(row, "sizes", int, where)
    if not sizes:
        checkpoint = row.get("checkpoint", "")
        if not isinstance(checkpoint, str) or (checkpoint and (train is not None or row.get("finetune"))):
            raise UsageError(f"{where}: a checkpoint is a folder or a hub name, in the place of train and finetune")
        return [ExperimentRow(label, pipeline, train, finetune, checkpoint=checkpoint)]
    if train is None:
        raise UsageError(f"{where}: sizes go with [rows.train]")
    unlimited = {**train, "max_steps": "none", "max_seconds": "none"}
    return [
        ExperimentRow(f"{label}, {size} pairs", pipeline, {**unlimited, "max_pairs": size}, finetune, family=label)
        for size in sizes
    ]


def _tuning(row: Mapping[str, Any], where: str) -> Mapping[str, Any] | None:
    """Return the options of a row's fine-tuning."""
    given = row.get("finetune", False)
    if not isinstance(given, bool | dict):
        raise UsageError(f"{where}: finetune is {given!r}: it must be true, or a table of options")
    if given is False:
        return None
    options = {} if given is True else given
    _known(options, _TUNING, f"{where}, finetune")
    if row.get("train") is not None and "base_model" in options:
        raise UsageError(f"{where}, finetune: it starts from what train has made, so base_model goes without train")
    for name in ("queries", "negatives"):
        if name in options and (not isinstance(options[name], int) or options[name] < 1):
            raise UsageError(f"{where}, finetune: {name} is {options[name]!r}: it must be a number of at least 1")
    if options.get("of", PASSAGES) not in (PASSAGES, DOCUMENTS):
        raise UsageError(f"{where}, finetune: of is {options['of']!r}: it must be {PASSAGES} or {DOCUMENTS}")
    return options


def _listed(value: Mapping[str, Any], name: str, kind: type, where: str) -> list[Any]:
    """Return the list that a table has under a name, all of one kind. Raises UsageError."""
    items = value.get(name) or []
    if not isinstance(items, list) or not all(isinstance(each, kind) for each in items):
        raise UsageError(f"{where}: {name} is {items!r}: it must be a list of {_KINDS[kind]}")
    return items


def _known(value: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(value) - known)
    if unknown:
        raise UsageError(f"{where}: no key {', '.join(unknown)}; {did_you_mean(unknown, sorted(known))}")


# What a training starts from.
_START = frozenset({"base_model", "size"})
# What Examples of structure are learned from, and judged by: fine-tuning has Examples of its own.
_STRUCTURE = frozenset({"train_from", "mix", *DEVELOPMENT})


@dataclass(frozen=True, slots=True)
class RowTraining:
    """How the rows of an experiment are trained."""

    settings: Sequence[str] = ()
    """ "key=value" for all rows, which overrides what a row says, or "LABEL.key=value" for the rows of one label,
    which overrides those for all."""
    max_seconds: float | str | None = None
    """Seconds for each training, "none" for no limit; None for what the experiment says."""
    seed: int = 0
    train_from: Path | None = None
    """The workspace with the Examples for rows that name none; None for the workspace that is judged."""
    labels: frozenset[str] = frozenset()
    """Labels of rows that settings may be for though they do not run."""
    named: frozenset[str] = frozenset()
    """Keys that are set for one row's label."""

    def of_row(self, row: ExperimentRow, rows: Sequence[ExperimentRow]) -> RowTraining:
        """Return those that concern one of the rows. Raises UsageError on an unknown key, or one that rows set."""
        labels = self.labels.union(*(each.names for each in rows))
        for_all, for_label = [], []
        for setting in self.settings:
            label = max((label for label in labels if setting.startswith(f"{label}.")), key=len, default="")
            if not label:
                for_all.append(setting)
            elif label in row.names:
                for_label.append(setting[len(label) + 1 :])
        kept = [*for_all, *for_label]
        training_options(None, {}, kept)  # raises
        if "name" in map(_key, kept):
            raise UsageError("--set name: an experiment names the models of its rows itself")
        return replace(self, settings=kept, named=frozenset(map(_key, for_label)))

    def of_training(self, row: ExperimentRow) -> list[str]:
        """Settings of the row's training: a base that the row names stays, unless its label is given another one."""
        return self._without(self._kept_start(row.train or {}))

    def of_finetuning(self, row: ExperimentRow) -> list[str]:
        """Return settings of the row's fine-tuning, which starts from its trained model or the base that it names."""
        start = _START if row.train is not None else self._kept_start(row.finetune or {})
        return self._without(start | _STRUCTURE)

    def of_base(self) -> list[str]:
        """Return settings of what a row's ranker is before any training."""
        return [setting for setting in self.settings if _key(setting) in _START | {"train_from"}]

    def _kept_start(self, own: Collection[str]) -> frozenset[str]:
        return _START if "base_model" in own and "base_model" not in self.named else frozenset()

    def _without(self, keys: Collection[str]) -> list[str]:
        return [setting for setting in self.settings if _key(setting) not in keys]


def shared(options: object, settings: Sequence[str]) -> dict[str, object]:
    """Return the options that the settings give to every training, which takes those that concern it."""
    names = ("sampling" if key.startswith("sample.") else key for key in map(_key, settings))
    return {name: getattr(options, name) for name in names}


def shared_out(options: TrainingOptions, processes: int) -> TrainingOptions:
    """Return the options of each of so many processes, with the groups of a step shared among them if they can be."""
    step = (options.groups or 0) * options.accumulation
    if not step or step % processes:
        return options
    own = step // processes
    accumulation = next(n for n in range(1, own + 1) if own % n == 0 and own // n <= (options.groups or 0))
    return replace(options, groups=own // accumulation, accumulation=accumulation)


def _key(setting: str) -> str:
    return setting.partition("=")[0].strip().replace("-", "_")
