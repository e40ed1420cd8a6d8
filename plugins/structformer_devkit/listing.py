"""What is installed of every kind."""

from dataclasses import asdict
from typing import Any

import click
from structformer.engines import Engine
from structformer.formats import format_options
from structformer.models import ranker_kinds
from structformer.plugins import load_plugins
from structformer.retrieval import stage_kinds
from structformer.sampling import tasks

from structformer_engines import search_engines


def installed(app: click.Command) -> dict[str, list[dict[str, Any]]]:
    """Everything that is installed, by kind; built-in things have no plugin. app: the command line, whose commands are
    listed.
    """
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
