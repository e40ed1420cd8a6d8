"""Writing so that a reader never sees half a version: temporary name, fsync, rename, fsync of the folder. And digests:
sha256 where a name is made of one, XXH3 where a file is compared with what was written.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import xxhash

from structformer.errors import StructformerError, UsageError, WorkspaceError

_DIGEST = "digest"
_TEMPORARY = ".structformer-tmp-"
descriptors: dict[str, int] = {}  # of folders whose paths are not UTF-8
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_KILLED = "index writer was killed"  # by an error of files that tantivy does not tell
_ADVICE = "; if few files may be open, or memory is short, allow more (ulimit -n)"
_OF_FILES = ("Read-only file system", "os error", "IoError", "Too many open files", "acquire Lockfile", _KILLED)


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fast_digest(path: Path) -> str:
    """Return the XXH3 digest (128 bits) of a file: it tells damage, at the speed of memory, but resists no attacker."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()


def bytes_digest(data: bytes) -> str:
    """Return the XXH3 digest (128 bits) of bytes."""
    return xxhash.xxh3_128_hexdigest(data)


def inside(folder: Path, name: str) -> Path:
    """The path of a name that a file of ours lists. Raises WorkspaceError on one that leads out of the folder."""
    parts = name.split("/")
    if not name or ".." in parts or "" in parts or "\\" in name or "\0" in name or Path(name).is_absolute():
        raise WorkspaceError(f"{folder} lists {name!r}, which is not a file of it")
    return folder / name


def utf8_path(path: str) -> str:
    """Return a path for libraries that take UTF-8 alone: other bytes by an open descriptor of the folder, on Linux."""
    odd = not path.isascii() and any("\udc80" <= sign <= "\udcff" for sign in path)
    if sys.platform != "linux" or not odd or not os.path.isdir(path):
        return path
    known = descriptors.get(path)
    if known is None or not os.path.samestat(os.fstat(known), os.stat(path)):
        known = descriptors[path] = os.open(path, os.O_RDONLY)
    return f"/proc/{os.getpid()}/fd/{known}"


def temporary_name(final: str = "", *, of: str = "") -> str:
    """Return a new name for what is not finished yet, recognised by `is_temporary`. of: what it is to become."""
    token = (bytes_digest(of.encode("utf-8", "surrogateescape"))[:8] if of else "") + secrets.token_hex(8)
    return f"{_TEMPORARY}{token[:16]}{'-' if final else ''}{final}"


def is_temporary(name: str, *, of: str = "") -> bool:
    """Whether a name is one that `temporary_name` makes, with `of` for this; nothing of a user's is called so."""
    token = name.removeprefix(_TEMPORARY)[:16]
    ours = name.startswith(_TEMPORARY) and len(token) == 16 and not set(token) - set("0123456789abcdef")
    return ours and (not of or token.startswith(bytes_digest(of.encode("utf-8", "surrogateescape"))[:8]))


def remove_temporaries(folder: Path) -> None:
    """Delete what killed writers left in a folder. Only for the holder of the workspace's lock."""
    for entry in list(folder.iterdir()) if folder.is_dir() else []:
        if is_temporary(entry.name):
            remove(entry)


def remove(path: Path) -> None:
    """Delete a file or a folder that we made; what cannot be deleted stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def writing_errors(path: Path, *, full_alone: bool = False) -> Iterator[None]:
    """Turn what goes wrong while writing into one line that names `path`. full_alone: the errors of a full disk alone,
    for a block that reads much beside what it writes, whose other errors speak of other files. Raises WorkspaceError.
    """
    try:
        yield
    except StructformerError:
        raise
    except Exception as error:
        # safetensors, tantivy and tokenizers have errors of their own; pyarrow's of files are OSErrors.
        of_files = isinstance(error, OSError | sqlite3.Error) or any(text in str(error) for text in _OF_FILES)
        if not (is_full(error) or (of_files and not full_alone)):
            raise
        place = Path(getattr(error, "filename", None) or path)
        if any(is_temporary(part) for part in place.parts):
            place = path  # what it was to become
        reason = getattr(error, "strerror", None) or str(error)
        advice = _ADVICE if getattr(error, "errno", 0) == errno.EMFILE or _KILLED in reason else ""
        advice = "; make room there and run the command again" if is_full(error) else advice
        raise WorkspaceError(f"{place} cannot be written ({reason}){advice}") from error


def is_full(error: BaseException) -> bool:
    """Whether an error, or one of an error's text, says that a disk is full."""
    texts = ("No space left", "disk is full", "File too large")
    return getattr(error, "errno", None) in _FULL or any(text in str(error) for text in texts)


