"""What a training run is told, what it plans, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structformer.errors import UsageError
from structformer.models.kinds import ranker_kind, ranker_kinds
from structformer.training.schedule import SCHEDULES
from structformer.workspace import checked_name

TRACKERS = ("tensorboard", "trackio", "wandb")
PRECISIONS = ("bf16", "fp16", "no")


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """None leaves a choice to the run, which makes it by ranker and machine.

    mix: weights of tasks. task_loss: "sum" adds the tasks' mean losses up (Wikiformer eq. 7), "mean" takes every
    Example alike. loss: see training.objectives.LOSSES. margin: of the hinge. mlm: weight of masked language modelling
    on the same inputs. max_seconds: time for the whole run, its evaluation and saving included. max_epochs: the
    Examples are not seen more often than that on average. groups: Examples that a device sees at once; a step has
    groups x accumulation x devices of them. schedule, warmup (share of the steps), step_at, step_factor: see
    training.schedule. query_tokens, document_tokens: texts are cut to that many while training. hard_negatives:
    negatives of the Example's own beside the batch's documents. group_size: pairs of a group that are scored, the
    positive among them. precision: "bf16", "fp16" or "no" (float32); None takes bf16 where the GPU or CPU has
    instructions for it. train_words: whether a bi-encoder's word vectors are trained too; None does so on a GPU, from
    scratch and with MLM: on a CPU they cost a third of a step. batch_tokens: padded tokens of one pass through the
    model. eval_steps: the held-out score is taken every so many steps and the best checkpoint kept, of those after
    `select_after`. save_steps, save_seconds: how often a checkpoint is written. interpolate: try mixtures of base and
    trained weights. similarity, mean_max_sim, dimensions: of late interaction. sampling: options of `sample` that the
    Examples must be drawn with. teacher: the model to distil. threads: of the CPU."""

    ranker: str = "bi-encoder"
    base_model: str = "auto"
    size: str = "mini"
    mix: dict[str, float] | None = None
    task_loss: str | None = None
    loss: str | None = None
    margin: float = 1.0
    mlm: float = 0.0
    max_seconds: float | None = 600.0
    max_steps: int | None = None
    max_epochs: float = 6.0
    seed: int = 0
    groups: int | None = None
    accumulation: int = 1
    learning_rate: float | None = None
    schedule: str = "linear"
    warmup: float = 0.1
    step_at: int = 50_000
    step_factor: float = 0.5
    weight_decay: float = 0.01
    query_tokens: int = 48
    document_tokens: int | None = None
    hard_negatives: int = 0
    group_size: int = 8
    precision: str | None = None
    train_words: bool | None = None
    gradient_checkpointing: bool = False
    compile: bool = False
    batch_tokens: int | None = None
    eval_steps: int | None = None
    select_after: int = 0
    save_steps: int | None = None
    save_seconds: float = 300.0
    interpolate: bool = True
    similarity: str = "cosine"
    mean_max_sim: bool = False
    dimensions: int = 128
    sampling: dict[str, Any] = field(default_factory=dict)
    teacher: str | None = None
    report_to: tuple[str, ...] = ()
    threads: int | None = None
    recipe: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("schedule", self.schedule, SCHEDULES),
            ("task_loss", self.task_loss or "sum", ("sum", "mean")),
            ("precision", self.precision or "no", PRECISIONS),
            *(("report_to", tracker, TRACKERS) for tracker in self.report_to),
        ):
            if value not in allowed:
                raise UsageError(f"no {option} {value!r}; there are: {', '.join(allowed)}")
        for field_name in (
            "max_seconds",
            "max_steps",
            "groups",
            "accumulation",
            "learning_rate",
            "document_tokens",
            "batch_tokens",
            "eval_steps",
            "save_steps",
            "save_seconds",
            "threads",
            "group_size",
            "dimensions",
            "max_epochs",
            "query_tokens",
        ):
            value = getattr(self, field_name)
            if value is not None and value <= 0:
                raise UsageError(f"{field_name} must be above 0")
        if self.name is not None:
            checked_name(self.name, "the model name")
        kind = ranker_kind(self.ranker)
        if self.mlm and not kind.masked_words:
            able = ", ".join(name for name, each in ranker_kinds().items() if each.masked_words)
            raise UsageError(f"masked language modelling does not go with {self.ranker}; it goes with {able}")
        if self.loss is not None and self.loss not in kind.losses:
            raise UsageError(f"a {self.ranker} has no loss {self.loss!r}; there are: {', '.join(kind.losses)}")


# Options that don't change what comes of a run, and so may differ when it is resumed.
FREE_ON_RESUME = frozenset({"max_seconds", "report_to", "threads", "save_steps", "save_seconds"})


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What a run will do, known before it begins. examples: per task; seconds_per_step: measured on this machine;
    groups: Examples of a step on all devices.
    """

    ranker: str
    base: str
    note: str
    examples: dict[str, int]
    missing: list[str]
    groups: int
    seconds_per_step: float
    pairs_per_second: float
    steps: int
    epochs: float
    expected_seconds: float
    limited_by: str
    device: str
    processes: int = 1


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One step's report. losses: mean by task; idle: share of the time that training waited for its input."""

    step: int
    steps: int
    losses: dict[str, float]
    learning_rate: float
    pairs_per_second: float
    tokens_per_second: float
    seconds_left: float
    idle: float = 0.0
    development: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a run. development: nDCG@10 on the development set by share of the trained weights (0 the base, 1
    the trained); kept: the share that was saved; best_step: the step whose weights were taken; resumed_at: the step
    that the run continued from, 0 for a new one; default_score: of the encoder that the search uses without a model
    trained from scratch.
    """

    folder: Path
    plan: TrainingPlan
    steps: int
    seconds: float
    development: dict[float, float] = field(default_factory=dict)
    kept: float = 1.0
    better_than_base: bool | None = None
    best_step: int = 0
    judged_by: str = "held-out structure"
    resumed_at: int = 0
    default_score: float | None = None


@dataclass(slots=True)
class Listener:
    """Callbacks of a run; each may be None."""

    plan: Callable[[TrainingPlan], None] | None = None
    step: Callable[[TrainingStep], None] | None = None
    note: Callable[[str], None] | None = None

    def say(self, text: str) -> None:
        """A remark, to whoever listens."""
        if self.note:
            self.note(text)
