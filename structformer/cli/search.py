"""`structformer search`; options of commands that search, the opened index, hits as they print them; plugins' too."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from structformer.cli.brief import meant_option
from structformer.cli.common import Output, common_options, default_option, printable, several_option, with_options
from structformer.errors import WorkspaceError
from structformer.notebook import set_off
from structformer.text.languages import language_name
from structformer.text.visible_text import listed

if TYPE_CHECKING:
    from structformer.retrieval import Hit, Pipeline, Retriever
    from structformer.retrieval.hits import Filter

H = TypeVar("H", bound="Hit")
_WHAT_HELPS = "what helps: synonyms in search.toml, or a pretrained encoder (structformer index --encoder base)"
_ALSO_AT = 3  # addresses that are shown, in one language or in others


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


def show_search(
    out: Output,
    retriever: Retriever,
    query: str,
    pipeline: Pipeline,
    hits: Sequence[H],
    *,
    explain: bool,
    remark: Callable[[H], str] | None = None,
    trace: Sequence[str] = (),
    also: Mapping[str, Any] | None = None,
    where: Filter | None = None,
    likely: float | None = None,
) -> None:
    """Print what a search found, and whether the first hit is likely to be what the user wants.

    likely: how likely that is, None where the search cannot tell. explain: adds scores, the pipeline and its weights.
    remark: with scores, replaces the sentence that describes a hit's document best. trace: lines on how it was found.
    also: more keys of the JSON. where: the search's filter; explains a filter that matches no document.
    """
    from structformer.retrieval.rankings.ranking import is_confident
    from structformer.retrieval.search_suggestions import Help, help_with, why_none
    from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE, UNTRAINED
    from structformer.retrieval.vectors.encoder_places import training_verdict

    weights = retriever.weights(pipeline) if explain or out.as_json else None
    confident = is_confident(likely)
    filtered = "" if hits else why_none(retriever.opened, where)
    lost = not (hits and confident) and not filtered
    helps = help_with(retriever.opened, query, retriever.opened.allowed(where)) if lost else Help()
    phrases: tuple[str, ...] = getattr(hits, "absent_phrases", ())
    out.json(
        {
            "query": query,
            "pipeline": str(pipeline),
            "weights": None if weights is None else weights.asked(query).counted,
            "confident": confident,
            "likely": None if likely is None else round(likely, 3),
            "did_you_mean": helps.meant,
            "missing": list(helps.missing),
            "absent_phrases": list(phrases),
            **(also or {}),
            "hits": [hit.as_dict() for hit in hits],
        }
    )
    if hits and phrases:
        quoted = ", ".join(f'"{printable(phrase)}"' for phrase in phrases)
        out.result(f"no page has this phrase: {quoted}; pages with its words:\n")
    elif hits and not confident:
        out.result("no sure match; closest pages:\n")
    scores = explain or out.verbose
    if scores and remark is None:
        remark = _witness(retriever, query, pipeline)
    show_hits(out, hits, scores=scores, remark=remark, none=filtered)
    if helps.missing:
        out.result(f"no page{' within the filter' if where else ''} has: {printable(', '.join(helps.missing))}")
    if helps.meant:
        out.result(f"did you mean {printable(helps.meant)}?")
    elif lost and pipeline.encoder in ("", STRUCTURE):
        out.note(_WHAT_HELPS)
    if not hits or not scores:
        return
    for line in trace if explain else ():
        out.say(f"\n{printable(line)}")
    out.say(f"\npipeline: {pipeline}")
    if weights is not None:
        parts = " + ".join(f"{value:.2g} {name}" for name, value in weights.asked(query).counted.items())
        out.say(f"score = {parts}, each in standard deviations over what was looked at")
    if explain and retriever.opened.is_title_of(query, hits[0].document_id):
        out.say("the query is the first one's title, which puts it before all others")
    if explain and (by_hand := retriever.opened.curated.reason(query, hits[0].document_id)):
        out.say(f"by hand, in search.toml: {printable(by_hand)}")
    if explain and pipeline.encoder in (ENCODER, UNTRAINED) and (verdict := training_verdict(retriever.workspace)):
        out.say(f"training: {verdict}")


def _witness(retriever: Retriever, query: str, pipeline: Pipeline) -> Callable[[H], str]:
    """Say which vectors the score `described` compares."""
    witness = retriever.witnesses(query, pipeline)

    def remark(hit: H) -> str:
        line = witness(hit.document_id)
        if line is None:
            return ""
        return f"described by {line.told_by}: {line.text}" if line.told_by else f"described: {line.text}"

    return remark


def show_hits(
    out: Output, hits: Sequence[H], *, scores: bool, remark: Callable[[H], str] | None = None, none: str = ""
) -> None:
    """Every hit with its place, or that there are none. scores: with each stage's score, and the remark; none: why."""
    for place, hit in enumerate(hits, 1):
        out.result(f"{place:2}. {click.style(printable(hit.breadcrumb), bold=True)}")
        out.result(f"    {printable(hit.url or hit.address)}")
        if hit.snippet:
            # The query's words are set off on a terminal.
            shown = set_off(
                hit.snippet, hit.highlights, printable, lambda part: click.style(printable(part), underline=True)
            )
            for line in shown.split("\n"):
                out.result(f"    {line}")
        if scores:
            out.result("    " + ", ".join(f"{stage} {score:.4f}" for stage, score in hit.scores.items()))
            if remark is not None and (sentence := remark(hit)):
                out.result(f"    {printable(sentence)}")
        if hit.also_at:
            out.result(f"    also at {printable(listed((place.address for place in hit.also_at), _ALSO_AT))}")
        if hit.also_in:
            also_in = (f"{language_name(each.language)}: {each.address}" for each in hit.also_in)
            out.result(f"    also in {printable(listed(also_in, _ALSO_AT))}")
        for section in hit.sections[:5]:
            out.result(f"      also {printable(section.breadcrumb)}  {printable(section.address)}")
    if not hits:
        out.result(f"no hits: {printable(none)}" if none else "no hits")
