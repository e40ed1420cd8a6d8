"""Making one shard: its files' documents and messages, parsed or copied from an earlier shard. It is named by a digest
of its inputs and what they include; one that exists is kept.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from structformer._version import __version__
from structformer.corpus import FORMAT_VERSION
from structformer.corpus.rows import Row, document_rows, storable
from structformer.corpus.shards import ShardInfo, describe_shard, read_rows, read_shard, shard_writer
from structformer.errors import ReadError, WorkspaceError
from structformer.formats.protocol import StreamFormat
from structformer.formats.source import Limits, open_file
from structformer.ingestion.looking import SurveyedFile
from structformer.ingestion.ranges import Range, range_pieces
from structformer.ingestion.reading import ARCHIVE, Outcome, Reader, Reading, Status
from structformer.ingestion.slow_files import noting
from structformer.ingestion.sources import SourceFiles, neighbours_in
from structformer.ingestion.walk import FileFilter
from structformer.plugins import load_plugins
from structformer.storage.files import become, building_folder
from structformer.storage.seal import Sealed
from structformer.workspace import Source

Document = tuple[Row, list[Row]]  # a document's row with its sections' rows
Earlier = tuple[list[Row], list[Document]]  # of a file in an earlier shard: rows of sources, and documents


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One worker's task: make the shard of these files, or of a piece of one."""

    files: tuple[SurveyedFile, ...]
    sources: tuple[Source, ...]
    shards: str
    known: tuple[str, ...]  # earlier shards that may hold documents of the same, unchanged files
    earlier: str  # the folder of the earlier corpus, "" for none
    options: tuple[tuple[str, Any], ...]
    limits: Limits
    wanted: FileFilter  # which files documents may take in
    lost: tuple[tuple[str, str], ...] = ()  # files, or members of archives, that cost a worker its life, and how
    data: bytes | None = None  # of a dump's piece
    part: Range | None = None  # of a dump that each worker decompresses itself
    fresh: bool = False  # make the shard even when it exists
    into: str = ""  # where it is made, when not among all shards
    notes: str = ""  # the folder in which the worker notes what it is at
    ingest: str = ""  # which it is of: a worker outlives it, and files change


@dataclass(frozen=True, slots=True)
class ShardResult:
    """The result of a task: the shard, and how many of its files were parsed, or were there, finished or to copy."""

    info: ShardInfo
    parsed: int
    unchanged: int
    bytes: int
    path: str
    """The shard's first file."""
    seconds: float
    """Processor time that the shard took, with that of the workers that it cost."""


def make_shard(task: ShardTask, started: Callable[[str], None]) -> ShardResult:
    """Do a worker's job: the shard of a task's files, made only when it does not exist."""
    with noting(task.notes, started) as noted:
        return _made(task, noted)


def _made(task: ShardTask, started: Callable[[str], None]) -> ShardResult:
    began = time.process_time()
    lost = dict(task.lost)
    digests: dict[str, tuple[str, int]] = {}
    problems: dict[str, str] = {}
    for file in task.files:
        started(file.path)
        problem = file.problem or lost.get(file.path, "")
        try:
            if not problem:
                digests[file.path] = _digest(task, file)
        except ReadError as error:
            problem = str(error)
        if problem:
            problems[file.path] = problem
    shards = Path(task.shards)
    neighbours = neighbours_in(task.ingest, task.sources, task.limits, task.wanted)
    key = _key(task, digests, problems)
    first = task.files[0].path
    size = sum(file.size for file in task.files)
    into = Path(task.into) if task.into else shards
    for folder in sorted({*shards.glob(f"{key}-*"), *into.glob(f"{key}-*")}):
        if not task.fresh and _is_whole(folder, task) and _dependencies_hold(folder, neighbours):
            return ShardResult(describe_shard(folder), 0, len(task.files), size, first, 0.0)
    with building_folder(into) as building:
        parsed, copied, dependencies = _write_shard(building, task, digests, problems, neighbours, started)
        digest = hashlib.sha256("\n".join(sorted(dependencies)).encode("utf-8", "surrogateescape")).hexdigest()[:10]
        folder = become(building, f"{key}-{digest if dependencies else '0'}", replace=True)
    seconds = time.process_time() - began + len(lost) * task.limits.seconds
    return ShardResult(describe_shard(folder), parsed, copied, size, first, seconds)


