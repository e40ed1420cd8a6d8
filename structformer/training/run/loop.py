"""The training loop: chunks of Examples through the objective on any devices, checkpoints, held-out score."""

from __future__ import annotations

import copy
import hashlib
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import torch
from accelerate import Accelerator

from structformer.corpus import Corpus
from structformer.errors import ModelError
from structformer.models.kinds import Ranker
from structformer.sampling import Example
from structformer.sampling.held_out import DevelopmentSet
from structformer.training.data.batching import Chunk, Loader, Place, Prepared
from structformer.training.data.example_order import ExampleOrder
from structformer.training.judged.judging import Judge, development_score, set_weights
from structformer.training.objectives.objectives import Objective
from structformer.training.options import TrainingOptions, TrainingPlan, learning_rate
from structformer.training.report.reporting import ModelArithmetic, Reporter, StepReport, peak_of
from structformer.training.run import checkpoint
from structformer.training.run.memory import Learning, learn, memory_errors
from structformer.training.run.option_defaults import ResolvedOptions
from structformer.training.run.process_turns import Turns

_MAX_GRADIENT_NORM = 1.0
_SAVE_STEPS = 500  # between checkpoints, with several processes
_ENOUGH_EXAMPLES = 8  # whose losses are all exactly 0: a run that learns nothing, not a step of odd Examples


@dataclass(slots=True)
class Best:
    """The step with the best held-out score so far; step -1 for none."""

    step: int = -1
    score: float = -1.0


def chunk_seed(seed: int, step: int, chunk: int) -> int:
    """The seed of everything random in one chunk of one step, whatever device it falls to: dropout and masked words."""
    return int.from_bytes(hashlib.blake2b(f"chunk/{seed}/{step}/{chunk}".encode(), digest_size=7).digest(), "big")


@dataclass(frozen=True, slots=True)
class Ground:
    """The inputs of a run before its model: the corpus, the machine, and the choices made for it."""

    corpus: Corpus
    device: str
    settings: ResolvedOptions
    """The choices that the options left open."""
    accelerator: Accelerator
    turns: Turns
    """How other processes wait for the first."""
    checkpoints: checkpoint.Checkpoints
    reporter: Reporter


