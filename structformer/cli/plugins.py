"""`structformer plugins`."""

from __future__ import annotations

from pathlib import Path

import click

from structformer.cli.common import OutputPath, common_options, output, printable


@click.group("plugins", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """The installed plugins: formats, tasks, rankers, stages, engines, commands."""


@command.command("list")
@common_options
@click.pass_context
def list_command(ctx: click.Context, workspace: Path, quiet: bool, verbose: bool, as_json: bool) -> None:
    """What is installed, with versions: formats and how completely each is read; tasks, rankers, stages, engines,
    commands; and what does not work, and why.
    """
    from structformer.checks.listing import installed

    out = output(ctx)
    listed = installed(ctx.find_root().command)
    out.json(listed)
    for entry in listed["formats"]:
        out.result(f"{entry['format']:10} {entry['plugin']} {entry['version']}  {' '.join(entry['suffixes'])}")
        out.result(f"{'':10} {entry['reads']}")
        for option in entry["options"]:
            out.result(f"{'':10} -O {option['name']}={'|'.join(option['choices']) or 'TEXT'}: {option['help']}")
    for kind in ("tasks", "rankers", "stages", "engines", "commands"):
        names = ", ".join(
            f"{entry['name']}{f' ({plugin})' if (plugin := entry['plugin']) else ''}" for entry in listed[kind]
        )
        out.result(f"{kind:10} {names}")
    for plugin in listed["plugins"]:
        if plugin["error"]:
            out.result(
                f"{plugin['name']:10} {plugin['distribution']} {plugin['version']}  disabled: "
                f"{printable(plugin['error'])}"
            )


@command.command("new")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(["format", "sampler", "ranker", "stage", "command"]),
    default="format",
    show_default=True,
)
@click.option("--into", type=OutputPath(), default=Path(), help="Folder to write it into.  [default: this one]")
@common_options
@click.pass_context
def new_command(
    ctx: click.Context, name: str, kind: str, into: Path, workspace: Path, quiet: bool, verbose: bool, as_json: bool
) -> None:
    """Write the package of a plugin called NAME: code of that kind that works, and a test that checks it."""
    from structformer.checks.scaffold import new_plugin

    out = output(ctx)
    files = new_plugin(name, into, kind)
    out.json({"files": [str(path) for path in files]})
    for path in files:
        out.result(str(path))
    folder = files[0].parent
    samples = f" {folder / 'tests' / 'samples'}" if kind == "format" else ""
    out.say(f"\nnext: pip install -e {folder} && structformer plugins check {name}{samples}")


@command.command("check")
@click.argument("name")
@click.argument("samples", metavar="[SAMPLES]...", nargs=-1, type=click.Path(path_type=Path))
@common_options
@click.pass_context
def check_command(
    ctx: click.Context, name: str, samples: tuple[Path, ...], workspace: Path, quiet: bool, verbose: bool, as_json: bool
) -> int:
    """Check the format, task, ranker, stage or command NAME against the rules that all of its kind keep.

    A format is checked with the files SAMPLES (or files in those folders), the others on a small corpus. Exit code 1
    when a rule is broken."""
    from structformer.checks.listing import check

    out = output(ctx)
    checked = check(name, samples, ctx.find_root().command)
    for remark in checked.remarks:
        out.note(remark)
    out.json(
        {
            checked.kind: name,
            "samples": checked.samples,
            "rules": checked.rules,
            "broken": [str(each) for each in checked.broken],
        }
    )
    for each in checked.broken:
        out.result(printable(str(each)))
    if checked.broken:
        out.note(f"{len(checked.broken)} rules broken")
        return 1
    on = f"{checked.samples} samples" if checked.kind == "format" else "a small corpus"
    out.result(f"{name} keeps all {len(checked.rules)} rules on {on}")
    return 0
