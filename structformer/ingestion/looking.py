"""The files below the given folders, each with the format that reads it and why, or why it is passed over. They are
looked at in worker processes with the limits of readers, since a stranger's bytes may hold up whoever looks at them.
"""

import hashlib
import heapq
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.corpus.shards import ShardInfo
from structformer.corpus.site import Navigation, Site
from structformer.engines import Work, get_engine, passing_over
from structformer.engines.pool import perform
from structformer.formats.file_names import holds_queries, may_be_document
from structformer.formats.source import Limits, SourceFile
from structformer.ingestion.archives import archive_kind, split_compression
from structformer.ingestion.included_files import Takes, place, takers, what_it_takes
from structformer.ingestion.reading import ARCHIVE, Started, head_of
from structformer.ingestion.site_finding import FoundSite, found_site, rows_of_pages, with_navigation
from structformer.ingestion.sources import labelled, neighbours_in
from structformer.ingestion.walk import FileFilter, Found, display_path, link_problem, path_order, walk
from structformer.plugins import load_plugins
from structformer.workspace import Source

FOLDER = "a folder"  # why an entry of the survey is no file
_AT_ONCE = 128  # files of a task
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


Looked = tuple[Found, SurveyedFile | str, Takes | None]  # a file, how it is read or why not, what it takes from others


@dataclass(frozen=True, slots=True)
class LookTask:
    """One worker's task: look at these files; without any, what is asked of all files of some sources."""

    sources: tuple[Source, ...]
    limits: Limits
    wanted: FileFilter = field(default_factory=FileFilter)
    format: str | None = None
    """The only one to read."""
    options: tuple[tuple[str, Any], ...] = ()
    """Options of the formats, which may say that a file is one of theirs."""
    survey: str = field(default_factory=secrets.token_hex)
    """Which survey it is of: a worker outlives it, and files change."""
    files: tuple[tuple[Found, bool], ...] = ()
    """Each with whether it is itself a source."""
    alone: bool = False
    """Whether there is no other file that it could take from."""
    lost: tuple[tuple[str, str], ...] = ()
    """Files that cost a worker its life, and how."""
    together: bool = False
    """Whether the time of one file is that of all, as it is until they exceed it: saying each begun file costs more."""


def looked_at(
    walked: Iterable[tuple[Found, bool]], task: LookTask, workers: int | None, started: Started = lambda path: None
) -> Iterator[Looked]:
    """Look at a walk's files in order. workers: None for one a core; 0 for none, `started` then gets each path."""
    rest = iter(walked)
    first = list(islice(rest, 2))
    files = chain(first, rest)
    task = replace(task, alone=len(first) < 2, together=workers != 0)
    tasks = (replace(task, files=group) for group in iter(lambda: tuple(islice(files, _AT_ONCE)), ()))
    if workers == 0:
        for each in tasks:
            yield from look(each, started)
        return
    work = Work(
        "structformer.ingestion.looking:look",
        workers=workers or os.cpu_count() or 1,
        seconds=task.limits.seconds,
        memory_bytes=task.limits.memory_bytes,
        lost=_without_lost,
    )
    results: Iterator[list[Looked]] = get_engine().map(work, tasks)
    for result in results:
        yield from result


def look(task: LookTask, started: Started) -> list[Looked]:
    """Do a worker's job: look at a task's files."""
    neighbours = neighbours_in(task.survey, task.sources, task.limits, task.wanted)
    lost, options, most = dict(task.lost), dict(task.options), task.limits.file_bytes
    looked: list[Looked] = []
    if task.together:
        started("several files")
    for entry, is_source in task.files:
        location = str(entry.location)
        if entry.path in lost:
            looked.append(
                (entry, SurveyedFile(entry.path, location, "", problem=lost[entry.path], unreadable=True), None)
            )
            continue
        if not task.together:
            started(entry.path)
        file = _surveyed(entry, task.format, options)
        # A file that is named with its format, or alone, is believed.
        if isinstance(file, str) and is_source and (task.format or len(task.sources) == 1):
            why = "asked for" if task.format else ""
            file = SurveyedFile(entry.path, location, task.format or "", entry.size, why)
        takes = None
        if not (task.alone or isinstance(file, str) or file.problem or file.stream or file.size > most):
            source = SourceFile(file.path, location=Path(file.location), neighbours=neighbours)
            takes = what_it_takes(load_plugins().formats.get(file.format), source)
        looked.append((entry, file, takes))
    return looked


def _without_lost(task: LookTask, path: Any, reason: str) -> LookTask:
    return replace(task, together=False) if task.together else passing_over(task, path, reason)


@dataclass(frozen=True, slots=True)
class SiteTask:
    """One worker's task: look for the site of some sources."""

    sources: tuple[Source, ...]
    theme: str
    given: Site | None
    """The site, if it is not to be looked for."""
    corpus: tuple[Path, Path, list[ShardInfo]] | None
    """Of which the order of the pages is wanted."""
    lost: bool = False


def look_for_site(task: SiteTask, limits: Limits) -> tuple[FoundSite, Navigation]:
    """Look for a site in a worker process; none is found if its files take longer than a file may."""
    work = Work(
        "structformer.ingestion.looking:site_of_sources",
        workers=1,
        seconds=limits.seconds,
        memory_bytes=limits.memory_bytes,
        lost=lambda task, item, reason: replace(task, lost=True),
    )
    site: tuple[FoundSite, Navigation] = perform(work, task)
    return site


