"""Ingest: files to corpus, on all cores, resumable after a kill, reading again only what changed.

Sources are walked in a fixed order and cut into shards at places that depend on their paths alone, so an added file
changes one shard. A worker makes a shard, named by a digest of its inputs; one that exists already is kept as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from structformer import __version__
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
from structformer.corpus.storage import lock, remove_leftovers, replacing_folder, write_bytes, write_json
from structformer.document import Document
from structformer.engines.pool import WorkerPool
from structformer.errors import CorpusError, ReadError, UsageError
from structformer.plugins import Plugins, load_plugins
from structformer.sources import HEAD_BYTES, Found, Limits, SourceFile, walk

_BIG_FILE = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    location: str
    format: str
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One worker's task: make the shard of these files."""

    files: tuple[_File, ...]
    shards: str
    known: tuple[str, ...]  # earlier shards that may hold documents of the same, unchanged files
    options: tuple[tuple[str, Any], ...]
    limits: Limits
    lost: tuple[tuple[str, str], ...] = ()  # files that cost a worker its life, and how


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What came of a task: the shard, and how many of its files were parsed, copied from before, or found finished."""

    info: ShardInfo
    parsed: int
    copied: int
    kept: int


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
    ignored_suffixes: Counter[str] = field(default_factory=Counter)
    messages: list[tuple[str, str]] = field(default_factory=list)
    message_count: int = 0

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
            "ignored_suffixes": dict(self.ignored_suffixes.most_common(20)),
            "messages": [{"file": path, "message": message} for path, message in self.messages],
            "message_count": self.message_count,
        }


def read(path_or_bytes: str | Path | bytes, format: str | None = None, **options: Any) -> Iterator[Document]:
    """The Documents of a file, a folder or bytes, without a corpus.

    Raises ReadError on a file that can't be read, UsageError on bytes without a format, on an unknown format and on a
    file that no format recognises.
    In a folder, files that can't be read are passed over.
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
    for found in walk(root):
        file = _choose(found, format, plugins)
        if file is None and root.is_file():
            if format is None:
                raise UsageError(f"{root}: no installed format recognises it; name one of {', '.join(plugins.formats)}")
            file = _File(found.path, str(found.location), plugins.format(format).name)
        if file is None or file.problem:
            continue
        try:
            yield from plugins.format(file.format).read(SourceFile(file.path, location=found.location), options)
        except ReadError:
            if root.is_file():
                raise


