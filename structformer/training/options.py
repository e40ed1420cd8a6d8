"""The options of a training run, its plan, and its result."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structformer.did_you_mean import checked_fields, did_you_mean
from structformer.errors import UsageError
from structformer.models.kinds import ranker_kind, ranker_kinds
from structformer.models.registry import Judged, is_used
from structformer.workspace import checked_name

QUERY, BOTH = SIDES = ("query", "both")
BOTH_TEXTS, DOCUMENT_TEXT = MASK_SIDES = ("both", "document")
TRACKERS = ("tensorboard", "trackio", "wandb")
PRECISIONS = ("bf16", "fp16", "no")
POOLINGS = ("mean", "cls")
SCHEDULES = ("linear", "cosine", "constant", "step")


def _with(default: Any, **others: Any) -> Any:
    """Return a field of TrainingOptions that means something with others only: their values, None for one that is not
    given, ... for any. Besides options these are what `refuse_meaningless` is told: side, judged and drawn.
    """
    return field(default=default, metadata=others)


@checked_fields(
    max_time="max_seconds", seconds="max_seconds", epochs="max_epochs", steps="max_steps", lr="learning_rate"
)
@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """What to train, on what, and for how long; None leaves a choice to the run, made by ranker and machine."""

    ranker: str = "bi-encoder"
    """The kind of ranker: see `structformer plugins list`."""
    side: str | None = None
    """What of a bi-encoder is trained: query, on questions drawn from the corpus, or both, on Examples. On a CPU query,
    with --recipe, --task-mix, --loss and the like both."""
    base_model: str = "auto"
    """Where training starts: auto, minilm, scratch, a folder, or a hub name (@REVISION: a branch, tag or commit); for
    KNRM, Conv-KNRM and DRMM also a file of word vectors."""
    size: str = _with("mini", side=BOTH, base_model="scratch")
    """Size of a scratch model: tiny, mini, small or base."""
    mix: dict[str, float] | None = None
    """Tasks and their weights; by ranker. Query-side training: its sources opening, link, sentence, and
    anchor, heading, related, log."""
    questions: int = _with(30_000, side=QUERY)
    """Questions of query-side training at most."""
    query_log: str | None = _with(None, side=QUERY)
    """A file of people's queries without judgements, for query-side training: a query a line, id and query, or JSON."""
    task_loss: str | None = None
    """sum adds the tasks' mean losses up (Wikiformer, eq. 7), mean takes every Example alike; by ranker."""
    loss: str | None = _with(None, side=BOTH)
    """What is minimised; by ranker."""
    margin: float = _with(1.0, side=BOTH)
    """Margin of the hinge losses."""
    mlm: float = _with(0.0, side=BOTH)
    """Weight of masked language modelling on the same inputs."""
    mask_side: str = _with("both", side=BOTH, mlm=...)
    """Which texts of a pair have masked words: both, or the document (PROP, ARES)."""
    whole_words: bool = _with(False, side=BOTH, mlm=...)
    """Masked words are masked whole, 60 tokens of a text at most (PROP, ARES); in scripts without spaces by tokens."""
    max_seconds: float | None = 600.0
    """Seconds of the whole run, evaluation and saving included; none for no limit."""
    max_steps: int | None = None
    """Steps to run; the same number gives the same weights."""
    max_pairs: int | None = _with(None, side=BOTH)
    """Query-document pairs to train on; the step in which they are reached is the last."""
    max_epochs: float | None = None
    """How often Examples are seen on average, at most: 6 times, questions of query-side training 12 times."""
    seed: int = 0
    """Seed for everything random."""
    groups: int | None = None
    """Examples that a device sees at once; a step has groups x accumulation x devices of them. By ranker and device."""
    accumulation: int = 1
    """Batches of one step."""
    learning_rate: float | None = None
    """Peak learning rate; by ranker."""
    schedule: str = "linear"
    """Course of the learning rate: linear, cosine, constant, step."""
    warmup: float = 0.1
    """Share of the steps in which the learning rate rises."""
    step_at: int = _with(50_000, schedule="step")
    """Schedule step: where the learning rate changes."""
    step_factor: float = _with(0.5, schedule="step")
    """Schedule step: by what it is multiplied."""
    weight_decay: float = 0.01
    """Decay of weights that are matrices."""
    query_tokens: int = 48
    """Tokens of a bi-encoder's queries in training."""
    pair_query_tokens: int = _with(30, side=BOTH)
    """Tokens of queries that are read together with a document, at most half of what the ranker reads; LTM's queries
    always have that half."""
    document_tokens: int | None = _with(None, side=BOTH)
    """Tokens of documents; by ranker and device."""
    hard_negatives: int = _with(0, side=BOTH)
    """Negatives for each group, in addition to the batch's documents."""
    gather: bool = _with(False, side=BOTH)
    """Negatives of the batch come from all devices, not from a query's own alone (bi-encoder with infonce, insent)."""
    group_size: int = _with(8, side=BOTH)
    """Pairs of a group that are scored, the positive among them."""
    precision: str | None = None
    """bf16, fp16, or no for float32; bf16 where the device has instructions for it."""
    train_words: bool | None = _with(None, side=BOTH)
    """Whether a bi-encoder's word vectors are trained too: on a GPU, from scratch and with MLM, but not on a CPU."""
    gradient_checkpointing: bool = False
    """Use less memory, for a third more time."""
    compile: bool = False
    """Compile the model with torch.compile."""
    batch_tokens: int | None = None
    """Padded tokens in one pass through the model; by device."""
    eval_steps: int | None = None
    """Steps between held-out scores; the best is kept."""
    select_after: int = _with(0, eval_steps=...)
    """Look for the best checkpoint after this step."""
    save_steps: int | None = None
    """Steps between checkpoints."""
    save_seconds: float = _with(300.0, save_steps=None)
    """Seconds between checkpoints, where no steps are given."""
    interpolate: bool = True
    """Try mixtures of the base's and the trained weights, and keep the best."""
    similarity: str = _with("cosine", side=BOTH)
    """Of late interaction's token vectors: cosine, l2 or l2_normalised."""
    mean_max_sim: bool = _with(False, side=BOTH)
    """Late interaction: the mean over query tokens of the best matches, not their sum."""
    sep_last: bool = _with(False, side=BOTH)
    """Late interaction: queries end with [SEP], behind the [MASK]s that fill them up."""
    dimensions: int = _with(128, side=BOTH)
    """Late interaction: length of a token's vector."""
    pooling: str | None = _with(None, side=BOTH)
    """Of a bi-encoder: mean or cls, in place of what its base's files say (else mean)."""
    sampling: dict[str, Any] = field(default_factory=dict, metadata={"side": BOTH, "drawn": True})
    """Options that the Examples must be drawn with; written as sample.KEY."""
    teacher: str | None = _with(None, side=BOTH)
    """The trained cross-encoder to distil."""
    dev_queries: str | None = _with(None, side=BOTH, judged=True)
    """A file of judged queries that choose the checkpoint; with dev_qrels."""
    dev_qrels: str | None = _with(None, side=BOTH, judged=True)
    """The judgements of dev_queries."""
    dev_workspace: str | None = _with(None, side=BOTH, judged=True)
    """The workspace whose documents dev_qrels judge, if another."""
    dev_candidates: str | None = _with(None, side=BOTH, judged=True)
    """A TREC run file of dev_queries: the ranker orders each query's first 100 documents; else BM25's."""
    train_from: str | None = _with(None, side=BOTH, drawn=True)
    """Another workspace, whose Examples are learned from."""
    report_to: tuple[str, ...] = ()
    """Trackers in addition to training.jsonl: tensorboard, trackio, wandb."""
    threads: int | None = None
    """Cores to compute with; all."""
    recipe: str | None = None
    """The recipe that the options came from."""
    name: str | None = None
    """The model's name in the workspace; the ranker's."""

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("schedule", self.schedule, SCHEDULES),
            ("task_loss", self.task_loss or "sum", ("sum", "mean")),
            ("precision", self.precision or "no", PRECISIONS),
            ("side", self.side or QUERY, SIDES),
            ("pooling", self.pooling or "mean", POOLINGS),
            ("mask_side", self.mask_side, MASK_SIDES),
            *(("report_to", str(tracker), TRACKERS) for tracker in self.report_to),
        ):
            if value not in allowed:
                raise UsageError(f"no {option} {value!r}; {did_you_mean(value, allowed)}")
        for field_name in """max_seconds max_steps max_pairs groups accumulation learning_rate document_tokens
        batch_tokens eval_steps save_steps save_seconds threads group_size dimensions max_epochs query_tokens
        pair_query_tokens questions""".split():
            value = getattr(self, field_name)
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"{field_name} must be above 0{'' if value <= 0 else ' and finite'}")
        for field_name in "hard_negatives mlm margin warmup weight_decay step_at step_factor select_after".split():
            if not 0 <= getattr(self, field_name) < math.inf:
                raise UsageError(f"{field_name} must be finite and at least 0")
        if self.warmup > 1:
            raise UsageError(f"warmup is {self.warmup:g}: it is a share of the steps, 1 at most")
        if self.mix and not all(isinstance(each, int | float) and 0 < each < math.inf for each in self.mix.values()):
            raise UsageError(f"mix is {self.mix!r}: a task's weight must be a number above 0")
        if abs(self.seed) >= 2**63:
            raise UsageError(f"seed is {self.seed}: over 64 bits")
        if (self.dev_queries is None) != (self.dev_qrels is None):
            raise UsageError("dev_queries and dev_qrels go together")
        if self.dev_queries is None and (self.dev_workspace or self.dev_candidates):
            raise UsageError("dev_workspace and dev_candidates go with dev_queries and dev_qrels")
        if self.name is not None:
            checked_name(self.name, "the model name")
        kind = ranker_kind(self.ranker)
        if self.mlm and not kind.masked_words:
            able = ", ".join(name for name, each in ranker_kinds().items() if each.masked_words)
            raise UsageError(f"masked language modelling does not go with {self.ranker}; it goes with {able}")
        kind.loss(self.loss)


