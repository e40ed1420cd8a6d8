"""Plan of a run, measured on this machine before it begins."""

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from random import Random

import torch

from structformer.models.base import BaseModel
from structformer.models.kinds import ranker_kind
from structformer.sampling.held_out import DevelopmentSet
from structformer.training.data.example_order import ExampleOrder
from structformer.training.judged.judging import NDCG, Judge, Ranks, development_score, measure_of, ranks_on
from structformer.training.objectives.objectives import Objective
from structformer.training.options import TrainingOptions, TrainingPlan
from structformer.training.run.checkpoint import read_state
from structformer.training.run.loop import Ground, chunk_seed
from structformer.training.run.memory import Learning, learn, memory_errors, tried

_MEASURED_STEPS = 5  # at most
_BEFORE = "while measuring, before the first step"
_MAX_EPOCHS = 6.0
_MEASURED_SHARE = 0.05  # of the time given, at most, unless the first two steps take longer
_PROBED_SHARE = 0.1  # of the development set, scored to see how long the whole takes
_SCORED_SHARE = 0.05  # of the time, that one scoring of the development set may take


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of this machine that a run makes before it begins."""

    seconds: float
    """For one step."""
    pairs_per_second: float
    base_ranks: Ranks | None
    """The untrained ranker's, on the development set; None without one."""
    scoring_seconds: float
    """To score the development set once."""
    measure: str
    """The measure that the ranks are turned into."""


def measure(
    ground: Ground,
    objective: Objective,
    order: ExampleOrder,
    options: TrainingOptions,
    development: DevelopmentSet | Judge | None,
    *,
    one_example: bool = False,
) -> tuple[Measured, DevelopmentSet | Judge | None]:
    """Run one process's part of a few steps, at most those of the run, without learning, and score the untrained ranker
    on the development set, or what time allows of it, which is returned too. one_example: measure one Example of each
    step and multiply.
    """
    objective.train()
    device, processes = ground.device, ground.accelerator.num_processes
    autocast = partial(torch.autocast, device, torch.bfloat16, enabled=ground.settings.precision == "bf16")
    total = lambda losses, masked: losses.mean() + (0.0 if masked is None else masked.mean())  # noqa: E731
    learning = Learning(objective, objective, total, autocast, torch.autograd.backward, nullcontext)
    if device == "cuda":
        with memory_errors(_BEFORE):
            [example] = order.examples(order.places(0)[:1])
            objective.batching = tried(objective, example, lambda largest: learn(learning, largest, nullcontext))
        objective.zero_grad(set_to_none=True)
    times: list[float] = []
    pairs: list[int] = []
    for step in range(min(_MEASURED_STEPS, options.max_steps or _MEASURED_STEPS)):
        begun = time.monotonic()
        chunk = order.chunk(step, 0, options.accumulation * processes)
        places = chunk or order.places(step)[:1]
        taken = places[:1] if one_example else places
        share = len(places) // len(taken) * options.accumulation  # of a step, that is measured
        prepared = objective.prepare(order.examples(taken), Random(step))
        torch.manual_seed(chunk_seed(options.seed, step, 0))
        with memory_errors(_BEFORE):
            learn(learning, prepared, nullcontext)
        objective.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()  # else what a step asks of the GPU would be in the next one's time
        times.append((time.monotonic() - begun) * share)
        pairs.append(prepared.pairs * share * processes)
        if options.max_seconds is not None and measured_enough(times, device, options.max_seconds):
            break
    # The first step also warms the caches up, so it counts only where there is no time for a second.
    steady = slice(1 if len(times) > 1 else 0, None)
    seconds = sum(times[steady]) / len(times[steady])
    limit, steps = options.max_seconds, options.max_steps or math.inf
    if isinstance(development, DevelopmentSet) and limit is not None and steps * seconds > limit:  # it ends by the time
        begun = time.monotonic()
        probe = development.reduced(_PROBED_SHARE)
        development_score(objective.ranker, probe)
        whole = (time.monotonic() - begun) / len(probe.passages) * len(development.passages)
        affordable = _SCORED_SHARE * limit
        if whole > affordable:
            development = development.reduced(affordable / whole)
    begun = time.monotonic()
    ranks = ranks_on(objective.ranker, development) if development is not None else None
    scoring = time.monotonic() - begun
    scored_by = NDCG if development is None else measure_of(development)
    return Measured(seconds, sum(pairs[steady]) / sum(times[steady]), ranks, scoring, scored_by), development


def measured_enough(seconds: Sequence[float], device: str, limit: float) -> bool:
    """Whether the steps that took these seconds have taken enough of the limit. A GPU's first step also loads its
    kernels (16 s on an H200, whose second took 4): it says nothing of the others, so that there is always a second.
    """
    return sum(seconds[1:] if device == "cuda" else seconds) > _MEASURED_SHARE * limit


def make_plan(
    ground: Ground, order: ExampleOrder, options: TrainingOptions, base: BaseModel, measured: Measured, besides: float
) -> TrainingPlan:
    """How many steps to run: as many as fit into the time, at most those of the epochs, of --max-steps and of the
    pairs. besides: seconds that go to other things than steps.
    """
    limits: list[tuple[float, str]] = [(options.max_steps or math.inf, "--max-steps")]
    if options.max_epochs or not (options.max_steps or options.max_pairs):
        epochs = options.max_epochs or _MAX_EPOCHS
        limits.append((max(1, math.ceil(epochs / max(order.epochs(1), 1e-9))), f"{epochs:g} epochs"))
    if options.max_seconds is not None:
        given = f"--max-time {options.max_seconds:g}s"
        if besides + measured.seconds > options.max_seconds:
            given += ", too little on this machine for more than the one step that is run"
        limits.append((max(1, int((options.max_seconds - besides) / measured.seconds)), given))
    if options.max_pairs is not None:
        of_group = ranker_kind(options.ranker).loss(ground.settings.loss).pairs(options.group_size)
        needed = steps_of_pairs(options.max_pairs, order, of_group, min(limits)[0])
        limits.append((needed, f"{options.max_pairs:,} pairs"))
    least, limited_by = min(limits, key=itemgetter(0))
    steps = int(least)
    return TrainingPlan(
        ranker=options.ranker,
        base=base.name if not base.scratch else f"scratch ({options.size})",
        note=base.note,
        examples=order.counts,
        missing=order.missing,
        groups=order.groups_per_step,
        seconds_per_step=measured.seconds,
        pairs_per_second=measured.pairs_per_second,
        steps=steps,
        epochs=order.epochs(steps),
        expected_seconds=besides + steps * measured.seconds,
        limited_by=limited_by,
        device=ground.device,
        measure=measured.measure,
    )


def steps_of_pairs(pairs: int, order: ExampleOrder, group_size: int, most: float = math.inf) -> int:
    """Return the steps that see so many pairs; at most `most`."""
    step = seen = 0
    while seen < pairs and step != most:
        seen += sum(min(len(example.queries), group_size) for example in order.examples(order.places(step)))
        step += 1
    return step


def planned_before(plan: TrainingPlan, checkpoint: Path) -> TrainingPlan:
    """Return the plan with the number of steps that the run had planned when it began."""
    return replace(plan, steps=int(read_state(checkpoint)["plan_steps"]), limited_by="the run's own plan")
