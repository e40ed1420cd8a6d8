"""One source, whatever packs it, to its Documents: detection, decompression, archives, limits, and what is said about each file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structformer.containers import Archive, archive_kind, decompressed, packing, unpack
from structformer.document import Document
from structformer.errors import ReadError, UsageError
from structformer.plugins import CompositeFormat, Format, Plugins
from structformer.sources import HEAD_BYTES, Limits, Neighbours, SourceFile

ARCHIVE = "archive"


@dataclass(slots=True)
class Outcome:
    """What became of one file, or of one member of an archive."""

    path: str
    format: str = ""
    why: str = ""
    status: str = "read"  # read, empty, part, failed, skipped
    documents: int = 0
    messages: list[str] = field(default_factory=list)
    dependencies: set[str] = field(default_factory=set)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    bytes: int = 0
    characters: int = 0


def head_of(location: Path) -> bytes:
    """The first bytes of a file, unpacked when it is compressed; empty when it can't be read."""
    kind = packing(location.name)[1]
    try:
        with location.open("rb") as file, decompressed(file, kind) as stream:
            return stream.read(HEAD_BYTES)
    except Exception:  # whatever is wrong with it is said when it is read
        return b""


def read_file(
    path: str, location: Path, format_name: str, plugins: Plugins, options: Mapping[str, Any], limits: Limits, neighbours: Neighbours | None,
    outcomes: list[Outcome], started: Any = None,
) -> Iterator[tuple[Document, Outcome]]:  # fmt: skip
    """The Documents of a file with the outcome that counts them; all outcomes are in `outcomes`, the file's own first.

    format_name: "" to detect it. Nothing is raised: what goes wrong is in the outcome.
    """
    bare, kind = packing(path)
    own = Outcome(path, format_name)
    outcomes.append(own)
    try:
        if format_name in ("", ARCHIVE) and archive_kind(path):
            own.format, own.why = ARCHIVE, "suffix"
            with location.open("rb") as file:
                archive = Archive(path, file, limits, packed_size=location.stat().st_size)
                yield from _read_archive(archive, own, plugins, options, limits, outcomes, started)
            return
        if kind:
            with location.open("rb") as file:
                data = unpack(file, kind, limits, location.stat().st_size)
            source = SourceFile(bare, data, neighbours=neighbours)
        else:
            source = SourceFile(path, location=location, neighbours=neighbours)
        yield from _read_source(source, own, format_name, plugins, options)
    except ReadError as error:
        own.status = "failed"
        own.messages.append(str(error))
    except OSError as error:
        own.status = "failed"
        own.messages.append(f"cannot be read ({error.strerror or error})")
    except MemoryError:
        own.status = "failed"
        own.messages.append(f"needs more than {limits.memory_bytes >> 20} MB of memory: skipped")


def read_piece(path: str, data: bytes, format: Format, options: Mapping[str, Any], outcome: Outcome) -> Iterator[tuple[Document, Outcome]]:
    """The Documents of a piece of a stream."""
    source = SourceFile(packing(path)[0], data)
    yield from _consume(source, outcome, format, options)


def _read_source(
    source: SourceFile, outcome: Outcome, format_name: str, plugins: Plugins, options: Mapping[str, Any]
) -> Iterator[tuple[Document, Outcome]]:
    data = source.read()
    detected, why = plugins.detect(source.path, data[:HEAD_BYTES])
    if format_name and why != "first bytes":
        detected, why = plugins.format(format_name), "suffix" if plugins.claiming(source.path) else outcome.why or why
    if detected is None:
        outcome.status = "skipped"
        outcome.messages.append(why)
        return
    outcome.format, outcome.why = detected.name, why
    yield from _consume(source, outcome, detected, options)


