"""What there is to read below the given folders: each file with the format that reads it and why, or why it is passed
over.
"""

import hashlib
import heapq
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from structformer.corpus.shards import path_order
from structformer.formats.file_names import holds_queries, may_be_document
from structformer.formats.limits import Limits
from structformer.formats.protocol import CompositeFormat
from structformer.formats.source import SourceFile
from structformer.ingestion.archives import archive_kind, split_compression
from structformer.ingestion.included_files import Taken, place
from structformer.ingestion.reading import ARCHIVE, head_of
from structformer.ingestion.sources import folder_of
from structformer.ingestion.walk import FileFilter, FolderFiles, Found, display_path, link_problem, walk
from structformer.plugins import Plugins
from structformer.workspace import Source

_BIG_FILE = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SurveyedFile:
    """A file to read, or, with `problem`, one that is passed over and why."""

    path: str
    location: str
    format: str
    size: int = 0
    why: str = ""
    problem: str = ""
    unreadable: bool = False
    """Whether it could not be looked at."""
    part_of: tuple[str, ...] = ()
    """The documents that take it in whole."""
    pieces_in: tuple[str, ...] = ()
    """The documents that take pieces of it; it is not a document by itself."""
    stream: bool = False
    """Whether it is read piece by piece."""
    piece: int = -1
    """The number of a piece, -1 for a whole file."""

    @property
    def is_read(self) -> bool:
        """Whether it is read by itself."""
        return not (self.problem or self.part_of or self.pieces_in)

    @property
    def place(self) -> str:
        """Where a file is that others take from; "" for one that is read by itself."""
        return place(self.part_of, self.pieces_in)


FOLDER = "a folder"  # why an entry of the survey is no file


@dataclass(slots=True)
class Ignored:
    """What is not read."""

    count: int = 0
    paths: list[str] = field(default_factory=list)
    """Of files that no format reads, since a link may lead to one."""
    suffixes: Counter[str] = field(default_factory=Counter)
    """Suffixes of the files that no format reads."""
    files: list[tuple[str, str]] = field(default_factory=list)
    """All files that are passed over, each with why."""
    folders: list[tuple[str, str]] = field(default_factory=list)
    """The folders that were not opened, each with why."""

    def passed_over(self, path: str, why: str, is_folder: bool) -> None:
        """Note what the walk does not look at."""
        (self.folders if is_folder else self.files).append((path, why))


class SourceFiles:
    """The files below several sources as each other's neighbours, by the paths that their documents have."""

    def __init__(self, sources: tuple[Source, ...], limits: Limits, wanted: FileFilter | None = None) -> None:
        self._files = {source.label: FolderFiles(folder_of(source.path), limits, wanted) for source in sources}
        self._deepest = max((label.count("/") for label in self._files), default=0)

    def get(self, path: str) -> bytes | None:
        files, inside = self._at(path)
        return files.get(inside) if files else None

    def find(self, suffix: str) -> list[str]:
        found = [_labelled(label, path) for label, files in self._files.items() for path in files.find(suffix)]
        return found if len(self._files) == 1 else sorted(set(found), key=path_order)

    def digest(self, dependency: str) -> str:
        """A digest of what a source took in: of one file, or with "*" in front of the list of files with a suffix."""
        if dependency.startswith("*"):
            if len(self._files) == 1:
                return next(iter(self._files.values())).digest(dependency)
            return hashlib.sha256("\n".join(self.find(dependency[1:])).encode("utf-8", "surrogateescape")).hexdigest()
        files, inside = self._at(dependency)
        return files.digest(inside) if files else ""

    def _at(self, path: str) -> tuple[FolderFiles | None, str]:
        parts = path.split("/", self._deepest + 1)
        for end in range(len(parts) - 1, 0, -1):
            if (label := "/".join(parts[:end])) in self._files:
                return self._files[label], path[len(label) + 1 :]
        return self._files.get(""), path


def _labelled(label: str, path: str) -> str:
    return f"{label}/{path}" if label else path


def survey(
    sources: tuple[Source, ...],
    plugins: Plugins,
    limits: Limits,
    *,
    format: str | None = None,
    wanted: FileFilter | None = None,
    ignored: Ignored | None = None,
    options: Mapping[str, Any] | None = None,
    follow: bool = False,
) -> Iterator[SurveyedFile]:
    """The files to read, in the order of their paths; those that others take in are marked.

    format: the only one to read. options: of the formats, which may say that a file is one of theirs. follow: read a
    source that is a symbolic link.
    """
    ignored = ignored if ignored is not None else Ignored()
    files: list[SurveyedFile] = []
    walks = (_walk(source, wanted or FileFilter(), ignored, follow) for source in sources)
    for found, single in (
        heapq.merge(*walks, key=lambda item: path_order(item[0].path)) if len(sources) > 1 else next(walks)
    ):
        file = _surveyed(found, format, plugins, options or {})
        if isinstance(file, str) and single and (format or len(sources) == 1):  # named with its format it is believed
            file = SurveyedFile(
                found.path, str(found.location), format or "", found.size, "asked for" if format else ""
            )
        if isinstance(file, str):
            ignored.count += 1
            ignored.paths.append(found.path)
            ignored.suffixes[found.location.suffix.lower() or "(none)"] += 1
            ignored.files.append((found.path, file))
        elif not file.problem or not os.path.islink(found.location) or _should_report(file, plugins):
            files.append(file)
        else:
            ignored.files.append((found.path, file.problem))
    ignored.files.sort(key=lambda item: path_order(item[0]))
    taken = _taken(files, SourceFiles(sources, limits, wanted), plugins, limits) if len(files) > 1 else Taken()
    parts, fragments = taken.parts(), taken.fragments()
    for file in files:
        if file.path in parts or file.path in fragments:
            file = replace(file, part_of=parts.get(file.path, ()), pieces_in=fragments.get(file.path, ()))
        yield file


