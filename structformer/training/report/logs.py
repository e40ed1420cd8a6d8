"""The record of a run's steps, as JSON lines, and what it says of the run."""

import json
import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from structformer.models.registry import RECORD, ModelRecord
from structformer.notebook import box, note
from structformer.storage.files import read_json

_END = 0.2  # of a run's steps, whose losses are its last ones
_LEAST = 0.02  # of what chance loses, that learning takes away at least


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return a run's steps; half a line that a killed run left is passed over."""
    steps: dict[int, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                values = json.loads(line)
                steps.setdefault(values["step"], {}).update(values)
    return list(steps.values())


def losses_of(log: list[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """Return (step, loss) of all steps that have one, by its name."""
    losses: dict[str, list[tuple[int, float]]] = {}
    for line in log:
        for name, value in line["losses"].items():
            losses.setdefault(name, []).append((line["step"], value))
    return dict(sorted(losses.items()))


@dataclass(frozen=True, slots=True)
class LastLoss:
    """The mean loss of a task over a run's last fifth."""

    name: str
    loss: float
    chance: float | None
    """Loss of equal scores for all candidates: the logarithm of their number, or the margin; None if unknown."""
    error: float
    """The standard error of the difference to it."""

    @property
    def is_chance(self) -> bool:
        """Whether it is not below what chance loses, by two standard errors and by a fiftieth of that."""
        return self.chance is not None and self.loss > self.chance - max(2 * self.error, _LEAST * self.chance)

    def __str__(self) -> str:
        """Return the figures, as "srr 1.380 (chance 1.386)"."""
        return f"{self.name} {self.loss:.3f}" + ("" if self.chance is None else f" (chance {self.chance:.3f})")


def last_losses(log: list[dict[str, Any]]) -> list[LastLoss]:
    """Return the last losses of a run by task, those of masked words too."""
    chances = {(line["step"], name): value for line in log for name, value in line.get("chance", {}).items()}
    first = len(log) - max(1, round(_END * len(log)))
    last = []
    for name, points in losses_of(log[first:]).items():
        known = [(value, chances[step, name]) for step, value in points if (step, name) in chances]
        gains = [chance - value for value, chance in known]
        error = stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
        chance = fmean(chance for _, chance in known) if known else None
        last.append(LastLoss(name, fmean(value for _, value in points), chance, error))
    return last


def ended_with(log: list[dict[str, Any]]) -> str:
    """Return a run's last losses in words, and whether nothing was learned; "" for a run without steps."""
    last = last_losses(log)
    if not last:
        return ""
    compared = [each for each in last if each.chance is not None]
    summary = f"losses at the end: {', '.join(map(str, last))}"
    unlearned = [each.name for each in compared if each.is_chance]
    if compared and len(unlearned) == len(compared):
        return f"learned nothing in {len(log)} steps; {summary}"
    return summary + (f"; nothing learned of {', '.join(unlearned)}" if unlearned else "")


def run_html(folder: Path, measure: str) -> str:
    """Return the run in a model's folder for a notebook. measure: of the held-out score."""
    from structformer.pages import curve  # with its templates

    log = read_log(folder / "training.jsonl")
    record = folder / RECORD
    verdict = run_verdict(read_json(record) if record.exists() else None, log)
    scored = [(line["step"], line["development"]) for line in log if "development" in line]
    parts = [str(curve(scored, scored, "step", f"held-out {measure}"))] if scored else []
    parts += [str(curve(points, points, "step", f"loss, {name}")) for name, points in losses_of(log).items()]
    return box(f"Training run {folder.name}", note(verdict), *parts)


def run_verdict(record: dict[str, Any] | None, log: list[dict[str, Any]]) -> str:
    """Return the verdict on a run, and the losses that it ended with."""
    verdict = "This run is not finished." if record is None else ModelRecord(**record).verdict
    last = ended_with(log)
    return f"{verdict} {last[0].upper()}{last[1:]}." if last else verdict