class Run:
    """One run's state: what is trained, in what order, and how far it is."""

    def __init__(
        self,
        ground: Ground,
        objective: Objective,
        options: TrainingOptions,
        order: ExampleOrder,
        plan: TrainingPlan,
        identity: dict[str, Any],
        development: DevelopmentSet | Judge | None,
    ) -> None:
        """identity: must be the same for the run to be resumed."""
        self.accelerator = accelerator = ground.accelerator
        self._turns = ground.turns
        self._settings = ground.settings
        self.ranker: Ranker = objective.ranker
        self.options = options
        self.order = order
        self.plan = plan
        self._identity = identity
        self.checkpoints = ground.checkpoints
        self.development = development
        self.reporter = ground.reporter
        self.best = Best()
        self._learns = False
        self._without_loss = 0
        self._chunks = accelerator.num_processes * options.accumulation
        self._arithmetic = ModelArithmetic(objective)
        self._peak = _peak(accelerator, ground.settings.precision)
        self._objective = objective
        objective.processes = accelerator.num_processes
        self._saved = time.monotonic()
        self._sharded = accelerator.distributed_type == "FSDP"
        # What is sharded is whole nowhere: the first process judges a copy, which takes the gathered weights.
        self._judged = self.ranker
        if self._sharded and accelerator.is_main_process:
            self._judged = copy.copy(self.ranker)
            self._judged.model = copy.deepcopy(self.ranker.model)
        parameters = [(name, value) for name, value in objective.named_parameters() if value.requires_grad]
        decayed = [value for _, value in parameters if value.ndim > 1]
        plain = [value for _, value in parameters if value.ndim <= 1]
        groups = [{"params": decayed, "weight_decay": options.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        fused = accelerator.device.type == "cuda"
        optimizer = torch.optim.AdamW(groups, lr=ground.settings.learning_rate, fused=fused)
        self.module, self._optimizer = accelerator.prepare(objective, optimizer)

    def resume(self) -> int:
        """Take up the newest whole checkpoint; return its steps, 0 without one. Raises ModelError on another run's."""
        folder = self.checkpoints.newest()
        if folder is None:
            return 0
        state = checkpoint.read_state(folder)
        check_identity(state["identity"], self._identity, str(folder))
        checkpoint.set_state(
            self.module, self._optimizer.optimizer, checkpoint.read_weights(folder), checkpoint.read_optimizer(folder)
        )
        self.best = Best(**state["best"])
        if self.accelerator.scaler is not None and state.get("scaler"):
            self.accelerator.scaler.load_state_dict(state["scaler"])
        return int(state["step"])

    def weights(self) -> dict[str, torch.Tensor]:
        """Return the objective's whole state, on the CPU; to be asked for on all processes."""
        return checkpoint.module_state(self.module)

    def _save(self, step: int, *, name: str = "") -> None:
        weights = checkpoint.module_state(self.module)
        optimizer = {} if name else checkpoint.optimizer_state(self.module, self._optimizer.optimizer)
        if self.accelerator.is_main_process:
            state = {
                "identity": self._identity,
                "best": {"step": self.best.step, "score": self.best.score},
                "plan_steps": self.plan.steps,
                "scaler": self.accelerator.scaler.state_dict() if self.accelerator.scaler else None,  # of fp16
            }
            self.checkpoints.save(step, weights, optimizer, state, name=name)
        self.accelerator.wait_for_everyone()

    def train(self, start: int, deadline: float | None) -> int:
        """Run the steps from `start`, or fewer when the deadline comes; returns the number done in all. A step is saved
        before it is judged: a judge that fails costs no step, and judges again when the run is resumed.

        Raises ModelError on a loss that is not finite, on one of 0 for all Examples, and if memory or the disk is full.
        """
        self.reporter.begun(start)
        self._saved = time.monotonic()
        self.module.train()
        if start and self._is_judged(start):
            self.reporter.judged(start, self._evaluate(start))
        with Loader(self._work(start), self._prepare, self.accelerator.device) as loader:
            for step in range(start, self.plan.steps):
                if step > start and self._past(deadline):
                    self._save(step)
                    return step
                report = self._step(step, loader)
                self.reporter.computed(report)
                is_judged = self._is_judged(report.step)
                if is_judged or self._is_due(report.step):
                    self._save(report.step)
                    self._saved = time.monotonic()
                if is_judged:
                    score = self._evaluate(report.step)
                    report = replace(report, development=score)
                    self.reporter.judged(report.step, score)
                self.reporter.finished(report)
        return self.plan.steps

    def _step(self, step: int, loader: Loader) -> StepReport:
        """Learn from one step's Examples."""
        rate = learning_rate(
            step,
            self.plan.steps,
            self._settings.learning_rate,
            schedule=self.options.schedule,
            warmup=self.options.warmup,
            step_at=self.options.step_at,
            step_factor=self.options.step_factor,
        )
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        idle, begun = loader.idle, time.monotonic()
        stats = self._gradients(step, loader)
        norm = self.accelerator.clip_grad_norm_(self.module.parameters(), _MAX_GRADIENT_NORM)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        losses, chance = self._losses(step, stats)
        ended = time.monotonic()
        pairs, tokens, padded = (int(value) for value in stats.counts[:3])
        return StepReport(
            step=step + 1,
            losses=losses,
            chance=chance,
            learning_rate=rate,
            gradient_norm=float(norm) if norm is not None else None,
            pairs=pairs,
            tokens=tokens,
            padded=padded,
            seconds=ended - begun,
            idle=loader.idle - idle,
            ended=ended,
            utilisation=None if self._peak is None else stats.counts[3] / (ended - begun) / self._peak,
        )

    def _work(self, start: int) -> Iterator[Chunk]:
        for step in range(start, self.plan.steps):
            for chunk in self._own_chunks():
                yield step, chunk, self.order.chunk(step, chunk, self._chunks)

    def _own_chunks(self) -> range:
        first = self.accelerator.process_index * self.options.accumulation
        return range(first, first + self.options.accumulation)

    def _prepare(self, step: int, chunk: int, places: Sequence[Place]) -> Prepared:
        # A share of a step so small that a device gets none of it takes the step's first Example at no weight.
        def examples_of(places: Sequence[Place]) -> list[Example]:
            return self.order.examples(places or [(next(iter(self.order.counts)), 0)])

        prepared = self._objective.prepare(examples_of(places), Random(chunk_seed(self.options.seed, step, chunk)))
        if self.options.gather and self.plan.processes > 1:
            taken = [
                chunk % self.options.accumulation + first for first in range(0, self._chunks, self.options.accumulation)
            ]
            others = [self.order.chunk(step, other, self._chunks) for other in taken if other != chunk]
            self._objective.beside(prepared, [examples_of(places) for places in others])
        return prepared

    def _gradients(self, step: int, loader: Loader) -> _Stats:
        """Gradients of one step's chunks on this process."""
        of_task = Counter(task for task, _ in self.order.places(step))
        stats = _Stats(sorted(self.order.counts), self.accelerator.device)
        for number, chunk in enumerate(self._own_chunks()):
            places, prepared = loader.next()
            torch.manual_seed(chunk_seed(self.options.seed, step, chunk))
            weights = self._weights(prepared, bool(places), of_task)
            learning = Learning(
                self._objective,
                self.module,
                partial(self._total, weights),
                self.accelerator.autocast,
                self.accelerator.backward,
                self._alone,
            )
            last = number + 1 == self.options.accumulation
            with memory_errors(f"at step {step + 1}"):
                losses, masked = learn(learning, prepared, nullcontext if last else self._alone)
            if places:
                chance = self._objective.chance
                stats.chunks.append(_Chunk(losses, masked, chance, prepared, places, self._arithmetic.of(prepared)))
        return stats

    def _alone(self) -> AbstractContextManager[Any]:
        """Within it gradients are added up here, and not exchanged with the other processes."""
        waiting: AbstractContextManager[Any] = self.accelerator.no_sync(self.module)
        return waiting

    def _total(self, weights: torch.Tensor, losses: torch.Tensor, masked: torch.Tensor | None) -> torch.Tensor:
        """Return what is minimised of a chunk. weights: of its Examples."""
        total: torch.Tensor = (losses * weights).sum()
        if masked is not None:
            total = total + self.options.mlm * (masked * weights).sum()
        return total * self.plan.processes  # the processes' gradients are averaged; they must be summed

    def _weights(self, prepared: Prepared, real: bool, of_task: Counter[str]) -> torch.Tensor:
        """(Examples,): each Example's share of its step's loss, such that parts add up wherever they are computed."""
        whole = sum(of_task.values())
        by_task = self._settings.task_loss == "sum"
        weights = [1 / (of_task[each.task] if by_task else whole) if real else 0.0 for each in prepared.examples]
        return torch.tensor(weights, device=self.accelerator.device)

    def _losses(self, step: int, stats: _Stats) -> tuple[dict[str, float], dict[str, float]]:
        """Return the step's mean losses by task over all processes, and what chance loses. Raises ModelError if one is
        not finite, if no text has a masked word, and if the first Examples all lose exactly 0: nothing can be learned.
        """
        table = self.accelerator.reduce(stats.table(), reduction="sum").tolist()
        *stats.counts, bad = table[-1]
        means = {
            name: total / count for name, (total, count, *_) in zip([*stats.tasks, "mlm"], table, strict=False) if count
        }
        if bad:
            where = stats.first_bad or "on another process"
            raise ModelError(
                f"the loss is not a number at step {step + 1}, Example {where}; {self._kept()}. Try a "
                "lower --learning-rate, or --precision fp32; "
                "`structformer sample --show` shows Examples"
            )
        if means.get("mlm") == 0:
            raise ModelError(
                f"no text of step {step + 1} has a word to guess: the loss of masked words is exactly 0 for all of its "
                f"Examples; {self._kept()}. The base's tokenizer knows no word of these texts, or they are empty: try "
                "another --base-model; `structformer sample --show` shows Examples"
            )
        if not self._learns:
            self._learns = any(means.values()) or step >= _ENOUGH_EXAMPLES
            self._without_loss += int(sum(count for _, count, *_ in table[:-1]))
            if not self._learns and self._without_loss >= _ENOUGH_EXAMPLES:
                raise ModelError(
                    f"the loss is exactly 0 for all {self._without_loss} Examples of this run: there is nothing to "
                    f"learn from {', '.join(means)}. Each has one document alone, or its negatives are all left out: "
                    "draw Examples with negatives (--task-mix); `structformer sample --show` shows Examples"
                )
        chances = {
            name: chance / count for name, (*_, chance, count, _) in zip(stats.tasks, table, strict=False) if count
        }
        return means, chances

    def _kept(self) -> str:
        steps = self.checkpoints.steps()
        return f"the checkpoint of step {steps[-1]} is kept" if steps else "no checkpoint was written before it"

    def _past(self, deadline: float | None) -> bool:
        """Whether any process is past the deadline: they must stop together."""
        if deadline is None:
            return False
        past = torch.tensor([float(time.monotonic() > deadline)], device=self.accelerator.device)
        return bool(self.accelerator.reduce(past, reduction="sum").item() > 0)

    def _is_due(self, step: int) -> bool:
        """Whether a checkpoint is."""
        if step == self.plan.steps:
            return True
        # Several processes must decide alike, and their clocks don't.
        every = self.options.save_steps or (_SAVE_STEPS if self.plan.processes > 1 else None)
        return step % every == 0 if every is not None else time.monotonic() - self._saved > self.options.save_seconds

    def _is_judged(self, step: int) -> bool:
        """Whether the held-out score is due."""
        every = self.options.eval_steps
        due = every is not None and (step % every == 0 or step == self.plan.steps)
        return due and self.development is not None

    def _evaluate(self, step: int) -> float:
        """Return the held-out score; the best one's weights are kept."""
        score = self.score()
        if step > self.options.select_after and score > self.best.score:
            self.best = Best(step, score)
            self._save(step, name="best")
        self.module.train()
        return score

    def score(self) -> float:
        """Return the held-out score of the present weights, the same on all processes."""
        assert self.development is not None
        weights, value = self.weights() if self._sharded else {}, 0.0
        if self.accelerator.is_main_process:
            if self._sharded:
                set_weights(self._judged, weights)
            value = development_score(self._judged, self.development)
        self._turns.wait()  # scoring may take longer than a collective operation's time limit
        device = self.accelerator.device
        score = torch.tensor([value], device=device, dtype=torch.float64 if device.type == "cpu" else torch.float32)
        return float(self.accelerator.reduce(score, reduction="sum").item())


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk that was learned from: of each Example the loss, that of its masked words, and what chance loses."""

    losses: torch.Tensor
    masked: torch.Tensor | None
    chance: torch.Tensor | None
    prepared: Prepared
    places: Sequence[Place]
    operations: float


class _Stats:
    """Statistics of a step: losses by task, pairs, tokens, and the first Example whose loss is not a number."""

    def __init__(self, tasks: list[str], device: torch.device) -> None:
        self.tasks = tasks
        self.first_bad = ""
        self.counts: list[float] = [0.0] * 4
        self.chunks: list[_Chunk] = []
        self._device = device

    def table(self) -> torch.Tensor:
        """(tasks + 2, 5) float: of each task and the masked words sum and number, of what chance loses too; at last
        pairs, tokens, padded tokens, the model's operations, bad Examples.
        """
        table = torch.zeros(len(self.tasks) + 2, 5, device=self._device, dtype=torch.float32)
        bad = 0
        for chunk in self.chunks:
            masked, prepared = chunk.masked, chunk.prepared
            values = chunk.losses.float().tolist()
            rows = [self.tasks.index(name) for name, _ in chunk.places]
            for column, each in ((0, values), (2, None if chunk.chance is None else chunk.chance.float().tolist())):
                for row, value in zip(rows, each or (), strict=False):
                    table[row, column] += value
                    table[row, column + 1] += 1
            wrong = [number for number, value in enumerate(values) if not math.isfinite(value)]
            if masked is not None:
                table[-2, 0] += masked.float().sum()
                table[-2, 1] += len(masked)
                wrong += [number for number, value in enumerate(masked.tolist()) if not math.isfinite(value)]
            bad += len(wrong)
            if wrong and not self.first_bad:
                (task, place), example = chunk.places[wrong[0]], prepared.examples[wrong[0]]
                self.first_bad = f"{task} {place} (document {example.document_id}, section {example.sections[0]})"
            real, padded = prepared.tokens
            table[-1, :4] += torch.tensor([prepared.pairs, real, padded, chunk.operations], device=self._device)
        table[-1, 4] = bad
        return table


def _peak(accelerator: Accelerator, precision: str) -> float | None:
    """Return the most operations a second of all processes' GPUs together in this precision; None if unknown."""
    if accelerator.device.type != "cuda" or precision not in ("bf16", "fp16"):
        return None
    peak = peak_of(torch.cuda.get_device_name(accelerator.device))
    return None if peak is None else peak * accelerator.num_processes


def check_identity(theirs: dict[str, Any], ours: dict[str, Any], where: str) -> None:
    """Raises ModelError when a checkpoint is of a run with other options or another corpus."""
    different = sorted(name for name in {*theirs, *ours} if theirs.get(name) != ours.get(name))
    if different:
        changed = ", ".join(f"{name} {theirs.get(name)!r}, now {ours.get(name)!r}" for name in different[:4])
        raise ModelError(
            f"{where} is of another run ({changed}): train without --resume to start over, or give it another --name"
        )
