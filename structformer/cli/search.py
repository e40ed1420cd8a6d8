"""`structformer search`; the options of commands that search, plugins' too, and the opened index."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli.brief import meant_option
from structformer.cli.common import Output, common_options, default_option, several_option, with_options
from structformer.cli.hits_view import show_search
from structformer.errors import WorkspaceError

if TYPE_CHECKING:
    from structformer.retrieval import Pipeline, Retriever


def search_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """-k, --pipeline, --group, --path and --where."""
    return with_options(
        function,
        default_option("-k", 10, "Hits to show.", name="count", type=click.IntRange(1, 1000)),
        click.option(
            "--pipeline",
            metavar="SPEC",
            help='For example lexical, hybrid:structure, "hybrid[weights=rrf] >> rerank[k=20]", or a TOML file.  '
            "[default: the best there is]",
        ),
        click.option(
            "--group",
            is_flag=True,
            help="Show each document once, with its copies and translations, and its other sections below it.",
        ),
        several_option("--path", "GLOB", "Only documents whose id matches, for example 'reference/*'.", name="paths"),
        several_option("--where", "KEY=VALUE", "Only documents with this metadata; may be repeated.", name="settings"),
    )


def stale_option(function: Callable[..., Any], default: str = "use") -> Callable[..., Any]:
    """--if-stale: what to do with an index that is older than the corpus."""
    return default_option(
        "--if-stale",
        default,
        "What to do when the index is older than the corpus.",
        type=click.Choice(["use", "refuse", "rebuild"]),
    )(function)


def fresh_index(out: Output, workspace: Path, if_stale: str = "use") -> None:
    """Rebuild an index that is older than the corpus, refuse it, or say that it is used. Raises WorkspaceError."""
    from structformer.retrieval.index import is_stale
    from structformer.retrieval.indexing import build_index

    if not is_stale(workspace):
        return
    if if_stale == "refuse":
        raise WorkspaceError(f"the index in {workspace} is of an earlier corpus: run `structformer index` again")
    if if_stale == "use":
        out.note("a newer corpus waits: run `structformer index` to search it too")
    else:
        out.note("the index is older than the corpus: indexing again")
        with out.stages() as progress:
            build_index(workspace, progress=progress, say=out.note)


def opened(out: Output, workspace: Path, pipeline: Pipeline | None, if_stale: str) -> tuple[Retriever, Pipeline]:
    """Return the workspace's retriever and the pipeline to search with: the given one, or the best there is."""
    from structformer.retrieval.retriever import Retriever
    from structformer.retrieval.vectors.encoder_names import ENCODER
    from structformer.retrieval.vectors.encoder_places import trained_encoder
    from structformer.workspace import Workspace

    fresh_index(out, workspace, if_stale)
    retriever = Retriever.open(workspace)
    used = retriever.pipeline(pipeline)
    if pipeline is None and trained_encoder(Workspace(workspace)) and used.encoder != ENCODER:
        out.note("the trained bi-encoder is not indexed yet, so it is not used: run `structformer index`")
    return retriever, used


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
