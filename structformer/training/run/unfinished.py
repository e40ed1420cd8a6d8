"""Runs that were stopped before their end: their options, so that `--resume` needs no others."""

from collections.abc import Collection
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from structformer.errors import UsageError, WorkspaceError
from structformer.storage.files import read_json, write_json
from structformer.training.options import TrainingOptions
from structformer.workspace import Workspace

_FILE = "run.json"


def write_options(folder: Path, options: TrainingOptions) -> None:
    """Store a run's options beside its checkpoints."""
    write_json(folder / _FILE, asdict(options), digest=True)


def unfinished_options(
    workspace: str | Path | Workspace, asked: TrainingOptions, given: Collection[str] = ()
) -> TrainingOptions:
    """The options of the workspace's unfinished run (the one called `asked.name` if there are several), with those of
    `asked` that are `given` now. Raises UsageError when there is none, or there are several and none is named.
    """
    folders = Workspace(workspace).unfinished(_FILE)
    if asked.name:
        folders = [folder for folder in folders if folder.name == asked.name]
    if len(folders) > 1:
        raise UsageError(
            f"several runs are unfinished: name one with --name ({', '.join(folder.name for folder in folders)})"
        )
    if not folders:
        called = f" called {asked.name}" if asked.name else ""
        raise UsageError(
            f"no unfinished run{called} in {workspace}: give the flags that it was begun with, or "
            "train without --resume"
        )
    try:
        options = _read(folders[0])
    except WorkspaceError as error:
        raise WorkspaceError(f"{error}: give the flags that the run was begun with, with --resume") from error
    return replace(options, **{key: getattr(asked, key) for key in given})


def begun_with(workspace: Workspace, options: TrainingOptions) -> TrainingOptions | None:
    """Return the options of the unfinished run of this name; None if there is none, or they cannot be read."""
    folder = workspace.checkpoints(options.name or options.ranker)
    try:
        return _read(folder) if (folder / _FILE).exists() else None
    except WorkspaceError:
        return None


def _read(folder: Path) -> TrainingOptions:
    value: dict[str, Any] = read_json(folder / _FILE, digest=True)
    known = {field.name for field in fields(TrainingOptions)}
    stored: dict[str, Any] = {key: item for key, item in value.items() if key in known}
    return TrainingOptions(**{**stored, "report_to": tuple(stored["report_to"])})
