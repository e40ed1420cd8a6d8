"""Ingest: files to corpus, on all cores, resumable after a kill, reading again only what changed.

Sources are walked in a fixed order and cut into shards at places that depend on their paths alone, so an added file
changes one shard. A worker makes a shard, named by a digest of its inputs and of the other files that they took from; one that
exists already is kept as it is. A dump is cut into pieces of some megabytes, a shard each.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from structformer import __version__
from structformer.containers import archive_kind, decompressed, packing
from structformer.corpus import FORMAT_VERSION, Corpus, manifest_value
from structformer.corpus.rows import Row, document_rows
from structformer.corpus.shards import (
    ShardInfo,
    ShardWriter,
    describe_shard,
    path_order,
    read_rows,
    read_shard,
)
from structformer.corpus.storage import building_folder, lock, remove_leftovers, write_bytes, write_json
from structformer.document import Document
from structformer.engines.pool import WorkerPool
from structformer.errors import CorpusError, ReadError, UsageError
from structformer.plugins import CompositeFormat, Plugins, StreamFormat, load_plugins
from structformer.reading import ARCHIVE, Outcome, head_of, read_file, read_piece, safe_parts
from structformer.sources import Choice, FolderFiles, Found, Limits, SourceFile, walk

_BIG_FILE = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    location: str
    format: str
    size: int = 0
    why: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
    part: bool = False  # taken in by another file
    stream: bool = False
    piece: int = -1


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One worker's task: make the shard of these files, or of a piece of one."""

    files: tuple[_File, ...]
    root: str
    shards: str
    known: tuple[str, ...]  # earlier shards that may hold documents of the same, unchanged files
    options: tuple[tuple[str, Any], ...]
    limits: Limits
    lost: tuple[tuple[str, str], ...] = ()  # files that cost a worker its life, and how
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What came of a task: the shard, and how many of its files were parsed, copied from before, or found finished."""

    info: ShardInfo
    parsed: int
    copied: int
    kept: int
    bytes: int


@dataclass(slots=True)
class IngestReport:
    """What an ingest read: counts, and one line for every file that needs a word."""

    documents: int = 0
    sections: int = 0
    files: int = 0
    parsed: int = 0
    unchanged: int = 0
    ignored: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    ignored_suffixes: Counter[str] = field(default_factory=Counter)
    messages: list[tuple[str, str]] = field(default_factory=list)
    message_count: int = 0
    bytes: int = 0
    characters: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON types."""
        return {
            "documents": self.documents,
            "sections": self.sections,
            "files": self.files,
            "parsed": self.parsed,
            "unchanged": self.unchanged,
            "ignored": self.ignored,
            "statuses": dict(sorted(self.statuses.items())),
            "formats": dict(sorted(self.formats.items())),
            "reasons": dict(sorted(self.reasons.items())),
            "ignored_suffixes": dict(self.ignored_suffixes.most_common(20)),
            "bytes": self.bytes,
            "characters": self.characters,
            "messages": [{"file": path, "message": message} for path, message in self.messages],
            "message_count": self.message_count,
        }


def read(path_or_bytes: str | Path | bytes, format: str | None = None, **options: Any) -> Iterator[Document]:
    """The Documents of a file, a folder, an archive, a dump or bytes, without a corpus.

    Raises ReadError on a file that can't be read, UsageError on bytes without a format, on an unknown format and on a
    file that no format recognises. In a folder, files that can't be read are passed over.
    """
    plugins = load_plugins()
    if isinstance(path_or_bytes, bytes):
        if format is None:
            raise UsageError("bytes need a format: read(data, format='markdown')")
        yield from plugins.format(format).read(SourceFile("document", path_or_bytes), options)
        return
    root = Path(path_or_bytes)
    if not root.exists():
        raise UsageError(f"{root} does not exist")
    if format is not None:
        plugins.format(format)
    limits = Limits()
    folder = root.parent if root.is_file() else root
    neighbours = FolderFiles(folder, limits)
    for file in _survey(root, Path(), format, plugins, IngestReport(), limits, Choice()):
        if file.problem or file.part:
            if root.is_file() and file.problem:
                raise ReadError(file.problem)
            continue
        if file.stream:
            yield from _read_stream(file, plugins, options, limits)
            continue
        outcomes: list[Outcome] = []
        for document, _ in read_file(file.path, Path(file.location), file.format, plugins, options, limits, neighbours, outcomes):
            yield document
        if root.is_file() and outcomes[0].status in ("failed", "skipped"):
            message = outcomes[0].messages[-1] if outcomes[0].messages else outcomes[0].status
            if outcomes[0].status == "skipped":
                raise UsageError(f"{root}: {message}; name one of {', '.join(plugins.formats)}")
            raise ReadError(message)


