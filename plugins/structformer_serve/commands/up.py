"""`structformer up`. The terminal shows a bar for the step that runs, and lines that stay for what it found."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click
from structformer.cli import BriefCommand, Output, base_url_option, common_options, default_option, printable, seconds
from structformer.errors import UsageError, WorkspaceError
from structformer.extras import TORCH, are_installed, require
from structformer.workspace import Workspace

from structformer_serve.commands import serve
from structformer_serve.step_commands import OPENING, Command, first_search, follow, threads_given
from structformer_serve.step_progress import StepProgress, in_lines

if TYPE_CHECKING:
    from rich.progress import Progress


_WIDE = 100  # columns that a bar's stage and time need beside it


class StepsView:
    """Shows the progress of steps, one after the other. Where there is no terminal, or a log is written to it, progress
    is said in lines.
    """

    def __init__(self, out: Output, *, bars: bool = True) -> None:
        self._out = out
        self._lines = None if bars and not out.quiet and sys.stderr.isatty() else in_lines(self.say)
        self._shown: StepProgress | None = None
        self._bar: Progress | None = None

    def say(self, text: str) -> None:
        """A line that stays, above the bar where there is one."""
        if self._bar is None:
            self._out.note(printable(text))
        elif not self._out.quiet:
            from structformer.cli import log, named

            log(text)
            self._bar.console.print(named(printable(text)), markup=False, highlight=False, soft_wrap=True)

    def __call__(self, progress: StepProgress | None) -> None:
        """Show how far a step is; None: it has ended."""
        if self._lines is not None:
            self._lines(progress)
            return
        if progress is not self._shown:
            self.close()
            self._shown = progress
            if progress is not None:
                self.say(progress.step)
                self._bar = _bar()
        if self._bar is not None and progress is not None:
            self._bar.update(
                self._bar.task_ids[0],
                description=progress.stage,
                total=1.0,
                completed=progress.share,
                left=progress.left,
                percent=f"{progress.share:.0%}",
            )

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (
        BarColumn(40 if console.width >= _WIDE else 20),
        TextColumn("{task.fields[percent]:>4}"),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[left]}", style="dim"),
    )
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    bar.add_task("", total=None, left="", percent="")
    bar.start()
    return bar


_KEPT = "what is done is kept, and the same command goes on from there"


@click.command(
    "up", cls=BriefCommand, main="--train --watch --open --base-model --base-url --ask --host --port --title --feedback"
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@default_option("--train", "5m", "How long to train on the documents: 90s, 5m, none.", name="train_time")
@click.option("--watch", is_flag=True, help="Reread files that change; searches find the changes right away.")
@default_option("--open/--no-open", True, "Open the page in a browser.", name="open_page")
@click.option(
    "--base-model",
    metavar="NAME",
    default="",
    help="The pretrained encoder to add: a folder, a name on the hub (`structformer models` lists some) or auto.",
)
@click.option(
    "--query-model",
    metavar="NAME",
    default="",
    help="A smaller encoder for queries, which shares the vector space of --base-model; auto: none.",
)
@base_url_option
@serve.serving_options
@serve.server_threads_option(
    "Searches at once, and cores that indexing and training compute with. Two commands at once that each take all are "
    "slower than one after the other."
)
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
    query_model: str,
    base_url: str | None,
    workspace: Path,
    out: Output,
    **values: Any,
) -> None:
    """Read each PATH as `ingest` does, open a search page, and improve the search while you use it.

    A PATH may be a website's address, as for `ingest`: begun again, only what changed is fetched.

    The search begins with words. Meaning learned from the documents alone joins while the page is used; then a
    pretrained encoder, if one is here, and with torch training. What was done before is not done again."""
    require("serving", *serve.PACKAGES)
    from structformer.ingestion import kind_of

    seconds(train_time, "--train")  # a wrong time fails before the work begins
    if watch:
        require("--watch", "watchfiles")
    files = [Path(path) for path in paths if kind_of(path) is None]
    if watch and not files:
        raise click.UsageError("--watch looks at files; a website has none")
    place = Workspace(workspace)
    if base_model or query_model:
        from structformer.models import usable_base, usable_pair, why_not

        if base_model:
            base = usable_base(base_model)  # a wrong one fails before anything is read
            if not are_installed(*TORCH) and (why := why_not(base.location)):
                require(f"--base-model {base_model} ({why})", *TORCH)
        usable_pair(place, base_model, query_model)
    title, threads = values.pop("title"), values["threads"]
    logs = values["logs"] or values["log_queries"]
    serve.log_requests(logs)
    options, on = serve.listen(ctx, out, serve.server_options(values))
    view = StepsView(out, bars=not logs)
    # Before they are read, so that no change is missed. Reading says which of them are missing.
    changes = None
    if watch and all(path.exists() for path in files):
        from structformer_serve.background_steps import Changes

        changes = Changes(files, place)
    try:
        _first_index(view, place, paths, base_url, threads)
        # Slow to import: by now in a thread, mostly.
        from structformer.models import another_encoder
        from structformer.retrieval import choose_encoders

        from structformer_serve.background_steps import Improver
        from structformer_serve.service import SearchService

        choose_encoders(place, base_model, query_model)
        service = SearchService(place, title, feedback=options.feedback, language=options.language)
    except KeyboardInterrupt:
        view.say(f"\nStopped: {_KEPT}.")
        ctx.exit(130)
    train = None if train_time.lower() == "none" else train_time
    advice = another_encoder("up", place, *paths)
    improver = Improver(service, train=train, changes=changes, threads=threads, say=view.say, show=view, advice=advice)

    def ready(address: str) -> None:
        out.json({"address": address})
        out.result(f"{address}  (Ctrl-C ends it)")
        serve.say_who_may_ask(out, options)
        if open_page:
            click.launch(address)
        improver.start()

    from structformer_serve.app import Application
    from structformer_serve.http.server import run

    try:
        run(Application(service, options), ready, on)
    finally:
        doing = service.doing
        improver.end()
        view.close()
        step = (doing.step[:1].lower() + doing.step[1:]).partition(",")[0] if doing else ""  # without its limits
        view.say(f"Stopped while it was {step}: {_KEPT}." if step else "Stopped.")


def _import_the_server() -> None:
    """Import what a page needs. What is wrong with it is said by whoever asks for it."""
    with suppress(Exception):
        import_module("structformer_serve.app")


def _first_index(
    view: StepsView, workspace: Workspace, paths: tuple[str, ...], base_url: str | None, threads: int | None
) -> None:
    """Read the files and index their words, with one bar for both; unless there is more already."""
    was_there = workspace.path.exists()
    progress = StepProgress(f"Reading {', '.join(paths)}", stages=OPENING)

    def read() -> None:
        given = () if base_url is None else ("--base-url", base_url)  # kept in the corpus for what is read later
        try:
            _run(view, workspace, progress, "ingest", *given, *paths)
        except WorkspaceError:
            if not was_there and _is_empty(workspace):
                shutil.rmtree(workspace.path, ignore_errors=True)
            raise

    def index(first: bool) -> None:
        Thread(target=_import_the_server, daemon=True).start()  # words are indexed on one core
        chosen = ("--encoder", "none") if first else ()
        _run(view, workspace, progress, "index", *threads_given(threads), *chosen)

    try:
        first_search(workspace, read, index, view.say)
    finally:
        view(None)


def _is_empty(workspace: Workspace) -> bool:
    """Whether all was read and it came to nothing."""
    from structformer.corpus import Corpus

    try:
        return Corpus.open(workspace).document_count == 0
    except WorkspaceError:
        return False


def _run(view: StepsView, workspace: Workspace, progress: StepProgress, *arguments: str) -> None:
    """Run a command, showing what it says; its bar stays. Raises UsageError or WorkspaceError where it fails."""
    code, why = follow(Command(*arguments, "-w", str(workspace.path)), progress, view, view.say)
    if code:
        kind = UsageError if code == UsageError.exit_code else WorkspaceError
        raise kind(why or f"{progress.step}: it failed")
