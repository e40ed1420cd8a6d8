"""The sources that PATHs are: what each holds, the label in front of its documents' names, and the files of all as each
other's neighbours; and the kinds that are fetched before they are read: websites' addresses, and what plugins supply.

One PATH needs no label. Several folders have their names as labels. Where files are among several PATHs, as a shell
lists them, all are named from the folder that holds them, so that links between them resolve as they do on disk."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from structformer.formats.source import Limits
from structformer.ingestion.walk import FileFilter, FolderFiles, display_path, path_order
from structformer.plugins import load_plugins
from structformer.workspace import Source, Workspace


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of a fetch."""

    summary: str
    """In a line: what was fetched, and where it is."""
    problems: Sequence[tuple[str, str]] = ()
    """(address, why) of what could not be fetched."""
    remark: str = ""
    """A remark for the user, such as why it stopped early."""


@runtime_checkable
class SourceKind(Protocol):
    """A kind of PATH whose files are fetched into a folder of the workspace, which an ingest then reads like any."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Sequence[Any]:
        """click.Options that `structformer ingest` takes for it."""

    def claims(self, path: str) -> bool:
        """Whether a PATH is of this kind; nothing is fetched."""

    def folder(self, path: str, workspace: Workspace) -> Path:
        """Where its files are kept, inside the workspace. Raises UsageError on a malformed PATH, MissingPackage."""

    def fetch(
        self, path: str, workspace: Workspace, values: Mapping[str, Any], progress: Callable[[str, int, int], None]
    ) -> Fetched:
        """Fetch, or fetch again what has changed. values: of `options`. Raises ReadError where nothing is there."""


def source_kinds() -> dict[str, SourceKind]:
    """Return the kinds by name, all of plugins."""
    supplied = load_plugins().supplied("structformer_sources", "source", SourceKind)  # type: ignore[type-abstract]
    return {name: kind for name, (kind, _) in supplied.items()}


def kind_of(path: str) -> SourceKind | None:
    """Return the kind of a PATH that is fetched; None of a file or folder."""
    return next((kind for kind in source_kinds().values() if kind.claims(path)), None)


def place_of(path: str | Path, alone: bool = True) -> Path:
    """Return the absolute path to read. A link is followed if it is the only PATH, else only within its own folder."""
    target = Path(path).resolve()
    place = Path(path).parent.resolve() / Path(path).name
    if alone or Path(path).name in ("", "..") or (target.exists() and place.parent in target.parents):
        return target
    return place


def places_of(paths: Sequence[str | Path]) -> list[Path]:
    """Return the places of several PATHs; one that lies in another is read with it."""
    places = list(dict.fromkeys(place_of(path, alone=len(paths) == 1) for path in paths))
    return _outside(places, {place for place in places if _is_folder(place)})


def sources_of(places: Sequence[Path]) -> tuple[Source, ...]:
    """Return the sources of a new corpus."""
    if len(places) == 1:
        return (Source("", str(places[0])),)
    base = None if all(map(_is_folder, places)) else _common(places)
    if base is None:
        return _named_by_folder(places, set())
    return tuple(Source(_below(base, folder_of(place)), str(place)) for place in places)


def added_sources(there: Sequence[Source], places: Sequence[Path]) -> tuple[Source, ...]:
    """The sources to add to a corpus's, named from the same folder if they lie in it, else by their own folders."""
    known = {source.path for source in there}
    read = {Path(source.path) for source in there if _is_folder(Path(source.path))}
    new = [place for place in _outside(places, read) if str(place) not in known]
    bases = {base_of(source) for source in there}
    base = next(iter(bases)) if len(bases) == 1 else None
    within = [
        place
        for place in new
        if base is not None and (base in folder_of(place).parents or (place.parent == base and not _is_folder(place)))
    ]
    unlabelled = {folder_of(source.path) for source in there if not source.label}
    top_names = {entry.name for folder in unlabelled if folder.is_dir() for entry in folder.iterdir()}
    taken = {source.label.partition("/")[0] for source in there} | top_names
    named = [Source(_below(base, folder_of(place)), str(place)) for place in within if base is not None]
    return (*named, *_named_by_folder([place for place in new if place not in within], taken))


