"""Seals: a folder's list of its files with their digests, so that a changed byte is noticed when a file is opened.

Hashing gigabytes at every search would be slow, so a file that was once compared is remembered by size, time of change
and inode (`Stamps`), and compared again only when one of these differs. `structformer check` always compares."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from structformer.errors import WorkspaceError
from structformer.storage.files import fast_digest, inside, is_temporary, read_json, write_bytes, write_json

SEAL = "seal.json"
COMMAND = "command.json"  # how a folder was made, which is written last
_MORE = ".seal.json"  # suffix of the seals of what was added later


class Stamps:
    """Which files were compared with their digests already. Losing them costs time, nothing else."""

    def __init__(self, path: Path | None, digest_of: Callable[[Path], str] = fast_digest) -> None:
        self._path = path
        self._digest_of = digest_of
        self._known: dict[str, list[Any]] = {}
        self._changed = False
        try:
            value = json.loads(path.read_bytes()) if path is not None else {}
            self._known = value if isinstance(value, dict) else {}
        except (OSError, ValueError, RecursionError):
            self._known = {}

    def matches(self, path: Path, digest: str) -> bool:
        """Whether a file has this digest; hashed only if size, time of change or inode are not those remembered."""
        status = path.stat()
        stamp = [status.st_size, status.st_mtime_ns, status.st_ino, digest]
        if self._known.get(str(path)) == stamp:
            return True
        if self._digest_of(path) != digest:
            return False
        self._known[str(path)] = stamp
        self._changed = True
        return True

    def save(self) -> None:
        """Remember for the next process, where that is possible."""
        if not self._changed or self._path is None:
            return
        self._changed = False
        there = {name: stamp for name, stamp in self._known.items() if os.path.exists(name)}
        try:
            write_bytes(self._path, json.dumps(there).encode())
        except (WorkspaceError, OSError):  # a workspace that may only be read
            return


def seal(folder: Path, names: Iterable[str] | None = None, *, to: str = SEAL) -> None:
    """Record digests of a folder's files, all or those named (paths relative to it), in a seal beside them."""
    chosen = sorted(names) if names is not None else sorted(_files(folder))
    write_json(folder / to, {"files": {name: fast_digest(folder / name) for name in chosen}}, digest=True)


def seal_of(name: str) -> str:
    """Return the name of the seal of something that is added to a sealed folder later."""
    return f"{name}{_MORE}"


def _files(folder: Path) -> Iterable[str]:
    for path in folder.rglob("*"):
        left_out = path.name == SEAL or path.name.endswith((_MORE, ".lock")) or is_temporary(path.name)
        if not left_out and path.is_file():
            yield path.relative_to(folder).as_posix()


def compared(folder: Path, name: str, advice: str) -> Path | None:
    """A folder's file, verified if sealed; None if it never had one. Raises WorkspaceError as `Sealed.path` does."""
    sealed = Sealed(folder, advice)
    if not sealed.has(name):
        return None
    return sealed.path(name) if sealed.sealed else folder / name


class Sealed:
    """A sealed folder. advice: what to run when a file is not what was written."""

    def __init__(self, folder: Path, advice: str, stamps: Stamps | None = None) -> None:
        self.folder = folder
        self._advice = advice
        self._stamps = stamps or Stamps(None)
        self._digests: dict[str, str] | None = None

    @property
    def sealed(self) -> bool:
        """Whether the folder has a seal at all; a model from elsewhere has none."""
        return (self.folder / SEAL).exists()

    def names(self) -> list[str]:
        """Return the sealed files."""
        return sorted(self._sealed())

    def has(self, name: str) -> bool:
        """Whether the folder has such a file, or had: what is listed and gone is missing, as `path` says."""
        return (self.folder / name).exists() or (self.sealed and name in self._sealed())

    def path(self, name: str) -> Path:
        """The path of a file of the folder. Raises WorkspaceError when it is missing or not as it was written."""
        path = inside(self.folder, name)
        digest = self._sealed().get(name) or self._sealed(again=True).get(name)
        if digest is None:
            raise WorkspaceError(f"{path} is not listed in {self.folder / SEAL}: {self._advice}")
        try:
            same = self._stamps.matches(path, digest)
        except FileNotFoundError as error:
            raise WorkspaceError(f"{path} is missing: {self._advice}") from error
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be read ({error.strerror or error})") from error
        if not same:
            raise WorkspaceError(f"{path} has changed since it was written: {self._advice}")
        return path

    def paths(self, names: Iterable[str]) -> None:
        """Compare several files at once."""
        for name in names:
            self.path(name)
        self._stamps.save()

    def json(self, name: str) -> Any:
        """Return the value of a sealed JSON file. Raises WorkspaceError."""
        value = read_json(self.path(name))
        self._stamps.save()
        return value

    def _sealed(self, *, again: bool = False) -> dict[str, str]:
        if self._digests is None or again:
            digests: dict[str, str] = {}
            try:
                for path in [self.folder / SEAL, *sorted(self.folder.glob(f"*{_MORE}"))]:
                    digests.update(read_json(path, digest=True)["files"])
            except WorkspaceError as error:
                raise WorkspaceError(f"{error}: {self._advice}") from error
            self._digests = digests
        return self._digests

    def problems(self, *, whole: bool = False) -> list[str]:
        """Return every missing or changed file, whatever is remembered. whole: nothing else may be in the folder."""
        try:
            names = self.names()
        except WorkspaceError as error:
            return [str(error)]
        problems: list[str] = []
        if whole:
            others = sorted({*_files(self.folder)} - {*names, COMMAND})
            # What begins with a dot is a file manager's.
            problems += [f"{self.folder / each}: no seal lists it" for each in others if "/." not in f"/{each}"]
        for name in names:
            path = self.folder / name
            try:
                if fast_digest(inside(self.folder, name)) != self._sealed()[name]:
                    problems.append(f"{path}: content differs from its recorded digest")
            except WorkspaceError as error:
                problems.append(str(error))
            except FileNotFoundError:
                problems.append(f"{path}: missing")
            except OSError as error:
                problems.append(f"{path}: cannot be read ({error.strerror or error})")
        return problems
