"""`structformer experiment`."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from structformer.cli import (
    Output,
    OutputPath,
    WorkspacePath,
    common_options,
    default_option,
    force_option,
    judged,
    judged_option,
    of_first_process,
    path_option,
    save_config,
    seconds,
    several_option,
    show,
)
from structformer.did_you_mean import did_you_mean


@click.command("experiment")
@click.argument("experiments", nargs=-1, required=True, metavar="NAME_OR_FILE...")
@judged_option
@click.option("--max-time", metavar="TIME", help="Time per training run: 2m, none.  [default: the experiment's]")
@several_option(
    "--set", "KEY=VALUE", "Set a key of docs/options.md for all rows, or with LABEL.KEY=VALUE for one.", name="settings"
)
@click.option("--rows", default="", metavar="LABELS", help="Only the rows with these comma-separated labels.")
@click.option("--measures", default="", metavar="LIST", help="Comma-separated measures, instead of the experiment's.")
@click.option("--train-from", type=WorkspacePath(), help="Workspace to learn from.  [default: the one judged]")
@path_option("--train-queries", "Judged queries to fine-tune on, instead of half of all.")
@path_option("--train-qrels", "The judgements of --train-queries.")
@path_option("--train-candidates", "A TREC run file for --train-queries to draw negatives from, instead of BM25's.")
@path_option("--candidates", "A TREC run file whose documents the rows rerank, instead of BM25's.")
@several_option("--file", "NAME=PATH", "A file that rows need, by its name in their pipelines.", name="given")
@click.option("--output", "folder", type=OutputPath(), help="Where tables go.  [default: WORKSPACE/experiments]")
@force_option("an earlier experiment of that name in --output")
@default_option("--seed", 0, "Seed for training, for splitting the queries, and for the test.", type=int)
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    experiments: tuple[str, ...],
    topic_parts: str,
    max_time: str | None,
    settings: tuple[str, ...],
    rows: str,
    measures: str,
    train_from: Path | None,
    train_queries: Path | None,
    train_qrels: Path | None,
    train_candidates: Path | None,
    candidates: Path | None,
    given: tuple[str, ...],
    folder: Path | None,
    force: bool,
    seed: int,
    workspace: Path,
    out: Output,
    **judging: Any,
) -> None:
    """Train and compare the variants of one or more experiments; each gets a table in Markdown, JSON and HTML.

    Wikiformer's: zero-shot and finetuned (table 2, and with --candidates table 3), long-texts (table 4), ablation and
    ablation-finetuned (table 5), sizes (figure 4). HARP's: harp (table 2), harp-ensemble (table 3), harp-ablation
    (table 4), few-shot and many-queries (figure 3). fandom: ColBERT re-ranking and retrieving. agent: the
    section-title agent (figures 2 and 3). Others': seal, links, autoencoders, insent, written. Your own FILE is TOML:
    see docs/reference/experiments.md. A killed experiment resumes at its row's last checkpoint.
    `torchrun -m structformer experiment` trains each row on several devices."""
    from structformer.evaluation import write_page
    from structformer.workspace import Workspace, check_folder, new_folder

    from structformer_lab.experiment import RowTraining, read_experiment
    from structformer_lab.running import run_experiment

    asked_for = [measure.strip() for measure in measures.split(",") if measure.strip()]
    whole = [read_experiment(name) for name in experiments]
    labels = frozenset[str]().union(*(row.names for experiment in whole for row in experiment.rows))
    read = [experiment.narrowed(asked_for, rows) for experiment in whole]
    asked = judged(topic_parts=topic_parts, **judging)
    if len(asked) != 1:
        raise click.UsageError("give --queries and --qrels, --beir, or --dataset")
    if (train_queries is None) != (train_qrels is None):
        raise click.UsageError("--train-queries and --train-qrels go together")
    if train_candidates and not train_queries:
        raise click.UsageError("--train-candidates goes with --train-queries")
    files = _named_files(given, [text for experiment in read for row in experiment.rows for text in row.texts])
    learned = judged(train_queries, train_qrels, None, None, topic_parts)
    Workspace(workspace).state()  # raises: without a workspace nothing is written
    own = folder is None
    targets = [(folder or Workspace(workspace).experiments) / Path(name).stem for name in experiments]
    for target in targets:
        check_folder(target, workspace, force=force or own, own=own)  # before hours of work
    limit: float | str | None = None if max_time is None else seconds(max_time) or "none"
    results = []
    first = of_first_process()
    if not first:
        out = replace(out, quiet=True)
    for target, experiment in zip(targets, read, strict=True):
        placed = new_folder(target, workspace, force=force or own, own=own) if first else nullcontext(target)
        with placed as made, out.stages() as progress:
            result = run_experiment(
                workspace,
                asked[0][1],
                experiment,
                RowTraining(settings, limit, seed, train_from, labels),
                train_on=learned[0][1] if learned else None,
                candidates=candidates,
                train_candidates=train_candidates,
                files=files,
                output=made,
                say=out.note,
                detail=lambda text: out.note(text) if out.verbose else None,
                progress=lambda row, done, total: progress(f"scoring {row}", done, total),
            )
            if not first:
                continue
            write_page(made / "report.html", [result])
            save_config(ctx, made)
        results.append(result)
        out.result(show(result))
        if result.caveat:
            out.say(result.caveat)
    if first:
        out.json([result.as_dict() for result in results])
    out.say(f"tables: {', '.join(map(str, targets))}")


def _named_files(given: tuple[str, ...], pipelines: list[str]) -> dict[str, str]:
    """Return files by name from NAME=PATH. Raises UsageError on a name that no row has, or a file that is not there."""
    from structformer_lab.experiment import files_of

    known, files = files_of(pipelines), {}
    for each in given:
        name, _, path = each.partition("=")
        if name not in known:
            raise click.UsageError(f"--file {each}: no row needs {name!r}; {did_you_mean(name, known)}")
        if not Path(path).exists():
            raise click.UsageError(f"--file {each}: no such file")
        files[name] = path
    return files