# Options that don't change what comes of a run, and so may differ when it is resumed.
FREE_ON_RESUME = frozenset({"max_seconds", "report_to", "threads", "save_steps", "save_seconds"})


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What a run will do, known before it begins."""

    ranker: str
    base: str
    note: str
    examples: dict[str, int]
    """By task."""
    missing: list[str]
    groups: int
    """Examples of a step, on all devices."""
    seconds_per_step: float
    """Measured on this machine."""
    pairs_per_second: float
    steps: int
    epochs: float
    expected_seconds: float
    limited_by: str
    device: str
    processes: int = 1
    measure: str = "nDCG@10"
    """Measure of the held-out score."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One step's report."""

    step: int
    steps: int
    losses: dict[str, float]
    """Means by task."""
    learning_rate: float
    pairs_per_second: float
    tokens_per_second: float
    seconds_left: float
    idle: float = 0.0
    """Share of the time that training waited for its input."""
    development: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a run."""

    folder: Path
    plan: TrainingPlan
    steps: int
    seconds: float
    development: dict[float, float] = field(default_factory=dict)
    """Score on the development set by share of the trained weights: 0 is the base, 1 the trained model."""
    kept: float = 1.0
    """The share that was saved."""
    best_step: int = 0
    """The step whose weights were taken."""
    judged_by: str = "queries of held-out documents"
    """What the development set is made of."""
    judged: Judged | None = None
    """The saved weights against what the search has without them; None if nothing was held out."""
    resumed_at: int = 0
    """The step that the run continued from; 0 for a new run."""
    side: str = BOTH
    """What of a bi-encoder was trained."""

    def _repr_html_(self) -> str:
        from structformer.training.report.logs import run_html

        return run_html(self.folder, str(self.plan.measure))

    @property
    def used(self) -> bool:
        """Whether the search uses the model by itself, of a kind that it uses by itself."""
        return is_used(self.judged, query_side=self.side == QUERY)


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


def learning_rate(
    step: int, steps: int, peak: float, *, schedule: str, warmup: float, step_at: int, step_factor: float
) -> float:
    """Return the rate of a step counted from 0: linear warm-up over a share of the steps, then the schedule.

    linear, cosine: down to zero at the last step. constant: the peak. step: the peak until `step_at`, then
    `step_factor` of it, as Wikiformer's pre-training has 1e-5 for the first 50,000 steps and 5e-6 after them."""
    warm = max(1, round(warmup * steps))
    if step < warm:
        return peak * (step + 1) / warm
    left = max(0.0, (steps - step) / max(1, steps - warm))
    if schedule == "linear":
        return peak * left
    if schedule == "cosine":
        return peak * 0.5 * (1 - math.cos(math.pi * left))
    return peak * step_factor if schedule == "step" and step >= step_at else peak