def _is_whole(folder: Path, task: ShardTask) -> bool:
    """Whether a shard is as the earlier corpus recorded it; one that it did not record was finished before a kill."""
    recorded = _recorded(task.ingest, task.earlier).get(folder.name)
    try:
        return recorded is None or describe_shard(folder).digests == recorded
    except (OSError, WorkspaceError):
        return False


@lru_cache(maxsize=1)
def _recorded(ingest: str, folder: str) -> dict[str, tuple[str, ...]]:
    """Return the digests of the earlier corpus's shards by name."""
    if not folder:
        return {}
    try:
        shards = Sealed(Path(folder), "run `structformer ingest` again").json("manifest.json")["shards"]
    except WorkspaceError:
        return {}
    return {shard["key"]: tuple(shard["digests"]) for shard in shards}


def _dependencies_hold(folder: Path, neighbours: SourceFiles) -> bool:
    """Whether the other files that a shard's sources took from are what they were."""
    if folder.name.endswith("-0"):
        return True
    try:
        return all(_row_holds(row, neighbours) for row in read_rows(folder / "sources.parquet", ["dependencies"]))
    except WorkspaceError:
        return False


def _row_holds(row: Row, neighbours: SourceFiles) -> bool:
    dependencies = (dependency.partition(" ") for dependency in row["dependencies"])
    return all(neighbours.digest(path) == digest for digest, _, path in dependencies)


def _write_shard(
    folder: Path,
    task: ShardTask,
    digests: Mapping[str, tuple[str, int]],
    problems: Mapping[str, str],
    neighbours: SourceFiles,
    started: Callable[[str], None],
) -> tuple[int, int, set[str]]:
    """Return (files parsed, files copied, what they took from other files)."""
    reader = Reader(dict(task.options), task.limits, neighbours, started, dict(task.lost))
    whole = task.data is None and task.part is None
    earlier = _earlier(task, digests, neighbours) if whole else {}
    parsed = copied = 0
    dependencies: set[str] = set()
    with shard_writer(folder) as writer:
        for file in task.files:
            started(file.path)
            digest, size = digests.get(file.path, ("", 0))
            own: Row = {"sha256": digest, "size": size}
            if file.path in problems:
                passed_over = file.problem and not file.unreadable
                status = Status.SKIPPED if passed_over else Status.FAILED
                outcome = Outcome(file.path, file.format, file.why, status, messages=[problems[file.path]])
                writer.add_source(source_row(outcome, file, own))
                continue
            if file.place:
                status = Status.PART if file.part_of else Status.OTHER
                writer.add_source(source_row(Outcome(file.path, file.format, file.place, status), file, own))
                continue
            if (file.path, file.format, digest) in earlier:
                copied += 1
                sources, documents = earlier[file.path, file.format, digest]
                for document_row, section_rows in documents:
                    writer.add_document(document_row, section_rows)
                for row in sources:
                    dependencies.update(row["dependencies"])
                    writer.add_source(row)
                continue
            parsed += 1
            for reading in _readings(task, file, reader):
                for document in reading:
                    say = partial(_say, reading.own, document.id)
                    try:
                        rows = document_rows(document, file.path, say)
                    except Exception as error:  # as in reading: a document that cannot be kept costs itself only
                        say(f"cannot be kept ({type(error).__name__}: {error}): left out")
                        reading.own.documents -= 1
                        continue
                    writer.add_document(*rows)
                for outcome in reading.outcomes:
                    row = source_row(
                        outcome, file, own if outcome is reading.own else {"sha256": "", "size": outcome.bytes}
                    )
                    row["dependencies"] = sorted(f"{neighbours.digest(path)} {path}" for path in outcome.dependencies)
                    dependencies.update(row["dependencies"])
                    writer.add_source(row)
    return parsed, copied, dependencies


def _say(outcome: Outcome, document_id: str, problem: str) -> None:
    outcome.messages.append(problem if document_id == outcome.path else f"{document_id}: {problem}")


def _readings(task: ShardTask, file: SurveyedFile, reader: Reader) -> Iterator[Reading]:
    """Yield a file's one reading; of a dump's range one for each piece, or for what is wrong with it."""
    if task.data is None and task.part is None:
        yield reader.file(file.path, Path(file.location), file.format)
        return
    format = load_plugins().format(file.format)
    if task.data is not None:
        yield reader.piece(file.path, task.data, format, file.why)
    if task.part is not None:
        assert isinstance(format, StreamFormat)
        for piece in range_pieces(Path(file.location), task.part, format, task.limits.file_bytes):
            if isinstance(piece, bytes):
                yield reader.piece(file.path, piece, format, file.why)
            else:
                outcome = Outcome(file.path, file.format, file.why, Status.SKIPPED, messages=[piece])
                yield Reading([outcome], iter(()))


