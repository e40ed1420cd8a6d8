"""`structformer train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from structformer.cli.common import common_options, output, save_config, seconds
from structformer.cli.training_view import of_first_process, print_result, watched
from structformer.models.kinds import RANKERS, ranker_kind


def training_flags(function: Any) -> Any:
    """The flags that training commands share; a flag that is not given leaves its key to the recipe."""
    positive = click.FloatRange(min=0, min_open=True)
    flags = (
        click.option("--base-model", help="auto, minilm, scratch, a folder, or a hub name.  [default: auto]"),
        click.option(
            "--size",
            type=click.Choice(["tiny", "mini", "small", "base"]),
            help="Size of a scratch model.  [default: mini]",
        ),
        click.option("--max-time", help="Time for the whole run: 90s, 5m, 1h, none.  [default: 10m, or the recipe's]"),
        click.option(
            "--max-steps", type=click.IntRange(1), help="Steps to run; the same number gives the same weights."
        ),
        click.option("--epochs", "max_epochs", type=positive, help="Most passes over the Examples.  [default: 6]"),
        click.option(
            "--batch",
            "groups",
            type=click.IntRange(1),
            help="Examples that a device sees at once.  [default: by ranker and device]",
        ),
        click.option("--accumulation", type=click.IntRange(1), help="Batches of one step.  [default: 1]"),
        click.option("--learning-rate", type=positive, help="Peak learning rate.  [default: by ranker]"),
        click.option(
            "--loss", help="; ".join(f"{name}: {', '.join(ranker_kind(name).losses)}" for name in RANKERS) + "."
        ),
        click.option(
            "--mlm",
            type=click.FloatRange(0),
            help="Weight of masked language modelling on the same inputs.  [default: 0]",
        ),
        click.option(
            "--max-tokens",
            "document_tokens",
            type=click.IntRange(8, 8192),
            help="Documents are cut to this many tokens.",
        ),
        click.option(
            "--batch-tokens",
            type=click.IntRange(8),
            help="Padded tokens of one pass through the model.  [default: by device]",
        ),
        click.option(
            "--hard-negatives", type=click.IntRange(0), help="Negatives of each group beside the batch's.  [default: 0]"
        ),
        click.option(
            "--precision", type=click.Choice(["auto", "bf16", "fp16", "fp32"]), help="auto: bf16 where it is fast."
        ),
        click.option("--gradient-checkpointing", is_flag=True, default=None, help="Less memory for a third more time."),
        click.option("--compile", is_flag=True, default=None, help="Compile the model with torch.compile."),
        click.option(
            "--eval-steps",
            type=click.IntRange(1),
            help="Take the held-out score every so many steps and keep the best.",
        ),
        click.option(
            "--save-steps", type=click.IntRange(1), help="Steps between checkpoints.  [default: every five minutes]"
        ),
        click.option("--threads", type=click.IntRange(1), help="Threads of the CPU.  [default: all cores]"),
        click.option(
            "--report-to",
            "report_to",
            multiple=True,
            type=click.Choice(["tensorboard", "trackio", "wandb"]),
            help="Trackers beside training.jsonl; may be repeated.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Any other key of a recipe; sample.KEY for sampling.",
        ),
        click.option("--name", help="The model's name in the workspace.  [default: the ranker's]"),
        click.option(
            "--force", is_flag=True, help="Replace a model of the same name instead of keeping it in models/earlier."
        ),
        click.option("--seed", type=int, help="[default: 0]"),
    )
    for flag in reversed(flags):
        function = flag(function)
    return function


def chosen_options(values: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(keys of TrainingOptions, --set settings) from the values of `training_flags`."""
    chosen = dict(values)
    chosen.pop("force")
    settings: tuple[str, ...] = chosen.pop("settings")
    if (limit := chosen.pop("max_time")) is not None:
        chosen["max_seconds"] = "none" if seconds(limit) is None else seconds(limit)
    chosen["precision"] = {None: None, "auto": None, "bf16": "bf16", "fp16": "fp16", "fp32": "no"}[chosen["precision"]]
    chosen["report_to"] = chosen["report_to"] or None
    return chosen, settings


@click.command("train")
@click.option("--recipe", metavar="NAME", help="docs, ict, wikiformer, harp, prop, or a TOML file.")
@click.option(
    "--ranker",
    metavar="KIND",
    help=f"{', '.join(RANKERS)}, or a plugin's. A bi-encoder finds; a cross-encoder reorders what "
    "was found.  [default: bi-encoder]",
)
@click.option("--task-mix", metavar="MIX", help="Tasks and weights, as srr=1,ict=3.  [default: by ranker]")
@click.option("--resume", is_flag=True, help="Continue from the newest checkpoint of an unfinished run.")
@click.option(
    "--dry-run", is_flag=True, help="Measure and say what would be done, then stop; the workspace is not written."
)
@training_flags
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    recipe: str | None,
    ranker: str | None,
    task_mix: str | None,
    resume: bool,
    dry_run: bool,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train a ranker on the Examples of the corpus, within the time given, and save it in the workspace.

    Measures this machine first and says what it will do. Examples are drawn when there are none yet. A run that was
    stopped continues with `--resume`, alone or with the flags it was begun with. A model of the same name is kept in
    models/earlier."""
    chosen, settings = chosen_options(flags)
    from structformer.training import train, training_options, unfinished_options
    from structformer.training.example_order import parse_mix

    out = output(ctx)
    chosen.update(ranker=ranker, mix=parse_mix(task_mix) if task_mix else None)
    options = training_options(recipe, chosen, settings)
    if (
        resume
        and not recipe
        and not settings
        and all(value is None for key, value in chosen.items() if key not in ("name", "max_seconds"))
    ):
        options = unfinished_options(workspace, options)
    with watched(out, verbose) as listener:
        result = train(workspace, options, dry_run=dry_run, resume=resume, force=flags["force"], listener=listener)
    if not dry_run and of_first_process():
        save_config(ctx, result.folder)
    print_result(out, result, workspace, options.seed, dry_run)


if __name__ == "__main__":  # for torchrun and accelerate launch, which start modules
    import sys

    from structformer.cli.main import main

    main(["train", *sys.argv[1:]])
