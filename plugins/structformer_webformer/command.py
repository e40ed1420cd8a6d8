"""`structformer webformer`."""

from __future__ import annotations

from pathlib import Path

import click
from structformer.cli import Output, OutputPath, common_options, force_option, threads_option


@click.command("webformer")
@click.argument("target", metavar="FOLDER", type=OutputPath())
@click.option(
    "--base-model", default="auto", show_default=True, help="The model to start from: a folder or a name on the hub."
)
@click.option(
    "--max-tokens", type=click.IntRange(32, 512), default=256, show_default=True, help="Tokens that a text may have."
)
@click.option(
    "--batch-tokens",
    type=click.IntRange(1024),
    default=8192,
    show_default=True,
    help="Tokens in a step's texts; fewer take less memory.",
)
@click.option("--learning-rate", type=float, default=5e-5, show_default=True, help="The highest of the schedule.")
@click.option("--epochs", type=click.IntRange(1), default=1, show_default=True, help="How often the corpus is read.")
@click.option("--max-steps", type=click.IntRange(1), help="End after so many steps.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything that is drawn at random.")
@click.option(
    "--save-seconds", type=click.FloatRange(0), default=600.0, show_default=True, help="Seconds between checkpoints."
)
@click.option("--resume", is_flag=True, help="Continue from the newest checkpoint of a run with the same options.")
@force_option("the folder that an earlier command wrote")
@threads_option
@common_options
def command(
    target: Path,
    base_model: str,
    max_tokens: int,
    batch_tokens: int,
    learning_rate: float,
    epochs: int,
    max_steps: int | None,
    seed: int,
    save_seconds: float,
    resume: bool,
    force: bool,
    workspace: Path,
    out: Output,
) -> int:
    """Pre-train a base model on the corpus's trees, and write it to FOLDER, for train --base-model FOLDER.

    Sections and blocks take the place of a web page's elements: the model learns masked words, and what is
    beside, above and below what."""
    from dataclasses import asdict

    from structformer_webformer.pretraining import PretrainingOptions, pretrain

    options = PretrainingOptions(
        base_model, max_tokens, batch_tokens, learning_rate, epochs, max_steps, seed, save_seconds
    )
    with out.progress("pre-training") as report:
        done = pretrain(workspace, target, options, force=force, resume=resume, note=out.note, report=report)
    out.json({"folder": str(target), **asdict(done)})
    losses = ", ".join(f"{name.upper()} {value:.3f}" for name, value in done.losses.items())
    out.result(f"{target}: {done.steps} steps over {done.documents} documents in {done.seconds:.0f} s; {losses}")
    out.say(f"next: structformer train --base-model {target} -w {workspace}")
    return 0
