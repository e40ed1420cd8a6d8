"""The training loop: plan by measuring this machine, train within the time, judge, save."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from structformer import __version__
from structformer.corpus import Corpus
from structformer.corpus.storage import lock, replacing_folder
from structformer.errors import CorpusError, ModelError
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import MAX_TOKENS, CrossEncoder
from structformer.models.registry import ModelRecord, write_record
from structformer.models.scratch import make_scratch_model
from structformer.sampling import DEFAULT_TASKS, Samples, SamplingOptions, sample
from structformer.sampling.held_out import DevelopmentSet, development_set
from structformer.training.data import ExampleOrder
from structformer.training.development import Weights, development_score, mix_weights, weights_of
from structformer.training.objectives import BiEncoderObjective, CrossEncoderObjective
from structformer.training.options import DEFAULT_MIXES, Listener, TrainingOptions, TrainingPlan, TrainingResult, TrainingStep

_MEASURED_STEPS = 6
_MEASURED_SHARE = 0.05  # of the time given, at most, unless the first two steps take longer
_SAVING_SECONDS = 3.0
_SHARES = (0.5, 0.75, 1.0)
_MAX_GRADIENT_NORM = 1.0
# The paper's schedule for pre-training: 1e-5 for the first 50,000 steps, then half of it.
_PAPER_STEPS = 50_000

Objective = BiEncoderObjective | CrossEncoderObjective


@dataclass(frozen=True, slots=True)
class _Settings:
    """The choices that the options left open, made."""

    mix: dict[str, float]
    groups: int
    learning_rate: float
    document_tokens: int
    precision: str
    name: str


def train(
    workspace: str | Path = ".structformer",
    options: TrainingOptions | None = None,
    *,
    dry_run: bool = False,
    listener: Listener | None = None,
) -> TrainingResult:
    """Train a ranker on the workspace's Examples, drawing them first when there are none of the current corpus.

    Judges itself on held-out structure, where the corpus is large enough, and keeps the share of trained weights that
    did best; when that is none, the base's weights are saved and `better_than_base` is False.
    Raises CorpusError without a corpus, ModelError without a base model, Examples or a finite loss.
    """
    started = time.monotonic()
    workspace, options, listener = Path(workspace), options or TrainingOptions(), listener or Listener()
    corpus = Corpus.open(workspace)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = _settle(options, device)
    samples = _current_samples(workspace, corpus, settings.mix, options.seed, listener)
    order = ExampleOrder(samples, settings.mix, settings.groups, options.seed)
    if not order.mix:
        raise ModelError(
            f"no Examples of {', '.join(settings.mix)} in {workspace}: the corpus has no structure to learn from; see `structformer sample`"
        )
    with TemporaryDirectory() as temporary:
        base = resolve_base_model(options.base_model, options.ranker)
        location = base.location
        if base.scratch:
            location = temporary
            make_scratch_model(lambda: _texts(corpus), Path(location), size=options.size, seed=options.seed)
        torch.manual_seed(options.seed)
        ranker = _load(options.ranker, location, settings)
        ranker.model.to(device)
        objective = _objective(ranker, options, settings)
        development = development_set(corpus, seed=samples.manifest["seed"], share=samples.manifest["held_out"])
        measured = _measure(objective, order, settings, device, development, options.max_seconds)
        shares = _shares(ranker, base)
        reserve = _SAVING_SECONDS + (len(shares) * measured.scoring_seconds if development is not None else 0.0)
        plan = _plan(order, options, settings, base, device, measured, time.monotonic() - started, reserve)
        if listener.plan:
            listener.plan(plan)
        folder = workspace / "models" / settings.name
        if dry_run:
            return TrainingResult(folder, plan, 0, time.monotonic() - started)
        base_weights = weights_of(ranker.model)
        deadline = None if options.max_seconds is None else started + options.max_seconds - reserve
        torch.manual_seed(options.seed)
        log = _Log()
        steps = _loop(objective, order, plan, settings, options, deadline, listener, log, device)
        scores, kept = _judge(ranker, base_weights, development, shares, measured.base_score, listener)
        result = TrainingResult(
            folder, plan, steps, time.monotonic() - started, scores, kept, None if not scores else kept > 0 and scores[kept] > scores[0.0]
        )
        _save(workspace, folder, ranker, base, options, settings, samples, result, log)
    return result


def _texts(corpus: Corpus) -> Iterator[str]:
    for document in corpus.documents():
        for section in document.sections():
            yield f"{section.title}\n{section.text}"


def _current_samples(workspace: Path, corpus: Corpus, tasks: Collection[str], seed: int, listener: Listener) -> Samples:
    """The workspace's Examples; drawn when there are none of this corpus, or none were asked for of a task."""
    say = listener.note or (lambda text: None)
    try:
        samples = Samples.open(workspace)
    except CorpusError:
        say("no Examples yet: drawing them (structformer sample)")
        return sample(workspace, dict.fromkeys((*DEFAULT_TASKS, *tasks)), seed=seed)
    manifest = samples.manifest
    drawn = list(manifest["tasks"])
    undrawn = [task for task in tasks if task not in drawn]
    if manifest["corpus"] == corpus.fingerprint and not undrawn:
        return samples
    say(f"drawing Examples of {', '.join(undrawn)} too" if undrawn else "the Examples are of an earlier corpus: drawing them again")
    options = SamplingOptions(**manifest["options"])
    return sample(workspace, [*drawn, *undrawn], options=options, seed=manifest["seed"], held_out=manifest["held_out"])


