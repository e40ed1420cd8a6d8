"""The `structformer` command: finds the module of the command asked for, and turns expected failures into one line."""

import io
import logging
import os
import signal
import sqlite3
import sys
import threading
import time
import warnings
from typing import Any, NamedTuple, NoReturn

import click

from structformer._version import __version__
from structformer.cli.brief import meant_option, show_all, shows_all
from structformer.cli.log_file import close_log, log, open_log
from structformer.did_you_mean import nearest
from structformer.errors import StructformerError, is_out_of_memory
from structformer.extras import hide_pandas_from_pyarrow, needed_for
from structformer.lazy_names import named_object

# Each command's module is imported when it is asked for, so that `--help` is quick. The texts stand here for that
# reason.
COMMANDS = {
    "ingest": ("Read", "Read documents into the workspace's corpus and reference graph."),
    "index": ("Search", "Index the corpus for search."),
    "search": ("Search", "Search the index."),
    "train": ("Learn", "Train a ranker on the corpus's structure, in the time given."),
    "sample": ("Learn", "Draw training Examples from the corpus."),
    "evaluate": ("Measure", "Compare pipelines on judged queries or on held-out structure."),
    "merge": ("More", "Merge the results of --part runs."),
    "check": ("More", "Check that no file of the workspace was damaged."),
}
# Headings of `--help` in their order, plugins' own behind "Share"; those that it only lists the names of.
_SECTIONS = ("Read", "Search", "Serve", "Learn", "Measure", "Share")
_NAMES_ONLY = ("Research", "More")

_INTERRUPTED = "interrupted"
_LOG_FILE = "STRUCTFORMER_LOG_FILE"
_PATIENCE = 0.6  # seconds that an interrupted command has to tidy up by itself


class LazyCommand(NamedTuple):
    """A command that is not imported yet."""

    target: str
    """ "package.module:attribute" of a click command."""
    help_line: str
    section: str
    """The heading that `--help` lists it under."""