def _read_stream(file: _File, plugins: Plugins, options: Mapping[str, Any], limits: Limits) -> Iterator[Document]:
    format = plugins.format(file.format)
    assert isinstance(format, StreamFormat)
    for piece, _ in _pieces(file, format, limits, workers=1):
        if isinstance(piece, bytes):
            for document, _ in read_piece(file.path, piece, format, options, Outcome(file.path)):
                yield document


def ingest(
    root: str | Path,
    workspace: str | Path = ".structformer",
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    limits: Limits | None = None,
    choice: Choice | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> IngestReport:
    """Read all documents below `root` into the workspace's corpus, replacing what was there.

    choice: which of the files. fresh: read every file again, whatever an earlier ingest left. progress(done, total) counts bytes.
    Raises UsageError when root does not exist, CorpusError when another process is writing the workspace.
    """
    root, workspace = Path(root), Path(workspace)
    if not root.exists():
        raise UsageError(f"{root} does not exist")
    began = time.monotonic()
    plugins = load_plugins()
    if format is not None:
        plugins.format(format)
    _check_options(plugins, options or {})
    limits = limits or Limits()
    folder = workspace / "corpus"
    count = max(1, workers or os.cpu_count() or 1)
    with lock(workspace):
        if fresh:
            shutil.rmtree(folder / "shards", ignore_errors=True)
        remove_leftovers(folder)
        remove_leftovers(folder / "shards")
        report = IngestReport()
        files = list(_survey(root, workspace, format, plugins, report, limits, choice or Choice()))
        total = sum(file.size for file in files)
        known = _known_shards(workspace)
        chosen = tuple(sorted((options or {}).items()))
        base = ShardTask((), str(root.parent if root.is_file() else root), str(folder / "shards"), (), chosen, limits)
        pool: WorkerPool[ShardTask] = WorkerPool(
            "structformer.ingest:make_shard",
            workers=count if any(file.stream for file in files) else min(count, max(1, len(files))),
            seconds=limits.seconds,
            memory_bytes=limits.memory_bytes,
            lost=_without_lost,
        )
        shards: list[ShardInfo] = []
        done = 0
        for result in pool.run(_tasks(files, base, known, plugins, count)):
            shards.append(result.info)
            report.parsed += result.parsed
            report.unchanged += result.copied + result.kept
            done += result.bytes
            if progress:
                progress(min(done, total), total)
        write_json(folder / "manifest.json", manifest_value(shards, __version__))
        _collect_garbage(folder / "shards", {shard.key for shard in shards})
        corpus = Corpus.open(workspace)
        _complete(report, corpus)
        report.seconds = time.monotonic() - began
        lines = (json.dumps({"file": path, "message": message}, ensure_ascii=False) for path, message in _messages(corpus))
        write_bytes(folder / "report.jsonl", "".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace"))
        # How the corpus came about (what was read anew) is no part of it, so that equal corpora are equal bytes.
        facts = {key: value for key, value in report.as_dict().items() if key not in ("parsed", "unchanged", "ignored", "ignored_suffixes")}
        write_json(folder / "report.json", facts)
    return report


def _check_options(plugins: Plugins, options: Mapping[str, Any]) -> None:
    """Let every format see the options before anything is read. Raises UsageError on a wrong value."""
    for format in plugins.formats.values() if options else ():
        try:
            list(format.read(SourceFile("options", b""), options))
        except UsageError:
            raise
        except Exception:  # an empty file may well be refused
            continue


def _tasks(files: list[_File], base: ShardTask, known: list[ShardInfo], plugins: Plugins, workers: int) -> Iterator[ShardTask]:
    for group in _cut(files):
        if group[0].stream:
            yield from _stream_tasks(group[0], base, plugins, workers)
        else:
            yield replace(base, files=tuple(group), known=_overlapping(group, known))


def _stream_tasks(file: _File, base: ShardTask, plugins: Plugins, workers: int) -> Iterator[ShardTask]:
    format = plugins.format(file.format)
    assert isinstance(format, StreamFormat)
    told = 0
    for number, (piece, position) in enumerate(_pieces(file, format, base.limits, workers=workers)):
        size, told = max(0, position - told), max(told, position)
        if isinstance(piece, bytes):
            yield replace(base, files=(replace(file, piece=number, size=size),), data=piece)
        else:
            yield replace(base, files=(replace(file, piece=number, size=size, problem=piece),))


def _pieces(file: _File, format: StreamFormat, limits: Limits, *, workers: int) -> Iterator[tuple[bytes | str, int]]:
    """Pieces of a dump, or what is wrong with it, with the bytes of the file taken so far."""
    try:
        location = Path(file.location)
        kind = packing(location.name)[1]
        with location.open("rb") as packed, decompressed(packed, kind, location=location, workers=workers) as content:
            for piece in format.pieces(content, limits.file_bytes):
                yield piece, packed.tell()
    except ReadError as error:
        yield str(error), file.size
    except Exception as error:  # whatever a decompressor says of damaged data
        yield f"damaged ({error or type(error).__name__}): what stands before the damage is kept", file.size


def make_shard(task: ShardTask, started: Callable[[str], None]) -> ShardResult:
    """A worker's job: the shard of a task's files, made anew only when it does not exist."""
    lost = dict(task.lost)
    digests: dict[str, tuple[str, int]] = {}
    problems: dict[str, str] = {}
    for file in task.files:
        started(file.path)
        problem = file.problem or lost.get(file.path, "")
        if not problem and task.data is not None:
            digests[file.path] = hashlib.sha256(task.data).hexdigest(), len(task.data)
            continue
        if not problem:
            try:
                digests[file.path] = _digest(Path(file.location), task.limits, bounded=file.format != ARCHIVE)
                continue
            except ReadError as error:
                problem = str(error)
        problems[file.path] = problem
    shards = Path(task.shards)
    neighbours = _neighbours(task.root, task.limits)
    key = _key(task, digests, problems)
    size = sum(file.size for file in task.files)
    for folder in sorted(shards.glob(f"{key}-*")):
        if _dependencies_hold(folder, neighbours):
            return ShardResult(describe_shard(folder), 0, 0, len(task.files), size)
    with building_folder(shards) as built:
        parsed, copied, dependencies = _write_shard(built(""), task, digests, problems, neighbours, started)
        folder = built(f"{key}-{_short_digest(sorted(dependencies))}")
    return ShardResult(describe_shard(folder), parsed, copied, 0, size)


@lru_cache(maxsize=1)
def _neighbours(root: str, limits: Limits) -> FolderFiles:
    return FolderFiles(Path(root), limits)


def _short_digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:10] if lines else "0"


def _dependencies_hold(folder: Path, neighbours: FolderFiles) -> bool:
    """Whether the other files that a shard's sources took from are what they were."""
    if folder.name.endswith("-0"):
        return True
    try:
        return all(_row_holds(row, neighbours) for row in read_rows(folder / "sources.parquet", ["dependencies"]))
    except CorpusError:
        return False


def _row_holds(row: Row, neighbours: FolderFiles) -> bool:
    for dependency in row["dependencies"]:
        digest, _, path = dependency.partition(" ")
        if neighbours.digest(path) != digest:
            return False
    return True


def _write_shard(
    folder: Path, task: ShardTask, digests: Mapping[str, tuple[str, int]], problems: Mapping[str, str], neighbours: FolderFiles,
    started: Callable[[str], None],
) -> tuple[int, int, set[str]]:  # fmt: skip
    plugins = load_plugins()
    options = dict(task.options)
    earlier = _earlier(task, digests, neighbours) if task.data is None else {}
    parsed = copied = 0
    dependencies: set[str] = set()
    with ShardWriter(folder) as writer:
        for file in task.files:
            started(file.path)
            digest, size = digests.get(file.path, ("", 0))
            own: Row = {"sha256": digest, "size": size}
            if file.path in problems:
                outcome = Outcome(file.path, file.format, file.why, "skipped" if file.problem else "failed")
                outcome.messages.append(problems[file.path])
                writer.add_source(_source_row(outcome, file, own))
                continue
            if file.part:
                writer.add_source(_source_row(Outcome(file.path, file.format, "part of another file", "part"), file, own))
                continue
            known = earlier.get((file.path, file.format, digest))
            if known is not None:
                copied += 1
                rows, documents = known
                for document_row, section_rows in documents:
                    writer.add_document(document_row, section_rows)
                for row in rows:
                    dependencies.update(row["dependencies"])
                    writer.add_source(row)
                continue
            parsed += 1
            outcomes: list[Outcome] = []
            if task.data is not None:
                outcomes.append(Outcome(file.path, file.format, file.why))
                found = read_piece(file.path, task.data, plugins.format(file.format), options, outcomes[0])
            else:
                found = read_file(
                    file.path, Path(file.location), file.format, plugins, options, task.limits, neighbours, outcomes, started
                )  # fmt: skip
            for document, _ in found:
                writer.add_document(*document_rows(document, file.path))
            for number, outcome in enumerate(outcomes):
                row = _source_row(outcome, file, own if not number else {"sha256": "", "size": outcome.bytes})
                row["dependencies"] = sorted(f"{neighbours.digest(path)} {path}" for path in outcome.dependencies)
                dependencies.update(row["dependencies"])
                writer.add_source(row)
    return parsed, copied, dependencies


def _source_row(outcome: Outcome, file: _File, digest: Row) -> Row:
    own = outcome.path == file.path
    return {
        **digest,
        "path": outcome.path,
        "file": file.path,
        "piece": file.piece,
        "format": outcome.format,
        "why": outcome.why or file.why,
        "status": outcome.status,
        "documents": outcome.documents,
        "messages": [*(file.notes if own else ()), *outcome.messages],
        "dependencies": [],
        "aliases": [{"name": name, "target": target} for name, target in outcome.aliases],
        "bytes": outcome.bytes,
        "characters": outcome.characters,
    }


def _earlier(
    task: ShardTask, digests: Mapping[str, tuple[str, int]], neighbours: FolderFiles
) -> dict[tuple[str, str, str], tuple[list[Row], list[tuple[Row, list[Row]]]]]:
    """Rows of unchanged files from earlier shards, by (path, format asked for, digest)."""
    found: dict[tuple[str, str, str], tuple[list[Row], list[tuple[Row, list[Row]]]]] = {}
    wanted = {(file.path, digests[file.path][0]): file for file in task.files if file.path in digests and not file.part}
    signature = _signature(task)
    for key in task.known:
        folder = Path(task.shards) / key
        if not key.startswith(signature) or not folder.exists():
            continue
        try:
            kept: dict[str, tuple[list[Row], list[tuple[Row, list[Row]]]]] = {}
            dropped: set[str] = set()
            for row in read_rows(folder / "sources.parquet"):
                if row["path"] == row["file"]:
                    file = wanted.get((row["path"], row["sha256"]))
                    # The messages of a copied source are its own, without notes of the walk that may have changed.
                    if file is not None and row["status"] in ("read", "empty") and not file.notes:
                        kept[row["file"]] = found[file.path, file.format, row["sha256"]] = ([], [])
                if row["file"] in kept:
                    kept[row["file"]][0].append(row)
                    if not _row_holds(row, neighbours):
                        dropped.add(row["file"])
            for document_row, section_rows in read_shard(folder):
                if document_row["file"] in kept:
                    kept[document_row["file"]][1].append((document_row, section_rows))
            found = {identity: rows for identity, rows in found.items() if identity[0] not in dropped}
        except CorpusError:
            continue  # a broken earlier shard is simply not reused
    return found


def _signature(task: ShardTask) -> str:
    """The part of a shard's name that says by what its documents were read: versions and options."""
    plugins = load_plugins()
    versions = sorted((name, plugins.provider(name).version) for name in plugins.formats)
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
            list(file.notes),
            file.part,
            file.piece,
        ]
        for file in task.files
    ]
    text = json.dumps([inputs, task.limits.memory_bytes, task.limits.file_bytes])
    return f"{_signature(task)}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def _digest(location: Path, limits: Limits, *, bounded: bool) -> tuple[str, int]:
    try:
        size = location.stat().st_size
        if bounded and size > limits.file_bytes:
            raise ReadError(f"{size / 1e6:.1f} MB, over the limit of {limits.file_bytes / 1e6:.1f} MB (--max-file-mb): skipped")
        with location.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), size
    except OSError as error:
        raise ReadError(f"cannot be read ({error.strerror or error}): skipped") from error


