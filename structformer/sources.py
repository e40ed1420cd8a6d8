"""Sources: walking a folder in a fixed order, safely, and opening its files within limits."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from structformer.errors import ReadError

_IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one file may cost; one that exceeds a bound is reported and left out, never silently cut."""

    file_bytes: int = 32_000_000
    seconds: float = 60.0
    memory_bytes: int = 2 * 1024**3


class SourceFile:
    """One file as a plugin sees it: its path relative to the root, its bytes, and a place for warnings."""

    def __init__(self, path: str, data: bytes | None = None, location: Path | None = None) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._data = data
        self._location = location

    def read(self) -> bytes:
        """The whole content. Raises ReadError when the file can't be read."""
        if self._data is not None:
            return self._data
        assert self._location is not None
        try:
            return self._location.read_bytes()
        except OSError as error:
            raise ReadError(f"cannot be read ({error.strerror or error})") from error

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


def walk(root: Path) -> Iterator[Found]:
    """Files below `root` in the order of their path components, the same on every machine.

    Hidden entries and package folders are passed over. Symbolic links are not followed: what they point to inside the
    root is found there anyway, and nothing outside it is opened. A single file is its own walk.
    """
    if root.is_file():
        yield Found(display_path(root.name), root, root.stat().st_size)
        return
    stack: list[Iterator[os.DirEntry[str]]] = [_entries(root)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        location = Path(entry.path)
        path = display_path(location.relative_to(root).as_posix())
        if entry.name.startswith(".") or entry.name in _IGNORED_FOLDERS:
            continue
        try:
            if entry.is_symlink():
                yield Found(path, location, problem=_link_problem(root, location))
            elif entry.is_dir():
                if "." in entry.name and Path(entry.name).suffix in (".md", ".markdown", ".html", ".htm", ".xml", ".tex"):
                    yield Found(path, location, note="a folder despite its suffix: its files are read")
                stack.append(_entries(location))
            elif entry.is_file():
                yield Found(path, location, entry.stat().st_size)
            else:
                kind = stat.filetype(entry.stat().st_mode) if hasattr(stat, "filetype") else "special file"
                yield Found(path, location, problem=f"not a regular file ({kind}): skipped")
        except OSError as error:
            yield Found(path, location, problem=f"cannot be read ({error.strerror or error}): skipped")


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
    if (nuls := text.count("\x00")) > 16 and nuls * 20 > len(text):
        raise ReadError("binary content (NUL bytes): skipped", f"byte {data.index(0)}")
    if nuls:
        source.warn(f"byte {data.index(0)}: {nuls} NUL byte{'s' * (nuls > 1)} replaced")
    return text.replace("\x00", "\ufffd")


def _guess(source: SourceFile, data: bytes, place: int) -> str:
    # Texts have no control characters; three in a hundred bytes mean an image, an archive, a program.
    sample = data[:65536]
    controls = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in sample)
    if b"\x00" in sample or controls * 100 > 3 * len(sample):
        raise ReadError("binary content: skipped", f"byte {place}")
    from charset_normalizer import from_bytes

    best = from_bytes(data[:262144]).best()
    encoding = best.encoding if best else "cp1252"
    text = data.decode(encoding, "replace").replace("\x00", "\ufffd")
    bad = text.count("\ufffd")
    source.warn(f"byte {place}: not UTF-8; read as {encoding}" + (f", {bad} bad bytes replaced" if bad else ""))
    return text
