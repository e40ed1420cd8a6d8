"""What a training run is told, what it plans, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from structformer.errors import UsageError

RANKERS = ("bi-encoder", "cross-encoder")
# Sentences teach what a section is about, paths where it stands; the paper's four tasks weigh the same in its loss.
DEFAULT_MIXES = {
    "bi-encoder": {"ict": 3.0, "srr": 1.0, "rwi": 0.25, "ati": 0.25},
    "cross-encoder": {"srr": 1.0, "rwi": 1.0, "ati": 1.0, "ltm": 1.0},
}


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """None leaves a choice to the run, which makes it by ranker and machine.

    mix: weights of tasks. max_seconds: time for the whole run, its evaluation and saving included. max_epochs: the
    Examples are not seen more often than that on average. groups: Examples per step. document_tokens: documents are cut to that many
    while training. hard_negatives: negatives of the Example's own that the bi-encoder adds to the batch's documents.
    group_size: pairs of a group that the cross-encoder scores, the positive among them.
    precision: "bf16" or "no" (float32); None takes bf16 where the GPU or CPU has instructions for it.
    """

    ranker: str = "bi-encoder"
    base_model: str = "auto"
    size: str = "mini"
    mix: dict[str, float] | None = None
    max_seconds: float | None = 600.0
    max_steps: int | None = None
    max_epochs: float = 6.0
    seed: int = 0
    groups: int | None = None
    learning_rate: float | None = None
    warmup: float = 0.1
    weight_decay: float = 0.01
    query_tokens: int = 48
    document_tokens: int | None = None
    hard_negatives: int = 0
    group_size: int = 8
    precision: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.ranker not in RANKERS:
            raise UsageError(f"no ranker {self.ranker!r}; there are: {', '.join(RANKERS)}")
        for field_name in ("max_seconds", "max_steps", "groups", "learning_rate", "document_tokens"):
            value = getattr(self, field_name)
            if value is not None and value <= 0:
                raise UsageError(f"{field_name} must be above 0")


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What a run will do, known before it begins. examples: per task; seconds_per_step: measured on this machine."""

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


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One step's report."""

    step: int
    steps: int
    losses: dict[str, float]
    learning_rate: float
    pairs_per_second: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What came of a run. development: nDCG@10 on the development set by share of the trained weights (0 the base, 1 the
    trained); kept: the share that was saved."""

    folder: Path
    plan: TrainingPlan
    steps: int
    seconds: float
    development: dict[float, float] = field(default_factory=dict)
    kept: float = 1.0
    better_than_base: bool | None = None


@dataclass(slots=True)
class Listener:
    """Callbacks of a run; each may be None."""

    plan: Callable[[TrainingPlan], None] | None = None
    step: Callable[[TrainingStep], None] | None = None
    note: Callable[[str], None] | None = None
