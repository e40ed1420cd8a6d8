"""`structformer evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli import common
from structformer.cli.brief import BriefCommand
from structformer.cli.search import fresh_index, stale_option
from structformer.workspace import Workspace, check_folder

if TYPE_CHECKING:
    from structformer.evaluation.comparison import Evaluation
    from structformer.evaluation.judgements import Judgements
    from structformer.evaluation.page import Difference
    from structformer.evaluation.reports import Report

_LISTED = 10
_MEASURES, _OF_BEIR = "nDCG@10,RR@10,Success@1", "nDCG@10,R@100"


def judged_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """--queries, --qrels, --beir and --dataset: where judged queries come from."""
    return common.with_options(
        function,
        common.path_option("--queries", "Queries: BEIR JSON lines, TREC topics, or lines of id, tab, text."),
        common.path_option("--qrels", "Judgements: BEIR's or TREC's lines. Documents are named by their ids."),
        common.path_option(
            "--beir",
            "A BEIR folder: queries.jsonl and qrels/test.tsv (or qrels.tsv); or a BEIR name or id of ir_datasets; or a "
            "ConTEB folder: documents and queries in Parquet files.",
        ),
        click.option("--dataset", metavar="ID", help="Queries and qrels of an ir_datasets id."),
        common.default_option(
            "--topic-parts", "title", "Parts of TREC topics to ask: title, desc, narr, comma-separated.", metavar="LIST"
        ),
    )


@click.command(
    "evaluate",
    cls=BriefCommand,
    main="--queries --qrels --beir --held-out-structure --pipeline --run --against --measures --at-least --output",
)
@judged_option
@click.option(
    "--held-out-structure",
    is_flag=True,
    help="Without judgements: openings, titles, paths and link sentences of held-out documents.",
)
@common.several_option(
    "--pipeline",
    "SPEC",
    "A pipeline to compare, or a TOML file of one; may be repeated.  [default: all]",
    name="pipelines",
)
@common.path_option("--run", "A TREC run file to compare; may be repeated.", name="runs", multiple=True)
@common.several_option("--against", "SPEC", "A pipeline that all others are tested against; may be repeated.")
@click.option("--diff", nargs=2, metavar="A B", help="Show where B (a label or pipeline) wins and loses against A.")
@click.option(
    "--measures",
    help="Measures of ir-measures, comma-separated.  [default: nDCG@10,RR@10,Success@1; nDCG@10,R@100 with --beir]",
)
@click.option(
    "--name",
    help="The evaluation's name: runs and reports go to WORKSPACE/evaluation/NAME.  [default: the date and time]",
)
@common.several_option(
    "--at-least",
    "BOUND",
    "Fail (exit code 1) if the first measure's mean is lower: 0.7; or another's: RR@10>=0.6. May be repeated.",
)
@common.path_option(
    "--no-worse-than",
    "Fail (exit code 1) if the search is worse than this earlier TREC run: significantly (p < 0.05), or by "
    "more than --tolerance.",
    metavar="RUN",
)
@common.default_option(
    "--tolerance",
    0.05,
    "With --no-worse-than: how much lower the first measure may be when the difference is not significant.",
    type=common.Number(0, 1),
)
@click.option("--output", "folder", type=common.OutputPath(), help="Another folder for runs and reports.")
@click.option("--force", is_flag=True, help="Overwrite an earlier evaluation of the same name or folder.")
@common.default_option("--seed", 0, "Seed for the randomization test.", type=int)
@partial(stale_option, default="refuse")
@common.common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    queries: Path | None,
    qrels: Path | None,
    beir: Path | None,
    dataset: str | None,
    topic_parts: str,
    measures: str | None,
    name: str | None,
    folder: Path | None,
    force: bool,
    if_stale: str,
    workspace: Path,
    out: common.Output,
    **compared: Any,
) -> int:
    """Compare pipelines: BM25, untrained and trained, dense and hybrid, with significance tests.

    Without judgements the openings of documents that training held out are the queries, each answered by the rest of
    its document, if there are at least 20. Without a pretrained encoder's vectors BM25 and the encoder learned from
    the corpus are compared, which needs no torch.

    The qrels judge documents by their ids, or sections by id#anchor; then both are shown. In a workspace without a
    corpus --beir reads and indexes its documents first.

    Writes run files, report.json, report.md and report.html into a folder of their own. Exit code 1 when the qrels name
    documents that the corpus does not have, or queries that are not there (they are listed; the scores count unknown
    documents as never found).

    --at-least and --no-worse-than check the first --pipeline, without one the pipeline that `search` uses, and exit
    with 1 where it fails."""
    from structformer.evaluation.reports import ReportRequest, report

    if name is not None and folder is not None:
        raise click.UsageError("--name and --output exclude each other")
    asked = judged(queries, qrels, beir, dataset, topic_parts)
    listed = (measures or (_OF_BEIR if beir else _MEASURES)).split(",")
    request = ReportRequest(asked, measures=listed, **compared)
    request.check()  # before minutes of work
    if folder or name:
        check_folder(folder or Workspace(workspace).evaluation(str(name)), workspace, force=force, own=folder is None)
    if beir and not Workspace(workspace).exists():
        read_beir(out, beir, Workspace(workspace))
    fresh_index(out, workspace, if_stale)
    with out.progress("evaluating") as progress:
        made = report(
            workspace,
            request,
            folder,
            name=name,
            force=force,
            progress=progress,
            say=out.note,
            beside=lambda at: common.save_config(ctx, at),
        )
    out.json(made.as_dict())
    _show_report(out, made, "the first --pipeline" if request.pipelines else "what `search` uses")
    return 0 if made.passed else 1


def read_beir(out: common.Output, beir: Path, workspace: Workspace) -> None:
    """Read and index the documents of a BEIR folder or data set."""
    from structformer.evaluation.judgements import beir_dataset, conteb_documents, is_conteb
    from structformer.ingestion import ingest
    from structformer.ingestion.given_documents import change_given, given_rows
    from structformer.ingestion.ir_datasets_source import dataset_documents
    from structformer.retrieval.indexing import build_index

    with workspace.writing("structformer evaluate"), out.stages() as progress:
        folder = beir.is_dir()
        if is_conteb(beir):
            change_given(workspace, given_rows(conteb_documents(beir)))
        else:
            corpus = beir / "corpus.jsonl" if folder else dataset_documents(beir_dataset(beir), workspace.datasets)
            ingest(corpus, workspace, progress=progress)
        build_index(workspace, progress=progress, say=out.note)


def _show_report(out: common.Output, made: Report, why: str) -> None:
    """Say what an evaluation came to. why: how the pipeline that is checked was chosen."""
    for result in made.results:
        out.result(show(result))
    for each, texts in made.differences:
        out.result(_show_difference(each, texts))
    for caveat in dict.fromkeys(result.caveat for result in made.results if result.caveat):
        out.say(caveat)
    for what, listed in (
        ("judged documents are not in the corpus", made.unknown_documents),
        ("judged queries are not among the queries", made.unasked_queries),
    ):
        if listed:
            more = " ..." if len(listed) > _LISTED else ""
            out.note(f"{len(listed)} {what}: {common.printable(', '.join(listed[:_LISTED]))}{more}")
    for result in made.results:
        if left_out := len(result.own_documents):
            out.note(f"documents left out since they have the query's id, as in BEIR: {left_out}")
    out.say(f"runs and reports: {made.folder / 'report.html'}")
    for title, label, check in made.checks:
        of = f"{title}: " if len(made.results) > 1 else ""
        out.result(common.printable(f"{'passed' if check.passed else 'failed'}: {of}{label} ({why}): {check.summary}"))


def judged(
    queries: Path | None, qrels: Path | None, beir: Path | None, dataset: str | None, topic_parts: str
) -> list[tuple[str, Judgements]]:
    """Return the judged queries that the options name, each with a title. Raises UsageError naming file and line."""
    from structformer.evaluation.judgements import (
        beir_judgements,
        conteb_judgements,
        dataset_judgements,
        is_conteb,
        read_judgements,
    )

    if bool(queries) != bool(qrels):
        raise click.UsageError("--queries and --qrels go together")
    sets: list[tuple[str, Judgements]] = []
    if queries and qrels:
        parts = [part.strip() for part in topic_parts.split(",")]
        sets.append((queries.parent.name or "judged queries", read_judgements(queries, qrels, parts)))
    if beir:
        sets.append((beir.name, conteb_judgements(beir) if is_conteb(beir) else beir_judgements(beir)))
    if dataset:
        sets.append((dataset, dataset_judgements(dataset)))
    return sets


def show(result: Evaluation) -> str:
    """Return a comparison as a table for a terminal."""
    compared = result.compared()
    head = ["", *result.measures, "95 %", *(part for name in compared for part in (name, "p"))]
    rows = []
    for row in result.rows:
        cells = [
            row.label,
            *(f"{row.scores[measure]:.3f}" for measure in result.measures),
            f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
        ]
        for name in compared:
            cells += (
                [f"{row.against[name][0]:+.3f}", f"{row.against[name][1]:.4f}"] if name in row.against else ["", ""]
            )
        rows.append(cells)
    return f"{result.title}: {result.queries} queries\n{common.table(head, rows)}\n{result.note()}\n"


def _show_difference(compared: Difference, texts: dict[str, str]) -> str:
    lines = [
        f"{compared.second} against {compared.first} ({compared.measure}): {len(compared.wins)} won, "
        f"{compared.ties} equal, {len(compared.losses)} lost"
    ]
    for title, queries in (("won", compared.wins), ("lost", compared.losses)):
        for each in queries[:5]:
            lines.append(f"\n  {title} {each.change:+.2f}  {each.text}")
            for name, first, second in each.relevant:
                lines.append(
                    f"    wanted {name}: rank {first or '-'} -> {second or '-'}  {_short(texts.get(name, ''))}"
                )
            lines.append(f"    first before: {each.tops[0]}  {_short(texts.get(each.tops[0], ''))}")
            lines.append(f"    first now:    {each.tops[1]}  {_short(texts.get(each.tops[1], ''))}")
    return common.printable("\n".join(lines)) + "\n"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return f"({text[:80]}...)" if len(text) > 80 else f"({text})" if text else ""
