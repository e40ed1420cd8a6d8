"""`structformer evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from structformer.cli.common import common_options, output, save_config, table

if TYPE_CHECKING:
    from structformer.evaluation.evaluate import Evaluation


@click.command("evaluate")
@click.option("--queries", type=click.Path(path_type=Path), help="Queries: BEIR JSON lines, or lines of id, tab, text.")
@click.option("--qrels", type=click.Path(path_type=Path), help="Judgements: BEIR's or TREC's lines. Documents are named by their ids.")
@click.option("--held-out-structure", is_flag=True, help="Without judgements: titles, paths and link sentences of held-out documents.")
@click.option(
    "--pipeline", "pipelines", multiple=True, metavar="SPEC", help="A pipeline to compare; may be repeated.  [default: all there are]"
)
@click.option("--measures", default="nDCG@10,RR@10,Success@1", show_default=True, help="Measures of ir-measures, comma-separated.")
@click.option("--output", "folder", type=click.Path(path_type=Path), help="Where runs and reports go.  [default: WORKSPACE/evaluation]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the randomisation test.")
@common_options
@click.pass_context
def command(
    ctx: click.Context, queries: Path | None, qrels: Path | None, held_out_structure: bool, pipelines: tuple[str, ...], measures: str,
    folder: Path | None, seed: int, workspace: Path, quiet: bool, verbose: bool, as_json: bool,
) -> int:  # fmt: skip
    """Compare pipelines: BM25, untrained and trained, dense and hybrid, with significance tests.

    Exit code 1 when the qrels name documents that the corpus does not have (they are listed; the scores count them as
    never found).
    """
    from structformer.evaluation.evaluate import CAVEAT, evaluate, held_out_judgements
    from structformer.evaluation.judgements import Judgements, read_qrels, read_queries

    if bool(queries) != bool(qrels) or not (queries or held_out_structure):
        raise click.UsageError("give --queries and --qrels, or --held-out-structure")
    out = output(ctx)
    asked: list[tuple[str, Judgements, str]] = []
    if queries and qrels:
        asked.append((queries.parent.name or "judged queries", Judgements(read_queries(queries), read_qrels(qrels), {}), ""))
    if held_out_structure:
        asked += [
            (f"held-out structure, {kind} queries", judgements, CAVEAT) for kind, judgements in held_out_judgements(workspace).items()
        ]
    folder = folder or workspace / "evaluation"
    names = [name.strip() for name in measures.split(",") if name.strip()]
    results: list[Evaluation] = []
    with out.progress("evaluating") as progress:
        for number, (title, judgements, caveat) in enumerate(asked):
            part = folder if len(asked) == 1 else folder / f"{number + 1}"
            results.append(
                evaluate(
                    workspace,
                    judgements,
                    pipelines=pipelines or None,
                    measures=names,
                    title=title,
                    caveat=caveat,
                    seed=seed,
                    output=part,
                    progress=lambda _, done, total: progress(done, total),
                )
            )
    save_config(ctx, folder)
    out.json([result.as_dict() for result in results])
    for result in results:
        out.result(_show(result))
    caveats = dict.fromkeys(result.caveat for result in results if result.caveat)
    for caveat in caveats:
        out.say(caveat)
    unknown = sorted({document for result in results for document in result.unknown_documents})
    if unknown:
        out.note(f"{len(unknown)} judged documents are not in the corpus: {', '.join(unknown[:10])}{' ...' if len(unknown) > 10 else ''}")
    unasked = sum(result.unasked_queries for result in results)
    if unasked:
        out.note(f"{unasked} judged queries are not among the queries")
    out.say(f"runs and reports: {folder}")
    return 1 if unknown else 0


def _show(result: Evaluation) -> str:
    compared = list(dict.fromkeys(name for row in result.rows for name in row.against))
    head = ["", *result.measures, *(part for name in compared for part in (name, "p"))]
    rows = []
    for row in result.rows:
        cells = [row.label, *(f"{row.scores[measure]:.3f}" for measure in result.measures)]
        for name in compared:
            cells += [f"{row.against[name][0]:+.3f}", f"{row.against[name][1]:.4f}"] if name in row.against else ["", ""]
        rows.append(cells)
    text = f"{result.title}: {result.queries} queries\n{table(head, rows)}\n"
    if compared:
        text += f"vs: difference in {result.measures[0]}; p: paired randomisation test, Holm-corrected\n"
    return text
