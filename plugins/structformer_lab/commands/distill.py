"""`structformer distill`."""

from pathlib import Path
from typing import Any

import click
from structformer.cli import (
    BriefCommand,
    Output,
    check_corpus,
    chosen_options,
    common_options,
    default_option,
    of_first_process,
    print_result,
    save_config,
    training_flags,
    watched,
)

SEARCH = "search"  # names the whole search as the teacher, not a model


@click.command(
    "distill",
    cls=BriefCommand,
    main="--teacher --student --task-mix --base-model --name --max-time --set --resume --dry-run",
)
@default_option(
    "--teacher",
    "cross-encoder",
    "A trained cross-encoder of the workspace; or search: the whole search, which teaches a bi-encoder.",
)
@default_option(
    "--student",
    "bi-encoder",
    "The kind that learns: any that `train --ranker` takes; a cross-encoder from a smaller base model.",
    name="ranker",
    metavar="KIND",
)
@click.option("--task-mix", metavar="MIX", help="Tasks and weights whose Examples are scored.  [default: by ranker]")
@click.option("--resume", is_flag=True, help="Continue from the newest checkpoint of an unfinished run.")
@training_flags
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    teacher: str,
    ranker: str,
    task_mix: str | None,
    resume: bool,
    workspace: Path,
    out: Output,
    **flags: Any,
) -> None:
    """Train a ranker to score like a trained cross-encoder, on the corpus's Examples.

    --loss margin-mse (the default) takes its margins between positive and negatives, kl its distribution over each
    group. With --teacher search a bi-encoder learns to find by its vectors alone what the search finds, for a store of
    vectors that holds no words; it learns from questions of the corpus, and of --set query_log=FILE."""
    chosen, settings = chosen_options(flags)
    check_corpus(workspace, settings, resume=resume)
    from structformer.sampling import parse_mix
    from structformer.training import RunMode, train_ranker, training_options

    from structformer_lab.search_distillation import distil_search

    of_search = teacher == SEARCH
    if of_search and (ranker != "bi-encoder" or chosen["loss"] or chosen["base_model"] == "scratch"):
        raise click.UsageError("--teacher search teaches a bi-encoder that is pretrained, by a loss of its own")
    chosen.update(ranker=ranker, mix=parse_mix(task_mix) if task_mix else None)
    if not of_search:
        chosen.update(teacher=teacher, loss=chosen["loss"] or "margin-mse")
    chosen["name"] = chosen["name"] or f"{ranker}-distilled"
    options = training_options(None, chosen, settings)
    with watched(out, out.verbose) as listener:
        mode = RunMode(resume=resume, force=flags["force"], listener=listener)
        result = (distil_search if of_search else train_ranker)(workspace, options, mode)
    if of_first_process():
        save_config(ctx, result.folder)
    print_result(out, result, workspace, options.seed, False)