def _without_lost(task: ShardTask, path: Any, reason: str) -> ShardTask:
    return replace(task, lost=(*task.lost, (str(path), f"{reason}: skipped")))


def _choose(found: Found, format: str | None, plugins: Plugins, limits: Limits) -> _File | None:
    """How a found file is to be read; None for a file that is no document."""
    location = str(found.location)
    if found.problem or found.note:
        return _File(found.path, location, "", problem=found.problem or found.note)
    if archive_kind(found.path):
        return _File(found.path, location, ARCHIVE, found.size, "suffix")
    bare, kind = packing(found.path)
    if kind and (found.location.parent / packing(found.location.name)[0]).is_file():
        return _File(found.path, location, "", problem="the same file uncompressed stands beside it: skipped")
    claimed = plugins.claiming(bare)
    head = head_of(found.location) if len(claimed) != 1 or plugins.may_stream(bare) else b""
    if head and (format is None or format in plugins.formats):
        streaming = plugins.streaming(head)
        if streaming is not None and format in (None, streaming.name):
            return _File(found.path, location, streaming.name, found.size, "first bytes", stream=True)
    if format is not None:
        own = plugins.format(format)
        detected, _ = plugins.detect(bare, head)
        if bare.lower().endswith(own.suffixes) or (detected is not None and detected.name == format):
            return _File(found.path, location, format, found.size, "asked for")
        return None
    detected, why = plugins.detect(bare, head)
    return _File(found.path, location, detected.name, found.size, why) if detected else None


