"""The files below the given folders, each with the format that reads it and why, or why it is passed over."""

import hashlib
import heapq
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from structformer.corpus.shards import path_order
from structformer.formats.file_names import may_be_document
from structformer.ingestion.included_files import Takes, takers
from structformer.ingestion.looking import LookTask, SurveyedFile, looked_at
from structformer.ingestion.reading import Started
from structformer.ingestion.sources import labelled
from structformer.ingestion.walk import FileFilter, Found, display_path, link_problem, walk
from structformer.plugins import load_plugins
from structformer.workspace import Source

_BIG_FILE = 8 * 1024 * 1024


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