def site_of_sources(task: SiteTask, started: Started) -> tuple[FoundSite, Navigation]:
    """Do a worker's job: look for a site, and for the order of its pages."""
    site, navigation = FoundSite(Site()), Navigation()
    if not task.lost:
        started("the settings of the site")
        site = found_site(task.sources, task.theme, above=task.given is None)
    if task.given is not None:
        site = replace(site, site=task.given, above=())
    if task.corpus is not None and not task.lost:
        started("the navigation of the site")
        site, navigation = with_navigation(site, rows_of_pages(Corpus(*task.corpus)))
    return replace(site, generator=None), navigation  # its functions cannot cross to another process


def _surveyed(file: Found, format: str | None, options: Mapping[str, Any]) -> SurveyedFile | str:
    """Return how a file is to be read; why not, for one that is not a document."""
    plugins, location = load_plugins(), str(file.location)
    if file.note:
        return SurveyedFile(file.path, location, "", why=FOLDER, problem=file.note)
    if file.problem:
        return SurveyedFile(file.path, location, "", problem=file.problem, unreadable=file.unreadable)
    if archive_kind(file.path):
        return SurveyedFile(file.path, location, ARCHIVE, file.size, "suffix")
    bare, kind = split_compression(file.path)
    if kind and os.path.isfile(split_compression(str(file.location))[0]):
        return SurveyedFile(file.path, location, "", problem="the same file uncompressed lies beside it: skipped")
    claimed = plugins.claiming(bare)
    head = head_of(file.location) if len(claimed) != 1 or plugins.may_stream(bare) else b""
    if format is None and holds_queries(bare):
        return "a collection's queries or judgements, by its name"
    if head and (format is None or format in plugins.formats):
        streaming = plugins.streaming(head, options)
        if streaming is not None and format in (None, streaming.name):
            return SurveyedFile(file.path, location, streaming.name, file.size, "first bytes", stream=True)
    detected, why = plugins.detect(bare, head)
    if format is not None:
        if bare.lower().endswith(plugins.format(format).suffixes) or (detected is not None and detected.name == format):
            return SurveyedFile(file.path, location, format, file.size, "asked for")
        return f"not {format}"
    if detected is None:
        return why
    if why.startswith("content") and _is_built(file.location):
        return "the page that was built from it lies beside it"
    return SurveyedFile(file.path, location, detected.name, file.size, why)


def _is_built(location: Path) -> bool:
    """Whether the page that was built from a text lies beside it: `notes.html` by `notes.txt`."""
    return location.suffix.lower() == ".txt" and any(
        os.path.isfile(location.with_suffix(suffix)) for suffix in (".html", ".htm", ".xhtml")
    )


@dataclass(slots=True)
class Ignored:
    """Files that are not read."""

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


def survey(
    task: LookTask,
    ignored: Ignored | None = None,
    *,
    follow: bool = False,
    workers: int | None = None,
    started: Started = lambda path: None,
) -> Iterator[SurveyedFile]:
    """Return the files to read, in the order of their paths; those that others take in are marked.

    follow: read a source that is a symbolic link. workers: processes that look at the files, with the limits of
    readers; None for one a core, 0 to look at them in this process, which calls `started` with each path.
    """
    ignored = ignored if ignored is not None else Ignored()
    files: list[SurveyedFile] = []
    taking: list[Takes] = []
    walks = (_walk(source, task.wanted, ignored, follow) for source in task.sources)
    walked = heapq.merge(*walks, key=lambda item: path_order(item[0].path))
    for found, file, takes in looked_at(walked, task, workers, started):
        if takes is not None:
            taking.append(takes)
        if isinstance(file, str):
            ignored.count += 1
            ignored.paths.append(found.path)
            ignored.suffixes[found.location.suffix.lower() or "(none)"] += 1
            ignored.files.append((found.path, file))
        elif not file.problem or not os.path.islink(found.location) or _should_report(file):
            files.append(file)
        else:
            ignored.files.append((found.path, file.problem))
    ignored.files.sort(key=lambda item: path_order(item[0]))
    parts, fragments = takers(taking)
    for file in files:
        if file.path in parts or file.path in fragments:
            file = replace(file, part_of=parts.get(file.path, ()), pieces_in=fragments.get(file.path, ()))
        yield file


def _walk(source: Source, wanted: FileFilter, ignored: Ignored, follow: bool) -> Iterator[tuple[Found, bool]]:
    path = Path(source.path)
    if path.is_symlink() and not follow:
        shown = labelled(source.label, display_path(path.name))
        yield Found(shown, path, problem=link_problem(path.parent, path)), True
        return
    single = path.is_file()

    def passed_over(path: str, why: str, is_folder: bool) -> None:
        ignored.passed_over(labelled(source.label, path), why, is_folder)

    for file in walk(path, wanted, passed_over):
        yield (replace(file, path=labelled(source.label, file.path)) if source.label else file), single


def _should_report(file: SurveyedFile) -> bool:
    """Whether a passed-over symbolic link would have been a document, or may hold some and leads nowhere good."""
    is_nowhere = "its target is read" not in file.problem
    return bool(load_plugins().claiming(file.path)) or (is_nowhere and may_be_document(file.path, b""))


def cut(files: list[SurveyedFile]) -> Iterator[list[SurveyedFile]]:
    """Cut files into shards where their paths' hashes say so: a 64th of all each, 8 to 2048 files on average."""
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
        digest = hashlib.sha256(file.path.encode("utf-8", "surrogateescape")).digest()
        if alone or int.from_bytes(digest[:4], "big") % average == 0:
            yield group
            group = []
    if group:
        yield group
