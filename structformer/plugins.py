"""Hook specifications, and the manager of plugins installed under the entry-point group "structformer"."""

import importlib.metadata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol, TypeVar

import pluggy

from structformer.did_you_mean import did_you_mean, nearest
from structformer.errors import UsageError, WorkspaceError
from structformer.formats.encoding import as_utf8
from structformer.formats.file_names import may_be_document
from structformer.formats.generators import SiteGenerator
from structformer.formats.link_names import add_page_suffixes, without_template
from structformer.formats.protocol import Format, StreamFormat, format_options
from structformer.text.id_marks import origins_of_translations, released_folders

GROUP = "structformer"
# Of the hooks and of what they return. It goes up by one where a plugin that worked would no longer work.
API_VERSION = 1
T = TypeVar("T")
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class Hooks(Protocol):
    """The hook specifications. Each returns objects with a `name`; a name that is taken already is refused.

    A plugin's module may state the version of these hooks that it needs, `structformer_api = N`: a structformer whose
    API_VERSION is lower names it and leaves it out. `structformer --help` loads every plugin, since each may add a
    command: what is slow to import is imported inside the hook that returns it."""

    @hookspec
    def structformer_formats(self) -> list[Format]:
        """Formats: bytes to Documents (structformer.plugins.Format)."""

    @hookspec
    def structformer_tasks(self) -> list[Any]:
        """Sampling tasks: trees and links to Examples (structformer.sampling.Task)."""

    @hookspec
    def structformer_recipes(self) -> Any:
        """Return a folder of recipes of training, NAME.toml each (pathlib.Path)."""

    @hookspec
    def structformer_rankers(self) -> list[Any]:
        """Return kinds of rankers: how they are loaded, trained, judged and used (structformer.models.RankerKind)."""

    @hookspec
    def structformer_stages(self) -> list[Any]:
        """Stages of search pipelines (structformer.retrieval.StageKind)."""

    @hookspec
    def structformer_engines(self) -> list[Any]:
        """Engines, which map work over machines (structformer.engines.Engine)."""

    @hookspec
    def structformer_measures(self) -> list[Any]:
        """Measures of rankings (structformer.evaluation.Measure)."""

    @hookspec
    def structformer_search_engines(self) -> list[Any]:
        """Search engines that keep an index and search it (SearchEngine of the plugin that writes to them)."""

    @hookspec
    def structformer_sources(self) -> list[Any]:
        """Return kinds of PATHs that are fetched before they are read (structformer.ingestion.Source)."""

    @hookspec(firstresult=True)
    def structformer_front_matter(self, text: str, source: Any) -> Any:
        """Split a page of HTML that begins with front matter: (metadata, the text after it, a warning or "", a function
        that carries out the template syntax of such a text). source: structformer.formats.SourceFile.
        """

    @hookspec
    def structformer_html_page(self, soup: Any, source: Any) -> None:
        """Change a page of HTML in place before it is read. soup: a bs4.BeautifulSoup of the whole page, built only if
        a plugin has this hook. source: structformer.formats.SourceFile, which has the path and takes warnings.
        """

    @hookspec
    def structformer_latex_specs(self) -> list[Any]:
        """Commands and environments of LaTeX: objects of pylatexenc.macrospec, MacroSpec and EnvironmentSpec."""

    @hookspec
    def structformer_site_generators(self) -> list[SiteGenerator]:
        """Site generators (structformer.formats.SiteGenerator). Where several know a file of settings, the first whose
        `read` returns facts has it."""

    @hookspec(firstresult=True)
    def structformer_theme(self, text: str) -> SiteGenerator | None:
        """Return the site generator that a user's theme, in TOML, describes. Raises UsageError."""

    @hookspec
    def structformer_commands(self, app: Any) -> None:
        """Add commands to the click group `app`: `app.add_lazy(name, "module:attribute", help_line)` imports a command
        when it runs, `app.add_command(command)` takes one as it is.
        """


@dataclass(slots=True)
class Plugin:
    """An installed plugin: its entry-point name, distribution, version, what it supplies by kind, and its error."""

    name: str
    distribution: str
    version: str
    error: str = ""
    supplies: dict[str, list[str]] = field(default_factory=dict)