class LazyGroup(click.Group):
    """Knows its commands' names and short helps, and imports a command when it is run."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self._lazy: dict[str, LazyCommand] = {}
        self._extensions: dict[str, list[str]] = {}
        for name, (section, help_line) in COMMANDS.items():
            self.add_lazy(name, f"structformer.cli.{name}:command", help_line, section)

    def add_lazy(self, name: str, target: str, help_line: str, section: str = "Commands") -> None:
        """Add a command that is imported when it runs. target: "package.module:attribute" of a click command;
        help_line, section: where and how `--help` lists it. The first command of a name stays.
        """
        self._lazy.setdefault(name, LazyCommand(target, help_line, section))

    def extend(self, name: str, target: str) -> None:
        """Let a command of `add_lazy` be changed when it is imported. target: "package.module:attribute" of a function
        from the click command to the one that runs, such as the same with one more option.
        """
        self._extensions.setdefault(name, []).append(target)

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._add_plugin_commands()
        return [*self._lazy, *sorted(set(super().list_commands(ctx)) - set(self._lazy))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        self._add_plugin_commands()
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        command: click.Command = named_object(self._lazy[cmd_name].target)
        for target in self._extensions.get(cmd_name, ()):
            command = named_object(target)(command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, then upload what it changed in a workspace that is kept elsewhere."""
        from structformer.cli.common import REMOTE

        try:
            result = super().invoke(ctx)
        except click.NoSuchOption as error:
            if meant := meant_option(error):
                message = f"No such option {error.option_name!r}. Did you mean {meant!r}?"
                raise click.NoSuchOption(error.option_name, message, ctx=error.ctx) from error
            raise
        for remote in ctx.meta.get(REMOTE, []):
            remote.push()
        return result

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if not (near := nearest(args[0], self.list_commands(ctx))):
                raise
            raise click.UsageError(f"{error.message} Did you mean {near!r}?", ctx) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, show_all(ctx, args))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands below their headings, without blank lines, so that they fit a screen."""
        self._add_plugin_commands()
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in _SECTIONS}
        for name, command in self._lazy.items():
            sections.setdefault(command.section, []).append((name, command.help_line))
        for name, added in sorted(self.commands.items()):
            if name not in self._lazy:
                sections.setdefault("Commands", []).append((name, added.get_short_help_str(formatter.width)))
        width = max(len(name) for rows in sections.values() for name, _ in rows)
        formatter.write_paragraph()
        for title, rows in sorted(sections.items(), key=lambda item: item[0] in _NAMES_ONLY):
            if rows and title in _NAMES_ONLY and not shows_all(ctx):
                formatter.write_text(f"{title}: {', '.join(sorted(name for name, _ in rows))}")
            elif rows:
                formatter.write_text(f"{title}:")
                with formatter.indentation():
                    formatter.write_dl([(name.ljust(width), line) for name, line in rows])
        if not shows_all(ctx):
            formatter.write_text("A line on each, and all options of a command: --help --all")

    def _add_plugin_commands(self) -> None:
        if not getattr(self, "_plugins_asked", False):
            self._plugins_asked = True
            from structformer.plugins import load_plugins

            load_plugins().manager.hook.structformer_commands(app=self)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="structformer")
@click.option(
    "--log-file",
    type=click.Path(dir_okay=False),
    envvar=_LOG_FILE,
    help=f"Append what the command says, warnings and errors to this file, with time and level.  [env: {_LOG_FILE}]",
)
@click.pass_context
def app(ctx: click.Context, /, log_file: str | None) -> None:
    """Turn a structured corpus into a custom retriever, without annotations.

    \b
    structformer up ./docs          read, index and train, with a search page
    structformer search "how do I"  search
    """
    if log_file:
        os.environ.pop(_LOG_FILE, None)  # what the commands say that this one begins, it says itself
        open_log(log_file)
        log(f"structformer {ctx.invoked_subcommand} ({__version__})")


def _end_when_interrupted() -> None:
    """Ctrl-C ends a command within a second, also in a library's work; a server's own handler stays."""
    seen, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def watch() -> None:
        while number := os.read(seen, 1):
            if number[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                time.sleep(_PATIENCE)
                _leave()

    def swallowed(raised: Any) -> None:  # an interrupt that came while an object was deleted goes nowhere
        if issubclass(raised.exc_type, KeyboardInterrupt):
            _leave()
        sys.__unraisablehook__(raised)

    sys.unraisablehook = swallowed
    threading.Thread(target=watch, daemon=True).start()


def _leave() -> NoReturn:
    _say_why(_INTERRUPTED)
    os._exit(130)


def _say_why(text: str) -> None:
    """Say why a command ends."""
    click.echo(text, err=True)
    log(text, logging.ERROR)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 a usage error, 130 interrupted."""
    if watched := arguments is None and os.name == "posix":
        _end_when_interrupted()
        warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"  # no line of ours
    given = arguments or sys.argv[1:]
    if watched and given and not {"-h", "--help", "--version"}.intersection(given):
        hide_pandas_from_pyarrow()
    asked = next(iter(given[2:] if given[:1] == ["--log-file"] else given), "")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a sign shows another, and ends nothing
            stream.reconfigure(errors="replace")
    try:
        with needed_for(f"structformer {asked}"):
            result: Any = app.main(args=arguments, prog_name="structformer", standalone_mode=False)
        code = result if isinstance(result, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        if watched:
            _leave()  # libraries' threads may take long to end
        _say_why(_INTERRUPTED)
        code = 130
    except click.ClickException as error:
        error.show()
        log(error.format_message(), logging.ERROR)
        code = error.exit_code
    except click.exceptions.Exit as error:
        code = error.exit_code
    except StructformerError as error:
        from structformer.cli.common import named

        _say_why(f"error: {named(str(error))}")
        code = error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); without this, Python complains once more while exiting.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        _say_why(f"error: {error.strerror or error}{f' ({error.filename})' if error.filename else ''}")
        code = 1
    except sqlite3.Error as error:
        _say_why(f"error: {error}")
        code = 1
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        _say_why(f"error: out of memory{f' ({error})' if str(error) else ''}".partition("\n")[0])
        code = 1
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of libraries in Rust, which is no Exception
            raise
        _say_why("error: a library gave up; it may lack memory, or files that may be open (ulimit -n)")
        code = 1
    close_log(code)
    sys.exit(code)
