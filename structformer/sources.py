"""Sources: walking a folder in a fixed order, safely, and opening its files within limits."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from structformer.errors import ReadError
from structformer.names import join, page_suffixes

_IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_HIDDEN = re.compile(r"\.[^.]")
HEAD_BYTES = 4096
_KEPT_BYTES = 32_000_000  # of neighbours, which many files of a folder ask for


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one file may cost; one that exceeds a bound is reported and left out, never silently cut.

    seconds: processor time, not time on the clock, so that a busy machine loses no good file. A packed file counts by what it unpacks
    to: each member and each page of a dump may have `file_bytes`, an archive with all that is nested in it at most `archive_entries`
    members and `archive_bytes`, no more than `ratio` times its packed size (once over 100 MB), and `seconds` and one more for every
    `bytes_per_second` that it unpacks to.
    """

    file_bytes: int = 32_000_000
    seconds: float = 60.0
    memory_bytes: int = 2 * 1024**3
    archive_entries: int = 200_000
    archive_bytes: int = 20_000_000_000
    bytes_per_second: int = 250_000
    ratio: int = 500
    nesting: int = 3


class Neighbours(Protocol):
    """The other files that a source may take parts from: those of its ingested folder, or of its archive."""

    def get(self, path: str) -> bytes | None:
        """A file's content by its path relative to the root; None when it isn't there, is too large, or lies outside."""
        ...

    def find(self, suffix: str) -> list[str]:
        """Paths of all files with that suffix, in order."""
        ...


class FolderFiles:
    """The regular files below a root. What a symbolic link leads to counts only when it is inside the root too."""

    def __init__(self, root: Path, limits: Limits | None = None) -> None:
        self._root = root.resolve()
        self._limit = (limits or Limits()).file_bytes
        self._found: dict[str, list[str]] = {}
        self._digests: dict[str, str] = {}
        self._kept: dict[str, bytes | None] = {}

    def get(self, path: str) -> bytes | None:
        if path not in self._kept:
            location = self._location(path)
            try:
                data = location.read_bytes() if location is not None else None
            except OSError:
                data = None
            if sum(len(each) for each in self._kept.values() if each) > _KEPT_BYTES:
                self._kept.clear()
            self._kept[path] = data
        return self._kept[path]

    def find(self, suffix: str) -> list[str]:
        if suffix not in self._found:
            self._found[suffix] = [
                found.path for found in walk(self._root) if found.path.endswith(suffix) and not found.problem and not found.note
            ]
        return self._found[suffix]

    def digest(self, dependency: str) -> str:
        """A digest of what `SourceFile.open` or `companions` gives: of one file, or of the list of files with a suffix."""
        if dependency not in self._digests:
            if dependency.startswith("*"):
                listed = "\n".join(self.find(dependency[1:]))
                self._digests[dependency] = hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()
            else:
                data = self.get(dependency)
                self._digests[dependency] = "" if data is None else hashlib.sha256(data).hexdigest()
        return self._digests[dependency]

    def _location(self, path: str) -> Path | None:
        if "\x00" in path:
            return None
        try:
            location = (self._root / path).resolve(strict=True)
            inside = self._root in location.parents
            status = location.stat()
        except (OSError, RuntimeError, ValueError):
            return None
        return location if inside and stat.S_ISREG(status.st_mode) and status.st_size <= self._limit else None


