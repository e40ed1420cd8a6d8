"""`structformer webformer`."""

from pathlib import Path
from typing import Any

import click
from structformer.cli import Number, Output, OutputPath, common_options, default_option, force_option, threads_option


@click.command("webformer")
@click.argument("target", metavar="FOLDER", type=OutputPath())
@default_option("--base-model", "auto", "The model to start from: a folder or a name on the hub.")
@default_option("--max-tokens", 256, "Tokens per text, at most.", type=click.IntRange(32, 512))
@default_option("--batch-tokens", 8192, "Tokens in a step's texts; fewer take less memory.", type=click.IntRange(1024))
@default_option("--learning-rate", 5e-5, "The highest of the schedule.", type=Number(0, min_open=True))
@default_option("--epochs", 1, "How often the corpus is read.", type=click.IntRange(1))
@click.option("--max-steps", type=click.IntRange(1), help="Stop after this many steps.")
@default_option("--seed", 0, "Seed for everything random.", type=int)
@default_option("--save-seconds", 600.0, "Seconds between checkpoints.", type=Number(0))
@click.option("--resume", is_flag=True, help="Continue from the newest checkpoint of a run with the same options.")
@force_option("a folder that an earlier command wrote")
@threads_option
@common_options
def command(target: Path, resume: bool, force: bool, workspace: Path, out: Output, **options: Any) -> int:
    """Pre-train a base model on the corpus's trees.

    It is written to FOLDER, for train --base-model FOLDER. Sections and blocks take the place of a web page's elements:
    the model learns masked words, and what is beside, above and below what."""
    from dataclasses import asdict

    from structformer_webformer.pretraining import PretrainingOptions, pretrain

    chosen = PretrainingOptions(**options)
    with out.progress("pre-training") as report:
        done = pretrain(workspace, target, chosen, force=force, resume=resume, note=out.note, report=report)
    out.json({"folder": str(target), **asdict(done)})
    losses = ", ".join(f"{name.upper()} {value:.3f}" for name, value in done.losses.items())
    out.result(f"{target}: {done.steps} steps over {done.documents} documents in {done.seconds:.0f} s; {losses}")
    out.say(f"next: structformer train --base-model {target} -w {workspace}")
    return 0
