"""A run's reports on itself, to all listeners: the file of its steps, its trackers, its listener."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from structformer.training.data.batching import Prepared
from structformer.training.objectives.objectives import Objective
from structformer.training.options import Listener, TrainingPlan, TrainingStep
from structformer.training.report.logs import read_log

# TFLOP/s in bfloat16 with dense matrices and sums in float32, as their maker's data sheets have them. A name is looked
# for in this order.
_PEAKS = {
    "B200": 2250.0,
    "GH200": 989.0,
    "H200": 989.0,
    "H100 PCIe": 756.0,
    "H100 NVL": 835.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "L40": 181.0,
    "L4": 121.0,
    "A40": 150.0,
    "RTX A6000": 155.0,
    "A10": 125.0,
    "RTX 4090": 165.0,
    "RTX 3090": 71.0,
}
_IN_FILE = ("step", "losses", "learning_rate", "pairs", "tokens", "padded", "gradient_norm")  # as they are


@dataclass(frozen=True, slots=True)
class StepReport:
    """The outcome of a step."""

    step: int
    """Counted from 1."""
    losses: dict[str, float]
    """Means by task."""
    chance: dict[str, float]
    """The same of equal scores, by task; without those of which it is not known."""
    learning_rate: float
    gradient_norm: float | None
    pairs: int
    tokens: int
    padded: int
    """Tokens, padding included."""
    seconds: float
    idle: float
    """Seconds that it waited for its input."""
    ended: float
    """Time of the monotonic clock."""
    development: float | None = None
    """The held-out score, if it was due."""
    utilisation: float | None = None
    """Share of the GPUs' peak arithmetic that went into the model; None if their peak is unknown."""


class Reporter:
    """Tells a run's events to its file, its trackers and its listener. Of several processes the first one speaks."""

    def __init__(
        self, accelerator: Accelerator, listener: Listener, file: Path, *, tracked_as: dict[str, Any] | None = None
    ) -> None:
        """file: takes a line of JSON for each step; tracked_as: what trackers call the run, None without any."""
        self._accelerator = accelerator
        self._listener = listener if accelerator.is_main_process else Listener()
        self._file = file
        self._tracked_as = tracked_as
        self._begun = 0.0
        self._first, self._steps = 0, 0
        self._pairs, self._tokens, self._idle = 0, 0, 0.0

    def notice(self, text: str) -> None:
        """A remark."""
        self._listener.say(text)

    def planned(self, plan: TrainingPlan) -> None:
        """Report the plan."""
        self._steps = plan.steps
        if self._listener.plan:
            self._listener.plan(plan)

    def begun(self, done: int) -> None:
        """The steps begin, after the `done` ones of the checkpoint that is continued from."""
        if done:
            self.notice(f"going on after step {done}")
        if self._accelerator.is_main_process:
            # What the killed run had written beyond its checkpoint goes.
            kept = [json.dumps(line) + "\n" for line in read_log(self._file) if line["step"] <= done] if done else []
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text("".join(kept), encoding="utf-8")
        if self._tracked_as is not None:
            self._accelerator.init_trackers("structformer", config=self._tracked_as)
        self._first = done
        self._begun = time.monotonic()

    def computed(self, report: StepReport) -> None:
        """A step is computed: it is in the file before a checkpoint holds it."""
        self._pairs += report.pairs
        self._tokens += report.tokens
        self._idle += report.idle
        told = {name: getattr(report, name) for name in _IN_FILE}
        if report.chance:
            told["chance"] = report.chance
        self._write(**told, seconds=round(report.seconds, 4), idle=round(report.idle, 4), **_known(report))

    def judged(self, step: int, score: float) -> None:
        """A step's weights are scored, which the file has in a line of its own."""
        self._write(step=step, development=score)

    def _write(self, **values: Any) -> None:
        if self._accelerator.is_main_process:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(values) + "\n")

    def finished(self, report: StepReport) -> None:
        """Report to trackers and listener that a step is done, with its checkpoint if one was due."""
        spent, done = report.ended - self._begun, report.step - self._first
        pairs, tokens = self._pairs / spent, self._tokens / spent
        if self._tracked_as is not None:
            values = {f"loss/{name}": value for name, value in report.losses.items()}
            speed = {"learning_rate": report.learning_rate, "pairs_per_second": pairs, "tokens_per_second": tokens}
            self._accelerator.log({**values, **speed, **_known(report)}, step=report.step)
        if self._listener.step:
            self._listener.step(
                TrainingStep(
                    report.step,
                    self._steps,
                    report.losses,
                    report.learning_rate,
                    pairs,
                    tokens,
                    spent / done * (self._steps - report.step),
                    self._idle / spent,
                    report.development,
                )
            )

    def ended(self) -> None:
        """The last step is done; trackers are closed."""
        if self._tracked_as is not None:
            self._accelerator.end_training()


def _known(report: StepReport) -> dict[str, float]:
    figures = {"development": report.development, "mfu": report.utilisation}
    return {name: value for name, value in figures.items() if value is not None}


def peak_of(device_name: str) -> float | None:
    """Return the most operations a second of a GPU of that name; None if unknown."""
    words = f" {device_name.replace('-', ' ')} "
    return next((peak * 1e12 for name, peak in _PEAKS.items() if f" {name} " in words), None)


class ModelArithmetic:
    """The operations of learning from texts, forwards and backwards, without padding and second readings."""

    def __init__(self, objective: Objective) -> None:
        model = objective.model
        words = {id(each.weight) for each in model.modules() if isinstance(each, torch.nn.Embedding)}
        own = [parameter for parameter in model.parameters() if id(parameter) not in words]
        weights = sum(parameter.numel() for parameter in own)
        trained = sum(parameter.numel() for parameter in own if parameter.requires_grad)
        width = int(getattr(model.config, "hidden_size", 0))
        head = width * (width + int(getattr(model.config, "vocab_size", 0))) if objective.head is not None else 0
        self._token = 2 * weights + 4 * trained + 6 * objective.guessed * head
        self._pair_of_tokens = 12 * width * int(getattr(model.config, "num_hidden_layers", 0))

    def of(self, prepared: Prepared) -> float:
        """Return a chunk's."""
        lengths = torch.cat([batch.features["attention_mask"].sum(1) for _, batch in prepared.all_batches]).double()
        return float(self._token * lengths.sum() + self._pair_of_tokens * lengths.square().sum())