def _survey(
    root: Path, workspace: Path, format: str | None, plugins: Plugins, report: IngestReport, limits: Limits, choice: Choice
) -> Iterator[_File]:
    """The files to read, in the walk's order; those that others take in are marked."""
    own = workspace.resolve() if workspace != Path() else None
    files: list[_File] = []
    for found in walk(root, choice):
        if own is not None and own in found.location.absolute().parents:
            continue
        file = _choose(found, format, plugins, limits)
        if file is None and format is not None and root.is_file():
            file = _File(found.path, str(found.location), format, found.size, "asked for")  # named with its format it is believed
        if file is None and root.is_file():
            file = _File(found.path, str(found.location), "", found.size)
        if file is None:
            report.ignored += 1
            report.ignored_suffixes[found.location.suffix.lower() or "(none)"] += 1
        elif not file.problem or not found.location.is_symlink() or _worth_a_line(file, plugins):
            files.append(file)
    taken = _taken_in(files, root, plugins, limits) if len(files) > 1 else set()
    for file in files:
        yield replace(file, part=True) if file.path in taken else file


def _taken_in(files: list[_File], root: Path, plugins: Plugins, limits: Limits) -> set[str]:
    neighbours = FolderFiles(root, limits)
    found: set[str] = set()
    for file in files:
        format = plugins.formats.get(file.format)
        if isinstance(format, CompositeFormat) and not file.problem and not file.stream and file.size <= limits.file_bytes:
            found |= safe_parts(format, SourceFile(file.path, location=Path(file.location), neighbours=neighbours))
    return found