def _walk(source: Source, wanted: FileFilter, ignored: Ignored, follow: bool) -> Iterator[tuple[Found, bool]]:
    path = Path(source.path)
    if path.is_symlink() and not follow:
        yield (
            Found(_labelled(source.label, display_path(path.name)), path, problem=link_problem(path.parent, path)),
            True,
        )
        return
    single = path.is_file()

    def passed_over(path: str, why: str, is_folder: bool) -> None:
        ignored.passed_over(_labelled(source.label, path), why, is_folder)

    for found in walk(path, wanted, passed_over):
        yield (replace(found, path=_labelled(source.label, found.path)) if source.label else found), single


def _surveyed(found: Found, format: str | None, plugins: Plugins, options: Mapping[str, Any]) -> SurveyedFile | str:
    """How a file is to be read; why not, for one that is not a document."""
    location = str(found.location)
    if found.note:
        return SurveyedFile(found.path, location, "", why=FOLDER, problem=found.note)
    if found.problem:
        return SurveyedFile(found.path, location, "", problem=found.problem, unreadable=found.unreadable)
    if archive_kind(found.path):
        return SurveyedFile(found.path, location, ARCHIVE, found.size, "suffix")
    bare, kind = split_compression(found.path)
    if kind and os.path.isfile(split_compression(str(found.location))[0]):
        return SurveyedFile(found.path, location, "", problem="the same file uncompressed lies beside it: skipped")
    claimed = plugins.claiming(bare)
    head = head_of(found.location) if len(claimed) != 1 or plugins.may_stream(bare) else b""
    if format is None and holds_queries(bare):
        return "a collection's queries or judgements, by its name"
    if head and (format is None or format in plugins.formats):
        streaming = plugins.streaming(head, options)
        if streaming is not None and format in (None, streaming.name):
            return SurveyedFile(found.path, location, streaming.name, found.size, "first bytes", stream=True)
    if format is not None:
        own = plugins.format(format)
        detected, _ = plugins.detect(bare, head)
        if bare.lower().endswith(own.suffixes) or (detected is not None and detected.name == format):
            return SurveyedFile(found.path, location, format, found.size, "asked for")
        return f"not {format}"
    detected, why = plugins.detect(bare, head)
    if detected is None:
        return why
    if why.startswith("content") and _is_built(found.location):
        return "the page that was built from it lies beside it"
    return SurveyedFile(found.path, location, detected.name, found.size, why)


def _is_built(location: Path) -> bool:
    """Whether the page that was built from a text lies beside it: `notes.html` by `notes.txt`."""
    return location.suffix.lower() == ".txt" and any(
        os.path.isfile(location.with_suffix(suffix)) for suffix in (".html", ".htm", ".xhtml")
    )


def _taken(files: list[SurveyedFile], neighbours: SourceFiles, plugins: Plugins, limits: Limits) -> Taken:
    """What files take from each other."""
    taken = Taken()
    for file in files:
        format = plugins.formats.get(file.format)
        if (
            isinstance(format, CompositeFormat)
            and not file.problem
            and not file.stream
            and file.size <= limits.file_bytes
        ):
            taken.look(format, SourceFile(file.path, location=Path(file.location), neighbours=neighbours))
    return taken


def _should_report(file: SurveyedFile, plugins: Plugins) -> bool:
    """Passed-over symbolic links are reported when they would have been documents, or may hold some and lead nowhere
    good.
    """
    if plugins.claiming(file.path):
        return True
    return "its target is read" not in file.problem and may_be_document(file.path, b"")


def cut(files: list[SurveyedFile]) -> Iterator[list[SurveyedFile]]:
    """Groups of files, a shard each, cut where a file's path says so: about a 64th of all each, 8 to 2048 files on
    average.
    """
    average = 8
    while average < 2048 and average * 64 < len(files):
        average *= 2
    group: list[SurveyedFile] = []
    for file in files:
        alone = not file.problem and (file.size > _BIG_FILE or file.stream)
        if group and (alone or len(group) >= 8 * average):
            yield group
            group = []
        group.append(file)
        if (
            alone
            or int.from_bytes(hashlib.sha256(file.path.encode("utf-8", "surrogateescape")).digest()[:4], "big")
            % average
            == 0
        ):
            yield group
            group = []
    if group:
        yield group