def source_row(outcome: Outcome, file: SurveyedFile, digest: Row) -> Row:
    """Return the row of a corpus's sources for a file, or a member of an archive. digest: its `sha256` and `size`."""
    return {
        **digest,
        "path": outcome.path,
        "file": file.path,
        "piece": file.piece,
        "format": outcome.format,
        "why": outcome.why or file.why,
        "status": outcome.status.value,
        "documents": outcome.documents,
        "messages": [*map(storable, outcome.messages)],
        "dependencies": [],
        "aliases": [{"name": storable(name), "target": storable(target)} for name, target in outcome.aliases],
        "bytes": outcome.bytes,
        "characters": outcome.characters,
    }


def _earlier(
    task: ShardTask, digests: Mapping[str, tuple[str, int]], neighbours: SourceFiles
) -> dict[tuple[str, str, str], Earlier]:
    """Return rows of unchanged files from earlier shards, by (path, format asked for, digest)."""
    earlier: dict[tuple[str, str, str], Earlier] = {}
    wanted = {(file.path, digests[file.path][0]): file for file in task.files if file.path in digests and file.is_read}
    signature = _signature(task)
    for key in task.known:
        folder = Path(task.shards) / key
        if task.fresh or not key.startswith(signature) or not _is_whole(folder, task):
            continue
        try:
            kept: dict[str, Earlier] = {}
            dropped: set[str] = set()
            for row in read_rows(folder / "sources.parquet"):
                if row["path"] == row["file"]:
                    file = wanted.get((row["path"], row["sha256"]))
                    if file is not None and row["status"] in (Status.READ, Status.EMPTY):
                        kept[row["file"]] = earlier[file.path, file.format, row["sha256"]] = ([], [])
                if row["file"] in kept:
                    kept[row["file"]][0].append(row)
                    if not _row_holds(row, neighbours):
                        dropped.add(row["file"])
            for document_row, section_rows in read_shard(folder):
                if document_row["file"] in kept:
                    kept[document_row["file"]][1].append((document_row, section_rows))
            earlier = {identity: rows for identity, rows in earlier.items() if identity[0] not in dropped}
        except WorkspaceError:
            continue  # a broken earlier shard is simply not reused
    return earlier


def _signature(task: ShardTask) -> str:
    """Return the part of a shard's name that says by what its documents were read: versions and options."""
    plugins = load_plugins()
    versions = sorted((plugin.name, plugin.version) for plugin in plugins.installed)
    text = json.dumps([FORMAT_VERSION, __version__, sorted(task.options), versions], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _key(task: ShardTask, digests: Mapping[str, tuple[str, int]], problems: Mapping[str, str]) -> str:
    inputs = [
        [
            file.path,
            file.format,
            file.why,
            digests.get(file.path, ("", 0))[0],
            problems.get(file.path, ""),
            file.place,
            file.piece,
            *([task.limits.seconds] if file.format == ARCHIVE else ()),  # which decide how much of it is read
        ]
        for file in task.files
    ]
    lost = sorted((path, how) for path, how in task.lost if path not in problems)
    text = json.dumps([inputs, task.limits.memory_bytes, task.limits.file_bytes, *lost])
    return f"{_signature(task)}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def _digest(task: ShardTask, file: SurveyedFile) -> tuple[str, int]:
    """Return digest and size of a file, a dump's piece, or a range with the head it is read with. Raises ReadError."""
    if task.data is not None:
        return hashlib.sha256(task.data).hexdigest(), len(task.data)
    location, part, most = Path(file.location), task.part, task.limits.file_bytes
    try:
        if part is not None:
            with open_file(location) as content:
                content.seek(part.start)
                data = content.read(part.end - part.start)
            return hashlib.sha256(part.frame.head + data).hexdigest(), len(data)
        size = location.stat().st_size
        if file.format != ARCHIVE and size > most:
            raise ReadError(f"{size / 1e6:.1f} MB, over the limit of {most / 1e6:.1f} MB (--max-file-mb): skipped")
        with open_file(location) as content:
            return hashlib.file_digest(content, "sha256").hexdigest(), size
    except OSError as error:
        raise ReadError(f"cannot be read ({error.strerror or error}): skipped") from error
