"""`structformer search`."""

from __future__ import annotations

from pathlib import Path

import click

from structformer.cli.common import common_options, output, printable


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("-k", "count", type=click.IntRange(1, 1000), default=10, show_default=True, help="Hits to show.")
@click.option(
    "--pipeline", metavar="SPEC", help='For example lexical, dense, hybrid:base, "hybrid >> rerank".  [default: the best there is]'
)
@click.option("--explain", is_flag=True, help="Show each stage's score.")
@common_options
@click.pass_context
def command(
    ctx: click.Context, query: tuple[str, ...], count: int, pipeline: str | None, explain: bool,
    workspace: Path, quiet: bool, verbose: bool, as_json: bool,
) -> int:  # fmt: skip
    """Search the index for QUERY and show the best sections."""
    from structformer.models.registry import trained_models
    from structformer.retrieval.pipeline import parse_pipeline
    from structformer.retrieval.retriever import Retriever

    out = output(ctx)
    chosen = parse_pipeline(pipeline) if pipeline else None
    retriever = Retriever.open(workspace)
    used = chosen or retriever.default_pipeline()
    if chosen is None and "bi-encoder" in trained_models(workspace) and used.encoder != "bi-encoder":
        out.note("the trained bi-encoder is not indexed yet, so it is not used: run `structformer index`")
    hits = retriever.search(" ".join(query), count, used)
    out.json({"query": " ".join(query), "pipeline": str(used), "hits": [hit.as_dict() for hit in hits]})
    for place, hit in enumerate(hits, 1):
        out.result(f"{place:2}. {click.style(printable(hit.breadcrumb), bold=True)}")
        out.result(f"    {printable(hit.address)}")
        if hit.snippet:
            out.result(f"    {printable(hit.snippet)}")
        if explain or verbose:
            out.result("    " + ", ".join(f"{stage} {score:.4f}" for stage, score in hit.scores.items()))
    if not hits:
        out.result("no hits")
        return 0
    if verbose or explain:
        out.say(f"\npipeline: {used}")
    return 0
