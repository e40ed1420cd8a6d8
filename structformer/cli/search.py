"""`structformer search`."""

import os
import sys
from pathlib import Path

import click

from structformer.cli.brief import meant_option
from structformer.cli.common import Output, common_options
from structformer.cli.hits_view import show_search
from structformer.cli.searching import opened, search_options, stale_option


def as_text(query: tuple[str, ...]) -> str:
    """Return the query of a command line, whose bytes may be of another encoding; that of standard input for "-"."""
    if query == ("-",):
        if not (text := " ".join(sys.stdin.buffer.read().decode("utf-8", "replace").split())):
            raise click.UsageError("standard input has no query")
        return text
    return os.fsencode(" ".join(query)).decode("utf-8", "replace")


class _Search(click.Command):
    """A command whose argument may begin with a dash, and which says how."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities or meant_option(error):
                raise
            how = f"For a query that begins with a dash: {ctx.command_path} -- {error.option_name}"
            raise click.NoSuchOption(error.option_name, f"{error.message} {how}", ctx=ctx) from error


@click.command("search", cls=_Search)
@click.argument("query", nargs=-1, required=True)
@search_options
@click.option("--explain", is_flag=True, help="Show each stage's score and the weights.")
@stale_option
@common_options
def command(
    query: tuple[str, ...],
    count: int,
    pipeline: str | None,
    group: bool,
    paths: tuple[str, ...],
    settings: tuple[str, ...],
    explain: bool,
    if_stale: str,
    workspace: Path,
    out: Output,
) -> int:
    """Search the index for QUERY and show the best sections. A QUERY of "-" is read from standard input.

    Says so if there is no sure match: gibberish, another language, a topic that the corpus does not cover."""
    from structformer.retrieval.hits import parse_filter
    from structformer.retrieval.pipeline import parse_pipeline

    text = as_text(query)
    chosen = parse_pipeline(pipeline) if pipeline else None
    where = parse_filter(paths, settings)
    retriever, used = opened(out, workspace, chosen, if_stale)
    hits = retriever.search(text, count, used, where=where, group=group)
    show_search(out, retriever, text, used, hits, explain=explain, where=where, likely=hits.likely)
    return 0
