"""`structformer agent`."""

from dataclasses import asdict
from pathlib import Path

import click
from structformer.cli import (
    Output,
    common_options,
    default_option,
    opened,
    path_option,
    search_options,
    show_search,
    stale_option,
)

from structformer_agent import CHOICES


@click.command("agent")
@click.argument("query", nargs=-1, required=True)
@default_option(
    "--choose",
    "embedding",
    "The titles to search on with: the first ones, those near to the query by their words (embedding) or their "
    "sections' words (texts), near ones that a classifier takes for relevant, or titles of your own.",
    type=click.Choice(CHOICES),
)
@path_option("--titles", "For --choose titles: a file with one section title a line.")
@path_option("--titles-from", "The titles come from this workspace, for example Wikipedia's.")
@path_option(
    "--word-vectors",
    "For --choose embedding and texts: word vectors as text, as GloVe and `export --write-word-vectors` have them.",
)
@search_options
@click.option("--explain", is_flag=True, help="Show each stage's score, the weights, and what brought each hit.")
@stale_option
@common_options
def command(
    query: tuple[str, ...],
    choose: str,
    titles: Path | None,
    titles_from: Path | None,
    word_vectors: Path | None,
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
    """Search for QUERY, and again with section titles of the documents found.

    Each title, added to the query, is a query of its own; the rankings of all are merged by turns."""
    from structformer.retrieval import parse_filter, parse_pipeline

    from structformer_agent.agent import agent_of

    text = " ".join(query)
    chosen = parse_pipeline(pipeline) if pipeline else None
    where = parse_filter(paths, settings)
    if titles is not None and choose != "titles":
        raise click.UsageError("--titles goes with --choose titles")
    retriever, used = opened(out, workspace, chosen, if_stale)
    agent = agent_of(retriever, choose, {"titles": titles, "vectors": word_vectors, "from": titles_from})
    found = agent.search(text, count, used, where=where, group=group)
    show_search(
        out,
        retriever,
        text,
        used,
        found.hits,
        explain=explain,
        remark=lambda hit: f"found by: {'; '.join(hit.subtasks)}" if hit.subtasks else "",
        trace=[f"subtask {subtask.query!r} ({subtask.why}): {subtask.found} hits" for subtask in found.subtasks],
        also={"subtasks": [asdict(subtask) for subtask in found.subtasks]},
        where=where,
    )
    return 0
