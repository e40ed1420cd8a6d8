"""`structformer gaps`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from structformer.cli import Number, Output, OutputPath, common_options, default_option, force_option, printable, table

from structformer_serve.commands.feedback import kept_searches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from structformer.retrieval import Hit

    from structformer_serve.gaps import Gap

_SHOWN = 10
_SHOWN_VERBOSE = 100


@click.command("gaps")
@click.option("--output", "target", type=OutputPath(), help="Write all of them as an HTML page.")
@default_option(
    "--least",
    1,
    "Searches in a group, at least. 2 leaves out what was asked only once.",
    type=click.IntRange(1),
)
@default_option(
    "--alike",
    0.5,
    "Least cosine similarity within a group: higher gives more and smaller groups.",
    type=Number(0, 1),
)
@force_option("the file named by --output")
@common_options
def command(target: Path | None, least: int, alike: float, force: bool, workspace: Path, out: Output) -> None:
    """Show what people ask and the documents do not answer, grouped by meaning, with the nearest page.

    Looks at the searches that `serve --feedback` keeps. A question is a gap where nobody opened a document for it and
    the index of today has no confident answer, or where people said that nothing fits."""
    from structformer.pages import environment, render
    from structformer.retrieval import Retriever, help_with
    from structformer.workspace import Workspace, check_file, new_file

    from structformer_serve.feedback import DOORS, by_week
    from structformer_serve.gaps import find_gaps

    if target is not None:
        check_file(target, workspace, force=force)  # before the work
    kept, skipped = kept_searches(out, workspace)
    searches = [each for each in kept if any(map(str.isalnum, each.query))]
    unopened = [each for each in searches if (each.asked or each.lost) and each.lost >= each.clicks.total()]
    retriever = Retriever.open(workspace)
    with out.progress("asking again") as progress:
        listed = find_gaps(retriever, unopened, alike=alike, progress=progress)
    gaps = [gap for gap in listed if max(gap.searches, gap.not_found) >= least]
    counts = {
        "searches": sum(each.asked for each in searches),
        "queries": len(searches),
        "unanswered": sum(gap.searches for gap in gaps),
    }
    if target is not None:
        about = "Searches by week and door, and questions that the documents do not answer. Who asked is not kept."
        templates = environment("structformer_serve", "templates/reports")
        title = "What people search for"
        more = {"weeks": by_week(Workspace(workspace)), "doors": DOORS, "most": searches[:_SHOWN_VERBOSE]}
        page = render("gaps.html", title=title, about=about, templates=templates, gaps=gaps, counts=counts, **more)
        with new_file(target, workspace, force=force) as made:
            made.write_bytes(page)
    out.json(
        {
            **counts,
            "skipped": skipped,
            "page": None if target is None else str(target),
            "gaps": [gap.as_dict() for gap in gaps],
        }
    )
    if not searches:
        out.result("nothing was searched for yet, or it was not kept: serve with --feedback")
    else:
        out.result(_shown(gaps, counts, _SHOWN_VERBOSE if out.verbose else _SHOWN))
        near = next((gap for gap in gaps if gap.nearest), None)
        if near is not None and near.nearest is not None:
            missing = help_with(retriever.opened, near.question).missing
            out.result(_proposal(near.question, near.nearest, missing))
    if target is not None:
        out.result(str(target))


def _shown(gaps: list[Gap], counts: dict[str, int], most: int) -> str:
    line = f"{counts['unanswered']} of {counts['searches']} searches had no sure match ({len(gaps)} kinds of questions)"
    if not gaps:
        return line
    rows = [
        [
            printable(gap.question)[:60],
            str(gap.searches),
            str(len(gap.asked)),
            printable(gap.nearest.address if gap.nearest else "-")[:60],
        ]
        for gap in gaps[:most]
    ]
    more = f"\n{len(gaps) - most} more: --verbose, --json or --output" if len(gaps) > most else ""
    return f"{line}\n\n{table(['asked', 'searches', 'wordings', 'nearest'], rows)}{more}"


def _proposal(question: str, nearest: Hit, missing: Sequence[str]) -> str:
    """Return lines for search.toml that answer a question by its nearest page. missing: words that no page has."""

    def pair(*texts: str) -> str:
        return " = ".join(json.dumps(printable(each), ensure_ascii=False) for each in texts)

    lines = ["\nWhere the nearest page is right, pin it in search.toml beside the documents:"]
    lines += ["[pins]", pair(question, nearest.document_id)]
    if missing:
        lines += ["or say what the words mean that no page has:", "[synonyms]"]
        lines += [pair(word, nearest.title) for word in missing]
    return "\n".join(lines)
