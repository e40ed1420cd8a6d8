"""Writing so that a reader never sees half a version: temporary name, fsync, rename, fsync of the folder; and the lock."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from structformer.errors import CorpusError


def fsync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # platforms on which folders can't be opened
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file at once with `data`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    fsync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file at once; keys sorted, so that equal values are equal bytes."""
    write_bytes(path, (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))


def read_json(path: Path) -> Any:
    """The value of a JSON file. Raises CorpusError when it is missing or broken."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise CorpusError(f"{path} is missing") from error
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path} cannot be read ({error})") from error


@contextmanager
def replacing_folder(final: Path) -> Iterator[Path]:
    """A temporary folder that becomes `final`, taking its place, when the block ends without an error.

    What a writer killed in the middle left is put right first: its temporary folder goes, and an old version that it had
    moved away comes back.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    for leftover in sorted(final.parent.glob(f".old-*-{final.name}")):
        if final.exists():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            os.replace(leftover, final)
    for leftover in final.parent.glob(f".tmp-*-{final.name}"):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary = final.with_name(f".tmp-{os.getpid()}-{final.name}")
    temporary.mkdir()
    try:
        yield temporary
        for path in sorted(temporary.rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        if final.exists():
            old = final.with_name(f".old-{os.getpid()}-{final.name}")
            os.replace(final, old)
            os.replace(temporary, final)
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(temporary, final)
        fsync_folder(final.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def building_folder(parent: Path) -> Iterator[Callable[[str], Path]]:
    """A temporary folder, as `built("")`, that becomes `parent / name` by `built(name)`; without that it goes away."""
    parent.mkdir(parents=True, exist_ok=True)
    temporary = parent / f".tmp-{os.getpid()}-{time.monotonic_ns()}"
    temporary.mkdir()

    def built(name: str) -> Path:
        if not name:
            return temporary
        for path in sorted(temporary.rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        final = parent / name
        if final.exists():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            os.replace(temporary, final)
            fsync_folder(parent)
        return final

    try:
        yield built
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files and folders of writers that were killed. Only for the holder of the lock."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.name.startswith((".tmp-", ".old-")):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


@contextmanager
def lock(workspace: Path) -> Iterator[None]:
    """One writer at a time. A lock whose process is gone from this machine is taken over.

    Raises CorpusError naming the process that holds it.
    """
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "lock"
    mine = {"pid": os.getpid(), "host": socket.gethostname()}
    for _ in range(3):
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            holder = _holder(path)
            if holder is not None and _alive(holder):
                raise CorpusError(
                    f"{workspace} is being written by process {holder.get('pid')} on {holder.get('host')}; "
                    f"wait for it, or delete {path} if that process is gone"
                ) from None
            path.unlink(missing_ok=True)
    else:
        raise CorpusError(f"{path} could not be taken")
    with os.fdopen(handle, "w") as file:
        json.dump(mine, file)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _holder(path: Path) -> dict[str, Any] | None:
    try:
        holder = json.loads(path.read_text())
        return holder if isinstance(holder, dict) else None
    except (OSError, ValueError):
        return None


def _alive(holder: dict[str, Any]) -> bool:
    if holder.get("host") != socket.gethostname():
        return True  # another machine's process can't be asked; its user can delete the lock
    pid = holder.get("pid")
    if not isinstance(pid, int) or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
