"""Shared by the commands: the common options, the configuration file, printing, progress."""

import hashlib
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any

import click

from structformer.cli.log_file import log
from structformer.did_you_mean import nearest
from structformer.errors import StructformerError
from structformer.storage.files import descriptors, read_toml, write_json
from structformer.text.visible_text import safe_json, visible

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
DEFAULT_CONFIG = "structformer.toml"
REMOTE = "structformer.remote"  # in a context's meta
_SENDING = ("ask", "repo", "report_to", "report-to")  # options, and keys of --set
_SENT_NOTHING = ("base_url", "cors", "paths")  # whose addresses are written down, or only read
_THEME = "theme"  # a table that describes the site, as the file of --theme does
# Options that say who may ask, and what is kept of it.
_DOORS = ("host", "hosts", "cors", "tokens", "rate", "proxies", "feedback", "log_queries")
# Errors that say what is wrong by themselves.
_FORESEEN = (StructformerError, click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError, MemoryError)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
# In a command's environment: a line twice a second, however short the work is, for the program that began it.
PROGRESS_LINES = "STRUCTFORMER_PROGRESS_LINES"
_LONG_SECONDS = 15.0  # between lines of progress outside a terminal
_OFTEN_SECONDS = 0.5  # between them for the program that asked for lines
Report = Callable[[int, int], None]  # called with what is done, and the total
StageReport = Callable[[str, int, int], None]  # called with the stage's name too
_copies: dict[str, str] = {}  # of workspaces that are kept elsewhere: their addresses by the copies' paths


def named(text: str) -> str:
    """Return a text for the user, workspaces under the names that were given."""
    for copy, address in _copies.items():
        text = text.replace(copy, address)
    if sys.platform == "linux":
        for path, number in descriptors.items():
            text = text.replace(f"/proc/{os.getpid()}/fd/{number}", path)
    return text.encode("utf-8", "backslashreplace").decode()  # bytes of names that are no text


@dataclass(slots=True)
class Output:
    """Where a command prints: results on standard output, progress and remarks on standard error."""

    quiet: bool
    verbose: bool
    as_json: bool

    def say(self, text: str = "") -> None:
        """A remark; silent with --quiet and --json."""
        self._print(text, not self.quiet and not self.as_json)

    def note(self, text: str) -> None:
        """A remark on what goes on, beside the result."""
        self._print(text, not self.quiet, err=True)

    def result(self, text: str) -> None:
        """A result in words; with --json it is left out."""
        self._print(text, not self.as_json)

    def _print(self, text: str, shown: bool, *, err: bool = False) -> None:
        log(text := named(text))
        if shown:
            click.echo(text, err=err)

    def json(self, value: Any) -> None:
        """A result as JSON, with --json."""
        if self.as_json:
            click.echo(safe_json(value))

    @contextmanager
    def progress(self, what: str) -> Iterator[Report]:
        """A progress bar on a terminal; elsewhere a line every tenth of the way."""
        if self.quiet or not sys.stderr.isatty():
            yield progress_lines(what, self.quiet, self.verbose)
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def stages(self) -> Iterator[StageReport]:
        """Report progress of successive stages; called with the stage's name, what is done, and the total."""
        with ExitStack() as stack:
            bars: dict[str, Report] = {}

            def report(stage: str, done: int, total: int) -> None:
                if stage not in bars:
                    stack.close()
                    bars[stage] = stack.enter_context(self.progress(stage))
                bars[stage](done, total)

            yield report

    def lines(self) -> StageReport:
        """Progress of work in stages as lines, for where a bar cannot be drawn."""
        lines = cache(lambda stage: progress_lines(stage, self.quiet, self.verbose))
        return lambda stage, done, total: lines(stage)(done, total)


