"""Walking a folder in a fixed order, safely; the files below it as each other's neighbours."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from structformer.errors import UsageError
from structformer.formats.link_names import page_suffixes
from structformer.formats.source import Limits, open_file
from structformer.workspace import is_workspace

_IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
_HIDDEN = re.compile(r"\.[^.]")
_STAR, _FOLDERS = "[^/]*", "(?:/.+)?"  # how pathspec writes `*` and `/**`
NO_FILE = "not a regular file (a pipe, socket or device): skipped"
_LONGEST_PATH = 4096
_KEPT_BYTES = 32_000_000  # of neighbours, which many files of a folder ask for


class FolderFiles:
    """Regular files below a root that documents may include: those a walk opens, also without `--include`."""

    def __init__(self, root: Path, limits: Limits | None = None, wanted: FileFilter | None = None) -> None:
        self._root = root.resolve()
        self._limit = (limits or Limits()).file_bytes
        self._wanted = replace(wanted or FileFilter(), include=())
        self._rules = _Rules(self._root, self._wanted)
        self._found: dict[str, list[str]] = {}
        self._kept: dict[str, bytes | None] = {}
        self._kept_bytes = 0

    def get(self, path: str) -> bytes | None:
        if path not in self._kept:
            data, location = None, self._location(path)
            if location is not None:
                with suppress(OSError), open_file(location) as file:
                    data = file.read()
            if self._kept_bytes > _KEPT_BYTES:
                self._kept.clear()
                self._kept_bytes = 0
            self._kept[path] = data
            self._kept_bytes += len(path) + len(data or b"")
        return self._kept[path]

    def find(self, suffix: str) -> list[str]:
        if suffix not in self._found:
            self._found[suffix] = [
                file.path
                for file in walk(self._root, self._wanted)
                if file.path.endswith(suffix) and not file.problem and not file.note
            ]
        return self._found[suffix]

    def _location(self, path: str) -> Path | None:
        if "\x00" in path:
            return None
        try:
            location = (self._root / path).resolve(strict=True)
            if self._root not in location.parents or not self._rules.has(location.relative_to(self._root).as_posix()):
                return None
            status = location.stat()
        except (OSError, RuntimeError, ValueError):
            return None
        return location if stat.S_ISREG(status.st_mode) and status.st_size <= self._limit else None


@dataclass(frozen=True, slots=True)
class Found:
    """A file that the walk came upon, or, with `problem`, something it passed over and why."""

    path: str
    location: Path
    size: int = 0
    problem: str = ""
    note: str = ""
    unreadable: bool = False
    """Whether it could not be looked at."""


def path_order(path: str) -> list[str]:
    """Return the key under which paths sort as the walk visits them: by component."""
    return path.split("/")


def display_path(path: str) -> str:
    """Return a path that can be stored and printed: undecodable bytes and control characters as escapes."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Which files of a folder are wanted: patterns as in .gitignore, and whether .gitignore files are honoured."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gitignore: bool = True


PassedOver = Callable[[str, str, bool], None]


