"""`structformer serve`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from structformer.cli import (
    BriefCommand,
    Number,
    Output,
    common_options,
    default_option,
    fresh_index,
    log_files,
    path_option,
    several_option,
)
from structformer.extras import require

if TYPE_CHECKING:
    from structformer_serve.http.listening import Listening
    from structformer_serve.http.options import ServerOptions

PACKAGES = ("starlette", "uvicorn", "mcp", "prometheus_client")


def ask_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--ask and --ask-model, of the commands that answer questions."""
    model = click.option(
        "--ask-model", default="", metavar="NAME", help="With --ask: which of its models.  [default: the only one]"
    )
    address = click.option(
        "--ask",
        default="",
        metavar="URL",
        help="Answer questions with the model at this OpenAI-compatible address, such as http://localhost:11434/v1. "
        "Only questions and the sections found are sent, and only there. Its key: STRUCTFORMER_ASK_KEY.",
    )
    return address(model(function))


def serving_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the options of `serve` and `up`."""
    decorators = (
        default_option("--host", "127.0.0.1", "Address to listen on; 0.0.0.0 for all."),
        default_option("--port", 8765, "0: any free one.", type=click.IntRange(0, 65535)),
        click.option("--title", default="", help="Title of the page.  [default: the folder's name]"),
        click.option(
            "--language", default="", metavar="CODE", help="Language of the page.  [default: that of most documents]"
        ),
        several_option(
            "--host-name",
            "NAME",
            "Another host name for the server to answer to, or * for any; others are refused. May be repeated.",
            name="hosts",
        ),
        several_option(
            "--cors",
            "ORIGIN",
            "A site whose pages may send searches, such as https://docs.example.org, or * for any. May be repeated.",
        ),
        path_option("--tokens", "A TOML file of [[tokens]], each with the documents that it may see."),
        default_option("--rate", 20.0, "Requests per second and client; 0: no limit.", type=Number(0, 1e9)),
        click.option(
            "--connections",
            type=click.IntRange(0),
            help="Connections per client at the same time; 0: no limit.  [default: 64; no limit from this machine]",
        ),
        click.option(
            "--root", default="", metavar="PATH", help="Prefix that a proxy puts before all paths, such as /search."
        ),
        several_option(
            "--proxy",
            "ADDRESS",
            "A proxy whose X-Forwarded-For is trusted, such as 127.0.0.1 or 10.0.0.0/8. May be repeated.",
            name="proxies",
        ),
        click.option(
            "--feedback",
            is_flag=True,
            help="Record searches and clicks in the workspace, without who asked. The page says so.",
        ),
        default_option("--feedback-mb", 50, "With --feedback: megabytes per month, at most.", type=click.IntRange(1)),
        default_option("--feedback-months", 12, "With --feedback: months to keep.", type=click.IntRange(0)),
        click.option("--log", "logs", is_flag=True, help="Log a JSON line for each request, without its query."),
        click.option("--log-queries", is_flag=True, help="Log queries too."),
    )
    for decorate in reversed(decorators):
        function = decorate(function)
    return ask_options(function)


def server_threads_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--threads of a command that serves. what: they are for."""
    return click.option("--threads", type=click.IntRange(1, 256), help=f"{what}  [default: one per core]")


def server_options(values: dict[str, Any]) -> ServerOptions:
    """ServerOptions from the values of `serving_options`. Raises UsageError."""
    from structformer_serve.http.access import Tokens, read_tokens
    from structformer_serve.http.options import ServerOptions

    values.pop("logs")
    values["threads"] = values["threads"] or os.cpu_count() or 1
    values["tokens"] = read_tokens(values["tokens"]) if values["tokens"] else Tokens()
    return ServerOptions(**values)


def log_requests(wanted: bool) -> None:
    """Write a line for each request to standard error, where that is wanted."""
    log = logging.getLogger("structformer.serve")
    log.setLevel(logging.INFO if wanted else logging.WARNING)
    log.propagate = False
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.handlers = [handler, *log_files()]