def progress_lines(what: str, quiet: bool, verbose: bool) -> Report:
    """A line every tenth of the way, without `verbose` only if it takes long; time left as from the first report."""
    begun = last = time.monotonic()
    shown, before = 0, -1
    often = PROGRESS_LINES in os.environ

    def show(done: int, total: int) -> None:
        nonlocal begun, shown, before, last
        if before < 0 or not done:
            begun, before = time.monotonic(), done
        tenth = 10 * done // max(1, total)
        now = time.monotonic()
        wanted = tenth > shown and (verbose or now - last > _LONG_SECONDS)
        if quiet or not (wanted or (often and (done >= total or now - last > _OFTEN_SECONDS))):
            return
        shown, last = tenth, now
        left = duration((now - begun) / (done - before) * (total - done)) if done > before else ""
        click.echo(f"{what}: {done}/{total}{f', {left} left' if left else ''}", err=True)

    return show


def duration(seconds: float) -> str:
    """Return seconds in words: 3 min 5 s."""
    whole = int(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


class WorkspacePath(click.Path):
    """A folder; or an address with a copy here, fetched first, and uploaded when the command has ended well."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the folder, of an address that of the copy."""
        if not _ADDRESS.match(str(value)):
            return super().convert(value, param, ctx)
        from structformer.storage.remote import RemoteFolder

        url = str(value).rstrip("/")
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        place = Path(os.environ.get("STRUCTFORMER_COPIES") or caches / "structformer" / "workspaces")
        name = re.sub(r"[^a-z0-9]+", "-", url.partition("?")[0].rpartition("/")[2].lower()) or "workspace"
        remote = RemoteFolder(url, place / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:12]}")
        remote.pull()  # what it says of the copy is meant of the copy
        _copies[str(remote.local)] = remote.name
        if ctx is not None:
            ctx.meta.setdefault(REMOTE, []).append(remote)
        return remote.local


