"""A folder kept in object storage: a copy here that commands work on, and there its files by their digests with a log
of what changed.

    objects/DIGEST         a file, written once under its final name
    log/TIME-RANDOM.json   what one command changed: digests by path, and what it deleted

There is nothing to rename and nothing that two writers replace: a command's entry of the log is written last, and the
log's entries in their order are the state. So the parts of a job array may end at the same moment, and a command
that was killed while it wrote has changed nothing."""

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from structformer.errors import UsageError, WorkspaceError
from structformer.storage.files import (
    inside,
    is_temporary,
    read_json,
    remove,
    replacing_file,
    sha256_of,
    temporary_name,
    write_json,
)

_RECORD = ".remote.json"  # what the copy has of the store, beside the copy
_OURS = ("holds/", "logs/", "structformer.lock", "cache/")  # of this machine alone
_KEPT = ("cache/onnx/",)
_BLOCK = 8_000_000


class RemoteFolder:
    """A folder in object storage and its copy here."""

    def __init__(self, url: str, local: Path) -> None:
        """Raises UsageError on an address that no file system takes."""
        parts = urlsplit(url)
        # Without what may be secret in it.
        self.name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self.local = local
        try:
            self._store, self._root = fs.FileSystem.from_uri(url)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UsageError(f"{self.name} cannot be opened ({_reason(error)})") from error
        self._root = self._root.rstrip("/")
        self._record = local.with_name(local.name + _RECORD)

    def pull(self) -> None:
        """Make the copy what the store has. Raises WorkspaceError if unreadable, or if both have changed since."""
        with self._store_errors():
            state, seen = self._state()
            known = self._known()
            mine = self._changed(known["files"])
            if mine and known["log"] != seen:
                raise WorkspaceError(
                    f"{self.local}, the copy of {self.name}, has changes that were not uploaded, and the store has "
                    f"changed since: delete {self.local} and {self._record.name} beside it, to use what the store has"
                )
            if mine:
                return  # of a command whose upload failed; the next one's takes them along
            wanted = {path: digest for path, digest in state.items() if known["files"].get(path, [""])[0] != digest}
            for path, digest in sorted(wanted.items()):
                self._fetch(path, digest)
            for path in set(known["files"]) - set(state):
                remove(inside(self.local, path))
            self._remember(state, seen)

    def push(self) -> int:
        """Upload what changed in the copy; returns how many files that are."""
        with self._store_errors():
            known = self._known()
            changed = self._changed(known["files"])
            if isinstance(self._store, fs.LocalFileSystem):  # a network path has folders
                for folder in ("objects", "log"):
                    self._store.create_dir(f"{self._root}/{folder}")
            if not changed:
                return 0
            for path, digest in sorted(changed.items()):
                if digest is not None:
                    self._store_file(inside(self.local, path), f"{self._root}/objects/{digest}")
            after = max([time.time_ns(), *(int(name[:20]) + 1 for name in known["log"])])  # clocks go back too
            entry = f"{after:020}-{secrets.token_hex(6)}.json"
            with self._written(f"{self._root}/log/{entry}") as file:
                file.write(json.dumps({"files": changed}, sort_keys=True).encode("utf-8", "backslashreplace"))
            state = {path: digests[0] for path, digests in known["files"].items()} | changed
            there = {path: digest for path, digest in state.items() if digest is not None}
            self._remember(there, sorted({*known["log"], entry}))
        return len(changed)

    def _state(self) -> tuple[dict[str, str], list[str]]:
        """Return (digests by path, the log's entries)."""
        selector = fs.FileSelector(f"{self._root}/log", allow_not_found=True)
        names = sorted(info.base_name for info in self._store.get_file_info(selector) if info.is_file)
        state: dict[str, str | None] = {}
        for name in names:
            with self._store.open_input_stream(f"{self._root}/log/{name}") as file:
                try:
                    state |= json.loads(file.read())["files"]
                except (ValueError, KeyError, TypeError) as error:
                    raise WorkspaceError(f"{self.name}: log/{name} cannot be read ({error!r})") from error
        return {path: digest for path, digest in state.items() if digest is not None}, names

    def _fetch(self, path: str, digest: str) -> None:
        with replacing_file(inside(self.local, path)) as temporary:
            key = f"{self._root}/objects/{digest}"
            with self._store.open_input_stream(key) as source, temporary.open("wb") as file:
                shutil.copyfileobj(source, file, _BLOCK)
            if sha256_of(temporary) != digest:
                raise WorkspaceError(f"{self.name}: {path} is not what was uploaded")

    def _store_file(self, path: Path, key: str) -> None:
        there = self._store.get_file_info(key)
        if there.is_file and there.size == path.stat().st_size:  # an upload that was broken off left less
            return
        with path.open("rb") as source, self._written(key) as target:
            shutil.copyfileobj(source, target, _BLOCK)

    @contextmanager
    def _written(self, key: str) -> Iterator[Any]:
        """A store's file to write; on a network path it is named when whole, as a killed writer leaves its part."""
        if not isinstance(self._store, fs.LocalFileSystem):
            with self._store.open_output_stream(key) as file:
                yield file
            return
        temporary = Path(self._root, temporary_name())
        try:
            with temporary.open("wb") as file:
                yield file
            os.replace(temporary, key)
        finally:
            temporary.unlink(missing_ok=True)

    def _known(self) -> dict[str, Any]:
        """The store's state that the copy last equalled: digests, sizes and times of files, and the log's entries."""
        return dict(read_json(self._record)) if self._record.exists() else {"files": {}, "log": []}

    def _remember(self, state: dict[str, str], log: list[str]) -> None:
        files = {}
        for path, digest in state.items():
            status = inside(self.local, path).stat()
            files[path] = [digest, status.st_size, status.st_mtime_ns]
        write_json(self._record, {"files": files, "log": log})

    def _changed(self, known: dict[str, list[Any]]) -> dict[str, str | None]:
        """Return digests of the files that are not as they were, None for those that are gone."""
        changed: dict[str, str | None] = {}
        there: set[str] = set()
        for path in self._files():
            name = path.relative_to(self.local).as_posix()
            there.add(name)
            status = path.stat()
            before = known.get(name)
            if before is None or before[1:] != [status.st_size, status.st_mtime_ns]:
                digest = sha256_of(path)
                if before is None or before[0] != digest:
                    changed[name] = digest
        changed.update(dict.fromkeys(set(known) - there, None))
        return changed

    def _files(self) -> Iterator[Path]:
        for path in sorted(self.local.rglob("*")) if self.local.is_dir() else ():
            name = path.relative_to(self.local).as_posix()
            ours = name.startswith(_OURS) and not name.startswith(_KEPT)
            if path.is_file() and not ours and not any(is_temporary(part) for part in name.split("/")):
                yield path

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise WorkspaceError(f"{self.name}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
