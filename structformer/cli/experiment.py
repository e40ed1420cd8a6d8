"""`structformer experiment`."""

from __future__ import annotations

from pathlib import Path

import click

from structformer.cli.common import common_options, output, save_config, seconds
from structformer.cli.evaluate import judged, judged_option, show


@click.command("experiment")
@click.argument("experiments", nargs=-1, required=True, metavar="NAME_OR_FILE...")
@judged_option
@click.option(
    "--max-time", metavar="TIME", help="Time for each training, for example 2m.  [default: what the experiment says]"
)
@click.option(
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    help="Where tables and runs go.  [default: WORKSPACE/experiments]",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of training, of halving the queries, and of the test."
)
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    experiments: tuple[str, ...],
    queries: Path | None,
    qrels: Path | None,
    beir: Path | None,
    dataset: str | None,
    max_time: str | None,
    folder: Path | None,
    seed: int,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Train and compare the variants of one experiment or more; each gets a table as Markdown, JSON and a page.

    There are: zero-shot, finetuned and ablation (the shapes of Wikiformer's tables 2 and 5), sizes (a curve over the
    number of Examples). A FILE of your own is TOML, see docs/evaluation.md. A killed experiment resumes with
    the row where it was."""
    from structformer.evaluation.experiment import read_experiment
    from structformer.evaluation.page import write_page
    from structformer.evaluation.running import run_experiment
    from structformer.workspace import Workspace

    out = output(ctx)
    read = [read_experiment(name) for name in experiments]
    asked = judged(queries, qrels, beir, dataset)
    if len(asked) != 1:
        raise click.UsageError("give --queries and --qrels, --beir, or --dataset")
    folder = folder or Workspace(workspace).experiments
    results = []
    for name, experiment in zip(experiments, read, strict=True):
        with out.progress(experiment.title) as progress:
            result = run_experiment(
                workspace,
                asked[0][1],
                experiment,
                max_seconds=seconds(max_time) if max_time else None,
                seed=seed,
                output=folder / Path(name).stem,
                say=out.note if verbose else lambda text: None,
                progress=lambda _, done, total: progress(done, total),
            )
        write_page(folder / Path(name).stem / "report.html", [result])
        results.append(result)
        out.result(show(result))
    save_config(ctx, folder)
    out.json([result.as_dict() for result in results])
    out.say(f"tables: {folder}")
