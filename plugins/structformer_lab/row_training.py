"""How the rows of an experiment are trained: which settings of a command concern which training of which row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from structformer.errors import UsageError
from structformer.training import DEVELOPMENT, TrainingOptions, training_options

from structformer_lab.experiment import ExperimentRow

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