def _worth_a_line(file: _File, plugins: Plugins) -> bool:
    """Passed-over symbolic links are reported when they would have been documents, or lead nowhere good."""
    return bool(plugins.claiming(file.path)) or "its target is read" not in file.problem


def _cut(files: list[_File]) -> Iterator[list[_File]]:
    """Groups of files, cut where a file's path says so: about a 64th of all each, 8 to 2048 files on average."""
    average = 8
    while average < 2048 and average * 64 < len(files):
        average *= 2
    group: list[_File] = []
    for file in files:
        alone = not file.problem and (file.size > _BIG_FILE or file.stream)
        if group and (alone or len(group) >= 8 * average):
            yield group
            group = []
        group.append(file)
        if alone or int.from_bytes(hashlib.sha256(file.path.encode("utf-8", "surrogateescape")).digest()[:4], "big") % average == 0:
            yield group
            group = []
    if group:
        yield group


def _known_shards(workspace: Path) -> list[ShardInfo]:
    try:
        return Corpus.open(workspace).shards
    except CorpusError:
        return []


def _overlapping(files: list[_File], known: list[ShardInfo]) -> tuple[str, ...]:
    first, last = path_order(files[0].path), path_order(files[-1].path)
    return tuple(shard.key for shard in known if path_order(shard.first) <= last and first <= path_order(shard.last))


def _collect_garbage(shards: Path, keep: set[str]) -> None:
    if shards.is_dir():
        for entry in shards.iterdir():
            if entry.name not in keep:
                shutil.rmtree(entry, ignore_errors=True)


def _messages(corpus: Corpus) -> Iterator[tuple[str, str]]:
    for row in corpus.sources():
        for message in row["messages"]:
            yield row["path"], message


def _complete(report: IngestReport, corpus: Corpus, kept: int = 200) -> None:
    """Fill in what the finished corpus says; the first `kept` messages are held, report.jsonl has all."""
    report.documents, report.sections, report.files = corpus.document_count, corpus.section_count, 0
    for row in corpus.sources():
        own = row["path"] == row["file"]
        if own and row["piece"] <= 0:
            report.files += 1
            report.statuses[row["status"]] += 1
        if row["format"] != ARCHIVE:
            report.formats[row["format"]] += row["documents"]
            if row["status"] == "read":
                report.reasons[f"{row['format']}: {row['why']}"] += 1
        report.bytes += row["bytes"]
        report.characters += row["characters"]
        for message in row["messages"]:
            report.message_count += 1
            if len(report.messages) < kept:
                report.messages.append((row["path"], message))
    report.formats = Counter({name: count for name, count in report.formats.items() if count})