class Plugins:
    """The loaded plugins. One that fails to load, or supplies what it should not, is kept with its error."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(GROUP)
        self.manager.add_hookspecs(Hooks)
        self.installed: list[Plugin] = []
        self._supplied: dict[tuple[str, frozenset[str]], dict[str, tuple[Any, str]]] = {}
        entries = importlib.metadata.entry_points(group=GROUP)
        # Asking a distribution for its name or its version parses all its metadata each time.
        origins = {
            each: (each.name, each.version) if each else ("?", "?") for each in {entry.dist for entry in entries}
        }
        plugins = [(Plugin(entry.name, *origins[entry.dist]), entry) for entry in entries]
        # Our own first, so that nobody takes their names.
        plugins.sort(key=lambda each: (each[0].distribution != GROUP, each[0].name, each[1].value))
        for plugin, entry in plugins:
            self._load(plugin, entry)

    def _load(self, plugin: Plugin, entry: importlib.metadata.EntryPoint) -> None:
        self.installed.append(plugin)
        try:
            module = entry.load()
            _check_api(module)
            self.manager.register(module, name=entry.name)
        except Exception as failure:
            self._failed(plugin, failure)

    def add(self, module: object, name: str) -> None:
        """Add a plugin that is not installed."""
        self.manager.register(module, name=name)
        self._supplied.clear()
        vars(self).pop("_formats", None)
        self.installed.append(Plugin(name, "?", "?"))

    def _failed(self, plugin: Plugin, failure: Exception) -> None:
        """Disable a plugin alone, whatever its code raised. Raises WorkspaceError where nothing is wrong with it."""
        if isinstance(failure, MemoryError):
            raise WorkspaceError(f"not enough memory to load the plugin {plugin.name}") from failure
        if isinstance(failure, ImportError | OSError) and plugin.distribution == GROUP:
            raise WorkspaceError(f"the plugin {plugin.name} of structformer cannot be loaded ({failure})") from failure
        plugin.error = f"{type(failure).__name__}: {failure}"
        if self.manager.has_plugin(plugin.name):
            self.manager.unregister(name=plugin.name)

    def supplied(self, hook: str, what: str, kind: type[T], taken: Collection[str] = ()) -> dict[str, tuple[T, str]]:
        """Return what plugins supply by a hook: objects by name, each with its plugin's name. A plugin that raises, or
        supplies what is not of the kind or has a name that is taken, is disabled and says why in `installed`.
        A second call with the same names taken returns the first one's result.
        """
        asked = (hook, frozenset(taken))
        if asked in self._supplied:
            return self._supplied[asked]
        supplied: dict[str, tuple[T, str]] = {}
        for plugin in list(self.installed):
            module = self.manager.get_plugin(plugin.name)
            if plugin.error or not hasattr(module, hook):
                continue
            try:
                items = {item.name: item for item in getattr(module, hook)()}
                for name, item in items.items():
                    if not isinstance(item, kind):
                        raise TypeError(f"{item!r} is not a {kind.__name__}")
                    if name in taken or name in supplied:
                        raise ValueError(f"there is a {what} {name!r} already")
            except Exception as failure:
                self._failed(plugin, failure)
                continue
            supplied.update({name: (item, plugin.name) for name, item in items.items()})
            plugin.supplies[what] = list(items)
        self._supplied[asked] = supplied
        return supplied

    @cached_property
    def _formats(self) -> dict[str, tuple[Format, str]]:
        """The formats with their plugins' names, asked for when the first is needed: parsers are slow to import."""
        formats = self.supplied("structformer_formats", "format", Format)  # type: ignore[type-abstract]
        add_page_suffixes(suffix for format, _ in formats.values() for suffix in format.suffixes)
        return formats

    @property
    def site_generators(self) -> dict[str, SiteGenerator]:
        """Site generators by name, in the order in which plugins list them."""
        supplied = self.supplied("structformer_site_generators", "site generator", SiteGenerator)
        return {name: generator for name, (generator, _) in supplied.items()}

    def theme(self, text: str) -> SiteGenerator:
        """Return the site generator of a user's theme, in TOML; one that says nothing if the text is empty, or if no
        plugin reads themes. Raises UsageError."""
        generator: SiteGenerator | None = self.manager.hook.structformer_theme(text=text) if text else None
        return generator or SiteGenerator("")

    def theme_of(self, options: Mapping[str, Any]) -> SiteGenerator:
        """Return the user's theme among a format's options. Raises UsageError."""
        return self.theme(str(options.get("theme") or ""))

    @property
    def formats(self) -> dict[str, Format]:
        """Formats by name, in name order."""
        return {name: self._formats[name][0] for name in sorted(self._formats)}

    def format(self, name: str) -> Format:
        """Return the format of that name. Raises UsageError with the names there are."""
        if name not in self._formats:
            by_suffix = [format.name for format in self.claiming(f"file.{name.lower()}")]
            meant = by_suffix[0] if by_suffix else nearest(name, self.formats)
            cure = f"did you mean {meant}?" if meant else f"installed: {', '.join(self.formats) or 'none'}"
            raise UsageError(f"no format {name!r}; {cure}")
        return self._formats[name][0]

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise UsageError on an option that no format has, or a value that it does not take."""
        known = {option.name: option for format in self.formats.values() for option in format_options(format)}
        for name, value in options.items():
            option = known.get(name)
            if option is None:
                raise UsageError(f"no format option {name!r}; {did_you_mean(name, sorted(known))}")
            if option.choices and value not in option.choices:
                raise UsageError(f"{name}={value}: choose {', '.join(option.choices)}")
            if option.check is not None:
                option.check(str(value))

    def provider(self, format_name: str) -> Plugin:
        """Return the plugin that supplies a format."""
        name = self._formats[format_name][1]
        return next(plugin for plugin in self.installed if plugin.name == name)

    def _is_copied_source(self, path: str) -> bool:
        """Whether a file is the source of a built page, which lies beside it: the page is read."""
        patterns = (each.copied_sources for each in self.site_generators.values())
        return any(pattern is not None and pattern.match(path) for pattern in patterns)

    def claiming(self, path: str) -> list[Format]:
        """Return the formats whose suffix a path has, or, of a template, what it makes."""
        if self._is_copied_source(path):
            return []
        for lower in dict.fromkeys((path.lower(), without_template(path).lower())):
            if formats := [format for format in self.formats.values() if lower.endswith(format.suffixes)]:
                return formats
        return []

    def detect(self, path: str, head: bytes) -> tuple[Format | None, str]:
        """A file's format and why: sure first bytes, its suffix, else the surest sniff from 0.5 on; (None, why not)."""
        claimed = self.claiming(path)
        head = as_utf8(head)
        if not claimed and self._is_copied_source(path):
            return None, "the source of a page that lies beside it"
        if path.rpartition("/")[2] == "search.toml":
            return None, "read by `index` and the search"
        if not claimed and not may_be_document(path, head):
            return None, "no document by its name or its first line"
        sure = (
            sorted(((format.sniff(head, path), format.name) for format in self.formats.values()), reverse=True)
            if head
            else []
        )
        if sure and sure[0][0] >= 1.0 and not any(format.sniff(head, path) >= 1.0 for format in claimed):
            return self._formats[sure[0][1]][0], "first bytes"
        if len(claimed) == 1:
            return claimed[0], "suffix"
        names = {format.name for format in claimed}
        best, name = next(((score, name) for score, name in sure if not names or name in names), (0.0, ""))
        if best >= 0.5 or (claimed and best > 0):
            return self._formats[name][0], f"content ({best:.2f})"
        return (claimed[0], "suffix") if claimed else (None, "no installed format recognises it")

    def may_stream(self, path: str) -> bool:
        """Whether a file of this suffix may be a stream of documents, so that its first bytes must be looked at."""
        name = path.rpartition("/")[2].lower()
        suffix = "." + name.rpartition(".")[2] if "." in name else ""
        return any(suffix in getattr(format, "stream_suffixes", ()) for format in self.formats.values())

    def streaming(self, head: bytes, options: Mapping[str, Any] | None = None) -> StreamFormat | None:
        """Return the format that reads a file with these first bytes as a stream of documents, given these options."""
        return next((format for format in self._stream_formats if format.streams(head, options or {})), None)

    @cached_property
    def _stream_formats(self) -> list[StreamFormat]:
        """Looked up once: asking whether an object keeps a protocol is slow, and every file asks."""
        return [format for format in self.formats.values() if isinstance(format, StreamFormat)]


def _check_api(module: object) -> None:
    """Raise ValueError on a plugin that needs another version of the hooks than this one."""
    needed = getattr(module, "structformer_api", API_VERSION)
    if isinstance(needed, bool) or not isinstance(needed, int) or needed < 1:
        raise ValueError(f"structformer_api is {needed!r}, not a version of the plugin API (1 to {API_VERSION})")
    if needed > API_VERSION:
        raise ValueError(f"it needs plugin API {needed}, this structformer has {API_VERSION}: install a newer one")


@cache
def load_plugins() -> Plugins:
    """Return the plugins of this process, loaded once."""
    return Plugins()


released_folders(
    cache(lambda: tuple(each.versions for each in load_plugins().site_generators.values() if each.versions))
)
origins_of_translations(
    cache(lambda: tuple(filter(None, (each.languages for each in load_plugins().site_generators.values()))))
)