def _settle(options: TrainingOptions, device: str) -> _Settings:
    bi_encoder = options.ranker == "bi-encoder"
    on_gpu = device == "cuda"
    return _Settings(
        mix=options.mix or DEFAULT_MIXES[options.ranker],
        groups=options.groups or ((256 if on_gpu else 32) if bi_encoder else (32 if on_gpu else 4)),
        learning_rate=options.learning_rate or (5e-5 if bi_encoder else 1e-5 if on_gpu else 3e-5),
        # A CPU sees many more short passages than long ones in the same minutes.
        document_tokens=options.document_tokens or ((256 if on_gpu else 160) if bi_encoder else (MAX_TOKENS if on_gpu else 192)),
        precision=options.precision or ("bf16" if on_gpu or _fast_bf16() else "no"),
        name=options.name or options.ranker,
    )


def _fast_bf16() -> bool:
    """Whether this CPU has instructions for bfloat16, with which a step takes about two thirds of the time."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return any("avx512_bf16" in line or "amx_bf16" in line for line in file if line.startswith("flags"))
    except OSError:
        return False


def _load(kind: str, location: str, settings: _Settings) -> BiEncoder | CrossEncoder:
    if kind == "bi-encoder":
        return BiEncoder.load(location)
    return CrossEncoder.load(location, settings.document_tokens)


def _objective(ranker: BiEncoder | CrossEncoder, options: TrainingOptions, settings: _Settings) -> Objective:
    if isinstance(ranker, BiEncoder):
        return BiEncoderObjective(
            ranker, query_tokens=options.query_tokens, document_tokens=settings.document_tokens, hard_negatives=options.hard_negatives
        )
    return CrossEncoderObjective(ranker, group_size=options.group_size)


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a run knows of this machine before it begins: seconds a step, pairs a second, the untrained ranker's score
    on the development set, and seconds that one such scoring takes."""

    seconds: float
    pairs_per_second: float
    base_score: float
    scoring_seconds: float


def _measure(
    objective: Objective,
    order: ExampleOrder,
    settings: _Settings,
    device: str,
    development: DevelopmentSet | None,
    max_seconds: float | None,
) -> _Measured:
    """Run a few steps without learning from them, and score the untrained ranker."""
    model = objective.ranker.model
    model.train()
    times: list[float] = []
    pairs: list[int] = []
    for step in range(_MEASURED_STEPS):
        begun = time.monotonic()
        examples = order.groups(step)
        with torch.autocast(device, torch.bfloat16, enabled=settings.precision == "bf16"):
            loss = torch.stack(list(objective.losses(examples).values())).sum()
        torch.autograd.backward(loss)
        model.zero_grad(set_to_none=True)
        times.append(time.monotonic() - begun)
        pairs.append(objective.pairs(examples))
        if step and max_seconds is not None and sum(times) > _MEASURED_SHARE * max_seconds:
            break
    # The first step also warms the caches up.
    seconds = sum(times[1:]) / len(times[1:])
    begun = time.monotonic()
    score = development_score(objective.ranker, development) if development is not None else 0.0
    return _Measured(seconds, sum(pairs[1:]) / sum(times[1:]), score, time.monotonic() - begun)


def _plan(
    order: ExampleOrder,
    options: TrainingOptions,
    settings: _Settings,
    base: BaseModel,
    device: str,
    measured: _Measured,
    spent: float,
    reserve: float,
) -> TrainingPlan:
    """How many steps to run: as many as fit into the time, at most those of the epochs or --max-steps."""
    steps = max(1, math.ceil(options.max_epochs / max(order.epochs(1), 1e-9)))
    limited_by = f"{options.max_epochs:g} epochs"
    if options.max_steps is not None:
        steps, limited_by = options.max_steps, "--max-steps"
    if options.max_seconds is not None:
        affordable = max(1, int((options.max_seconds - reserve - spent) / measured.seconds))
        if affordable < steps:
            steps, limited_by = affordable, f"--max-time {options.max_seconds:g}s"
    return TrainingPlan(
        ranker=options.ranker,
        base=base.name if not base.scratch else f"scratch ({options.size})",
        note=base.note,
        examples=order.counts,
        missing=order.missing,
        groups=settings.groups,
        seconds_per_step=measured.seconds,
        pairs_per_second=measured.pairs_per_second,
        steps=steps,
        epochs=order.epochs(steps),
        expected_seconds=spent + steps * measured.seconds + reserve,
        limited_by=limited_by,
        device=device,
    )


