"""`structformer plugins`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from structformer.cli.common import common_options, output


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
