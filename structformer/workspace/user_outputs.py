"""Files and folders that a command writes where its user says.

One rule for all of them: the place is looked at first, then what is to be written is made beside it under a temporary
name, and put in place in one step when it is whole. What is there already stays, unless it is to be written over
(`force`). Nothing is written into a workspace, or among the files that its corpus was read from, where the next ingest
would read it.

What a killed command left is removed by the next one that writes to the same place. It is known by its name, which has
a digest of the target's, and by a lock in it that nobody holds any more."""

import errno
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from structformer.errors import UsageError
from structformer.storage import files
from structformer.workspace.workspace import FORMAT, MARKER, Workspace

RECORD = ".structformer-output.json"  # in a folder that was written: the names of its files
_FORMAT = "structformer output"
_MOUNTED = (errno.EBUSY, errno.EXDEV)  # what a rename says of a mount point
_LOCK, _MADE, _REPLACED = "lock", "made", "replaced"  # in a temporary folder
_BEGINNING_SECONDS = 5.0  # in which who made a temporary folder has locked it
_SHOWN = 3
Read = str | Path | Workspace | None  # the workspace that a command reads


def check_file(target: Path, workspace: Read = None, *, force: bool = False) -> None:
    """Raise UsageError where no new file may be written. workspace: the one that is read."""
    check_place(target, workspace)
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_file():
        raise UsageError(f"{target} is not a plain file: name another")
    if not force:
        raise UsageError(f"{target} is there already: name another file, or write over it with --force")


def check_folder(target: Path, workspace: Read = None, *, force: bool = False, own: bool = False) -> None:
    """Raise UsageError where no new folder may be written. An empty one may be there; with `force` one that a command
    like this wrote, and that holds nothing else. own: it is the workspace's own, which `Workspace` has named.
    """
    if not own:
        check_place(target, workspace)
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise UsageError(f"{target} is there already, and not a folder: name a new one")
    try:
        if not any(target.iterdir()):
            return
        there = {
            path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_symlink() or not path.is_dir()
        }
    except OSError as error:
        raise UsageError(f"{target} cannot be read ({error.strerror or error})") from error
    if others := sorted(there - _recorded(target) - {RECORD}):
        listed = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        raise UsageError(f"{target} is there already, with other files ({listed}): name another folder")
    if not force:
        raise UsageError(f"{target} is there already: name a new folder, or write over it with --force")


@contextmanager
def new_file(target: Path, workspace: Read = None, *, force: bool = False) -> Iterator[Path]:
    """A path to write to, which becomes `target` when the block ends without an error. Raises UsageError as
    `check_file` does, before anything is written, and WorkspaceError where it cannot be written.
    """
    check_file(target, workspace, force=force)
    with _making(target) as temporary:
        made = temporary / _MADE
        yield made
        files.fsync_tree(temporary)
        if force:
            try:
                os.replace(made, target)
            except OSError as error:
                if error.errno not in _MOUNTED:
                    raise
                shutil.copyfile(made, target)
            return
        try:
            os.link(made, target)  # unlike a rename, never over a file that came to be there meanwhile
        except FileExistsError:
            raise UsageError(f"{target} appeared meanwhile and stays as it is: name another file") from None
        except OSError:  # a file system without links
            check_file(target, workspace)
            os.replace(made, target)


@contextmanager
def new_folder(
    target: Path, workspace: Read = None, *, force: bool = False, own: bool = False, recorded: bool = True
) -> Iterator[Path]:
    """A folder to write into, which becomes `target` when the block ends without an error. recorded: whether the names
    of its files are kept in it, so that `force` can tell later that nothing else is lost. Raises UsageError as
    `check_folder` does, before anything is written, and WorkspaceError where it cannot be written.
    """
    check_folder(target, workspace, force=force, own=own)
    with _making(target) as temporary:
        made = temporary / _MADE
        made.mkdir()
        yield made
        if recorded:
            names = sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())
            files.write_json(made / RECORD, {"format": _FORMAT, "files": names})
        files.fsync_tree(temporary)
        check_folder(target, workspace, force=force, own=own)
        try:
            if target.is_dir() and any(target.iterdir()):
                os.replace(target, temporary / _REPLACED)
            os.replace(made, target)  # over an empty folder too, and over nothing else
        except OSError as error:
            if error.errno not in _MOUNTED:
                raise
            _fill(target, made)


def _fill(target: Path, made: Path) -> None:
    """Move what was made into a folder that cannot be replaced, as a container's volume, in the place of what a command
    wrote there before. The record comes first, so that a command that is killed meanwhile can be run again.
    """
    for path in target.iterdir():
        files.remove(path)
    for path in sorted(made.iterdir(), key=lambda path: (path.name != RECORD, path.name)):
        shutil.move(path, target / path.name)
    files.fsync_tree(target)


def check_place(target: Path, workspace: Read = None) -> None:
    """Raise UsageError for a place in a workspace, or among the files that the workspace's corpus was read from."""
    place = target.parent.resolve() / target.name
    places = {place, place.resolve()}
    if target.name in ("", ".", ".."):
        places = {target.resolve()}
    for each in places:
        for folder in (each, *each.parents):
            if is_workspace(folder) or (workspace is not None and folder == Workspace(workspace).path.resolve()):
                raise UsageError(f"{target} is in the workspace {folder}: write elsewhere")
    for source in () if workspace is None else (each.path for each in Workspace(workspace).sources()):
        there = Path(source).resolve()
        if any(each == there or there in each.parents for each in places):
            raise UsageError(
                f"{target} is among the files that the corpus was read from ({source}), and the next ingest would "
                "read it: write elsewhere"
            )


def is_workspace(folder: Path) -> bool:
    """Whether a folder is a workspace of ours."""
    try:
        value = json.loads((folder / MARKER).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("format") == FORMAT


def _recorded(folder: Path) -> set[str]:
    """Return the files that a folder had when it was written."""
    try:
        value: Any = json.loads((folder / RECORD).read_bytes())
        return set(value["files"]) if value["format"] == _FORMAT else set()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


@contextmanager
def _making(target: Path) -> Iterator[Path]:
    """A temporary folder beside the target, removed at the end."""
    temporary = target.with_name(files.temporary_name(of=target.name))
    with files.writing_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        temporary.mkdir()
    lock = FileLock(temporary / _LOCK, timeout=0)
    try:
        with files.writing_errors(target, full_alone=True):
            lock.acquire()
            yield temporary
            files.fsync_folder(target.parent)
    finally:
        lock.release(force=True)
        files.remove(temporary)


def _remove_leftovers(target: Path) -> None:
    """Remove what killed commands left that were to write this target, and nothing that another is still making."""
    with os.scandir(target.parent) as entries:
        left = [
            target.with_name(entry.name)
            for entry in entries
            if files.is_temporary(entry.name, of=target.name) and entry.is_dir(follow_symlinks=False)
        ]
    for folder in left:
        try:
            if not (folder / _LOCK).exists() and time.time() - folder.stat().st_mtime < _BEGINNING_SECONDS:
                continue
            with FileLock(folder / _LOCK, timeout=0):
                if (folder / _REPLACED).is_dir() and not os.path.lexists(target):
                    os.replace(folder / _REPLACED, target)  # it was killed between two renames
                files.remove(folder)
        except (OSError, Timeout):  # still being made
            continue