class SourceFile:
    """One file as a plugin sees it: its path relative to the root, its bytes, its neighbours, and a place for warnings."""

    def __init__(self, path: str, data: bytes | None = None, location: Path | None = None, neighbours: Neighbours | None = None) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.dependencies: set[str] = set()
        self.aliases: list[tuple[str, str]] = []
        self._data = data
        self._location = location
        self._neighbours = neighbours

    def read(self) -> bytes:
        """The whole content. Raises ReadError when the file can't be read."""
        if self._data is not None:
            return self._data
        assert self._location is not None
        try:
            return self._location.read_bytes()
        except OSError as error:
            raise ReadError(f"cannot be read ({error.strerror or error})") from error

    def open(self, target: str) -> SourceFile | None:
        """Another file of the ingested root, `target` being relative to this file's folder; None when there is none.

        Nothing outside the root is opened. What was asked for is remembered in `dependencies`, so that a change of that file
        makes an ingest read this one again.
        """
        if self._neighbours is None or target.startswith(("/", "~", "\\")) or re.match(r"[a-zA-Z]:", target):
            return None
        path = join(self.path.rpartition("/")[0], target)
        return self._part(path) if path else None

    def companions(self, suffix: str) -> list[SourceFile]:
        """All files of the ingested root with a suffix, as entity files and bibliographies are that no file names."""
        if self._neighbours is None:
            return []
        self.dependencies.add(f"*{suffix}")
        return [part for path in self._neighbours.find(suffix) if (part := self._part(path)) is not None]

    def _part(self, path: str) -> SourceFile | None:
        assert self._neighbours is not None
        self.dependencies.add(path)
        data = self._neighbours.get(path)
        if data is None:
            return None
        opened = SourceFile(path, data, neighbours=self._neighbours)
        # What a part asks for and what it has to say belong to the whole.
        opened.dependencies, opened.warnings = self.dependencies, self.warnings
        return opened

    def alias(self, name: str, target: str) -> None:
        """Another name of the document that has the name `target`, wherever it is: a redirect."""
        self.aliases.append((name, target))

    def warn(self, message: str) -> None:
        """Report something about this file that its reader should know; say the place and what was done."""
        self.warnings.append(message)


@dataclass(frozen=True, slots=True)
class Found:
    """A file that the walk came upon, or, with `problem`, something it passed over and why."""

    path: str
    location: Path
    size: int = 0
    problem: str = ""
    note: str = ""