def _learning_rate(step: int, steps: int, peak: float, warmup: float, ranker: str) -> float:
    """Linear warm-up; then, for the bi-encoder, linear to zero; for the cross-encoder the paper's two levels."""
    warm = max(1, round(warmup * steps))
    if step < warm:
        return peak * (step + 1) / warm
    if ranker == "cross-encoder" and steps > _PAPER_STEPS:
        return peak if step < _PAPER_STEPS else peak / 2
    return peak * max(0.0, (steps - step) / max(1, steps - warm))


class _Log:
    """The run's steps as JSON lines, written beside the weights."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, **values: Any) -> None:
        self.lines.append(json.dumps(values))


def _loop(
    objective: Objective,
    order: ExampleOrder,
    plan: TrainingPlan,
    settings: _Settings,
    options: TrainingOptions,
    deadline: float | None,
    listener: Listener,
    log: _Log,
    device: str,
) -> int:
    """Run the planned steps, or fewer when the deadline comes; gives the number done."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    # Accelerate keeps one precision for the life of a process; a second run in it may want another.
    AcceleratorState._reset_state()
    accelerator = Accelerator(cpu=device == "cpu", mixed_precision=settings.precision)
    model = objective.ranker.model
    decayed = [value for name, value in model.named_parameters() if value.ndim > 1]
    plain = [value for name, value in model.named_parameters() if value.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": options.weight_decay}, {"params": plain, "weight_decay": 0.0}]
    optimizer = accelerator.prepare(torch.optim.AdamW(groups, lr=settings.learning_rate))
    begun = time.monotonic()
    model.train()
    for step in range(plan.steps):
        if step and deadline is not None and time.monotonic() > deadline:
            return step
        rate = _learning_rate(step, plan.steps, settings.learning_rate, options.warmup, options.ranker)
        for group in optimizer.param_groups:
            group["lr"] = rate
        examples = order.groups(step)
        if not examples:
            continue
        with accelerator.autocast():
            losses = objective.losses(examples)
            loss = torch.stack(list(losses.values())).sum()
        if not torch.isfinite(loss):
            documents = ", ".join(sorted({example.document_id for example in examples})[:5])
            raise ModelError(f"the loss is {loss.item()} at step {step + 1} (documents {documents}, ...): try a lower --learning-rate")
        accelerator.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), _MAX_GRADIENT_NORM)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        spent = time.monotonic() - begun
        values = {name: value.item() for name, value in losses.items()}
        log.add(step=step + 1, losses=values, learning_rate=rate, seconds=round(spent, 3))
        if listener.step:
            per_step = spent / (step + 1)
            pairs = objective.pairs(examples) / per_step
            listener.step(TrainingStep(step + 1, plan.steps, values, rate, pairs, per_step * (plan.steps - step - 1)))
    return plan.steps


def _shares(ranker: BiEncoder | CrossEncoder, base: BaseModel) -> tuple[float, ...]:
    """Shares of trained weights to try. A fresh head, or a fresh model, has no base worth mixing with."""
    return _SHARES if isinstance(ranker, BiEncoder) and not base.scratch else (1.0,)


def _judge(
    ranker: BiEncoder | CrossEncoder,
    base: Weights,
    development: DevelopmentSet | None,
    shares: tuple[float, ...],
    base_score: float,
    listener: Listener,
) -> tuple[dict[float, float], float]:
    """Scores on the development set by share of trained weights, and the best share; the ranker is left with it."""
    if development is None:
        return {}, 1.0
    if listener.note:
        listener.note("judging on held-out structure ...")
    trained = weights_of(ranker.model)
    scores = {0.0: base_score}
    for share in shares:
        mix_weights(ranker.model, base, trained, share)
        scores[share] = development_score(ranker, development)
    # Untrained weights behind a fresh head are no ranker at all, so there the trained ones are kept whatever they score.
    best = max(scores, key=lambda share: (scores[share], share)) if len(shares) > 1 else shares[0]
    mix_weights(ranker.model, base, trained, best)
    return scores, best


def _save(
    workspace: Path,
    folder: Path,
    ranker: BiEncoder | CrossEncoder,
    base: BaseModel,
    options: TrainingOptions,
    settings: _Settings,
    samples: Samples,
    result: TrainingResult,
    log: _Log,
) -> None:
    with lock(workspace), replacing_folder(folder) as temporary:
        ranker.model.to("cpu")
        ranker.save(temporary)
        (temporary / "training.jsonl").write_text("".join(line + "\n" for line in log.lines))
        with (temporary / "model.safetensors").open("rb") as file:
            fingerprint = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        training = {
            "tool_version": __version__,
            "corpus": samples.manifest["corpus"],
            "options": asdict(options),
            "settings": asdict(settings),
            "plan": asdict(result.plan),
            "steps": result.steps,
            "development": {f"{share:g}": score for share, score in result.development.items()},
            "kept": result.kept,
            "better_than_base": result.better_than_base,
        }
        write_record(temporary, ModelRecord(ranker.kind, base.name, base.location, fingerprint, training))
