"""`structformer.serve` and `structformer.up`: the search page from Python, beside whatever else runs there."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import fields
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from structformer.did_you_mean import checked_options, wrong_option
from structformer.errors import UsageError
from structformer.extras import require
from structformer.ingestion import ingest
from structformer.models import MULTILINGUAL
from structformer.notebook import box, note
from structformer.retrieval import STRUCTURE, build_index
from structformer.workspace import Workspace

from structformer_serve.app import Application
from structformer_serve.background_steps import Changes, Improver
from structformer_serve.http.listening import Listening, close, listen
from structformer_serve.http.options import ServerOptions
from structformer_serve.http.server import Server
from structformer_serve.service import SearchService, checked_pipelines
from structformer_serve.step_commands import first_search

_END_SECONDS = 10.0
Progress = Callable[[str, int, int], None]


class Served:
    """A search page that runs beside the program that began it, until `stop`, the end of a `with` block, or the end of
    the program.

    url: where the page is; `url + "mcp"` is for assistants, `url + "openapi.json"` describes the API.
    """

    def __init__(self, service: SearchService, options: ServerOptions, on: Listening) -> None:
        self._service = service
        self._improver: Improver | None = None
        self._stopping = threading.Lock()
        began: Future[str] = Future()
        self._server = Server(Application(service, options), on, began.set_result)
        self._thread = threading.Thread(target=self._run, args=(began, on), name="structformer-serve", daemon=True)
        self._thread.start()
        self.url = began.result()
        atexit.register(self.stop)

    def _run(self, began: Future[str], on: Listening) -> None:
        try:
            self._server.run()
        except BaseException as error:
            if began.done():
                raise
            began.set_exception(UsageError(f"the server did not begin ({error!r})"))
        finally:
            close(on.sockets)

    @property
    def is_running(self) -> bool:
        """Whether it answers."""
        return self._thread.is_alive()

    @property
    def doing(self) -> str:
        """Return what is being done to make the search better, "" when that is finished."""
        progress = self._service.doing
        return "" if progress is None else str(progress)

    def improve(self, paths: Sequence[Path], *, train: str | None, watch: bool, say: Callable[[str], object]) -> None:
        """Improve the search while it is used, as `structformer up` does. train: how long, as 5m; None: not at all."""
        advice = f"structformer.index({str(self._service.workspace)!r}, base_model={MULTILINGUAL!r})"
        changes = Changes(paths, self._service.workspace) if watch else None
        self._improver = Improver(self._service, train=train, changes=changes, say=say, advice=advice)
        self._improver.start()

    def wait(self) -> None:
        """Serve until `stop`, or until Ctrl-C: for scripts, which would end at once."""
        try:
            while self.is_running:
                self._thread.join(1.0)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """Answer what was asked, then close the port. The second time nothing happens."""
        with self._stopping:
            atexit.unregister(self.stop)
            if self._improver is not None:
                self._improver.end()
            if self.is_running:
                self._server.handle_exit(signal.SIGINT, None)
                self._thread.join(_END_SECONDS)

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Served({self.url!r})" if self.is_running else f"Served({self.url!r}, stopped)"

    def _repr_html_(self) -> str:
        if not self.is_running:
            return box("The search page is stopped")
        link = f'<p><a href="{escape(self.url)}" target="_blank">{escape(self.url)}</a></p>'
        return box("The search page runs", link, note(self.doing) if self.doing else "")


def serve(
    workspace: str | Path | Workspace = ".structformer",
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    title: str = "",
    pipelines: Mapping[str, str] | None = None,
    **options: Any,
) -> Served:
    """Serve a workspace's search in a thread of this program: a page, an API and MCP.

    port: 0 for any free one. title: what the page is headed with. pipelines: further ones that requests may name.
    options: see `structformer_serve.ServerOptions`. Raises UsageError where the port is taken, WorkspaceError without
    an index, TypeError on an unknown option."""
    how = _options("serve", host, port, options)
    named = checked_pipelines(tuple(f"{name}={pipeline}" for name, pipeline in (pipelines or {}).items()))
    return _served(workspace, how, title, named)


@checked_options(path="paths", folder="paths", train="train_seconds", max_time="train_seconds", seconds="train_seconds")
def up(
    paths: str | Path | Sequence[str | Path],
    workspace: str | Path | Workspace = ".structformer",
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    title: str = "",
    train_seconds: float | None = 300.0,
    watch: bool = False,
    improve: bool = True,
    progress: Progress | None = None,
    say: Callable[[str], object] | None = None,
) -> Served:
    """From files to a search page, as `structformer up`: read, index words, serve; then learn from the documents,
    index with a pretrained encoder and train, in processes of their own, while the page is used.

    Gives the page once it answers; `url` is its address. port: 0 for any free one. train_seconds: how long to train at
    most; None for not at all. improve: False leaves the search as it is once it answers, which is then with meaning
    learned from the documents. watch: read again what
    changes. say: called with what is being done; `Served.doing` has it too. progress: as of `ingest`. Raises what
    `ingest`, `index` and `serve` raise; of a website's address too, which only the command reads."""
    place = Workspace(workspace)
    given = [Path(each) for each in ([paths] if isinstance(paths, str | Path) else paths)]
    if train_seconds is not None and train_seconds <= 0:
        raise UsageError(f"train_seconds={train_seconds}: give more than 0, or None for no training")
    if watch:
        require("watch=True", "watchfiles")
        if not improve:
            raise UsageError("watch=True indexes what changes: it goes with improve=True")
    words = [] if improve else [STRUCTURE]
    prepare = partial(
        first_search,
        place,
        lambda: ingest(given, place, progress=progress),
        lambda first: build_index(place, encoders=words if first else None, progress=progress, say=say or print),
        say or print,
    )
    served = _served(place, _options("up", host, port, {}), title, prepare=prepare)
    if improve:
        train = None if train_seconds is None else f"{train_seconds:g}s"
        served.improve(given, train=train, watch=watch, say=say or (lambda message: None))
    return served


def _options(name: str, host: str, port: int, options: Mapping[str, Any]) -> ServerOptions:
    known = [each.name for each in fields(ServerOptions)]
    if wrong := next((each for each in options if each not in known), None):
        raise TypeError(wrong_option(name, wrong, [*known, "workspace", "title", "pipelines"]))
    return ServerOptions(**{"threads": os.cpu_count() or 1, **options, "host": host, "port": port})


def _served(
    workspace: str | Path | Workspace,
    options: ServerOptions,
    title: str,
    pipelines: Mapping[str, str] | None = None,
    prepare: Callable[[], object] = lambda: None,
) -> Served:
    """prepare: is called before there is something to serve, but after the port is opened: one that is taken is said
    before slow work.
    """
    on = Listening(tuple(listen(options.host, options.port)))
    try:
        prepare()
        service = SearchService(
            workspace, title, pipelines=pipelines, feedback=options.feedback, language=options.language
        )
        return Served(service, options, on)
    except BaseException:
        close(on.sockets)
        raise
