"""One file as a format plugin sees it: its bytes, neighbours, text, the files it includes; and what it may cost."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import AnyStr, Protocol

from structformer.errors import ReadError
from structformer.formats.encoding import BOMS, as_utf8, decoded, shown_encoding
from structformer.formats.link_names import join

HEAD_BYTES = 4096
MAX_OPENED = 10_000  # files that one document may take in, each as often as it does: inclusions multiply


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one file may cost; one that exceeds a bound is reported and left out, never silently cut.

    engines.worker and ingestion.unpacking_limits keep to them.
    """

    file_bytes: int = 32_000_000
    """Of a file, and of each member of an archive or page of a dump, unpacked."""
    seconds: float = 60.0
    """Processor time, not time on the clock, so that a busy machine loses no good file; of packed files see
    `seconds_for`."""
    memory_bytes: int = 2 * 1024**3
    archive_entries: int = 200_000
    """Members of an archive, with all that is nested in it."""
    archive_bytes: int = 20_000_000_000
    """Of all these members, unpacked."""
    # A quarter of what the slowest format is read at: reStructuredText at 220,000 bytes a second, 41,000 packed by xz.
    bytes_per_second: int = 50_000
    packed_bytes_per_second: int = 10_000
    ratio: int = 500
    """An archive or a dump unpacks to at most so many times its packed size, once it is over 100 MB."""
    nesting: int = 3

    def seconds_for(self, unpacked: int, packed: int) -> float:
        """Processor time for a packed file: `seconds` and more by its unpacked size, limited by its packed size."""
        return self.seconds + min(unpacked / self.bytes_per_second, packed / self.packed_bytes_per_second)


class BinaryContent(ReadError):
    """A file that is not text, whatever its suffix says."""


class Neighbours(Protocol):
    """The other files that a source may take parts from: those of its ingested folder, or of its archive."""

    def get(self, path: str) -> bytes | None:
        """Return a file's content by its path; None if there is none, it is too large, or lies outside the root."""

    def find(self, suffix: str) -> list[str]:
        """Return paths of all files with that suffix, in order."""


def open_file(location: Path) -> BufferedReader:
    """A file to read, whatever took its place since it was looked at: a pipe would be waited for. Raises OSError."""
    return open(location, "rb", opener=_opened_if_regular)


def _opened_if_regular(path: str, flags: int) -> int:
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, "not a regular file (a pipe, socket or device)")


class SourceFile:
    """One file as a plugin sees it: its path from the root, its bytes, its neighbours, a place for warnings."""

    def __init__(
        self, path: str, data: bytes | None = None, location: Path | None = None, neighbours: Neighbours | None = None
    ) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.is_damaged = False
        self.dependencies: set[str] = set()
        self.aliases: list[tuple[str, str]] = []
        self._data = data
        self._location = location
        self._neighbours = neighbours
        self._opened = [0]  # how many files, by this one and by all that are opened for the same document

    def read(self) -> bytes:
        """Return the whole content. Raises ReadError when the file cannot be read."""
        if self._data is not None:
            return self._data
        assert self._location is not None
        try:
            with open_file(self._location) as file:
                return file.read()
        except OSError as error:
            raise ReadError(f"cannot be read ({error.strerror or error})") from error

    def open(self, target: str) -> SourceFile | None:
        """Another file of the ingested root, `target` being relative to this file's folder; None when there is none.

        Nothing outside the root is opened, and no more than MAX_OPENED files for one that is read, counted as often as
        they are opened; that is warned of. What was asked for is remembered in `dependencies`, so that a change of that
        file makes an ingest read this one again."""
        if self._neighbours is None or target.startswith(("/", "~", "\\")) or re.match(r"[a-zA-Z]:", target):
            return None
        path = join(self.path.rpartition("/")[0], target)
        if not path or self._opened[0] > MAX_OPENED:
            return None
        opened = self._part(path)
        if opened is not None:
            self._opened[0] += 1
            if self._opened[0] > MAX_OPENED:
                self.warn(f"includes more than {MAX_OPENED} files, or some so often: the rest is left out")
                return None
        return opened

    def above(self, name: str, farthest: int) -> SourceFile | None:
        """The nearest file of a name, beside this one or in a folder up to `farthest` above it; None when none is."""
        places = ("../" * up + name for up in range(min(self.path.count("/"), farthest) + 1))
        return next((opened for place in places if (opened := self.open(place)) is not None), None)

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
        opened._opened = self._opened
        return opened

    def alias(self, name: str, target: str) -> None:
        """Another name of the document that has the name `target`, wherever it is: a redirect."""
        self.aliases.append((name, target))

    def warn(self, message: str) -> None:
        """Report something about this file that its reader should know; say the place and what was done."""
        self.warnings.append(message)

    def damaged(self, message: str) -> None:
        """Report damage, before which, or around which, the file was read; say the place."""
        self.is_damaged = True
        self.warn(message)