def display_path(path: str) -> str:
    """A path that can be stored and printed: undecodable bytes and control characters as escapes."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Which files of a folder are wanted: patterns as in .gitignore, and whether .gitignore files are honoured."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gitignore: bool = True


def walk(root: Path, wanted: FileFilter | None = None) -> Iterator[Found]:
    """Files below `root` in the order of their path components, the same on every machine.

    Hidden entries, package folders and what .gitignore names are passed over. Symbolic links are not followed: what they point
    to inside the root is found there anyway, and nothing outside it is opened. A single file is its own walk.
    """
    if root.is_file():
        yield Found(display_path(root.name), root, root.stat().st_size)
        return
    rules = _Rules(wanted or FileFilter(gitignore=False))
    stack: list[Iterator[os.DirEntry[str]]] = [_entries(root)]
    rules.enter(root, "")
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            rules.leave()
            continue
        location = Path(entry.path)
        relative = location.relative_to(root).as_posix()
        path = display_path(relative)
        if _HIDDEN.match(entry.name) or entry.name in _IGNORED_FOLDERS:
            continue
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            if (rules.active and rules.ignored(relative, is_folder)) or (not is_folder and not rules.wanted(relative)):
                continue
            if entry.is_symlink():
                yield Found(path, location, problem=_link_problem(root, location))
            elif is_folder:
                if "." in entry.name and Path(entry.name).suffix in page_suffixes():
                    yield Found(path, location, note="a folder despite its suffix: its files are read")
                stack.append(_entries(location))
                rules.enter(location, relative)
            elif entry.is_file():
                yield Found(path, location, entry.stat().st_size)
            else:
                yield Found(path, location, problem="not a regular file (a pipe, socket or device): skipped")
        except OSError as error:
            yield Found(path, location, problem=f"cannot be read ({error.strerror or error}): skipped")


class _Rules:
    """The patterns that hold at a place of the walk: the given ones, and those of the .gitignore files above it."""

    def __init__(self, wanted: FileFilter) -> None:
        self._gitignore = wanted.gitignore
        self._include = self._exclude = None
        if wanted.include or wanted.exclude:
            import pathspec

            self._include = pathspec.GitIgnoreSpec.from_lines(wanted.include) if wanted.include else None
            self._exclude = pathspec.GitIgnoreSpec.from_lines(wanted.exclude) if wanted.exclude else None
        self._stack: list[tuple[str, Any]] = []

    @property
    def active(self) -> bool:
        return self._exclude is not None or any(spec is not None for _, spec in self._stack)

    def enter(self, folder: Path, relative: str) -> None:
        spec = None
        file = folder / ".gitignore"
        if self._gitignore and file.is_file() and not file.is_symlink():
            import pathspec

            try:
                spec = pathspec.GitIgnoreSpec.from_lines(file.read_text(encoding="utf-8", errors="replace").splitlines())
            except (OSError, ValueError):
                spec = None
        self._stack.append((f"{relative}/" if relative else "", spec))

    def leave(self) -> None:
        self._stack.pop()

    def ignored(self, path: str, is_folder: bool) -> bool:
        """Whether a path is left out; the file nearest to it decides."""
        if self._exclude is not None and self._exclude.match_file(path + "/" * is_folder):
            return True
        for prefix, spec in reversed(self._stack):
            if spec is not None:
                verdict = spec.check_file(path[len(prefix) :] + "/" * is_folder).include
                if verdict is not None:
                    return bool(verdict)
        return False

    def wanted(self, path: str) -> bool:
        return self._include is None or bool(self._include.match_file(path))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return iter(sorted(entries, key=lambda entry: entry.name))


def _link_problem(root: Path, location: Path) -> str:
    try:
        target = location.resolve(strict=True)
    except FileNotFoundError:
        return "symbolic link to nothing: skipped"
    except (OSError, RuntimeError):
        return "symbolic link that loops: skipped"
    resolved_root = root.resolve()
    if target == resolved_root or resolved_root in target.parents:
        above = location.parent.resolve()
        if target == above or target in above.parents:
            return "symbolic link that loops: skipped"
        return "symbolic link: its target is read where it stands"
    return "symbolic link to outside the ingested folder: skipped"


def guess_encoding(data: bytes) -> str | None:
    """The name of a Python codec for bytes that are not UTF-8 and declare nothing; None when nothing tells."""
    if (wide := _wide(data)) is not None:
        return wide
    from charset_normalizer import from_bytes

    best = from_bytes(data[:262144]).best()
    return best.encoding if best else None


def _wide(data: bytes) -> str | None:
    """UTF-16 without its mark: every second byte of Western text is zero."""
    sample = data[:4096]
    if len(sample) < 8 or b"\x00" not in sample:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros * 5 > len(sample) and others * 20 < len(sample):
            try:
                data[: len(data) // 2 * 2].decode(name)
            except UnicodeDecodeError:
                continue
            return name
    return None


def decode(source: SourceFile) -> str:
    """The source's text. UTF-8 unless a byte-order mark or the bytes say otherwise, which is reported.

    Raises ReadError on binary content.
    """
    data = source.read()
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as error:
                source.warn(f"byte {error.start}: not valid {encoding} despite its mark; bad bytes replaced")
                return data.decode(encoding, "replace")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _guess(source, data, error.start)
    if b"\x00" in data[:4096] and (wide := _wide(data)) is not None:
        source.warn(f"no encoding declared; read as {wide}")
        return data.decode(wide, "replace")
    if (nuls := text.count("\x00")) > 16 and nuls * 20 > len(text):
        raise ReadError("binary content (NUL bytes): skipped", f"byte {data.index(0)}")
    if nuls:
        source.warn(f"byte {data.index(0)}: {nuls} NUL byte{'s' * (nuls > 1)} replaced")
    return text.replace("\x00", "\ufffd")


def _guess(source: SourceFile, data: bytes, place: int) -> str:
    # Texts have no control characters; three in a hundred bytes mean an image, an archive, a program.
    sample = data[:65536]
    controls = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in sample)
    if (b"\x00" in sample or controls * 100 > 3 * len(sample)) and _wide(data) is None:
        raise ReadError("binary content: skipped", f"byte {place}")
    encoding = guess_encoding(data) or "cp1252"
    text = data.decode(encoding, "replace").replace("\x00", "\ufffd")
    bad = text.count("\ufffd")
    source.warn(f"byte {place}: not UTF-8; read as {encoding}" + (f", {bad} bad bytes replaced" if bad else ""))
    return text
