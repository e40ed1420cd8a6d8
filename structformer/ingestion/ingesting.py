"""Ingest: files to corpus and reference graph, on all cores, resumable, reading again only what changed.

Sources are cut into shards at places that depend on paths alone. Corpus and graph become current together. In parts,
each makes its shards by itself; the merge is an ingest that finds them made."""

import os
import secrets
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from structformer._version import __version__
from structformer.corpus import Corpus, manifest_value, write_other_files
from structformer.corpus.shards import ShardInfo, is_shard_name
from structformer.corpus.site import GIVEN, Navigation, Site, read_site, write_site
from structformer.did_you_mean import checked_options
from structformer.engines import Engine, Work, get_engine, passing_over
from structformer.engines.job_parts import WHOLE, Part, PartsFolder
from structformer.errors import ReadError, WorkspaceError
from structformer.formats.protocol import StreamFormat
from structformer.formats.source import Limits
from structformer.graph import write_graph
from structformer.ingestion.direct import refuse_websites
from structformer.ingestion.given_documents import given_shards
from structformer.ingestion.looking import Ignored, SiteTask, SurveyedFile, cut, look_for_site
from structformer.ingestion.page import write_reports
from structformer.ingestion.ranges import pieces, ranges
from structformer.ingestion.reading import Status
from structformer.ingestion.report import IngestReport
from structformer.ingestion.request import Execution, IngestRequest, Progress
from structformer.ingestion.shard import ShardResult, ShardTask
from structformer.ingestion.site_finding import FoundSite
from structformer.ingestion.slow_files import Slow, noticing
from structformer.ingestion.sources import folder_of
from structformer.ingestion.walk import FileFilter, path_order
from structformer.notebook import notebook_progress
from structformer.plugins import load_plugins
from structformer.storage.files import remove, write_json
from structformer.workspace import Source, Workspace

_BYTES = 200_000  # which a process reads in about the time that it takes to begin
COMMAND = "ingest"
_SHARDS = "shards"


@checked_options(path="paths", folder="paths", files="paths", filter="wanted", jobs="workers")
def ingest(
    paths: str | Path | Sequence[str | Path] = (),
    workspace: str | Path | Workspace = ".structformer",
    *,
    add: bool = False,
    replace_sources: bool = False,
    remove: bool = False,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    engine: str | Engine = "local",
    limits: Limits | None = None,
    wanted: FileFilter | None = None,
    fresh: bool = False,
    site: Site | None = None,
    progress: Progress | None = None,
    slow: Slow | None = None,
) -> IngestReport:
    """Read all documents below `paths` into the workspace's corpus, and resolve their links into its reference graph.

    paths: folders or files; none reads those of the last ingest again. Documents below one folder are named by their
    place in it, a single file by its own name; of several folders each has a label in front, its name. Where files are
    among several paths, all are named from the folder that holds them, and no other file of it is a document. A corpus
    that came from other paths is not replaced unless `replace_sources` says so; `add` reads the paths beside those that
    are there, `remove` takes them out. wanted: which of the files. site: where the pages are read; None keeps that
    given to an earlier ingest, else takes what a site generator's settings say, in a path or up to two folders above
    it; Site() looks for none. engine: where shards are made. fresh: read every file again, whatever an earlier ingest
    left. progress(stage, done, total): bytes while "reading", shards while "resolving links"; None draws a bar in a
    notebook. slow(path, seconds): of a file that takes long. Raises UsageError when a path does not exist or is a
    website's address, which only the command reads, no path is known, or the corpus has other sources; WorkspaceError
    when another process is writing the workspace."""
    given = (paths,) if isinstance(paths, str | Path) else tuple(paths)
    refuse_websites(given)
    request = IngestRequest(
        given,
        add=add,
        replace_sources=replace_sources,
        remove=remove,
        format=format,
        options=options or {},
        limits=limits or Limits(),
        wanted=wanted or FileFilter(),
        site=site,
    )
    how = Execution(workers, engine, fresh, notebook_progress(progress), slow)
    return build_corpus(request, Workspace(workspace), how)