def walk(
    root: Path, wanted: FileFilter | None = None, passed_over: PassedOver = lambda path, why, is_folder: None
) -> Iterator[Found]:
    """Yield files below `root` in the order of their path components, the same on every machine.

    Hidden entries, package folders, workspaces and what .gitignore names are passed over; `passed_over` is called with
    the path of each, why, and whether it is a folder, which is then not opened. Symbolic links are not followed: what
    they point to inside the root is found there anyway, and nothing outside it is opened. A single file is its own
    walk, whatever it is called, unless it is left out or not among those that are wanted."""
    rules = _Rules(root, wanted or FileFilter(gitignore=False))
    if root.exists() and not root.is_dir():
        if why := rules.left_out(root.name, is_folder=False) or rules.unasked(root.name):
            passed_over(display_path(root.name), why, False)
        else:
            yield Found(display_path(root.name), root, root.stat().st_size, "" if root.is_file() else NO_FILE)
        return
    stack: list[Iterator[os.DirEntry[str]]] = [_entries(root)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        location = Path(entry.path)
        relative = location.relative_to(root).as_posix()
        path = display_path(relative)
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            if why := rules.passed_over(relative, is_folder) or ("" if is_folder else rules.unasked(relative)):
                passed_over(path, why, is_folder)
                continue
            if entry.is_symlink():
                yield Found(path, location, problem=link_problem(root, location))
            elif is_folder:
                if "." in entry.name and Path(entry.name).suffix in page_suffixes():
                    yield Found(path, location, note="a folder despite its suffix: its files are read")
                stack.append(_entries(location))
            elif entry.is_file():
                yield Found(path, location, entry.stat().st_size)
            else:
                yield Found(path, location, problem=NO_FILE)
        except OSError as error:
            yield Found(path, location, problem=f"cannot be read ({error.strerror or error}): skipped", unreadable=True)


def is_hidden(name: str) -> bool:
    """Whether a file or folder of that name is hidden, as those of tools and keys are."""
    return _HIDDEN.match(name) is not None


class _Rules:
    """Which files and folders of a root there are, for the walk and for what documents include."""

    def __init__(self, root: Path, wanted: FileFilter) -> None:
        self._root = root
        self._gitignore = wanted.gitignore
        self._include = _asked_for("--include", wanted.include)
        self._exclude = _asked_for("--exclude", wanted.exclude)
        self._ignore_files: dict[str, Any] = {}  # by folder
        self._open_folders: dict[str, bool] = {}

    def has(self, path: str) -> bool:
        """Whether a walk opens this file, whatever `--include` asks for."""
        return self._is_open(path.rpartition("/")[0]) and not self.passed_over(path, is_folder=False)

    def _is_open(self, folder: str) -> bool:
        if folder not in self._open_folders:
            above = not folder or self._is_open(folder.rpartition("/")[0])
            passed_over = self.passed_over(folder, is_folder=True) if folder else is_workspace(self._root)
            self._open_folders[folder] = above and not passed_over
        return self._open_folders[folder]

    def passed_over(self, path: str, is_folder: bool) -> str:
        """Return why an entry of a folder that is open is not opened, "" when it is."""
        name = path.rpartition("/")[2]
        if is_hidden(name):
            return "hidden"
        if name in _IGNORED_FOLDERS:
            return "packages, by its name"
        if why := self.left_out(path, is_folder):
            return why
        return "a workspace" if is_folder and is_workspace(self._root / path) else ""

    def left_out(self, path: str, is_folder: bool) -> str:
        """Return why patterns leave a path out, "" when none does; of .gitignore files the nearest decides."""
        if self._exclude is not None and self._exclude.match_file(path + "/" * is_folder):
            return "left out (--exclude)"
        folder = path
        while folder and self._gitignore:
            folder = folder.rpartition("/")[0]
            if (spec := self._ignore_file(folder)) is not None:
                verdict = spec.check_file(path[len(folder) :].lstrip("/") + "/" * is_folder).include
                if verdict is not None:
                    return "named in .gitignore" if verdict else ""
        return ""

    def _ignore_file(self, folder: str) -> Any:
        """Return the patterns of a folder's .gitignore, None if it has none."""
        if folder not in self._ignore_files:
            spec = None
            file = self._root / folder / ".gitignore"
            if os.path.isfile(file) and not file.is_symlink():
                with suppress(OSError), open_file(file) as read:
                    lines = read.read().decode("utf-8-sig", "replace").splitlines()
                    spec = _matcher([line for line in lines if len(line) <= _LONGEST_PATH])
            self._ignore_files[folder] = spec
        return self._ignore_files[folder]

    def unasked(self, path: str) -> str:
        """Return why a file is not among those that were asked for, "" when it is."""
        if self._include is not None and not self._include.match_file(path):
            return "not among those asked for (--include)"
        return ""


def _asked_for(option: str, lines: Sequence[str]) -> Any:
    if wrong := [line for line in lines if not _matcher([line]).patterns]:
        raise UsageError(f"{option} {wrong[0]}: no pattern as .gitignore has them")
    return _matcher(lines) if lines else None


def _matcher(lines: Sequence[str]) -> Any:
    """Matches paths against the lines of a .gitignore in linear time; as in git, an invalid pattern is ignored."""
    import pathspec

    try:
        spec = pathspec.GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        patterns = [each for line in lines for each in _matcher([line]).patterns] if len(lines) > 1 else []
        return pathspec.GitIgnoreSpec(patterns)
    for pattern in spec.patterns:
        written = pattern.regex.pattern if pattern.regex is not None else ""
        if (linear := _without_backtracking(written)) != written:
            pattern.regex = re.compile(linear)
    return spec


def _without_backtracking(expression: str) -> str:
    """An expression of pathspec's that keeps the first place at which what follows a wildcard fits, as long as another
    wildcard of the same kind follows, which takes what is left: no other place can lead to more.
    """
    *above, last = (_first_fits(each) for each in expression.split(_FOLDERS))
    inner = "".join(f"(?>(?:/.+?)??{each}(?=/))" for each in above[1:])
    if above:
        first = above[0].replace("^(?:.+/)?", "^(?>(?:.+?/)??", 1)
        above[0] = f"{first}(?=/))" if first != above[0] else first
    return f"{above[0]}{inner}{_FOLDERS}{last}" if above else last


def _first_fits(expression: str) -> str:
    first, *others = expression.split(_STAR)
    kept = [_STAR + each if "/" in each.replace("[^/]", "") else f"(?>{_STAR}?{each})" for each in others[:-1]]
    return "".join([first, *kept, *(_STAR + each for each in others[-1:])])


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return iter(sorted(entries, key=lambda entry: entry.name))


def link_problem(root: Path, location: Path) -> str:
    """Return why a symbolic link below a root is not followed."""
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
        return "symbolic link: its target is read in its own place"
    return "symbolic link to outside the ingested folder: skipped"
