"""`structformer feedback`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from structformer.cli import Output, OutputPath, common_options, default_option, force_option, printable, table
from structformer.errors import UsageError

if TYPE_CHECKING:
    from structformer_serve.feedback import Searches


def kept_searches(out: Output, workspace: Path) -> tuple[list[Searches], int]:
    """Return the searches, and say how many lines were no events. Raises WorkspaceError."""
    from structformer.workspace import Workspace

    from structformer_serve.feedback import searches

    place, skipped = Workspace(workspace), list[str]()
    place.state()
    kept = searches(place, skipped)
    if skipped:
        out.note(f"lines that are not events, skipped: {len(skipped)}; the first: {skipped[0]}")
    return kept, len(skipped)


@click.command("feedback")
@click.option(
    "--judgements",
    type=OutputPath(),
    help="Write what was opened as judgements, a folder for `evaluate --beir` and `finetune`.",
)
@default_option(
    "--least", 1, "With --judgements: how often a document must have been opened for a query.", type=click.IntRange(1)
)
@click.option("--write-query-log", type=OutputPath(), help="Write the queries, one a line, for `train --query-log`.")
@force_option("an existing file, and judgements that an earlier run wrote")
@common_options
def command(
    judgements: Path | None, least: int, write_query_log: Path | None, force: bool, workspace: Path, out: Output
) -> None:
    """Show what people search for (`serve --feedback`): the most frequent searches, those that find nothing, and
    those whose results nobody opens.

    People open what comes first, so judgements of what they opened tell which of the documents shown is better, and
    nothing of those that were never shown."""
    from structformer.workspace import new_file, new_folder

    from structformer_serve.feedback import judgements_from_clicks, report

    kept, skipped = kept_searches(out, workspace)
    summary = {**report(kept), "skipped": skipped}
    if judgements is not None:
        from structformer.evaluation import write_judgements

        judged = judgements_from_clicks(kept, least=least)
        with new_folder(judgements, workspace, force=force) as folder:
            write_judgements(folder, judged)
        summary["judgements"] = {"folder": str(judgements), "queries": len(judged.queries)}
    if write_query_log is not None:
        asked = [each.query for each in kept if each.asked or each.clicks]
        if not asked:
            raise UsageError("nothing to write: nothing was searched for yet, or it was not kept (serve --feedback)")
        with new_file(write_query_log, workspace, force=force) as file:
            file.write_bytes("".join(f"{query}\n" for query in asked).encode())
        summary["query_log"] = {"file": str(write_query_log), "queries": len(asked)}
    out.json(summary)
    if not kept:
        out.result("nothing was searched for yet, or it was not kept: serve with --feedback")
        return
    out.result(f"{summary['searches']} searches, {summary['queries']} queries, {summary['clicks']} documents opened")
    for name, title in (
        ("without_result", "found nothing, or not what was meant"),
        ("never_opened", "shown and never opened"),
        ("most", "asked most"),
    ):
        _show(out, title, summary[name] if out.verbose else summary[name][:10])
    for key, what in (("judgements", "folder"), ("query_log", "file")):
        if key in summary:
            out.result(f"\n{summary[key][what]}: {summary[key]['queries']} queries")


def _show(out: Any, title: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    cells = [
        [printable(row["query"])[:60], str(row["searches"]), str(row["clicks"]), str(row["nothing"] + row["not_found"])]
        for row in rows
    ]
    out.result("\n" + table([title, "searches", "opened", "nothing"], cells))
