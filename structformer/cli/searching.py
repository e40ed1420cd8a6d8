"""The options of commands that search, plugins' too: what is searched and how, and the opened index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli.common import Output, default_option, several_option, with_options
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
