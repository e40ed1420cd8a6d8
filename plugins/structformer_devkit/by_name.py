"""The checks of one thing by its name, or of all that a plugin supplies."""

import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from structformer.did_you_mean import nearest
from structformer.engines import Engine
from structformer.errors import UsageError
from structformer.evaluation import own_measures
from structformer.extras import needed_for
from structformer.models import imported, ranker_kinds
from structformer.plugins import load_plugins
from structformer.retrieval import stage_kinds
from structformer.sampling import Need, tasks

from structformer_devkit.formats import RULES, Broken, check_format, samples_in
from structformer_engines import search_engines


@dataclass(slots=True)
class Checked:
    """Result of the check of one thing."""

    kind: str
    name: str
    rules: Sequence[str] = ()
    """The rules that it was checked by; if there are none it was not checked, and the remarks say why."""
    broken: list[Broken] = field(default_factory=list)
    samples: int = 0
    """How many files a format was checked with."""
    remarks: list[str] = field(default_factory=list)


# For each kind what is installed, and the module of this package with its rules and its check.
_CHECKS: Mapping[str, tuple[Callable[[], Mapping[str, Any]], str]] = {
    "task": (tasks, "tasks"),
    "ranker": (ranker_kinds, "rankers"),
    "stage": (stage_kinds, "stages"),
    "site generator": (lambda: load_plugins().site_generators, "site_generators"),
}
_CHECKED = ("format", "task", "ranker", "stage", "search engine", "site generator", "command")


class _Commands(click.Group):
    """The commands that one plugin adds to the command line."""

    def add_lazy(self, name: str, target: str, *_: str) -> None:
        self.add_command(imported(target), name)

    def extend(self, name: str, target: str) -> None:
        """Import the code that changes a command; the command is another plugin's to check."""
        imported(target)


def check(name: str, given: Sequence[str], app: click.Command) -> list[Checked]:
    """Check what has that name, be it a format, a task, a ranker, a stage, a search engine or a command; else all that
    the plugin of that name supplies.

    given: files and folders of samples for formats, or the place for a search engine. Raises UsageError where there is
    no such thing, the plugin is disabled, or what is given is not there.
    """
    names = _names(app)
    kinds = [kind for kind, names_of_kind in names.items() if name in names_of_kind]
    if not kinds:
        known = (each for names_of_kind in names.values() for each in names_of_kind)
        return _plugin(name, given, known)
    if given and not {"format", "search engine"}.intersection(kinds):
        raise UsageError(f"{name} is a {kinds[0]}: a format is checked with files, and a search engine in a place")
    return [_checked(kind, name, given, app) for kind in kinds]


def _names(app: click.Command) -> dict[str, Collection[str]]:
    """The names of all that is installed, by kind. What plugins supply is looked at here, so their errors are known."""
    plugins = load_plugins()
    engines = plugins.supplied("structformer_engines", "engine", Engine)  # type: ignore[type-abstract]
    return {
        "format": plugins.formats,
        "task": tasks(),
        "ranker": ranker_kinds(),
        "stage": stage_kinds(),
        "search engine": search_engines(),
        "command": app.list_commands(click.Context(app)) if isinstance(app, click.Group) else (),
        "engine": engines,
        "measure": own_measures(),
        "site generator": plugins.site_generators,
    }


def _plugin(name: str, given: Sequence[str], known: Iterable[str]) -> list[Checked]:
    """Return all that a plugin supplies. known: names that are not plugins'."""
    plugins = load_plugins()
    plugin = next((each for each in plugins.installed if each.name == name), None)
    if plugin is None:
        *kinds, last = (*_CHECKED, "plugin")
        meant = nearest(name, sorted({*known, *(each.name for each in plugins.installed)}))
        cure = f"did you mean {meant}?" if meant else "see structformer plugins list"
        raise UsageError(f"no {', '.join(kinds)} or {last} {name!r} is installed; {cure}")
    if plugin.error:
        raise UsageError(f"the plugin {name} is disabled: {plugin.error}")
    own = _Commands()
    if add := getattr(plugins.manager.get_plugin(name), "structformer_commands", None):
        add(own)
    supplied = {**plugin.supplies, "command": list(own.commands)}
    if not any(supplied.values()):
        raise UsageError(f"the plugin {name} supplies nothing that could be checked")
    if given and not supplied.get("format"):
        raise UsageError(f"the plugin {name} supplies no format, so it takes no sample files")
    _check_paths(given)
    return [_part(kind, each, given, own) for kind, names in supplied.items() for each in names]