def ingest(
    root: str | Path,
    workspace: str | Path = ".structformer",
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    limits: Limits | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> IngestReport:
    """Read all documents below `root` into the workspace's corpus, replacing what was there.

    fresh: read every file again, whatever an earlier ingest left. progress(done, total) counts files.
    Raises UsageError when root does not exist, CorpusError when another process is writing the workspace.
    """
    root, workspace = Path(root), Path(workspace)
    if not root.exists():
        raise UsageError(f"{root} does not exist")
    plugins = load_plugins()
    if format is not None:
        plugins.format(format)
    limits = limits or Limits()
    folder = workspace / "corpus"
    with lock(workspace):
        if fresh:
            shutil.rmtree(folder / "shards", ignore_errors=True)
        remove_leftovers(folder)
        remove_leftovers(folder / "shards")
        report = IngestReport()
        total = sum(1 for _ in _files(root, workspace, format, plugins, report))
        known = _known_shards(workspace)
        tasks = (
            ShardTask(tuple(files), str(folder / "shards"), _overlapping(files, known), tuple(sorted((options or {}).items())), limits)
            for files in _cut(_files(root, workspace, format, plugins, IngestReport()), total)
        )
        pool: WorkerPool[ShardTask] = WorkerPool(
            "structformer.ingest:make_shard",
            workers=min(workers or os.cpu_count() or 1, max(1, total)),
            seconds=limits.seconds,
            memory_bytes=limits.memory_bytes,
            lost=_without_lost,
        )
        shards: list[ShardInfo] = []
        for result in pool.run(tasks):
            shards.append(result.info)
            report.parsed += result.parsed
            report.unchanged += result.copied + result.kept
            report.files += result.info.sources
            if progress:
                progress(report.files, total)
        write_json(folder / "manifest.json", manifest_value(shards, __version__))
        _collect_garbage(folder / "shards", {shard.key for shard in shards})
        corpus = Corpus.open(workspace)
        _complete(report, corpus)
        lines = (json.dumps({"file": path, "message": message}, ensure_ascii=False) for path, message in _messages(corpus))
        write_bytes(folder / "report.jsonl", "".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace"))
    return report


def make_shard(task: ShardTask, started: Callable[[str], None]) -> ShardResult:
    """A worker's job: the shard of a task's files, made anew only when it does not exist."""
    lost = dict(task.lost)
    digests: dict[str, tuple[str, int]] = {}
    problems: dict[str, str] = {}
    for file in task.files:
        started(file.path)
        problem = file.problem or lost.get(file.path, "")
        if not problem:
            try:
                digests[file.path] = _digest(Path(file.location), task.limits)
                continue
            except ReadError as error:
                problem = str(error)
        problems[file.path] = problem
    folder = Path(task.shards) / _key(task, digests, problems)
    if not folder.exists():
        with replacing_folder(folder) as temporary:
            parsed, copied = _write_shard(temporary, task, digests, problems, started)
        return ShardResult(describe_shard(folder), parsed, copied, 0)
    return ShardResult(describe_shard(folder), 0, 0, len(task.files))


def _write_shard(
    folder: Path, task: ShardTask, digests: Mapping[str, tuple[str, int]], problems: Mapping[str, str], started: Callable[[str], None]
) -> tuple[int, int]:
    plugins = load_plugins()
    options = dict(task.options)
    earlier = _earlier(task, digests)
    parsed = copied = 0
    with ShardWriter(folder) as writer:
        for file in task.files:
            started(file.path)
            digest, size = digests.get(file.path, ("", 0))
            source: Row = {"path": file.path, "format": file.format, "sha256": digest, "size": size, "documents": 0}
            if file.path in problems:
                status = "skipped" if file.problem else "failed"
                writer.add_source({**source, "status": status, "messages": [*file.notes, problems[file.path]]})
                continue
            known = earlier.get((file.path, file.format, digest))
            if known is not None:
                copied += 1
                row, documents = known
                for document_row, section_rows in documents:
                    writer.add_document(document_row, section_rows)
                writer.add_source(row)
                continue
            parsed += 1
            opened = SourceFile(file.path, location=Path(file.location))
            count = 0
            status = "read"
            try:
                for document in plugins.format(file.format).read(opened, options):
                    writer.add_document(*document_rows(document))
                    count += 1
            except ReadError as error:
                status = "failed"
                opened.warn(str(error))
            except MemoryError:
                status = "failed"
                opened.warn(f"needs more than {task.limits.memory_bytes >> 20} MB of memory: skipped")
            except Exception as error:  # a plugin's mistake must cost this file only
                status = "failed"
                opened.warn(f"the {file.format} plugin failed ({type(error).__name__}: {error}): skipped")
            if status == "read" and not count:
                status = "empty"
            writer.add_source({**source, "status": status, "documents": count, "messages": [*file.notes, *opened.warnings]})
    return parsed, copied


def _earlier(
    task: ShardTask, digests: Mapping[str, tuple[str, int]]
) -> dict[tuple[str, str, str], tuple[Row, list[tuple[Row, list[Row]]]]]:
    """Rows of unchanged files from earlier shards, by (path, format, digest)."""
    found: dict[tuple[str, str, str], tuple[Row, list[tuple[Row, list[Row]]]]] = {}
    wanted = {(file.path, file.format, digests[file.path][0]): file for file in task.files if file.path in digests}
    signature = _signature(task)
    for key in task.known:
        folder = Path(task.shards) / key
        if not key.startswith(signature) or not folder.exists():
            continue
        try:
            kept: dict[str, list[tuple[Row, list[Row]]]] = {}
            for row in read_rows(folder / "sources.parquet"):
                identity = (row["path"], row["format"], row["sha256"])
                # The messages of a copied source are its own, without notes of the walk that may have changed.
                if identity in wanted and row["status"] in ("read", "empty") and not wanted[identity].notes:
                    found[identity] = (row, kept.setdefault(row["path"], []))
            for document_row, section_rows in read_shard(folder):
                if document_row["path"] in kept:
                    kept[document_row["path"]].append((document_row, section_rows))
        except CorpusError:
            continue  # a broken earlier shard is simply not reused
    return found


def _signature(task: ShardTask) -> str:
    """The part of a shard's name that says by what its documents were read: versions and options."""
    plugins = load_plugins()
    versions = {name: plugins.provider(name).version for name in sorted({file.format for file in task.files if file.format})}
    text = json.dumps([FORMAT_VERSION, __version__, sorted(task.options), sorted(versions.items())], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _key(task: ShardTask, digests: Mapping[str, tuple[str, int]], problems: Mapping[str, str]) -> str:
    inputs = [
        [file.path, file.format, digests.get(file.path, ("", 0))[0], problems.get(file.path, ""), list(file.notes)] for file in task.files
    ]
    text = json.dumps([inputs, task.limits.memory_bytes, task.limits.file_bytes])
    return f"{_signature(task)}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def _digest(location: Path, limits: Limits) -> tuple[str, int]:
    try:
        size = location.stat().st_size
        if size > limits.file_bytes:
            raise ReadError(f"{size / 1e6:.1f} MB, over the limit of {limits.file_bytes / 1e6:.1f} MB (--max-file-mb): skipped")
        with location.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), size
    except OSError as error:
        raise ReadError(f"cannot be read ({error.strerror or error}): skipped") from error


def _without_lost(task: ShardTask, path: Any, reason: str) -> ShardTask:
    return replace(task, lost=(*task.lost, (str(path), f"{reason}: skipped")))


def _choose(found: Found, format: str | None, plugins: Plugins) -> _File | None:
    """The format of a found file; None for a file that is no document."""
    if found.problem:
        return _File(found.path, str(found.location), "", found.problem)
    notes = (found.note,) if found.note else ()
    if found.note:
        return _File(found.path, str(found.location), "", found.note)
    head = b""
    if len(plugins.claiming(found.path)) != 1:  # one claim by suffix needs no look inside
        try:
            with found.location.open("rb") as file:
                head = file.read(HEAD_BYTES)
        except OSError:
            head = b""
    detected, _ = plugins.detect(found.path, head)
    if format is not None:
        own = plugins.format(format)
        if found.path.lower().endswith(own.suffixes) or (detected is not None and detected.name == format):
            return _File(found.path, str(found.location), format, notes=notes)
        return None
    return _File(found.path, str(found.location), detected.name, notes=notes) if detected else None


def _files(root: Path, workspace: Path, format: str | None, plugins: Plugins, report: IngestReport) -> Iterator[_File]:
    own = workspace.resolve()
    for found in walk(root):
        if own in found.location.absolute().parents:
            continue
        file = _choose(found, format, plugins)
        if file is None and format is not None and root.is_file():
            file = _File(found.path, str(found.location), format)  # a single file named with its format is believed
        if file is None:
            report.ignored += 1
            report.ignored_suffixes[found.location.suffix.lower() or "(none)"] += 1
        elif not file.problem or not found.location.is_symlink() or _worth_a_line(file, plugins):
            yield file


def _worth_a_line(file: _File, plugins: Plugins) -> bool:
    """Passed-over symbolic links are reported when they would have been documents, or lead nowhere good."""
    return bool(plugins.claiming(file.path)) or "its target is read" not in file.problem


def _cut(files: Iterable[_File], total: int) -> Iterator[list[_File]]:
    """Groups of files, cut where a file's path says so: about a 64th of all each, 8 to 2048 files on average."""
    average = 8
    while average < 2048 and average * 64 < total:
        average *= 2
    group: list[_File] = []
    for file in files:
        big = not file.problem and _size(file) > _BIG_FILE
        if group and (big or len(group) >= 8 * average):
            yield group
            group = []
        group.append(file)
        if big or int.from_bytes(hashlib.sha256(file.path.encode("utf-8", "surrogateescape")).digest()[:4], "big") % average == 0:
            yield group
            group = []
    if group:
        yield group


def _size(file: _File) -> int:
    try:
        return os.stat(file.location).st_size
    except OSError:
        return 0


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
        report.files += 1
        report.statuses[row["status"]] += 1
        if row["status"] == "read":
            report.formats[row["format"]] += 1
        for message in row["messages"]:
            report.message_count += 1
            if len(report.messages) < kept:
                report.messages.append((row["path"], message))