def base_of(source: Source) -> Path | None:
    """Return the folder that a source's documents are named from; None where its label is not part of its path."""
    folder = folder_of(source.path)
    label = Path(source.label).parts
    if not label:
        return folder
    shown = tuple(map(display_path, folder.parts))
    return Path(*folder.parts[: -len(label)]) if shown[-len(label) :] == label and len(shown) > len(label) else None


def folder_of(path: str | Path) -> Path:
    """Return the folder that a source is, or is a file of."""
    return Path(path) if _is_folder(Path(path)) else Path(path).parent


def _is_folder(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()


def _outside(places: Sequence[Path], folders: set[Path]) -> list[Path]:
    return [place for place in places if folders.isdisjoint(place.parents)]


def _common(places: Sequence[Path]) -> Path | None:
    """Return the folder that holds all of some places; None where it is only the root of the file system."""
    try:
        common = Path(os.path.commonpath([place.parent for place in places]))
    except ValueError:  # on different drives
        return None
    return common if common.parent != common else None


def _below(base: Path, folder: Path) -> str:
    inside = folder.relative_to(base).as_posix()
    return "" if inside == "." else display_path(inside)


def _named_by_folder(places: Sequence[Path], taken: set[str]) -> tuple[Source, ...]:
    """Labels are folders' names; files of one folder share its label."""
    labels: dict[Path, str] = {}
    used = set(taken)
    for folder in dict.fromkeys(map(folder_of, places)):
        name = display_path(folder.name) or "root"
        label = next(each for each in chain([name], (f"{name}-{number}" for number in count(2))) if each not in used)
        used.add(label)
        labels[folder] = label
    return tuple(Source(labels[folder_of(place)], str(place)) for place in places)


class SourceFiles:
    """The files below several sources as each other's neighbours, by the paths that their documents have."""

    def __init__(self, sources: tuple[Source, ...], limits: Limits, wanted: FileFilter | None = None) -> None:
        self._files = {source.label: FolderFiles(folder_of(source.path), limits, wanted) for source in sources}
        self._digests: dict[str, str] = {}
        self._deepest = max((label.count("/") for label in self._files), default=0)

    def get(self, path: str) -> bytes | None:
        files, inside = self._at(path)
        return files.get(inside) if files else None

    def find(self, suffix: str) -> list[str]:
        paths = [labelled(label, path) for label, files in self._files.items() for path in files.find(suffix)]
        return paths if len(self._files) == 1 else sorted(set(paths), key=path_order)

    def digest(self, dependency: str) -> str:
        """A digest of what a source took in: of one file, or with "*" in front of the list of files with a suffix."""
        if dependency not in self._digests:
            if dependency.startswith("*"):
                data: bytes | None = "\n".join(self.find(dependency[1:])).encode("utf-8", "surrogateescape")
            else:
                data = self.get(dependency)
            self._digests[dependency] = "" if data is None else hashlib.sha256(data).hexdigest()
        return self._digests[dependency]

    def _at(self, path: str) -> tuple[FolderFiles | None, str]:
        parts = path.split("/", self._deepest + 1)
        for end in range(len(parts) - 1, 0, -1):
            if (label := "/".join(parts[:end])) in self._files:
                return self._files[label], path[len(label) + 1 :]
        return self._files.get(""), path


def labelled(label: str, path: str) -> str:
    """Return the path that a source's file has in the corpus."""
    return f"{label}/{path}" if label else path


@lru_cache(maxsize=1)
def neighbours_in(run: str, sources: tuple[Source, ...], limits: Limits, wanted: FileFilter) -> SourceFiles:
    """Return the files as neighbours, kept in a worker for one run: it outlives that, and files change."""
    return SourceFiles(sources, limits, wanted)
