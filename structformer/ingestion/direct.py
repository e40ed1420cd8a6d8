"""Reading documents without a corpus: in this process, or in a worker process with limits of time and memory."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from structformer.corpus.rows import Row, document_rows, rows_document
from structformer.corpus.site import Navigation
from structformer.document import Document
from structformer.engines import Work, passing_over
from structformer.engines.pool import perform
from structformer.errors import ReadError, UsageError
from structformer.formats.builder import stem_title
from structformer.formats.protocol import StreamFormat
from structformer.formats.source import Limits, SourceFile
from structformer.ingestion.looking import LookTask, SurveyedFile, survey
from structformer.ingestion.ranges import pieces
from structformer.ingestion.reading import Reader, Started, Status
from structformer.ingestion.site_finding import found_site, with_navigation
from structformer.ingestion.sources import SourceFiles
from structformer.ingestion.unpacking_limits import Clock
from structformer.plugins import load_plugins
from structformer.workspace import Source

_WEBSITE = re.compile(r"(https?):/{1,2}", re.IGNORECASE)  # as it was written, or as a Path has it


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A file to read, and the format to read it as."""

    source: str | Path | bytes
    format: str | None
    options: tuple[tuple[str, Any], ...]
    most: int | None = None
    """Documents that are read at most."""
    lost: tuple[tuple[str, str], ...] = ()
    """Files that cost a worker its life, and how."""


def read(
    path_or_bytes: str | Path | bytes,
    format: str | None = None,
    *,
    timeout: float | None = None,
    most: int | None = None,
    **options: Any,
) -> Iterator[Document]:
    """Return the Documents of a file, a folder, an archive, a dump or bytes, without a corpus.

    timeout: seconds of processor time that a file may take. It is then read in a worker process, with the memory that
    `ingest` allows, and all documents are held at once; None reads in this process, without these limits. most:
    documents that are read at most. Raises ReadError on a file that cannot be read or exceeds a limit, UsageError on
    bytes without a format, on an unknown format or option and on a file that no format recognises. In a folder, files
    that cannot be read are passed over, and pages without a title have that of the site's navigation.

    >>> [section.title for document in read(b"# Knots\\n\\n## Bowline\\n", "markdown") for section in
    document.sections()] ['Knots', 'Bowline']"""
    task = ReadTask(path_or_bytes, format, tuple(options.items()), most)
    if timeout is not None:
        work = Work("structformer.ingestion.direct:read_rows", 1, timeout, Limits().memory_bytes, _without_lost)
        return iter([rows_document(*rows) for rows in perform(work, task)])
    return islice(_read_here(task), most)


def _read_here(task: ReadTask) -> Iterator[Document]:
    clock = Clock()
    for document in _documents(task, clock):
        with clock.paused():
            yield document


def read_rows(task: ReadTask, started: Started) -> list[tuple[Row, list[Row]]]:
    """Do a worker's job: read documents, as rows, which cross to another process however deep they are."""
    documents = _documents(task, Clock(), started)
    return [document_rows(document, document.source.path) for document in islice(documents, task.most)]


def _without_lost(task: ReadTask, path: Any, reason: str) -> ReadTask:
    if isinstance(task.source, bytes):
        raise ReadError(reason)
    return passing_over(task, path, reason)


def _documents(task: ReadTask, clock: Clock, started: Started = lambda path: None) -> Iterator[Document]:
    plugins, format, options = load_plugins(), task.format, dict(task.options)
    plugins.check_options(options)
    if isinstance(task.source, bytes):
        if format is None:
            raise UsageError("bytes need a format: read(data, format='markdown')")
        started("the bytes")
        yield from plugins.format(format).read(SourceFile("document", task.source), options)
        return
    refuse_websites([task.source])
    root = Path(task.source)
    if not root.exists():
        raise UsageError(f"{root} does not exist")
    if format is not None:
        plugins.format(format)
    limits = Limits()
    sources = (Source("", str(root.resolve() if root.is_dir() else root)),)
    neighbours = SourceFiles(sources, limits)
    reader = Reader(options, limits, neighbours, started, dict(task.lost), now=clock.seconds)
    looking = LookTask(sources, limits, format=format, options=task.options, lost=task.lost)
    files: Iterable[SurveyedFile] = survey(looking, follow=True, workers=0, started=started)
    navigation, site = Navigation(), found_site(sources) if root.is_dir() else None
    if site is not None and site.settings:
        files = list(files)
        _, navigation = with_navigation(site, ((file.path, "", {}) for file in files if file.is_read))
    for file in files:
        if not file.is_read:
            if not root.is_dir() and file.problem:
                raise ReadError(file.problem)
            continue
        started(file.path)
        if file.stream:
            try:
                read_by = plugins.format(file.format)
                assert isinstance(read_by, StreamFormat)
                for piece, _ in pieces(Path(file.location), read_by, limits, workers=1, now=clock.seconds):
                    if isinstance(piece, bytes):
                        yield from reader.piece(file.path, piece, read_by)
            except ReadError:
                if root.is_file():
                    raise
            continue
        reading = reader.file(file.path, Path(file.location), file.format)
        for document in map(navigation.titled, reading):
            if site is not None and site.settings and document.title == stem_title(file.path):  # front matter's title
                document = with_navigation(site, [(file.path, "", document.metadata)])[1].titled(document)
            yield document
        own = reading.own
        if root.is_file() and own.status in (Status.FAILED, Status.SKIPPED, Status.OTHER):
            message = own.messages[-1] if own.messages else str(own.status)
            if own.status is Status.SKIPPED:
                raise UsageError(f"{root}: {message}; name one of {', '.join(plugins.formats)}")
            raise ReadError(message)


def refuse_websites(paths: Iterable[str | Path]) -> None:
    """Raise UsageError on a website's address, which a Path has with a single slash."""
    for path in paths:
        if (found := _WEBSITE.match(str(path))) and not Path(path).exists():
            address = f"{found[1]}://{str(path)[found.end() :]}"
            raise UsageError(
                f"{address} is a website, and files are read here: `structformer ingest {address} -w WORKSPACE` "
                "fetches and reads it, and the workspace is then used from Python"
            )