def _part(kind: str, name: str, given: Sequence[str], own: click.Group) -> Checked:
    """Return the check of one of the things that a plugin supplies, or why there is none."""
    try:
        return _checked(kind, name, given if kind == "format" else (), own)
    except UsageError as error:
        return Checked(kind, name, remarks=[f"the {kind} {name} is not checked: {error}"])


def _checked(kind: str, name: str, given: Sequence[str], app: click.Command) -> Checked:
    """Return the check of a thing of its kind; app: the command line that a command is of."""
    if kind == "format":
        return _format(name, given)
    if kind == "search engine":
        return _search_engine(name, given)
    if kind == "stage" and stage_kinds()[name].model:
        return Checked(kind, name, remarks=[f"the stage {name} uses a model, so it is not run here"])
    if kind == "task" and tasks()[name].needs & (Need.ATTENTION | Need.COLLECTION):
        return Checked(kind, name, remarks=[f"the task {name} asks a model or all pages, so it is not drawn here"])
    if kind in _CHECKS:
        supplied, module = _CHECKS[kind]
        with needed_for(f"the check of a {kind}"):
            checks = import_module(f"structformer_devkit.{module}")
        broken = getattr(checks, f"check_{kind.replace(' ', '_')}")(supplied()[name])
        return Checked(kind, name, getattr(checks, f"{kind.replace(' ', '_').upper()}_RULES"), broken)
    if kind != "command":
        return Checked(kind, name, remarks=[f"the {kind} {name} is not checked: its kind has no rules"])
    rule = "it has a help text"
    command = app.get_command(click.Context(app), name) if isinstance(app, click.Group) else None
    silent = command is None or not command.get_short_help_str()
    return Checked(kind, name, [rule], [Broken(rule, name, "the command says nothing of itself")] * silent)


def _check_paths(given: Sequence[str]) -> None:
    if missing := [path for path in given if not Path(path).exists()]:
        raise UsageError(f"{missing[0]} does not exist")


def _format(name: str, given: Sequence[str]) -> Checked:
    format = load_plugins().formats[name]
    _check_paths(given)
    samples = samples_in([Path(each) for each in given], format)
    if given and not samples:
        raise UsageError(f"no file there ends in {' or '.join(format.suffixes)}")
    broken = check_format(format, samples)
    if given:
        return Checked("format", name, list(RULES), broken, len(samples))
    remark = "no samples given: only what holds without any is checked; give files of the format"
    without = [each for each in broken if each.rule != "reads_its_samples"]
    return Checked("format", name, list(RULES), without, 0, [remark])


def _search_engine(name: str, given: Sequence[str]) -> Checked:
    from structformer_devkit.search_engines import SEARCH_ENGINE_RULES, check_search_engine

    engine = search_engines()[name]
    if len(given) > 1:
        raise UsageError(f"{name} is a search engine: name one place, {' or '.join(engine.places)}")
    with tempfile.TemporaryDirectory(prefix="structformer-") as folder:
        place = given[0] if given else str(Path(folder) / "index")
        if engine.folder(place) is None and not given:
            raise UsageError(
                f"{name} takes a place that holds no index, to write ten pages to: structformer plugins check {name} "
                f"{engine.places[0]}"
            )
        return Checked("search engine", name, SEARCH_ENGINE_RULES, check_search_engine(engine, place))