def build_corpus(request: IngestRequest, workspace: Workspace, execution: Execution) -> IngestReport:
    """Make the corpus that is asked for, and its reference graph. Raises what `ingest` raises."""
    began = time.monotonic()
    # What is wrong with the sources or the engine is said before the workspace is made.
    request.sources(workspace)
    execution = replace(execution, engine=get_engine(execution.engine))
    progress = execution.progress
    report = IngestReport()
    with workspace.writing("structformer ingest"):
        with workspace.publishing("structformer ingest") as publication:
            sources = request.sources(workspace)
            publication.sources = list(sources)
            ignored = Ignored()
            files = request.files(sources, ignored, execution.workers)
            execution = replace(execution, workers=execution.workers or _processes_for(files))
            shards = made_shards(request, workspace, sources, files, execution, report)
            if missed := _missed_parts(Corpus(workspace.shards, workspace.shards, shards), files):
                again = IngestReport()
                files = [replace(file, part_of=()) if file.path in missed else file for file in files]
                shards = made_shards(request, workspace, sources, files, execution, again, known=shards)
                report.parsed += again.parsed
                report.unchanged += max(0, len(missed) - again.parsed)
            shards += given_shards(workspace, shards)  # which stand in no file
            folder = publication.folder("corpus")
            write_json(folder / "manifest.json", manifest_value(shards, __version__))
            corpus = Corpus(folder, workspace.shards, shards)
            site, navigation = site_of(request, workspace, sources, corpus)
            write_site(folder, site.site, navigation)
            report.site, report.settings_above = site.site, list(site.above)
            empty = (row["path"] for row in corpus.sources() if row["status"] in (Status.EMPTY, Status.OTHER))
            write_other_files(folder, chain(ignored.paths, empty))
            resolving = (lambda done, total: progress("resolving links", done, total)) if progress else None
            graph = write_graph(
                corpus,
                publication.folder("graph"),
                engine=execution.engine,
                workers=execution.workers,
                progress=resolving,
            )
            write_reports(workspace.reports, report, corpus, graph, sources, ignored)
        _remove_shards(workspace, {shard.key for shard in shards})
    report.seconds = time.monotonic() - began
    return report


def made_shards(
    request: IngestRequest,
    workspace: Workspace,
    sources: tuple[Source, ...],
    files: list[SurveyedFile],
    execution: Execution,
    report: IngestReport,
    part: Part = WHOLE,
    into: str = "",
    known: list[ShardInfo] | None = None,
) -> list[ShardInfo]:
    """The shards of the files, or of a part, made by workers unless there. into: the folder of those made, if another.
    known: shards that may hold unchanged files, instead of the corpus's.
    """
    count = execution.workers or _processes_for(files)
    base = ShardTask(
        (),
        tuple(dict.fromkeys(Source(source.label, str(folder_of(source.path))) for source in sources)),
        str(workspace.shards),
        (),
        earlier=str(workspace.folder("corpus")) if workspace.has("corpus") else "",
        options=tuple(sorted(request.options.items())),
        limits=request.limits,
        wanted=request.wanted,
        fresh=execution.fresh,
        into=into,
        ingest=secrets.token_hex(8),
    )
    work = Work(
        "structformer.ingestion.shard:make_shard",
        workers=count if any(file.stream for file in files) else min(count, max(1, len(files))),
        seconds=request.limits.seconds,
        memory_bytes=request.limits.memory_bytes,
        lost=passing_over,
    )
    total = sum(file.size for file in files) // part.of
    shards: list[ShardInfo] = []
    done = 0
    taken: defaultdict[str, float] = defaultdict(float)
    with noticing(workspace.cache, execution.slow) as notes:
        base = replace(base, notes=notes)
        tasks = part.of_tasks(_tasks(files, base, _known_shards(workspace) if known is None else known, count, taken))
        results: Iterator[ShardResult] = get_engine(execution.engine).map(work, tasks)
        for result in results:
            shards.append(result.info)
            taken[result.path] += result.seconds
            report.parsed += result.parsed
            report.unchanged += result.unchanged
            done += result.bytes
            if execution.progress:
                execution.progress("reading", min(done, total), total)
    return shards


