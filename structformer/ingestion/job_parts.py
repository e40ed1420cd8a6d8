"""Ingest in parts: each makes its shards by itself; the merge is an ingest that finds them made."""

import os
from pathlib import Path

from structformer.corpus.shards import is_shard_name
from structformer.engines import Engine
from structformer.engines.job_parts import Part, PartsFolder
from structformer.ingestion.ingesting import build_corpus, made_shards
from structformer.ingestion.report import IngestReport
from structformer.ingestion.request import Execution, IngestRequest, Progress
from structformer.storage.files import remove
from structformer.workspace import Workspace

COMMAND = "ingest"
_SHARDS = "shards"


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