def guess_encoding(data: bytes) -> str | None:
    """Guess a Python codec for bytes that are not UTF-8 and do not show their encoding; None if nothing tells."""
    from charset_normalizer import from_bytes

    best = from_bytes(data[:262144]).best()
    return best.encoding if best else None


def decode(source: SourceFile) -> str:
    """The source's text: UTF-8 unless a byte-order mark or the bytes say otherwise, which is reported. BinaryContent if
    none.
    """
    data = source.read()
    for bom, encoding in BOMS:
        if data.startswith(bom):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as error:
                source.warn(f"byte {error.start}: not valid {encoding} despite its mark; bad bytes replaced")
                return data.decode(encoding, "replace")
    if (shown := shown_encoding(data)) is not None:
        text = decoded(data, shown)
        bad = text.count("\ufffd")
        source.warn(f"no encoding declared; read as {shown}" + (f", {bad} bad characters replaced" if bad else ""))
        return text.replace("\x00", "\ufffd")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _guess(source, data, error.start)
    if (nuls := text.count("\x00")) > 16 and nuls * 20 > len(text):
        raise BinaryContent("binary content (NUL bytes): skipped", f"byte {data.index(0)}")
    if nuls:
        source.warn(f"byte {data.index(0)}: {nuls} NUL byte{'s' * (nuls > 1)} replaced")
    return text.replace("\x00", "\ufffd")


def _guess(source: SourceFile, data: bytes, place: int) -> str:
    # Texts have no control characters; three in a hundred bytes mean an image, an archive, a program.
    sample = data[:65536]
    controls = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in sample)
    if b"\x00" in sample or controls * 100 > 3 * len(sample):
        raise BinaryContent("binary content: skipped", f"byte {place}")
    encoding = guess_encoding(data) or "cp1252"
    text = data.decode(encoding, "replace").replace("\x00", "\ufffd")
    bad = text.count("\ufffd")
    source.warn(f"byte {place}: not UTF-8; read as {encoding}" + (f", {bad} bad bytes replaced" if bad else ""))
    return text


def included_files(
    source: SourceFile,
    names: Callable[[bytes], Iterable[str]],
    most: int | None = None,
    stands_alone: Callable[[SourceFile, bytes], bool] = lambda file, data: False,
) -> set[str]:
    """Return paths of all files that a source includes whole, directly or through others, and that are not documents of
    their own.

    names: what the content of a file says that it includes whole. most: no further file is looked into once so many
    are found; None for no limit. stands_alone: whether a file with this content is a document whoever includes it; what
    that includes is its own.
    """
    included: set[str] = set()
    waiting = [source]
    while waiting and (most is None or len(included) < most):
        file = waiting.pop()
        for name in names(as_utf8(file.read())):
            opened = file.open(name)
            if opened is None or opened.path in included or opened.path == source.path:
                continue
            if not stands_alone(opened, as_utf8(opened.read())):
                included.add(opened.path)
                waiting.append(opened)
    return included


def without_spans(text: AnyStr, opening: re.Pattern[AnyStr], closing: Mapping[AnyStr, re.Pattern[AnyStr]]) -> AnyStr:
    """A text without what runs from openings to closings, as comments do, in linear time. closing: by an opening's
    first group. An opening that is never closed opens nothing.
    """
    kept: list[AnyStr] = []
    place = start = 0
    never: set[AnyStr] = set()
    while (begin := opening.search(text, place)) is not None:
        place = begin.end()
        end = closing[begin[1]].search(text, place) if begin[1] not in never else None
        if end is None:
            never.add(begin[1])
        else:
            kept.append(text[start : begin.start()])
            place = start = end.end()
    kept.append(text[start:])
    return text[:0].join(kept)
