"""What is installed of every kind, and the checks of one thing by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from structformer.checks.formats import RULES, Broken, Sample, check_format
from structformer.errors import UsageError
from structformer.formats.protocol import Format, format_options
from structformer.models.kinds import ranker_kinds
from structformer.plugins import load_plugins
from structformer.retrieval.stage import stage_kinds
from structformer.sampling import tasks


def installed(app: click.Command) -> dict[str, list[dict[str, Any]]]:
    """Everything that is installed, by kind; built-in things have no plugin. app: the command line, whose commands are
    listed.
    """
    plugins = load_plugins()
    kinds = {"tasks": list(tasks()), "rankers": list(ranker_kinds()), "stages": list(stage_kinds())}
    from structformer.engines import Engine

    engines = plugins.supplied("structformer_engines", "engine", Engine, ("local",))  # type: ignore[type-abstract]
    kinds["engines"] = ["local", *engines]
    kinds["commands"] = app.list_commands(click.Context(app)) if isinstance(app, click.Group) else []
    suppliers = {
        (what, name): plugin.distribution
        for plugin in plugins.installed
        for what, names in plugin.supplies.items()
        for name in names
    }
    singular = {"tasks": "task", "rankers": "ranker", "stages": "stage", "engines": "engine", "commands": "command"}
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
            for name, format in plugins.formats.items()
        ],
        **{
            kind: [{"name": name, "plugin": suppliers.get((singular[kind], name), "")} for name in names]
            for kind, names in kinds.items()
        },
    }


@dataclass(slots=True)
class Checked:
    """What a check found. samples: how many files a format was checked with."""

    kind: str
    rules: list[str]
    broken: list[Broken]
    samples: int = 0
    remarks: list[str] = field(default_factory=list)


def check(name: str, samples: Sequence[Path], app: click.Command) -> Checked:
    """Check the format, task, ranker, stage or command of that name. Raises UsageError when there is none, or samples
    are not there.
    """
    plugins = load_plugins()
    if name in plugins.formats:
        return _checked_format(plugins.formats[name], samples)
    if samples:
        raise UsageError(
            f"no format {name!r}, and SAMPLES are read by a format only: choose one of {', '.join(plugins.formats)}"
        )
    if name in tasks():
        from structformer.checks.tasks import TASK_RULES, check_task

        return Checked("task", list(TASK_RULES), check_task(tasks()[name]))
    if name in ranker_kinds():
        from structformer.checks.rankers import RANKER_RULES, check_ranker

        return Checked("ranker", list(RANKER_RULES), check_ranker(ranker_kinds()[name]))
    if name in stage_kinds():
        from structformer.checks.stages import STAGE_RULES, check_stage

        return Checked("stage", list(STAGE_RULES), check_stage(stage_kinds()[name]))
    command = app.get_command(click.Context(app), name) if isinstance(app, click.Group) else None
    if command is not None:
        broken = (
            []
            if command.get_short_help_str()
            else [Broken("it has a help text", name, "the command says nothing of itself")]
        )
        return Checked("command", ["it has a help text"], broken)
    raise UsageError(f"no format, task, ranker, stage or command {name!r} is installed: see structformer plugins list")


def _checked_format(format: Format, given: Sequence[Path]) -> Checked:
    files = [path for each in given for path in (sorted(each.rglob("*")) if each.is_dir() else [each])]
    chosen = [
        path for path in files if path.is_file() and (path in given or path.name.lower().endswith(format.suffixes))
    ]
    missing = [path for path in given if not path.exists()]
    if missing or (given and not chosen):
        raise UsageError(
            f"{missing[0]} does not exist" if missing else f"no file there ends in {' or '.join(format.suffixes)}"
        )
    broken = check_format(format, [Sample(path.name, path.read_bytes()) for path in chosen])
    if given:
        return Checked("format", list(RULES), broken, len(chosen))
    remark = "no samples given: only what holds without any is checked; give files of the format"
    return Checked("format", list(RULES), [each for each in broken if each.rule != "reads_its_samples"], 0, [remark])