def fsync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # platforms on which folders cannot be opened
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fsync_tree(folder: Path) -> None:
    """Make all files below a folder durable, readable by whoever may read the workspace."""
    mode = folder.stat().st_mode & 0o666
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            # safetensors and numpy create files that nobody else may read.
            if os.name == "posix" and path.stat().st_mode & 0o777 != mode:
                path.chmod(mode)
            with path.open("rb") as file:
                os.fsync(file.fileno())


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """A temporary path beside a file's, which takes its place when the block ends well."""
    temporary = path.with_name(temporary_name())
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    fsync_folder(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file at once with `data`. Raises WorkspaceError when it cannot be written."""
    with writing_errors(path), replacing_file(path) as temporary, temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_json(path: Path, value: Any, *, digest: bool = False) -> None:
    """Replace a JSON file at once, keys sorted. digest: add one of the value (an object), which `read_json` checks."""
    if digest:
        value = {**value, _DIGEST: bytes_digest(_encoded(value))}
    write_bytes(path, _encoded(value))


def _encoded(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def read_json(path: Path, *, digest: bool = False) -> Any:
    """A JSON file's value. Raises WorkspaceError if missing or broken; with `digest` also if changed since written."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise WorkspaceError(f"{path} is missing") from error
    except (OSError, ValueError, RecursionError) as error:
        raise WorkspaceError(f"{path} cannot be read ({error})") from error
    if digest:
        recorded = value.pop(_DIGEST, None) if isinstance(value, dict) else None
        if recorded != bytes_digest(_encoded(value)):
            raise WorkspaceError(f"{path} has changed since it was written")
    return value


@contextmanager
def read_errors(
    place: object, *errors: type[Exception], advice: str = ": run `structformer index` again"
) -> Iterator[None]:
    """Say of what cannot be read what mends it. Raises WorkspaceError in the place of these errors."""
    try:
        yield
    except errors as error:
        raise WorkspaceError(f"{place} cannot be read ({error}){advice}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file that a user wrote, with a byte-order mark too, as Windows' editors write it. Raises UsageError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        json.dumps(table, default=str)  # a number that Python cannot write would end whoever names it
        return table
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from error


def read_only(path: Path) -> sqlite3.Connection:
    """Return a database that nobody writes any more, for any thread. Raises sqlite3.Error."""
    # immutable: a folder that may only be read needs no lock in it.
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)


@contextmanager
def replacing_folder(final: Path, *, earlier: Path | None = None) -> Iterator[Path]:
    """A temporary folder that becomes `final` when the block ends well. What was there goes to `earlier`, or away. Only
    for folders that are known to be ours.
    """
    with building_folder(final.parent, target=final) as building:
        yield building
        fsync_tree(building)
        old = earlier or final.with_name(temporary_name())
        if final.exists():
            old.parent.mkdir(parents=True, exist_ok=True)
            os.replace(final, old)
        os.replace(building, final)
        if earlier is None and old.exists():
            remove(old)
        fsync_folder(final.parent)


@contextmanager
def building_folder(parent: Path, *, target: Path | None = None) -> Iterator[Path]:
    """A temporary folder in `parent` that `become` keeps. target: the path errors name, if not the parent's."""
    with writing_errors(target or parent):
        parent.mkdir(parents=True, exist_ok=True)
        temporary = parent / temporary_name()
        temporary.mkdir()
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def become(folder: Path, name: str, *, replace: bool = False) -> Path:
    """Give a temporary folder its name. One of that name is kept as of that content, or written over with `replace`."""
    fsync_tree(folder)
    final = folder.with_name(name)
    if not final.exists():
        os.replace(folder, final)
        fsync_folder(final.parent)
    elif replace:
        for path in sorted(folder.iterdir()):
            os.replace(path, final / path.name)
        fsync_folder(final)
    return final
