"""`structformer train`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from structformer.cli.common import Output, common_options, output, save_config, seconds

if TYPE_CHECKING:
    from structformer.training import TrainingPlan, TrainingStep


@click.command("train")
@click.option(
    "--ranker",
    type=click.Choice(["bi-encoder", "cross-encoder"]),
    default="bi-encoder",
    show_default=True,
    help="A bi-encoder finds; a cross-encoder reorders what was found.",
)
@click.option("--base-model", default="auto", show_default=True, help="auto, minilm, scratch, a folder, or a hub name.")
@click.option(
    "--size", type=click.Choice(["tiny", "mini", "small", "base"]), default="mini", show_default=True, help="Size of a scratch model."
)
@click.option("--task-mix", metavar="MIX", help="Tasks and weights, as srr=1,ict=3.  [default: by ranker]")
@click.option("--max-time", default="10m", show_default=True, help="Time for the whole run: 90s, 5m, 1h, none.")
@click.option("--max-steps", type=click.IntRange(1), help="Steps to run; the same number gives the same weights.")
@click.option(
    "--epochs", type=click.FloatRange(min=0, min_open=True), default=6.0, show_default=True, help="Most passes over the Examples."
)
@click.option("--batch", "groups", type=click.IntRange(1), help="Examples per step.  [default: by ranker and device]")
@click.option("--learning-rate", type=click.FloatRange(min=0, min_open=True), help="Peak learning rate.  [default: by ranker]")
@click.option("--max-tokens", "document_tokens", type=click.IntRange(8, 8192), help="Documents are cut to this many tokens while training.")
@click.option(
    "--hard-negatives", type=click.IntRange(0), default=0, show_default=True, help="Bi-encoder: negatives of each group beside the batch's."
)
@click.option(
    "--precision", type=click.Choice(["auto", "bf16", "fp32"]), default="auto", show_default=True, help="auto: bf16 where it is fast."
)
@click.option("--name", help="The model's name in the workspace.  [default: the ranker's]")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--dry-run", is_flag=True, help="Measure and say what would be done, then stop.")
@common_options
@click.pass_context
def command(
    ctx: click.Context, ranker: str, base_model: str, size: str, task_mix: str | None, max_time: str, max_steps: int | None, epochs: float,
    groups: int | None, learning_rate: float | None, document_tokens: int | None, hard_negatives: int, precision: str, name: str | None,
    seed: int, dry_run: bool, workspace: Path, quiet: bool, verbose: bool, as_json: bool,
) -> None:  # fmt: skip
    """Train a ranker on the Examples of the corpus, within the time given, and save it in the workspace.

    Measures this machine first and says what it will do. Examples are drawn when there are none yet.
    """
    limit = seconds(max_time)
    from structformer.training import Listener, TrainingOptions, train
    from structformer.training.data import parse_mix

    out = output(ctx)
    options = TrainingOptions(
        ranker=ranker, base_model=base_model, size=size, mix=parse_mix(task_mix) if task_mix else None, max_seconds=limit,
        max_steps=max_steps, max_epochs=epochs, seed=seed, groups=groups, learning_rate=learning_rate, document_tokens=document_tokens,
        hard_negatives=hard_negatives,
        precision={"auto": None, "bf16": "bf16", "fp32": "no"}[precision], name=name,
    )  # fmt: skip
    plans: list[TrainingPlan] = []

    def planned(plan: TrainingPlan) -> None:
        plans.append(plan)
        _print_plan(out, plan)

    with out.progress("training") as progress:

        def stepped(step: TrainingStep) -> None:
            progress(step.step, step.steps)
            if not quiet and (verbose or step.step % max(1, step.steps // 10) == 0):
                losses = ", ".join(f"{task} {value:.3f}" for task, value in step.losses.items())
                out.note(
                    f"step {step.step}/{step.steps}: loss {losses}; {step.pairs_per_second:.1f} pairs/s, {step.seconds_left:.0f} s left"
                )

        result = train(workspace, options, dry_run=dry_run, listener=Listener(plan=planned, step=stepped, note=out.note))
    if dry_run:
        out.json({"plan": asdict(plans[0])})
        return
    out.json({**asdict(result), "folder": str(result.folder)})
    save_config(ctx, result.folder)
    out.result(f"{result.steps} steps in {result.seconds:.0f} s; saved in {result.folder}")
    if result.development:
        scores = ", ".join(f"{_share(share)} {score:.3f}" for share, score in result.development.items())
        out.result(f"nDCG@10 on held-out structure: {scores}")
        if not result.better_than_base and result.kept:
            out.result("not better than untrained on held-out structure: give it more time before you use it")
        elif not result.better_than_base:
            out.result("not better than the base on held-out structure: the base's weights are kept")
        elif result.kept < 1:
            out.result(f"kept: {result.kept:.0%} of the way from the base to the trained weights, which did best")
    out.say(f"to repeat this exactly: --max-steps {result.steps} --seed {seed}")
    out.say(f"\nnext: structformer index -w {workspace}")


def _share(share: float) -> str:
    return "base" if share == 0 else "trained" if share == 1 else f"{share:.0%} trained"


def _print_plan(out: Output, plan: TrainingPlan) -> None:
    if plan.note:
        out.note(plan.note)
    examples = ", ".join(f"{count} {task}" for task, count in plan.examples.items())
    out.note(f"Examples: {examples}" + (f"; none of {', '.join(plan.missing)}, left out" if plan.missing else ""))
    speed = f"{plan.seconds_per_step:.2f} s a step of {plan.groups} Examples, {plan.pairs_per_second:.1f} pairs/s"
    out.note(f"this machine ({plan.device}): {speed} (measured)")
    length = f"{plan.steps} steps, {plan.epochs:.1f} epochs, about {plan.expected_seconds / 60:.1f} min"
    out.note(f"plan: {plan.ranker} from {plan.base}, {length}; limited by {plan.limited_by}")
