"""Reading one source, however packed, to Documents: detection, decompression, archives, limits, messages."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from structformer.document import Document
from structformer.errors import ReadError, UsageError
from structformer.formats.builder import mark_see_also
from structformer.formats.file_names import may_be_document
from structformer.formats.link_names import url_names
from structformer.formats.protocol import CompositeFormat, Format
from structformer.formats.source import HEAD_BYTES, BinaryContent, Limits, Neighbours, SourceFile, open_file
from structformer.ingestion.archives import (
    Archive,
    ArchiveFiles,
    Member,
    archive_kind,
    decompressed,
    split_compression,
    unpack,
)
from structformer.ingestion.included_files import Takes, place, takers, what_it_takes
from structformer.ingestion.losses import find_losses, text_of
from structformer.ingestion.unpacking_limits import Budget
from structformer.plugins import load_plugins

ARCHIVE = "archive"
_EMPTY = "empty: no document"
Started = Callable[[str], None]


class Status(StrEnum):
    """Outcomes of reading a file."""

    READ = "read"
    DAMAGED = "damaged"  # read in part
    EMPTY = "empty"
    PART = "part"  # taken in by another file
    FAILED = "failed"
    SKIPPED = "skipped"
    OTHER = "other"  # not a document: a member of an archive, what only holds pieces for others, binary content


@dataclass(slots=True)
class Outcome:
    """Outcome of reading one file, or one member of an archive."""

    path: str
    format: str = ""
    why: str = ""
    status: Status = Status.READ
    documents: int = 0
    messages: list[str] = field(default_factory=list)
    dependencies: set[str] = field(default_factory=set)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    bytes: int = 0
    characters: int = 0


def head_of(location: Path) -> bytes:
    """Return the first bytes of a file, unpacked when it is compressed; empty when it cannot be read."""
    kind = split_compression(location.name)[1]
    try:
        with open_file(location) as file, decompressed(file, kind) as stream:
            return stream.read(HEAD_BYTES)
    except Exception:  # whatever is wrong with it is said when it is read
        return b""


class Reader:
    """Reads files with the installed plugins, the same options and limits. neighbours: the folder's other files, for
    includes. started: called with the path of a file or an archive's member when work on it begins. lost: members that
    ended an earlier reader, with how. now: the processor time taken so far, from any beginning.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        limits: Limits,
        neighbours: Neighbours | None = None,
        started: Started = lambda path: None,
        lost: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.process_time,
    ) -> None:
        self._plugins = load_plugins()
        self._options = options
        self._see_also_titles = self._plugins.theme_of(options).see_also_titles
        self._limits = limits
        self._neighbours = neighbours
        self._started = started
        self._lost = lost or {}
        self._now = now

    def file(self, path: str, location: Path, format_name: str = "") -> Reading:
        """Read a file; its format is detected when none is named."""
        outcomes = [Outcome(path, format_name)]
        return Reading(outcomes, self._file(outcomes[0], location, outcomes))

    def piece(self, path: str, data: bytes, format: Format, why: str = "") -> Reading:
        """Read a piece of a stream of documents."""
        own = Outcome(path, format.name, why)
        source = SourceFile(split_compression(path)[0], data)
        return Reading([own], self._consume(source, own, format, compared=False))

    def _file(self, own: Outcome, location: Path, outcomes: list[Outcome]) -> Iterator[Document]:
        path, format_name = own.path, own.format
        bare, kind = split_compression(path)
        try:
            if format_name in ("", ARCHIVE) and archive_kind(path):
                own.format, own.why = ARCHIVE, "suffix"
                with open_file(location) as file:
                    budget = Budget(self._limits, location.stat().st_size, self._now)
                    archive = Archive(path, file, self._limits, budget)
                    yield from self._archive(archive, own, outcomes)
                return
            if kind:
                with open_file(location) as file:
                    data = unpack(file, kind, self._limits, location.stat().st_size)
                source = SourceFile(bare, data, neighbours=self._neighbours)
            else:
                source = SourceFile(path, location=location, neighbours=self._neighbours)
            yield from self._source(source, own, format_name)
        except (ReadError, OSError, MemoryError) as error:
            own.status = Status.FAILED
            own.messages.append(self._said(error, f"cannot be read ({getattr(error, 'strerror', None) or error})"))

    def _said(self, error: Exception, other: str) -> str:
        """Return what a file's message says of an error. other: of one that is neither of the file nor of memory."""
        if isinstance(error, MemoryError):
            return f"needs more than {self._limits.memory_bytes >> 20} MB of memory: skipped"
        return str(error) if isinstance(error, ReadError) else other

    def _source(self, source: SourceFile, outcome: Outcome, format_name: str) -> Iterator[Document]:
        data = source.read()
        detected, why = self._plugins.detect(source.path, data[:HEAD_BYTES])
        if format_name and why != "first bytes":
            detected = self._plugins.format(format_name)
            why = "suffix" if self._plugins.claiming(source.path) else outcome.why or why
        if detected is None:
            outcome.status = Status.SKIPPED
            outcome.messages.append(why)
            return
        outcome.why = why
        yield from self._consume(source, outcome, detected)

    def _consume(
        self, source: SourceFile, outcome: Outcome, format: Format, *, compared: bool = True
    ) -> Iterator[Document]:
        outcome.format = format.name
        texts: list[str] = []
        try:
            for document in format.read(source, self._options):
                if self._see_also_titles:
                    mark_see_also(document.root, self._see_also_titles)
                outcome.documents += 1
                outcome.characters += sum(len(section.text) + len(section.title) for section in document.sections())
                if compared and hasattr(format, "not_text"):
                    texts.append(text_of(document))
                yield document
        except UsageError:  # a wrong option is the request's fault, not the file's
            raise
        except Exception as error:  # a plugin's mistake must cost this file only
            outcome.status = Status.OTHER if isinstance(error, BinaryContent) else Status.FAILED
            mistake = f"the {format.name} plugin failed ({type(error).__name__}: {error}): skipped"
            source.warn(self._said(error, mistake))
        if outcome.status is Status.READ and source.is_damaged and outcome.documents:
            outcome.status = Status.DAMAGED
        if outcome.status is Status.READ and not outcome.documents and not source.aliases:
            outcome.status = Status.EMPTY
        if texts:
            outcome.messages += map(str, find_losses(source.read(), texts, format))
        outcome.bytes += len(source.read())
        outcome.messages += source.warnings
        outcome.dependencies |= source.dependencies
        outcome.aliases += source.aliases

    def _archive(self, archive: Archive, own: Outcome, outcomes: list[Outcome]) -> Iterator[Document]:
        with archive.opened() as (members, neighbours):
            parts, fragments = takers(self._taking(archive, neighbours))
            waiting: list[tuple[Member, Outcome]] = []  # parts, until it is known whether a document takes them in
            own_members: list[Outcome] = []
            for member in members:
                path = f"{archive.path}/{member.name}"
                self._started(path)
                if not member.problem and path not in self._lost and archive_kind(member.name):
                    yield from self._nested(archive, path, member.data, own, outcomes)
                    continue
                outcome = Outcome(path)
                outcomes.append(outcome)
                own_members.append(outcome)
                if problem := member.problem or self._lost.get(path, ""):
                    own.messages.append(f"{member.name}: {problem}")
                    if not member.problem:
                        archive.budget.lose()
                    outcome.status, outcome.why = Status.FAILED if member.is_file else Status.SKIPPED, problem
                elif why := place(parts.get(path, ()), fragments.get(path, ())) or member.aside:
                    outcome.status, outcome.why = Status.PART if path in parts else Status.OTHER, why
                    if path in parts:
                        waiting.append((replace(member, data=b""), outcome))
                else:
                    yield from self._member(member, archive, own, outcome, neighbours)
            held = {
                (each.path, dependency) for each in own_members if each.documents for dependency in each.dependencies
            }
            for member, outcome in waiting:
                if not any((taker, outcome.path) in held for taker in parts[outcome.path]):
                    self._started(outcome.path)
                    outcome.status, outcome.why = Status.READ, ""
                    missed = replace(member, data=neighbours.get(outcome.path) or b"")
                    yield from self._member(missed, archive, own, outcome, neighbours)
            empty = sum(each.why == _EMPTY for each in own_members)
            if empty:
                own.messages.append(f"{empty} empty member{'s' * (empty > 1)}: no document")
        if not own.documents and own.status is Status.READ:
            own.status = Status.EMPTY
            if not own.messages:
                own.messages.append("no documents in it")

    def _member(
        self, member: Member, archive: Archive, own: Outcome, outcome: Outcome, neighbours: ArchiveFiles
    ) -> Iterator[Document]:
        """Yield the documents of a member that is not an archive."""
        data = member.data
        bare, kind = split_compression(outcome.path)
        try:
            if kind:
                data = unpack(io.BytesIO(data), kind, self._limits, len(data))
                archive.budget.spend(len(data))
        except ReadError as error:
            own.messages.append(f"{member.name}: {error}")
            outcome.status, outcome.why = Status.FAILED, str(error)
            return
        format, why = self._plugins.detect(bare, data[:HEAD_BYTES])
        if format is None:
            outcome.status, outcome.why = Status.OTHER, why
            return
        if not data.strip():
            outcome.status, outcome.why = Status.EMPTY, _EMPTY
            return
        outcome.why = f"{why}, in an archive"
        for document in self._consume(SourceFile(bare, data, neighbours=neighbours), outcome, format):
            own.documents += 1
            if member.address:
                document.metadata.setdefault("canonical", member.address)
                document.names = tuple(dict.fromkeys((*document.names, *url_names(member.address))))
            yield document

    def _nested(
        self, archive: Archive, path: str, data: bytes, own: Outcome, outcomes: list[Outcome]
    ) -> Iterator[Document]:
        name = path[len(archive.path) + 1 :]
        if archive.nesting + 1 >= self._limits.nesting:
            problem = f"archives nested over {self._limits.nesting} deep: skipped"
            own.messages.append(f"{name}: {problem}")
            outcomes.append(Outcome(path, ARCHIVE, problem, Status.FAILED))
            return
        inner = Archive(path, io.BytesIO(data), self._limits, archive.budget, archive.nesting + 1)
        before = len(own.messages)
        try:
            yield from self._archive(inner, own, outcomes)
        except ReadError as error:
            own.messages.append(str(error))
            outcomes.append(Outcome(path, ARCHIVE, str(error), Status.FAILED))
        own.messages[before:] = [f"{name}: {message}" for message in own.messages[before:]]

    def _taking(self, archive: Archive, neighbours: ArchiveFiles) -> Iterator[Takes]:
        """Yield what members take from each other, within half of the archive's time: the rest is for reading them."""
        for path in neighbours.find(""):
            if archive_kind(path) or split_compression(path)[1]:
                continue
            claimed = self._plugins.claiming(path)
            if len(claimed) == 1 and not isinstance(claimed[0], CompositeFormat):
                continue
            if not claimed and not may_be_document(path, b""):
                continue
            self._started(archive.path)
            if archive.budget.is_half_spent():
                return
            if (data := neighbours.get(path)) is None:
                continue
            format, _ = self._plugins.detect(path, data[:HEAD_BYTES])
            if takes := what_it_takes(format, SourceFile(path, data, neighbours=neighbours)):
                yield takes


@dataclass(frozen=True, slots=True)
class Reading:
    """One file's Documents, read as asked for. outcomes: the file's first; errors too, but for UsageError."""

    outcomes: list[Outcome]
    documents: Iterator[Document]

    def __iter__(self) -> Iterator[Document]:
        return self.documents

    @property
    def own(self) -> Outcome:
        """The file's own outcome."""
        return self.outcomes[0]
