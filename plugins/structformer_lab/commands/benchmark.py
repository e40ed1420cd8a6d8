"""`structformer benchmark`."""

from pathlib import Path
from statistics import fmean

import click
from structformer.cli import Output, common_options, default_option, judged, read_beir, several_option, table
from structformer.errors import UsageError
from structformer.extras import needed_for


@click.command("benchmark")
@click.argument("sets", type=click.Path(path_type=Path), metavar="NAME_OR_FOLDER")
@several_option("--pipeline", "SPEC", "A pipeline to compare; may be repeated.  [default: all]", name="pipelines")
@default_option("--measures", "nDCG@10,R@100", "Measures of ir-measures, comma-separated.", metavar="LIST")
@common_options
def command(sets: Path, pipelines: tuple[str, ...], measures: str, workspace: Path, out: Output) -> int:
    """Compare pipelines on each set of a benchmark: NanoBEIR, or a folder of BEIR or ConTEB folders.

    A table for each measure has a row for each set and their mean in the last one. Every set is read and indexed in a
    workspace of its own in --workspace, once: a run that was stopped goes on with the next set. The reports of the sets
    are in their workspaces, in evaluation/benchmark. Exit code 1 as for `evaluate`.
    """
    from structformer.evaluation import ReportRequest, report
    from structformer.workspace import Workspace

    scores: dict[str, dict[str, dict[str, float]]] = {}
    passed = True
    for each in _sets(sets):
        own = Workspace(workspace / each.name)
        asked = judged(None, None, each, None, "title")
        if not own.has("index"):
            read_beir(out, each, own)
        request = ReportRequest(asked, pipelines=pipelines, measures=measures.split(","))
        with out.progress(f"evaluating {each.name}") as progress:
            made = report(own, request, name="benchmark", force=True, progress=progress, say=out.note)
        passed &= made.passed
        scores[each.name] = {row.label: row.scores for row in made.results[0].rows}
    first, *others = scores.values()
    labels = [label for label in first if all(label in each for each in others)]
    names = list(first[labels[0]])
    mean = {label: {name: fmean(each[label][name] for each in scores.values()) for name in names} for label in labels}
    out.json({"sets": scores, "mean": mean})
    for name in names:
        rows = [
            [title, *(f"{own[label][name]:.3f}" for label in labels)] for title, own in {**scores, "mean": mean}.items()
        ]
        out.result(f"{name}\n{table(['', *labels], rows)}\n")
    return 0 if passed else 1


def _sets(named: Path) -> list[Path]:
    """Return the sets of a benchmark. Raises UsageError if it has none."""
    from structformer.evaluation import is_conteb

    if named.is_dir():
        sets = sorted(each for each in named.iterdir() if (each / "queries.jsonl").is_file() or is_conteb(each))
    elif str(named).lower() == "nanobeir":
        with needed_for("an id of ir_datasets"):
            from ir_datasets import registry
        sets = sorted(Path(name) for name in registry if name.startswith("nano-beir/"))
    else:
        sets = []
    if not sets:
        raise UsageError(f"{named} is neither NanoBEIR nor a folder that holds BEIR folders, each with queries.jsonl")
    return sets