def _processes_for(files: Sequence[SurveyedFile]) -> int:
    """Return how many processes read these files: one a core, but no more than there is work for."""
    cores = os.cpu_count() or 1
    if any(file.stream for file in files):
        return cores
    return min(cores, 1 + sum(file.size for file in files) // _BYTES)


def _missed_parts(corpus: Corpus, files: list[SurveyedFile]) -> set[str]:
    """The parts that no document took in after all: what names them stands in a condition, or could not be read."""
    parts = {file.path: file.part_of for file in files if file.part_of}
    takers = {taker for of in parts.values() for taker in of}
    taken = {
        (row["path"], dependency.partition(" ")[2])
        for row in (corpus.sources() if parts else ())
        if row["path"] in takers and row["documents"]
        for dependency in row["dependencies"]
    }
    return {path for path, of in parts.items() if not any((taker, path) in taken for taker in of)}


def _tasks(
    files: list[SurveyedFile], base: ShardTask, known: list[ShardInfo], workers: int, taken: Mapping[str, float]
) -> Iterator[ShardTask]:
    for group in cut(files):
        if group[0].stream:
            yield from _stream_tasks(group[0], base, workers, taken)
        else:
            first, last = path_order(group[0].path), path_order(group[-1].path)
            near = (each for each in known if path_order(each.first) <= last and first <= path_order(each.last))
            yield replace(base, files=tuple(group), known=tuple(shard.key for shard in near))


def _stream_tasks(file: SurveyedFile, base: ShardTask, workers: int, taken: Mapping[str, float]) -> Iterator[ShardTask]:
    """taken: processor time that the readers of each file's pieces have taken so far."""
    format = load_plugins().format(file.format)
    assert isinstance(format, StreamFormat)
    parts = ranges(Path(file.location), format)
    for number, part in enumerate(parts):
        yield replace(base, files=(replace(file, piece=number, size=part.end - part.start),), part=part)
    if parts:
        return
    reached = number = 0
    content = pieces(Path(file.location), format, base.limits, workers=workers, now=lambda: taken.get(file.path, 0.0))
    try:
        for number, (piece, position) in enumerate(content, 1):
            size, reached = max(0, position - reached), max(reached, position)
            numbered = replace(file, piece=number - 1, size=size)
            if isinstance(piece, bytes):
                yield replace(base, files=(numbered,), data=piece)
            else:
                yield replace(base, files=(replace(numbered, problem=piece),))
    except ReadError as error:
        rest = replace(file, piece=number, size=max(0, file.size - reached), problem=str(error))
        yield replace(base, files=(rest,))


def site_of(
    request: IngestRequest, workspace: Workspace, sources: tuple[Source, ...], corpus: Corpus | None = None
) -> tuple[FoundSite, Navigation]:
    """Return where the pages are read: as it is given, or was given to an earlier ingest of these sources, or is found;
    and what the site's generator says of the order of a corpus's pages. Of a site that is given, the generator is
    looked for in the given folders alone.
    """
    given = replace(request.site, said_by=GIVEN) if request.site is not None else None
    if given is None and workspace.has("corpus") and not request.replace_sources:
        known, _ = read_site(workspace.folder("corpus"), damaged=True)
        given = known if known.said_by == GIVEN or (known.is_known and not known.said_by) else None
    places = (corpus.folder, corpus.shards_folder, corpus.shards) if corpus is not None else None
    return look_for_site(SiteTask(sources, str(request.options.get("theme", "")), given, places), request.limits)


def _known_shards(workspace: Workspace) -> list[ShardInfo]:
    try:
        return Corpus.open(workspace).shards
    except WorkspaceError:
        return []


def _remove_shards(workspace: Workspace, keep: set[str]) -> None:
    """Delete the shards that no corpus has any more: neither the current one nor one that readers still hold."""
    for folder in workspace.kept("corpus"):
        with suppress(WorkspaceError):
            keep |= {shard.key for shard in Corpus.at(workspace, folder).shards}
    for entry in list(workspace.shards.iterdir()) if workspace.shards.is_dir() else []:
        if is_shard_name(entry.name) and entry.name not in keep:
            remove(entry)


def ingest_part(part: Part, request: IngestRequest, workspace: Workspace, execution: Execution) -> int:
    """Make one part of the shards that the whole ingest would make; returns how many. The corpus stays as it is until
    `merge_ingest`. Raises as `ingest`, and UsageError if parts of another ingest are there.
    """
    sources = request.sources(workspace)
    parts = PartsFolder(workspace, COMMAND)
    parts.begin(part, request.description())
    files = request.files(sources, workers=execution.workers)
    into = str(parts.folder / _SHARDS)
    shards = made_shards(request, workspace, sources, files, execution, IngestReport(), part, into)
    parts.end(part)
    return len(shards)


def merge_ingest(
    workspace: str | Path | Workspace,
    *,
    rest: bool = False,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
) -> IngestReport:
    """Make corpus and graph of what the parts made. rest: make here what is missing. WorkspaceError names unended
    parts.
    """
    workspace = Workspace(workspace)
    parts = PartsFolder(workspace, COMMAND)
    plan = parts.to_merge(rest=rest)
    with workspace.writing("structformer merge"):
        for made in sorted((parts.folder / _SHARDS).glob("*")):
            if is_shard_name(made.name):
                _take_in(made, workspace.shards / made.name)
        execution = Execution(workers=workers, engine=engine, progress=progress)
        report = build_corpus(IngestRequest.of(plan), workspace, execution)
        parts.drop()
    return report


def _take_in(made: Path, final: Path) -> None:
    """Move a shard to its place; one of its name is of the same content, but may be damaged."""
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.exists():
        for path in sorted(made.iterdir()):
            os.replace(path, final / path.name)
        remove(made)
    else:
        os.replace(made, final)
