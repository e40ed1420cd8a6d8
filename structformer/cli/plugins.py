"""`structformer plugins`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from structformer.cli.common import common_options, output, printable


@click.group("plugins", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """The installed plugins: formats, samplers, commands."""


@command.command("list")
@common_options
@click.pass_context
def list_command(ctx: click.Context, workspace: Path, quiet: bool, verbose: bool, as_json: bool) -> None:
    """What is installed, with versions, and how completely each format is read."""
    from structformer.plugins import load_plugins

    out = output(ctx)
    plugins = load_plugins()
    formats = [
        {
            "format": name,
            "plugin": plugins.provider(name).distribution,
            "version": plugins.provider(name).version,
            "suffixes": list(format.suffixes),
            "reads": format.completeness,
        }
        for name, format in plugins.formats.items()
    ]
    out.json({"plugins": [asdict(plugin) for plugin in plugins.installed], "formats": formats})
    for entry in formats:
        out.result(f"{entry['format']:10} {entry['plugin']} {entry['version']}  {' '.join(entry['suffixes'])}")
        out.result(f"{'':10} {entry['reads']}")
    for plugin in plugins.installed:
        if plugin.error:
            out.result(f"{plugin.name:10} {plugin.distribution} {plugin.version}  disabled: {plugin.error}")


@command.command("new")
@click.argument("name")
@click.option("--into", type=click.Path(path_type=Path), default=Path(), help="Folder to write it into.  [default: this one]")
@common_options
@click.pass_context
def new_command(ctx: click.Context, name: str, into: Path, workspace: Path, quiet: bool, verbose: bool, as_json: bool) -> None:
    """Write the package of a format plugin called NAME: a reader that works, a sample, a test."""
    from structformer.scaffold import new_plugin

    out = output(ctx)
    files = new_plugin(name, into)
    out.json({"files": [str(path) for path in files]})
    for path in files:
        out.result(str(path))
    out.say(f"\nnext: pip install -e {files[0].parent} && structformer plugins check {name} {files[0].parent / 'tests' / 'samples'}")


@command.command("check")
@click.argument("name")
@click.argument("samples", metavar="SAMPLES...", nargs=-1, type=click.Path(path_type=Path))
@common_options
@click.pass_context
def check_command(
    ctx: click.Context, name: str, samples: tuple[Path, ...], workspace: Path, quiet: bool, verbose: bool, as_json: bool
) -> int:
    """Check the format NAME against the rules that every format keeps, with the files SAMPLES (or files in those folders).

    Exit code 1 when a rule is broken.
    """
    from structformer.conformance import RULES, Sample, check_format
    from structformer.errors import UsageError
    from structformer.plugins import load_plugins

    out = output(ctx)
    format = load_plugins().format(name)
    files = [path for given in samples for path in (sorted(given.rglob("*")) if given.is_dir() else [given])]
    chosen = [path for path in files if path.is_file() and (path in samples or path.name.lower().endswith(format.suffixes))]
    missing = [path for path in samples if not path.exists()]
    if missing or (samples and not chosen):
        raise UsageError(f"{missing[0]} does not exist" if missing else f"no file there ends in {' or '.join(format.suffixes)}")
    if not samples:
        out.note("no samples given: only what holds without any is checked; give files of the format")
    broken = check_format(format, [Sample(path.name, path.read_bytes()) for path in chosen])
    if not samples:
        broken = [each for each in broken if each.rule != "reads_its_samples"]
    out.json({"format": name, "samples": len(chosen), "rules": list(RULES), "broken": [str(each) for each in broken]})
    for each in broken:
        out.result(printable(str(each)))
    if broken:
        out.note(f"{len(broken)} rules broken")
        return 1
    out.result(f"{name} keeps all {len(RULES)} rules on {len(chosen)} samples")
    return 0