def _consume(source: SourceFile, outcome: Outcome, format: Format, options: Mapping[str, Any]) -> Iterator[tuple[Document, Outcome]]:
    outcome.format = format.name
    try:
        for document in format.read(source, options):
            outcome.documents += 1
            outcome.characters += sum(len(section.text) + len(section.title) for section in document.sections())
            yield document, outcome
    except UsageError:  # a wrong option is the request's fault, not the file's
        raise
    except ReadError as error:
        outcome.status = "failed"
        source.warn(str(error))
    except MemoryError:
        outcome.status = "failed"
        source.warn("needs more memory than it may have: skipped")
    except Exception as error:  # a plugin's mistake must cost this file only
        outcome.status = "failed"
        source.warn(f"the {format.name} plugin failed ({type(error).__name__}: {error}): skipped")
    if outcome.status == "read" and not outcome.documents and not source.aliases:
        outcome.status = "empty"
    outcome.bytes += len(source.read())
    outcome.messages += source.warnings
    outcome.dependencies |= source.dependencies
    outcome.aliases += source.aliases


def _read_archive(
    archive: Archive, own: Outcome, plugins: Plugins, options: Mapping[str, Any], limits: Limits, outcomes: list[Outcome], started: Any
) -> Iterator[tuple[Document, Outcome]]:
    with archive.opened() as (members, neighbours):
        parts = _parts(archive, plugins, neighbours)
        empty = 0
        for member in members:
            path = f"{archive.path}/{member.name}"
            if started is not None:
                started(own.path)
            if member.problem:
                own.messages.append(f"{member.name}: {member.problem}")
                continue
            if archive_kind(member.name):
                yield from _read_nested(archive, path, member.data, own, plugins, options, limits, outcomes, started)
                continue
            outcome = Outcome(path)
            data = member.data
            bare, kind = packing(path)
            if path in parts:
                outcome.status, outcome.why = "part", "part of another member"
                outcomes.append(outcome)
                continue
            try:
                if kind:
                    data = unpack(io.BytesIO(data), kind, limits, len(data))
            except ReadError as error:
                own.messages.append(f"{member.name}: {error}")
                continue
            found, why = plugins.detect(bare, data[:HEAD_BYTES])
            if found is None:
                continue
            outcome.why = f"{why}, in an archive"
            if not data.strip():
                empty += 1
                continue
            outcomes.append(outcome)
            for document, counted in _consume(SourceFile(bare, data, neighbours=neighbours), outcome, found, options):
                own.documents += 1
                yield document, counted
        if empty:
            own.messages.append(f"{empty} empty member{'s' * (empty > 1)}: no document")
    if not own.documents and own.status == "read":
        own.status = "empty"


def _read_nested(
    archive: Archive, path: str, data: bytes, own: Outcome, plugins: Plugins, options: Mapping[str, Any], limits: Limits,
    outcomes: list[Outcome], started: Any,
) -> Iterator[tuple[Document, Outcome]]:  # fmt: skip
    name = path[len(archive.path) + 1 :]
    if archive.nesting + 1 >= limits.nesting:
        own.messages.append(f"{name}: archives nested over {limits.nesting} deep: skipped")
        return
    inner = Archive(path, io.BytesIO(data), limits, packed_size=len(data), nesting=archive.nesting + 1)
    before = len(own.messages)
    try:
        yield from _read_archive(inner, own, plugins, options, limits, outcomes, started)
    except ReadError as error:
        own.messages.append(str(error))
    own.messages[before:] = [f"{name}: {message}" for message in own.messages[before:]]


def _parts(archive: Archive, plugins: Plugins, neighbours: Any) -> set[str]:
    """Paths of members that other members take in."""
    found: set[str] = set()
    for format in plugins.formats.values():
        if not isinstance(format, CompositeFormat):
            continue
        for suffix in format.suffixes:
            for path in neighbours.find(suffix):
                data = neighbours.get(path)
                if data is not None:
                    found |= safe_parts(format, SourceFile(path, data, neighbours=neighbours))
    return found


def safe_parts(format: CompositeFormat, source: SourceFile) -> set[str]:
    """The parts of a source; none where it can't be read."""
    try:
        return format.parts(source)
    except Exception:  # it will be read, and fail, by itself
        return set()
