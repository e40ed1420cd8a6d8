"""`structformer up`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli.common import Output, common_options, output, seconds
from structformer.cli.serve import check_packages, log_requests, server_options, serving_options

if TYPE_CHECKING:
    from structformer.workspace import Workspace


@click.command("up")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--train",
    "train_time",
    default="5m",
    show_default=True,
    help="How long to train on the documents: 90s, 5m, none.",
)
@click.option("--watch", is_flag=True, help="Read again what changes, and search it at once.")
@click.option("--open/--no-open", "open_page", default=True, show_default=True, help="Open the page in a browser.")
@serving_options
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    train_time: str,
    watch: bool,
    open_page: bool,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """From files to a search page: read PATHS, serve them, and make the search better while it is used.

    Words can be searched at once; meaning follows, and training. What was done before is not done again."""
    check_packages()
    from structformer.errors import UsageError
    from structformer.serving.improving import Improver
    from structformer.serving.service import SearchService, Serving
    from structformer.workspace import Workspace

    out = output(ctx)
    seconds(train_time)  # a wrong time fails before the work begins
    if watch and importlib.util.find_spec("watchfiles") is None:
        raise UsageError("--watch needs watchfiles: pip install 'structformer[serve]'")
    title = values.pop("title")
    log_requests(values["logs"] or values["log_queries"])
    options = server_options(values)
    _first_index(out, Workspace(workspace), paths)
    service = SearchService(workspace, Serving(title, feedback=options.feedback))
    improver = Improver(
        service, paths, train=None if train_time.lower() == "none" else train_time, watch=watch, say=out.note
    )

    def ready(address: str) -> None:
        out.json({"address": address})
        out.result(f"{address}  (Ctrl-C ends it)")
        if open_page:
            click.launch(address)
        improver.start()

    from structformer.serving.app import Application
    from structformer.serving.server import run

    try:
        run(Application(service, options), ready)
    finally:
        improver.end()


def _first_index(out: Output, workspace: Workspace, paths: tuple[Path, ...]) -> None:
    """Read the files, and make what they are searched by words with, unless there is more already."""
    from structformer.errors import WorkspaceError
    from structformer.retrieval.index import is_stale
    from structformer.serving.improving import structformer

    steps = [("reading", ["ingest", *map(str, paths)])]
    for what, arguments in steps:
        _run(out, what, structformer, [*arguments, "-w", str(workspace.path)])
    if workspace.has("index") and is_stale(workspace):
        _run(out, "indexing", structformer, ["index", "-w", str(workspace.path)])
    elif not workspace.has("index"):
        _run(out, "indexing words", structformer, ["index", "--encoder", "none", "-w", str(workspace.path)])
    if not workspace.has("index"):
        raise WorkspaceError(f"nothing to search in {workspace}")


def _run(out: Output, what: str, structformer: Any, arguments: list[str]) -> None:
    """Run a command, showing what it says. Raises WorkspaceError where it fails; that single files could not be read
    is said, and no failure.
    """
    from structformer.errors import WorkspaceError
    from structformer.workspace import Workspace

    out.note(f"{what} ...")
    code, last = structformer(*arguments, told=out.note if not out.quiet else None)
    if code and not (arguments[0] == "ingest" and code == 1 and Workspace(arguments[-1]).has("corpus")):
        raise WorkspaceError(last.removeprefix("error: ") or f"{what} failed")
