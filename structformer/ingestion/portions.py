"""Ingest in portions: each makes its shards by itself; the merge is an ingest that finds them made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from structformer.corpus.shards import is_shard_name
from structformer.corpus.site import Site
from structformer.engines import Engine, get_engine
from structformer.formats.limits import Limits
from structformer.ingestion.ingesting import Progress, choose_sources, ingest, made_shards
from structformer.ingestion.report import IngestReport
from structformer.ingestion.survey import survey
from structformer.ingestion.walk import FileFilter
from structformer.plugins import load_plugins
from structformer.portions import Parts, Portion
from structformer.storage.files import remove
from structformer.workspace import Workspace

COMMAND = "ingest"
_WAIT_SECONDS = 600.0  # for another portion that makes the same workspace
_SHARDS = "shards"


def ingest_portion(
    portion: Portion,
    paths: Sequence[str | Path] = (),
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
) -> int:
    """Make one portion of the shards that `ingest` with the same arguments would make; returns how many they are.

    The corpus stays as it is until `merge_ingest`. Raises what `ingest` raises, and UsageError where portions of
    another ingest are there.
    """
    workspace = Workspace(workspace)
    plugins = load_plugins()
    if format is not None:
        plugins.format(format)
    plugins.check_options(options or {})
    limits, wanted = limits or Limits(), wanted or FileFilter(gitignore=False)
    sources = choose_sources(workspace, paths, add=add, replace_sources=replace_sources, remove=remove)
    with workspace.writing("structformer ingest", wait=_WAIT_SECONDS):
        parts = Parts(workspace.parts, COMMAND)
        parts.begin(
            portion,
            {
                "paths": [str(Path(path).resolve()) for path in paths],
                "add": add,
                "replace_sources": replace_sources,
                "remove": remove,
                "format": format,
                "options": dict(options or {}),
                "limits": asdict(limits),
                "wanted": asdict(wanted),
                "site": asdict(site) if site else None,
            },
        )
    files = list(
        survey(sources, plugins, limits, own=workspace.path.resolve(), format=format, wanted=wanted, options=options)
    )
    shards = made_shards(
        workspace,
        sources,
        files,
        options or {},
        limits,
        plugins,
        get_engine(engine),
        workers,
        fresh,
        IngestReport(),
        progress,
        portion,
        str(parts.folder / _SHARDS),
    )
    parts.end(portion)
    return len(shards)


def merge_ingest(
    workspace: str | Path | Workspace,
    *,
    rest: bool = False,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
) -> IngestReport:
    """Make the corpus and its graph of what the portions made. rest: make here what they did not.

    Raises WorkspaceError naming the portions that have not ended.
    """
    workspace = Workspace(workspace)
    parts = Parts(workspace.parts, COMMAND)
    plan = parts.to_merge(rest=rest)
    with workspace.writing("structformer merge"):
        for made in sorted((parts.folder / _SHARDS).glob("*")):
            if is_shard_name(made.name):
                _take_in(made, workspace.shards / made.name)
        wanted = plan["wanted"]
        report = ingest(
            plan["paths"],
            workspace,
            add=plan["add"],
            replace_sources=plan["replace_sources"],
            remove=plan["remove"],
            format=plan["format"],
            options=plan["options"],
            workers=workers,
            engine=engine,
            limits=Limits(**plan["limits"]),
            wanted=FileFilter(tuple(wanted["include"]), tuple(wanted["exclude"]), wanted["gitignore"]),
            site=Site(**plan["site"]) if plan["site"] else None,
            progress=progress,
        )
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
