"""`structformer up`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli.common import Output, common_options, output, seconds
from structformer.cli.ingest import base_url_option, is_website
from structformer.cli.serve import (
    check_packages,
    listen,
    log_requests,
    say_who_may_ask,
    server_options,
    serving_options,
)
from structformer.extras import TORCH, require

if TYPE_CHECKING:
    from structformer.workspace import Workspace

_ERROR = "error: "  # how a command begins the line that says why it failed


@click.command("up")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--train",
    "train_time",
    default="5m",
    show_default=True,
    help="How long to train on the documents: 90s, 5m, none.",
)
@click.option("--watch", is_flag=True, help="Read again what changes, and search it at once.")
@click.option("--open/--no-open", "open_page", default=True, show_default=True, help="Open the page in a browser.")
@click.option(
    "--base-model",
    metavar="NAME",
    default="",
    help="The pretrained encoder that follows: a folder, a name on the hub (`structformer models` lists some) or auto.",
)
@base_url_option
@serving_options
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    train_time: str,
    watch: bool,
    open_page: bool,
    base_model: str,
    base_url: str | None,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """From files to a search page: read each PATH as `ingest` does, serve them, and make the search better while it is
    used.

    A PATH may be a website's address, as for `ingest`: begun again, only what changed is fetched.

    The search begins with words and with meaning learned from the documents alone; where torch is installed, a
    pretrained encoder follows, and training. What was done before is not done again."""
    check_packages()
    from structformer.models.chosen_base import choose_base
    from structformer.serving.improving import Improver
    from structformer.serving.service import SearchService, Serving
    from structformer.workspace import Workspace

    out = output(ctx)
    seconds(train_time, "--train")  # a wrong time fails before the work begins
    if watch:
        require("--watch", "watchfiles")
    files = [Path(path) for path in paths if not is_website(path)]
    if watch and not files:
        raise click.UsageError("--watch looks at files; a website has none")
    title = values.pop("title")
    log_requests(values["logs"] or values["log_queries"])
    options, on = listen(server_options(values))
    _first_index(out, Workspace(workspace), paths, base_url)
    if base_model:
        require("--base-model", *TORCH)
        choose_base(Workspace(workspace), base_model)
    service = SearchService(workspace, Serving(title, feedback=options.feedback))
    improver = Improver(
        service, files, train=None if train_time.lower() == "none" else train_time, watch=watch, say=out.note
    )

    def ready(address: str) -> None:
        out.json({"address": address})
        out.result(f"{address}  (Ctrl-C ends it)")
        say_who_may_ask(out, options)
        if open_page:
            click.launch(address)
        improver.start()

    from structformer.serving.app import Application
    from structformer.serving.server import run

    try:
        run(Application(service, options), ready, on)
    finally:
        improver.end()


def _first_index(out: Output, workspace: Workspace, paths: tuple[str, ...], base_url: str | None) -> None:
    """Read the files, and make what they are searched with at once: words, and meaning as far as the documents
    themselves teach it; unless there is more already.
    """
    from structformer.retrieval.encoder_names import STRUCTURE
    from structformer.retrieval.index import is_stale, unrepeatable

    if why := unrepeatable(workspace):
        out.note(why)
        return
    given = () if base_url is None else ("--base-url", base_url)  # kept in the corpus for what is read later
    _run(out, workspace, "reading", "ingest", *given, *paths)
    if not workspace.has("index"):
        _run(out, workspace, "indexing", "index", "--encoder", STRUCTURE)
    elif is_stale(workspace):
        _run(out, workspace, "indexing", "index")


def _run(out: Output, workspace: Workspace, what: str, *arguments: str) -> None:
    """Run a command, showing what it says. Raises UsageError or WorkspaceError where it fails."""
    from structformer.errors import UsageError, WorkspaceError
    from structformer.serving.improving import Command

    out.note(f"{what} ...")

    def told(line: str) -> None:
        if not line.startswith(_ERROR):
            out.note(line)

    code, last = Command(*arguments, "-w", str(workspace.path)).run(told)
    if code:
        kind = UsageError if code == UsageError.exit_code else WorkspaceError
        raise kind(last.removeprefix(_ERROR) or f"{what} failed")
