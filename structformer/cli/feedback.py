"""`structformer feedback`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from structformer.cli.common import common_options, output, printable, table


@click.command("feedback")
@click.option(
    "--judgements",
    type=click.Path(path_type=Path),
    help="Write what was opened as judgements, a folder for `evaluate --beir` and `finetune`.",
)
@click.option(
    "--least",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="For --judgements: a document was opened so many times for a query.",
)
@click.option(
    "--query-log", type=click.Path(path_type=Path), help="Write the queries, one a line, for `train --query-log`."
)
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    judgements: Path | None,
    least: int,
    query_log: Path | None,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """What people searched for on the page (`serve --feedback`): what is asked most, finds nothing, or is never opened.

    People open what stands high, so judgements of what they opened tell which of the documents shown is better, and
    nothing of those that were never shown."""
    from structformer.serving.feedback import report, searches, write_click_judgements, write_query_log
    from structformer.workspace import Workspace

    out = output(ctx)
    found = searches(Workspace(workspace))
    told = report(found)
    if judgements is not None:
        judged = write_click_judgements(judgements, found, least=least)
        told["judgements"] = {"folder": str(judgements), "queries": len(judged.queries)}
    if query_log is not None:
        told["query_log"] = {"file": str(query_log), "queries": write_query_log(query_log, found)}
    out.json(told)
    if not found:
        out.result("nothing was searched for yet, or it was not kept: serve with --feedback")
        return
    out.result(f"{told['searches']} searches, {told['queries']} queries, {told['clicks']} documents opened")
    for name, title in (
        ("without_result", "found nothing, or not what was meant"),
        ("never_opened", "shown and never opened"),
        ("most", "asked most"),
    ):
        _show(out, title, told[name] if verbose else told[name][:10])
    for key, what in (("judgements", "folder"), ("query_log", "file")):
        if key in told:
            out.result(f"\n{told[key][what]}: {told[key]['queries']} queries")


def _show(out: Any, title: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    cells = [
        [printable(row["query"])[:60], str(row["searches"]), str(row["clicks"]), str(row["nothing"] + row["not_found"])]
        for row in rows
    ]
    out.result("\n" + table([title, "searches", "opened", "nothing"], cells))