@click.command(
    "serve",
    cls=BriefCommand,
    main="--open --ask --host --port --title --language --host-name --cors --tokens --feedback --pipeline",
)
@serving_options
@server_threads_option("Searches at once.")
@click.option(
    "--pipeline",
    "pipelines",
    multiple=True,
    metavar="NAME=SPEC",
    help='A pipeline that requests may name besides "best" and "words". May be repeated.',
)
@default_option(
    "--export/--no-export",
    True,
    "First export an encoder that onnxruntime cannot run as is, so that torch is not loaded.",
)
@default_option("--open/--no-open", False, "Open the page in a browser.", name="open_page")
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    workspace: Path,
    pipelines: tuple[str, ...],
    export: bool,
    open_page: bool,
    out: Output,
    **values: Any,
) -> None:
    """Serve the workspace's search: a page, an API (/openapi.json), MCP for assistants (/mcp), and a box for any site
    (/widget.js).

    A newer index is taken over while requests go on. On SIGTERM what was asked is still answered."""
    require("serving", *PACKAGES)
    from structformer_serve.service import SearchService, checked_pipelines

    title, named = values.pop("title"), checked_pipelines(pipelines)
    log_requests(values["logs"] or values["log_queries"])
    options, on = listen(ctx, out, server_options(values))
    if export:
        export_encoder(out, workspace)
    from structformer_serve.app import Application
    from structformer_serve.http.server import run

    service = SearchService(workspace, title, pipelines=named, feedback=options.feedback, language=options.language)

    def ready(address: str) -> None:
        out.json({"address": address, "index": service.current.id})
        out.result(f"{address}  (MCP: {address}mcp, API: {address}openapi.json; Ctrl-C ends it)")
        say_who_may_ask(out, options)
        if open_page:
            click.launch(address)

    run(Application(service, options), ready, on)


def listen(ctx: click.Context, out: Output, options: ServerOptions) -> tuple[ServerOptions, Listening]:
    """Open the port before anything slow is done, or take the one that was handed over. Where nobody has chosen the
    port and it is taken, one of the next serves. Raises UsageError.
    """
    from structformer_serve.http.listening import listening, listening_near

    chosen = ctx.get_parameter_source("port") is not ParameterSource.DEFAULT
    on = (listening if chosen else listening_near)(options.host, options.port)
    if on.handed_over:
        return replace(options, host=on.host, port=on.port), on
    if on.port != options.port and options.port:
        out.note(f"port {options.port} is in use by another program: this page takes {on.port}")
        options = replace(options, port=on.port)
    return options, on


def say_who_may_ask(out: Output, options: ServerOptions) -> None:
    """Which sites' pages may ask; what a server that other machines reach answers to, and whom."""
    from structformer_serve.http.options import ANY_NAME

    if options.cors:
        out.note(f"pages of {', '.join(options.cors)} may ask, and read the answers (--cors)")
    if options.on_loopback:
        return
    if ANY_NAME in options.hosts:
        out.note("it answers to any name: pages of other sites can ask it by giving themselves this machine's address")
    else:
        names = ", ".join(sorted(options.names))
        out.note(f"it answers to this machine's addresses and to {names}; --host-name NAME adds a name, '*' any")
    if not options.tokens:
        out.note("everybody who reaches this machine may search: --tokens FILE says who")


def export_encoder(out: Output, workspace: Path) -> None:
    """Export encoders that onnxruntime cannot run as they are by a process of its own, so that this one needs no torch;
    where that cannot be, the model itself is loaded. Say if a newer corpus waits for its index.
    """
    from structformer.workspace import Workspace

    from structformer_serve.step_commands import Command, missing_exports

    fresh_index(out, workspace)
    for name in missing_exports(Workspace(workspace)):
        out.note(f"exporting {name} for onnxruntime, once")
        code, last = Command("export", name, "--onnx", "--int8", "-w", str(workspace), "-q").run(lambda line: None)
        if code:
            out.note(f"it could not be exported ({last or '?'}); torch is loaded instead")
