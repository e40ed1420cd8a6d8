"""`structformer search`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli.common import Output, common_options, output, printable

if TYPE_CHECKING:
    from structformer.retrieval.hits import Hit


def stale_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """--if-stale: what to do with an index that is older than the corpus."""
    return click.option(
        "--if-stale",
        type=click.Choice(["refuse", "rebuild"]),
        default="refuse",
        show_default=True,
        help="What to do when the index is older than the corpus.",
    )(function)


def fresh_index(out: Output, workspace: Path, if_stale: str) -> None:
    """Rebuild an index that is older than the corpus, where that is asked for."""
    from structformer.retrieval.index import build_index, is_stale

    if if_stale == "rebuild" and is_stale(workspace):
        out.note("the index is older than the corpus: indexing again")
        with out.progress("indexing") as progress:
            build_index(workspace, progress=lambda _, done, total: progress(done, total))


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("-k", "count", type=click.IntRange(1, 1000), default=10, show_default=True, help="Hits to show.")
@click.option(
    "--pipeline",
    metavar="SPEC",
    help='For example lexical, dense, "hybrid[weights=rrf] >> rerank[k=20]", or a TOML file.  '
    "[default: the best there is]",
)
@click.option("--group", is_flag=True, help="Show each document once, with its other sections below it.")
@click.option(
    "--path", "paths", multiple=True, metavar="GLOB", help="Only documents whose id matches, for example 'reference/*'."
)
@click.option(
    "--where",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only documents with this metadata; may be repeated.",
)
@click.option(
    "--agent",
    type=click.Choice(["first", "embedding", "texts", "classifier", "titles"]),
    help="Search on with section titles of the first documents found.",
)
@click.option(
    "--titles", type=click.Path(path_type=Path), help="For --agent titles: a file with one section title a line."
)
@click.option(
    "--titles-from",
    type=click.Path(path_type=Path),
    help="With --agent: the titles come from this workspace, for example Wikipedia's.",
)
@click.option(
    "--word-vectors",
    type=click.Path(path_type=Path),
    help="For --agent embedding and texts: word vectors as text, as GloVe and `export --write-word-vectors` have them.",
)
@click.option(
    "--engine",
    metavar="ADDRESS",
    help="Search in a search engine that `export --engine` has written, by words and meaning.",
)
@click.option("--explain", is_flag=True, help="Show each stage's score, the weights, and the agent's subtasks.")
@stale_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    query: tuple[str, ...],
    count: int,
    pipeline: str | None,
    group: bool,
    paths: tuple[str, ...],
    settings: tuple[str, ...],
    agent: str | None,
    titles: Path | None,
    titles_from: Path | None,
    word_vectors: Path | None,
    engine: str | None,
    explain: bool,
    if_stale: str,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Search the index for QUERY and show the best sections.

    Says so when nothing is found with confidence: gibberish, another language, what the corpus is not about."""
    from structformer.retrieval.hits import parse_filter
    from structformer.retrieval.index import trained_encoder
    from structformer.retrieval.pipeline import ENCODER, parse_pipeline
    from structformer.retrieval.retriever import Retriever
    from structformer.workspace import Workspace

    out = output(ctx)
    text = " ".join(query)
    chosen = parse_pipeline(pipeline) if pipeline else None
    where = parse_filter(paths, settings)
    if titles is not None and agent != "titles":
        raise click.UsageError("--titles goes with --agent titles")
    if (titles_from or word_vectors) and not agent:
        raise click.UsageError("--titles-from and --word-vectors go with --agent")
    if engine is not None:
        if chosen or agent or where or group:
            raise click.UsageError("--engine searches by words and meaning: it goes with none of the other options yet")
        return _search_engine(out, engine, workspace, text, count, explain or verbose)
    fresh_index(out, workspace, if_stale)
    retriever = Retriever.open(workspace)
    used = chosen or retriever.default_pipeline()
    if chosen is None and trained_encoder(Workspace(workspace)) and used.first.model != ENCODER:
        out.note("the trained bi-encoder is not indexed yet, so it is not used: run `structformer index`")
    trace: list[dict[str, Any]] = []
    if agent:
        from structformer.retrieval.agent import SearchAgent, read_titles
        from structformer.text.word_vectors import read_word_vectors

        searcher = SearchAgent(
            retriever,
            agent,
            titles=read_titles(titles) if titles else (),
            vectors=read_word_vectors(word_vectors) if word_vectors else None,
            titles_from=Retriever.open(titles_from) if titles_from else None,
        )
        searched = searcher.search(text, count, used, where=where, group=group)
        hits, trace = searched.hits, [subtask.as_dict() for subtask in searched.subtasks]
    else:
        hits = retriever.search(text, count, used, where=where, group=group)
    weights = retriever.weights(used) if explain or as_json else None
    confident = retriever.is_confident(text, hits, used)
    out.json(
        {
            "query": text,
            "pipeline": str(used),
            "weights": None if weights is None else [*map(float, weights.as_array())],
            "confident": confident,
            "subtasks": trace,
            "hits": [hit.as_dict() for hit in hits],
        }
    )
    if hits and not confident:
        out.result("nothing found with confidence; the nearest:\n")
    for place, hit in enumerate(hits, 1):
        _show(out, f"{place:2}.", hit, explain or verbose)
    if not hits:
        out.result("no hits")
        return 0
    if explain:
        for subtask in trace:
            why = f" ({subtask['why']})" if subtask["why"] else ""
            out.say(f"\nsubtask {printable(subtask['query'])!r}{why}: {subtask['found']} hits")
    if verbose or explain:
        out.say(f"\npipeline: {used}")
        if weights is not None:
            out.say(
                f"score = {weights.dense:g} dense + {weights.overview:g} overview + "
                f"{weights.lexical:g} lexical/best + {weights.document:g} document"
            )
    return 0


def _search_engine(out: Output, engine: str, workspace: Path, text: str, count: int, explain: bool) -> int:
    from structformer.search_engines import EngineRetriever, open_engine, without_password

    hits = EngineRetriever(open_engine(engine), workspace).search(text, count)
    out.json({"query": text, "engine": without_password(engine), "hits": [hit.as_dict() for hit in hits]})
    for place, hit in enumerate(hits, 1):
        _show(out, f"{place:2}.", hit, explain)
    if not hits:
        out.result("no hits")
    return 0


def _show(out: Output, number: str, hit: Hit, explain: bool) -> None:
    out.result(f"{number} {click.style(printable(hit.breadcrumb), bold=True)}")
    out.result(f"    {printable(hit.url or hit.address)}")
    if hit.snippet:
        out.result(f"    {_highlighted(hit)}")
    if explain:
        out.result("    " + ", ".join(f"{stage} {score:.4f}" for stage, score in hit.scores.items()))
        if hit.subtasks:
            out.result("    found by: " + printable("; ".join(hit.subtasks)))
    for section in hit.sections[:5]:
        out.result(f"      also {printable(section.breadcrumb)}  {printable(section.address)}")


def _highlighted(hit: Hit) -> str:
    """The snippet with the query's words set off on a terminal."""
    parts: list[str] = []
    place = 0
    for start, end in hit.highlights:
        parts += [printable(hit.snippet[place:start]), click.style(printable(hit.snippet[start:end]), underline=True)]
        place = end
    return "".join([*parts, printable(hit.snippet[place:])])