class OutputPath(click.Path):
    """A file or folder that a command writes (outputs.py). An option that has it somewhere means writing everywhere."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def default_option(flag: str, default: Any, help: str, *, name: str = "", **more: Any) -> Decorator:
    """Return an option whose help shows its default. name: of its parameter, where the flag does not say it."""
    return click.option(*filter(None, (flag, name)), default=default, show_default=True, help=help, **more)


def path_option(flag: str, help: str, *, name: str = "", **more: Any) -> Decorator:
    """Return an option that names a file or folder to read."""
    return click.option(*filter(None, (flag, name)), type=click.Path(path_type=Path), help=help, **more)


def several_option(flag: str, metavar: str, help: str, *, name: str = "") -> Decorator:
    """Return an option that may be repeated."""
    return click.option(*filter(None, (flag, name)), multiple=True, metavar=metavar, help=help)


def with_options(function: Callable[..., Any], *decorators: Decorator) -> Callable[..., Any]:
    """Return a function with options, which its help lists in this order."""
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def force_option(what: str) -> Decorator:
    """--force, as the commands have it that write where they are asked to. what: what it writes over."""
    return click.option("--force", is_flag=True, help=f"Overwrite {what}.")


def common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--workspace, --config, --quiet, -v and --json, as every command has them; it gets `workspace` and `out`."""
    decorators = (
        click.option(
            "--workspace",
            "-w",
            type=WorkspacePath(),
            default=Path(".structformer"),
            show_default=True,
            help="Folder that holds corpus, models and index, or its address in object storage (s3://, gs://, abfs://).",
        ),
        path_option(
            "--config",
            f"A TOML file of options; flags override them.  [default: {DEFAULT_CONFIG} if present]",
            is_eager=True,
            expose_value=False,
            callback=_load_config,
        ),
        click.option("--quiet", "-q", is_flag=True, help="Print only the result."),
        click.option("--verbose", "-v", is_flag=True, help="Print more."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    )

    @wraps(function)
    def command(*, quiet: bool, verbose: bool, as_json: bool, **values: Any) -> Any:
        try:
            return function(out=Output(quiet, verbose, as_json), **values)
        except (*_FORESEEN, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a library's, tantivy's panics among them, of a file that it cannot read
            from structformer.corpus.checking import damage

            if "workspace" in values and (reason := damage(values["workspace"])) is not None:
                raise reason from error
            raise

    return with_options(command, *decorators)


class Number(click.FloatRange):
    """A number in a range. Python's own ranges have NaN, which no comparison leaves out, and infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number that can be used", param, ctx)
        return number


# Of commands whose work may run elsewhere.
engine_option = default_option(
    "--engine",
    "local",
    "Execution engine: local, dask (STRUCTFORMER_DASK's scheduler), ray (RAY_ADDRESS's cluster), a plugin's.",
)
# Of commands that are done in parts.
part_option = click.option(
    "--part",
    metavar="I/N",
    help="Do only part I of N, as each job of an array does; structformer merge joins the parts.",
)


def _use_threads(ctx: click.Context, param: click.Parameter, threads: int | None) -> None:
    """Tell the libraries that compute before they are loaded, and the processes that this one starts."""
    if threads is not None:
        os.environ.update(dict.fromkeys(_THREADS, str(threads)))


# Of commands that compute for long.
threads_option = click.option(
    "--threads",
    type=click.IntRange(1),
    expose_value=False,
    callback=_use_threads,
    help="Cores to use.  [default: all] Two commands that each take all run faster one after the other.",
)


def say_part(out: Output, part: object, done: str, workspace: Path, *, again: bool = False) -> int:
    """Say what a part has done, and what comes next."""
    out.json({"part": str(part), "done": done, "again": again})
    out.result(f"part {part}: {done}")
    out.say(
        f"next: run it again when all parts have come this far, then structformer merge -w {workspace}"
        if again
        else f"next, when all parts have ended: structformer merge -w {workspace}"
    )
    return 0


def _load_config(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Make the file's settings the defaults: those outside any table for every command, and the command's own table."""
    if value is None and not Path(DEFAULT_CONFIG).is_file():
        return None
    from structformer.workspace import is_workspace

    if value is None and is_workspace(Path()):
        click.echo(f"{DEFAULT_CONFIG} is not read: this folder is a workspace, which may have come with it", err=True)
        return None
    path = value or Path(DEFAULT_CONFIG)
    settings = read_toml(path)
    options = {option.lstrip("-").replace("-", "_"): param for param in ctx.command.params for option in param.opts}
    if isinstance(settings.get(_THEME), dict):
        del settings[_THEME]
        if _THEME in options:
            settings.setdefault(ctx.info_name or "", {}).setdefault(_THEME, str(path))
    _check_config(ctx.find_root(), settings, str(path))
    chosen = {key: item for key, item in settings.items() if not isinstance(item, dict)}
    own = settings.get(ctx.info_name or "", {})
    unknown = [key for key in own if key.replace("-", "_") not in options]
    if unknown:
        raise click.UsageError(
            f"{path}, [{ctx.info_name}]: no option {', '.join(unknown)}"
            + (_meant(unknown[0], sorted(options)) or f"; see structformer {ctx.info_name} --help")
        )
    chosen.update(own)
    named: dict[str, Any] = {}
    for key, item in chosen.items():
        if (param := options.get(key.replace("-", "_"))) is not None:
            where = f"{path}, [{ctx.info_name}]" if key in own else str(path)
            named[str(param.name)] = _as_typed(item, param, f"{where}: {key}")
    # Whoever made the folder made a file that was only found there; a user's flag or --config is the user's own word.
    not_taken = {name: why for name, item in named.items() if value is None and (why := _why_not_found(name, item))}
    flags = {str(param.name): option.replace("_", "-") for option, param in reversed(options.items())}
    for why in dict.fromkeys(not_taken.values()):
        names = ", ".join(flags[name] for name, each in not_taken.items() if each == why)
        click.echo(
            f"{path}: {names} is not taken from it, since {why}: give it as a flag, or --config {path}", err=True
        )
    ctx.default_map = {name: item for name, item in named.items() if name not in not_taken}
    return path


def _as_typed(item: Any, param: click.Parameter, where: str) -> Any:
    """Return a setting as a flag would have it, so that it is checked as a flag is. Raises UsageError."""
    if getattr(param, "is_flag", False):
        if not isinstance(item, bool):
            raise click.UsageError(f"{where} is {item!r}: it must be true or false")
        return item
    several = getattr(param, "multiple", False)
    listed = item if several and isinstance(item, list) else [item]
    for each in listed:
        if isinstance(each, bool) or not isinstance(each, str | int | float):
            raise click.UsageError(f"{where} is {each!r}: it must be a text or a number")
    return [str(each) for each in listed] if several else str(item)


def _why_not_found(name: str, value: Any) -> str:
    """Return why a file that was only found in a folder may not set an option, "" when it may."""
    if name in _DOORS:
        return "the folder would say who may ask the server, and what is kept"
    texts = [str(each) for each in value] if isinstance(value, list) else [str(value)]
    if name == "recipe" and os.path.isfile(value):  # its options are the folder's too
        texts += re.findall(r"\w+", str(read_toml(Path(value)).get("train")))
    # Of an engine every NAME:PLACE: PostgreSQL's clients take addresses in more forms than one.
    sign = ":" if name == "engine" else "://"
    leads_out = name in _SENDING or any(
        (sign in text and name not in _SENT_NOTHING) or text.partition("=")[0].strip() in _SENDING for text in texts
    )
    return "keys, questions or texts would go where the folder says" if leads_out else ""


def _check_config(ctx: click.Context, settings: dict[str, Any], where: str) -> None:
    """Raise UsageError on a table or key that no command has. ctx: the outermost; a lone command is not checked."""
    app = ctx.command
    if not isinstance(app, click.Group):
        return
    names = app.list_commands(ctx)
    for key, value in settings.items():
        if isinstance(value, dict):
            if key not in names and app.get_command(ctx, key) is None:
                raise click.UsageError(f"{where}: no command {key!r} for the table [{key}]{_meant(key, names)}")
            continue
        if key.replace("-", "_") in ("workspace", "quiet", "verbose", "json"):
            continue
        commands = filter(None, (app.get_command(ctx, name) for name in names))
        params = (param for command in commands for param in command.params)
        known = {option.lstrip("-").replace("-", "_") for param in params for option in param.opts}
        if key.replace("-", "_") not in known:
            raise click.UsageError(
                f"{where}: no command has an option {key!r}{_meant(key, sorted(known | {'workspace'}))}"
            )


def _meant(word: str, words: list[str]) -> str:
    near = nearest(word, words)
    return f"; did you mean {near}?" if near else ""


def save_config(ctx: click.Context, folder: Path) -> None:
    """Store the command's resolved options beside what it made."""
    values = {name: value for name, value in ctx.params.items() if name not in ("quiet", "verbose", "as_json")}
    write_json(
        folder / "command.json", {"command": ctx.info_name, "options": json.loads(json.dumps(values, default=str))}
    )


def seconds(text: str | None, flag: str = "--max-time") -> float | None:
    """Return seconds from "90", "90s", "5m" or "1.5h"; None for None and "none". Raises click.BadParameter."""
    if text is None or text.lower() == "none":
        return None
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise click.BadParameter(f"{text!r} is not a time; write 90s, 5m or 1h", param_hint=flag)
    return value * unit


def read_option_file(name: str, path: Path) -> str:
    """Return the text of an option's file. Raises click.BadParameter if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read ({error})", param_hint=f"--{name}") from error


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return columns of text, the first left-aligned, the others right-aligned."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def printable(text: str) -> str:
    """Return text from a corpus made safe for a terminal: control characters as escapes."""
    return visible(text, keep="\n")
