"""Output of the training commands: the plan, a live view on a terminal or a line now and then, the result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli.common import Output, duration

if TYPE_CHECKING:
    from structformer.training.options import Listener, TrainingPlan, TrainingResult, TrainingStep

_LINES = 10  # that a whole run prints where there is no terminal
_SMOOTHING = 0.9


def of_first_process() -> bool:
    """Whether this is the process that speaks, where a launcher started several."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def watched(out: Output, verbose: bool) -> Iterator[Listener]:
    """A Listener that shows the run: live on a terminal, elsewhere a line every tenth of the way."""
    import sys

    from structformer.training import Listener

    view = _View()

    def planned(plan: TrainingPlan) -> None:
        view.measure = plan.measure
        print_plan(out, plan)

    if out.quiet or not of_first_process():
        yield Listener()
    elif not sys.stderr.isatty():

        def stepped(step: TrainingStep) -> None:
            if verbose or step.step % max(1, step.steps // _LINES) == 0 or step.development is not None:
                out.note(_line(step, view.measure))

        yield Listener(plan=planned, step=stepped, note=out.note)
    else:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        with Live(view, console=console, refresh_per_second=4, transient=True):
            yield Listener(
                plan=planned, step=view.add, note=lambda text: console.print(text, markup=False, highlight=False)
            )


class _View:
    """The live view: losses by task, smoothed; speed; the held-out score; the time left."""

    def __init__(self) -> None:
        self.measure = ""  # of the held-out score
        self._losses: dict[str, float] = {}
        self._first: dict[str, float] = {}
        self._score: float | None = None
        self._last: TrainingStep | None = None

    def add(self, step: TrainingStep) -> None:
        """Take a step in."""
        for name, value in step.losses.items():
            self._first.setdefault(name, value)
            self._losses[name] = _SMOOTHING * self._losses.get(name, value) + (1 - _SMOOTHING) * value
        self._score = step.development if step.development is not None else self._score
        self._last = step

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.padding import Padding
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        if (step := self._last) is None:
            return ""
        losses = Table(box=None, padding=(0, 2, 0, 0))
        for title, right in (("task", False), ("loss", True), ("at first", True)):
            losses.add_column(title, justify="right" if right else "left", style=None if title == "loss" else "dim")
        for name, value in list(self._losses.items()):  # a step may come meanwhile
            losses.add_row(name, f"{value:.3f}", f"{self._first[name]:.3f}")
        speed = (
            f"{step.pairs_per_second:,.1f} pairs/s   {step.tokens_per_second:,.0f} tokens/s   "
            f"waiting for input {step.idle:.1%}"
        )
        score = "" if self._score is None else f"   held-out {self.measure} {self._score:.3f}"
        head = (
            f"step {step.step}/{step.steps}   {duration(step.seconds_left)} left   learning "
            f"rate {step.learning_rate:.2e}{score}"
        )
        return Group(
            Text(head),
            Padding(ProgressBar(total=step.steps, completed=step.step, width=60)),
            losses,
            Text(speed, style="dim"),
        )


def _line(step: TrainingStep, measure: str) -> str:
    losses = ", ".join(f"{task} {value:.3f}" for task, value in step.losses.items())
    score = "" if step.development is None else f"; held-out {measure} {step.development:.3f}"
    return (
        f"step {step.step}/{step.steps}: loss {losses}; {step.pairs_per_second:.1f} pairs/s, "
        f"{step.tokens_per_second:.0f} tokens/s, "
        f"{duration(step.seconds_left)} left{score}"
    )


def print_plan(out: Output, plan: TrainingPlan) -> None:
    """Say what a run will do."""
    if plan.note:
        out.note(plan.note)
    examples = ", ".join(f"{count} {task}" for task, count in plan.examples.items())
    out.note(f"Examples: {examples}" + (f"; none of {', '.join(plan.missing)}, left out" if plan.missing else ""))
    where = plan.device if plan.processes == 1 else f"{plan.processes} x {plan.device}"
    speed = f"{plan.seconds_per_step:.2f} s a step of {plan.groups} Examples, {plan.pairs_per_second:.1f} pairs/s"
    out.note(f"this machine ({where}): {speed} (measured)")
    length = f"{plan.steps} steps, {plan.epochs:.1f} epochs, about {duration(plan.expected_seconds)}"
    out.note(f"plan: {plan.ranker} from {plan.base}, {length}; limited by {plan.limited_by}")


def print_result(out: Output, result: TrainingResult, workspace: Path, seed: int, dry_run: bool) -> None:
    """Print a run's result."""
    from structformer.models.registry import taken_by_itself, verdict
    from structformer.training.report.logs import ended_with, read_log

    if not of_first_process():
        return
    if dry_run:
        out.json({"plan": asdict(result.plan)})
        return
    out.json({**asdict(result), "folder": str(result.folder)})
    done = f"{result.steps} steps" + (f", of which {result.resumed_at} before," if result.resumed_at else "")
    out.result(f"{done} in {result.seconds:.0f} s; saved in {result.folder}")
    if result.best_step not in (0, result.steps):
        out.result(f"the weights of step {result.best_step} did best on {result.judged_by} and were taken")
    if result.development:
        ends = {0.0: "base", 1.0: "trained"}
        development = result.development.items()
        scores = ", ".join(f"{ends.get(share, f'{share:.0%} trained')} {score:.3f}" for share, score in development)
        out.result(f"{result.plan.measure} on {result.judged_by}: {scores}")
        out.result(_best(result))
    if last := ended_with(read_log(result.folder / "training.jsonl")):
        out.result(last)
    by_itself = taken_by_itself(result.plan.ranker, result.folder.name)
    out.result(verdict(result.judged, by_itself=by_itself, query_side=result.side == "query"))
    if result.steps == result.plan.steps:
        out.say(f"to repeat this exactly: --max-steps {result.steps} --seed {seed}")
    context = click.get_current_context().find_root()
    if isinstance(context.command, click.Group) and "report" in context.command.list_commands(context):
        out.say(f"curves: structformer report {result.folder.name} -w {workspace}")
    out.say(f"\nnext: {_next(result, workspace)}")


def _next(result: TrainingResult, workspace: Path) -> str:
    """Name the next command: a bi-encoder is indexed, the others order what was found."""
    from structformer.models.kinds import ranker_kind
    from structformer.retrieval.pipeline import stage_kind
    from structformer.retrieval.vectors.encoder_names import ENCODER

    name = result.folder.name
    if result.side == "query":
        pipeline = "" if name == ENCODER and result.used else f"--pipeline hybrid:{name} "
        return f'structformer search -w {workspace} {pipeline}"your question"'
    first = ranker_kind(result.plan.ranker).first_stage
    if first and stage_kind(first).vectors:
        by_itself = result.used and name == ENCODER
        return f"structformer index -w {workspace}" + ("" if by_itself else f" --encoder {name}")
    if first:
        return f'structformer search -w {workspace} --pipeline {first}:{name} "your question"'
    return f'structformer search -w {workspace} --pipeline "hybrid:base >> rerank:{name}" "your question"'


def _best(result: TrainingResult) -> str:
    """Return which weights did best, the base's among them, and which are saved."""
    kept = "the trained weights" if result.kept == 1 else f"{result.kept:.0%} of the way to the trained weights"
    base, best = result.development.get(0.0, 0.0), result.development.get(result.kept, 0.0)
    if base > best:
        return f"the base did best ({base:.3f}); saved: {kept} ({best:.3f}), the best of what was trained"
    return f"saved: {kept}, which did best ({best:.3f})"
