"""Hits as commands that search print them, in words and as JSON. For plugins' commands too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from structformer.cli.common import Output, printable
from structformer.notebook import set_off
from structformer.text.languages import language_name
from structformer.text.visible_text import listed

if TYPE_CHECKING:
    from structformer.retrieval import Hit, Pipeline, Retriever
    from structformer.retrieval.hits import Filter

H = TypeVar("H", bound="Hit")
_WHAT_HELPS = "what helps: synonyms in search.toml, or a pretrained encoder (structformer index --encoder base)"
_ALSO_AT = 3  # addresses that are shown, in one language or in others


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
