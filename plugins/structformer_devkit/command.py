"""`structformer plugins`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from structformer.cli import Output, OutputPath, common_options, printable


@click.group("plugins", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """The installed plugins: formats, tasks, rankers, stages, search engines, engines, commands."""


@command.command("list")
@common_options
@click.pass_context
def list_command(ctx: click.Context, workspace: Path, out: Output) -> None:
    """List what is installed, with versions: formats and how completely each is read; search engines and what their
    addresses look like; tasks, rankers, stages, engines, commands; and what does not work, and why.
    """
    listed = installed(ctx.find_root().command)
    out.json(listed)
    for entry in listed["formats"]:
        out.result(f"{entry['format']:10} {entry['plugin']} {entry['version']}  {' '.join(entry['suffixes'])}")
        out.result(f"{'':10} {entry['reads']}")
        for option in entry["options"]:
            out.result(f"{'':10} -O {option['name']}={'|'.join(option['choices']) or 'TEXT'}: {option['help']}")
    for entry in listed["search_engines"]:
        doubt = ": experimental, not run against a real server" if entry["experimental"] else ""
        out.result(f"{entry['name']:10} {entry['plugin']}  a search engine{doubt}")
        out.result(f"{'':10} {' or '.join(entry['addresses'])}")
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
    type=click.Choice(["format", "sampler", "ranker", "stage", "search-engine", "command"]),
    default="format",
    show_default=True,
)
@click.option("--into", type=OutputPath(), default=Path(), help="Folder to write it into.  [default: this one]")
@common_options
def new_command(name: str, kind: str, into: Path, workspace: Path, out: Output) -> None:
    """Write the package of a plugin called NAME: code of that kind that works, and a test that checks it."""
    from structformer_devkit.scaffold import new_plugin

    files = new_plugin(name, into, kind)
    out.json({"files": [str(path) for path in files]})
    for path in files:
        out.result(str(path))
    folder = files[0].parent
    samples = f" {folder / 'tests' / 'samples'}" if kind == "format" else ""
    out.say(f"\nnext: pip install -e {folder} && structformer plugins check {name}{samples}")


@command.command("check")
@click.argument("name")
@click.argument("given", metavar="[SAMPLES | PLACE]...", nargs=-1)
@common_options
@click.pass_context
def check_command(ctx: click.Context, name: str, given: tuple[str, ...], workspace: Path, out: Output) -> int:
    """Check the format, task, ranker, stage, search engine or command NAME, or all that the plugin NAME supplies,
    against the rules that all of its kind keep.

    A format is checked with the files SAMPLES (or files in those folders), a search engine with ten pages written to
    PLACE, which is what follows the colon in its address (one that takes a folder needs none), the others on a small
    corpus. Exit code 1 when a rule is broken."""
    from structformer_devkit.by_name import check

    checked = check(name, given, ctx.find_root().command)
    for remark in (remark for each in checked for remark in each.remarks):
        out.note(printable(remark))
    results = [
        {
            each.kind.replace(" ", "_"): each.name,
            "samples": each.samples,
            "rules": list(each.rules),
            "broken": [str(broken) for broken in each.broken],
        }
        for each in checked
    ]
    out.json(results[0] if [each.name for each in checked] == [name] else {"name": name, "checked": results})
    broken = [each for case in checked for each in case.broken]
    for each in broken:
        out.result(printable(str(each)))
    for case in checked:
        if case.rules and not case.broken:
            on = {"format": f"{case.samples} samples", "search engine": "ten pages"}.get(case.kind, "a small corpus")
            out.result(f"{case.name} keeps all {len(case.rules)} rules on {on}")
    if broken:
        out.note(f"{len(broken)} rules broken")
    return 1 if broken else 0


def installed(app: click.Command) -> dict[str, list[dict[str, Any]]]:
    """Return all that is installed, by kind; built-in things have no plugin. app: has the commands that are listed."""
    from structformer.engines import Engine
    from structformer.formats import format_options
    from structformer.models import ranker_kinds
    from structformer.plugins import load_plugins
    from structformer.retrieval import stage_kinds
    from structformer.sampling import tasks

    from structformer_engines import search_engines

    plugins = load_plugins()
    formats = plugins.formats  # a plugin that fails says so before plugins are listed
    kinds = {"task": list(tasks()), "ranker": list(ranker_kinds()), "stage": list(stage_kinds())}
    engines = plugins.supplied("structformer_engines", "engine", Engine, ("local",))  # type: ignore[type-abstract]
    kinds["engine"] = ["local", *engines]
    kinds["command"] = app.list_commands(click.Context(app)) if isinstance(app, click.Group) else []
    searched = search_engines()
    suppliers = {
        (what, name): plugin.distribution
        for plugin in plugins.installed
        for what, names in plugin.supplies.items()
        for name in names
    }
    return {
        "plugins": [asdict(plugin) for plugin in plugins.installed],
        "formats": [
            {
                "format": name,
                "plugin": plugins.provider(name).distribution,
                "version": plugins.provider(name).version,
                "suffixes": list(format.suffixes),
                "reads": format.completeness,
                "options": [
                    {"name": each.name, "help": each.help, "choices": list(each.choices)}
                    for each in format_options(format)
                ],
            }
            for name, format in formats.items()
        ],
        "search_engines": [
            {
                "name": name,
                "plugin": suppliers.get(("search engine", name), ""),
                "addresses": list(engine.addresses),
                "experimental": engine.experimental,
            }
            for name, engine in searched.items()
        ],
        **{
            f"{kind}s": [{"name": name, "plugin": suppliers.get((kind, name), "")} for name in names]
            for kind, names in kinds.items()
        },
    }
