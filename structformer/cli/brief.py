"""Help that fits a screen: a command's main options, all of them by `--help --all`; and what a wrong option meant."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

Rows = Iterable[tuple[str, str]]
_ALL = "structformer.all"  # in a context's meta
_HELP = frozenset({"-h", "--help"})
_ALWAYS = frozenset({"--workspace", "--help"})
# What other tools call an option of ours.
_MEANT = {
    **dict.fromkeys(("--top-k", "--topk", "--top", "--limit", "--num-results", "--max-results", "--count"), "-k"),
    **dict.fromkeys(("--filter", "--filters", "--metadata"), "--where"),
    **dict.fromkeys(("--metrics", "--metric"), "--measures"),
    **dict.fromkeys(("--ignore", "--skip"), "--exclude"),
    **dict.fromkeys(("--batch-size",), "--batch"),
    **dict.fromkeys(("--lr",), "--learning-rate"),
    **dict.fromkeys(("--time", "--timeout-minutes", "--max-seconds"), "--max-time"),
    **dict.fromkeys(("--model", "--model-name", "--base"), "--base-model"),
    **dict.fromkeys(("--out", "--output-dir", "-o"), "--output"),
    **dict.fromkeys(("--no-browser", "--no-launch"), "--no-open"),
    **dict.fromkeys(("--judgments", "--judgements"), "--qrels"),
}


def show_all(ctx: click.Context, args: list[str]) -> list[str]:
    """Return the arguments without the --all of `--help --all`, which the context notes for commands below it too."""
    end = args.index("--") if "--" in args else len(args)
    if "--all" not in args[:end] or _HELP.isdisjoint(args[:end]):
        return args
    ctx.meta[_ALL] = True
    return [*(each for each in args[:end] if each != "--all"), *args[end:]]


def shows_all(ctx: click.Context) -> bool:
    """Whether help shows all there is."""
    return bool(ctx.meta.get(_ALL))


class BriefCommand(click.Command):
    """A command whose help shows its main options and first paragraph, the rest with --all. main: the options shown, as
    "--recipe --ranker". more: lists that --all adds below, rows by title.
    """

    def __init__(self, *args: Any, main: str, more: Callable[[], Mapping[str, Rows]] = dict, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._main = _ALWAYS | set(main.split())
        self._more = more

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if shows_all(ctx):
            super().format_help_text(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(inspect.cleandoc(self.help or "").partition("\n\n")[0])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if shows_all(ctx):
            super().format_options(ctx, formatter)
            for title, rows in self._more().items():
                with formatter.section(title):
                    formatter.write_dl(list(rows))
            return
        shown = [param for param in self.get_params(ctx) if not self._main.isdisjoint(param.opts)]
        with formatter.section("Options"):
            formatter.write_dl([record for param in shown if (record := param.get_help_record(ctx))])
        formatter.write_paragraph()
        rest = sum(isinstance(param, click.Option) for param in self.get_params(ctx)) - len(shown)
        formatter.write_text(f"{rest} more options: {ctx.command_path} --help --all")


def meant_option(error: click.NoSuchOption) -> str:
    """Return the option of the error's command that a wrong one means in other tools; "" if there is none."""
    meant = _MEANT.get(error.option_name, "")
    params = error.ctx.command.params if error.ctx is not None else []
    return meant if any(meant in (*param.opts, *param.secondary_opts) for param in params) else ""


def completed(values: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Return an option's `shell_complete`, which completes the last of comma-separated values."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, begun = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{value}") for value in sorted(values()) if value.startswith(begun)]

    return complete
