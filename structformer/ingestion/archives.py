"""Packed files and archives, read in place and within bounds: nothing is unpacked to disk and no member's name is
trusted.

A compressed file (`page.html.gz`) is read as the file it holds. An archive (`docs.zip`, `paper.tar.gz`, `book.epub`,
`crawl.warc.gz`) is a folder of its members. Members that are links, devices, encrypted or named to lead elsewhere are
passed over and said.
"""

import bz2
import gzip
import lzma
import os
import posixpath
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from structformer.errors import ReadError
from structformer.formats.source import Limits
from structformer.ingestion.unpacking_limits import Budget, check_ratio
from structformer.ingestion.walk import display_path, is_hidden
from structformer.ingestion.warc import warc_pages

_PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".lzma": "xz", ".zst": "zstd", ".zstd": "zstd"}
_TAR_SHORT = {".tgz": ".tar.gz", ".tbz": ".tar.bz2", ".tbz2": ".tar.bz2", ".txz": ".tar.xz", ".tzst": ".tar.zst"}
_BLOCK = 1 << 20
_ZIP_HEADER = 30  # bytes of a member's local header before its name
_PARALLEL_BYTES = 16_000_000  # from this size on bzip2's blocks are decoded side by side
_HELD_BYTES = 400_000_000  # unpacked size up to which an archive's members can refer to each other
_LINK = "no regular file (a link or a device): skipped"
_SECOND = "a second member of this name: skipped"
_BROKEN = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


def split_compression(path: str) -> tuple[str, str]:
    """(path without the suffix of compression, the compression); ("a.tar", ...) for "a.tgz"; (path, "") without one."""
    lower = path.lower()
    for short, long in _TAR_SHORT.items():
        if lower.endswith(short):
            return split_compression(path[: -len(short)] + long)
    for suffix, kind in _PACKED.items():
        if lower.endswith(suffix) and len(path) > len(suffix) and path[-len(suffix) - 1] != "/":
            return path[: -len(suffix)], kind
    return path, ""


def archive_kind(path: str) -> str:
    """ "zip", "tar", "epub", "warc" or "" by a path's suffix, compression apart."""
    _, dot, suffix = split_compression(path)[0].lower().rpartition(".")
    return suffix if dot and suffix in ("zip", "tar", "epub", "warc") else ""


@contextmanager
def decompressed(data: BinaryIO, kind: str, *, location: Path | None = None, workers: int = 1) -> Iterator[BinaryIO]:
    """A stream of what a stream holds. location: its file, when it is one, for readers that decode in parallel."""
    opened: Any = nullcontext(data)
    if kind == "gzip":
        opened = gzip.GzipFile(fileobj=data)
    elif kind == "bzip2":
        wanted = location is not None and workers > 1 and os.path.getsize(location) > _PARALLEL_BYTES
        if wanted and find_spec("indexed_bzip2"):  # which is not part of an installation where it has no wheel
            from indexed_bzip2 import IndexedBzip2File

            opened = IndexedBzip2File(str(location), parallelization=workers)
        else:
            opened = bz2.BZ2File(data)
    elif kind == "xz":
        opened = lzma.LZMAFile(data)  # noqa: SIM115 (it is opened below)
    elif kind == "zstd":
        import zstandard

        opened = zstandard.ZstdDecompressor(max_window_size=2**31).stream_reader(data, read_across_frames=True)
    with opened as stream:
        yield stream


def unpack(data: BinaryIO, kind: str, limits: Limits, packed_size: int) -> bytes:
    """The whole content of a compressed file. Raises ReadError when it is damaged or larger than the limits allow."""
    parts: list[bytes] = []
    size = 0
    try:
        with decompressed(data, kind) as stream:
            while block := stream.read(_BLOCK):
                parts.append(block)
                size += len(block)
                if size > limits.file_bytes:
                    raise ReadError(f"unpacks to over {limits.file_bytes / 1e6:.1f} MB (--max-file-mb): skipped")
                check_ratio(size, packed_size, limits)
    except ReadError:
        raise
    except Exception as error:  # _BROKEN is not all: zstandard's own error is not exported everywhere
        raise ReadError(f"damaged {kind} data after {size} bytes ({_reason(error)}): skipped") from error
    return b"".join(parts)


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive."""

    name: str
    """Clean and relative."""
    data: bytes = b""
    problem: str = ""
    """Why its bytes are not given."""
    address: str = ""
    """Where the page was fetched from."""
    aside: str = ""
    """Kind of the member, if it is not a page."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file of its own, damaged or not; links and second members of a name are none."""
        return self.problem not in (_LINK, _SECOND)


class ArchiveFiles:
    """The members of an archive as the neighbours of each other, without those that a folder would hide."""

    def __init__(self, prefix: str, get: Callable[[str], bytes | None], names: list[str]) -> None:
        self._prefix = prefix + "/"
        self._get = get
        self._names = [name for name in names if not any(map(is_hidden, name.split("/")))]
        self._known = set(self._names)

    def get(self, path: str) -> bytes | None:
        name = path.removeprefix(self._prefix) if path.startswith(self._prefix) else ""
        return self._get(name) if name in self._known else None

    def find(self, suffix: str) -> list[str]:
        return [self._prefix + name for name in self._names if name.endswith(suffix)]


class Archive:
    """An opened archive: its members in order, and its members as neighbours."""

    def __init__(self, path: str, data: BinaryIO, limits: Limits, budget: Budget, nesting: int = 0) -> None:
        """budget: its own, or, of an archive that is a member of another, that of the outermost."""
        self.path = path
        self.nesting = nesting
        self.budget = budget
        self._limits = limits
        self._kind = archive_kind(path)
        self._data = data

    @contextmanager
    def opened(self) -> Iterator[tuple[Iterator[Member], ArchiveFiles]]:
        """(the members, one after the other; the neighbours). Raises ReadError when the archive itself is damaged."""
        try:
            with self._stream() if self._kind in ("tar", "warc") else self._zip() as members:
                yield members
        except _BROKEN as error:
            raise ReadError(f"damaged archive ({_reason(error)}): the rest is skipped") from error

    @contextmanager
    def _zip(self) -> Iterator[tuple[Iterator[Member], ArchiveFiles]]:
        with zipfile.ZipFile(self._data) as archive:
            infos: dict[str, zipfile.ZipInfo] = {}
            members: list[Member] = []
            listed = archive.infolist()
            overlapping = _overlapping(listed)
            for info in listed:
                if info.is_dir():
                    continue
                name, problem = _clean(info.filename)
                mode = info.external_attr >> 16
                problem = problem or _first_problem(
                    (info.create_system == 3 and not stat.S_ISREG(mode) and stat.S_IFMT(mode), _LINK),
                    (info.flag_bits & 1, "encrypted: skipped"),
                    (info.header_offset in overlapping, "overlaps another member: skipped"),
                    (name in infos, _SECOND),
                )
                members.append(Member(name, problem=problem))
                if not problem:
                    infos[name] = info

            def read(name: str) -> Member:
                try:
                    with archive.open(infos[name]) as stream:
                        data = stream.read(self._limits.file_bytes + 1)
                except _BROKEN as error:
                    return Member(name, problem=f"damaged ({_reason(error)}): skipped")
                if len(data) > self._limits.file_bytes:
                    return Member(name, problem=f"over {self._limits.file_bytes / 1e6:.1f} MB (--max-file-mb): skipped")
                return Member(name, data)

            def get(name: str) -> bytes | None:
                self.budget.check()  # a member may be asked for any number of times
                member = read(name)
                return None if member.problem else member.data

            def walk() -> Iterator[Member]:
                for member in members:
                    self.budget.check(member.name)
                    self.budget.spend(members=1)
                    if not member.problem and not member.aside:
                        member = read(member.name)
                        self.budget.spend(len(member.data))
                    yield member

            if self._kind == "epub":
                members = _in_reading_order(members, lambda name: read(name).data if name in infos else None)
            yield walk(), ArchiveFiles(self.path, get, sorted(infos))

    @contextmanager
    def _stream(self) -> Iterator[tuple[Iterator[Member], ArchiveFiles]]:
        # Members of a stream can only refer to each other when they are held; up to a bound they are.
        compression = split_compression(self.path)[1]
        if self._kind == "warc" and compression == "gzip":
            compression = ""  # each record is packed by itself, and damage costs that one
        with decompressed(self._data, compression) as unpacked:
            stream = self.budget.metered(unpacked)
            ahead: list[Member] = []
            held: dict[str, bytes] = {}
            total = 0
            rest = self._tar_members(stream) if self._kind == "tar" else self._warc_members(stream)
            failure: ReadError | None = None
            try:
                for member in rest:
                    ahead.append(member)
                    if not member.problem:
                        held[member.name] = member.data
                        total += len(member.data)
                    if total > _HELD_BYTES:
                        held = {}
                        break
            except ReadError as error:
                failure = error

            def walk() -> Iterator[Member]:
                for member in chain(ahead, rest):  # a failure left `rest` empty
                    self.budget.check(member.name)
                    yield member
                if failure is not None:
                    raise failure

            yield walk(), ArchiveFiles(self.path, held.get, sorted(held))

    def _warc_members(self, stream: BinaryIO) -> Iterator[Member]:
        seen: set[str] = set()
        try:
            for path, address, data in warc_pages(stream, self._limits.file_bytes):
                self.budget.spend(len(data or b""), members=1)
                name, problem = _clean(path)
                if not problem and data is None:
                    problem = f"over {self._limits.file_bytes / 1e6:.1f} MB (--max-file-mb): skipped"
                if name not in seen:  # a page that was fetched again is the same page
                    seen.add(name)
                    yield Member(name, data or b"", problem, address)
        except _BROKEN as error:
            raise ReadError(
                f"damaged archive after {len(seen)} pages ({_reason(error)}): the rest is skipped"
            ) from error

    def _tar_members(self, stream: BinaryIO) -> Iterator[Member]:
        seen: set[str] = set()
        count, most = 0, self._limits.file_bytes
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for info in archive:
                    count += 1
                    self.budget.spend(members=1)
                    if info.isdir():
                        continue
                    name, problem = _clean(info.name)
                    large = f"{info.size / 1e6:.1f} MB, over the limit of {most / 1e6:.1f} MB (--max-file-mb): skipped"
                    checks = (not info.isreg(), _LINK), (info.size > most, large), (name in seen, _SECOND)
                    if problem := problem or _first_problem(*checks):
                        yield Member(name, problem=problem)
                        continue
                    seen.add(name)
                    content = archive.extractfile(info)
                    data = content.read() if content is not None else b""
                    self.budget.spend(len(data))
                    yield Member(name, data)
        except _BROKEN as error:
            raise ReadError(f"damaged archive after {count} members ({_reason(error)}): the rest is skipped") from error


def _overlapping(infos: list[zipfile.ZipInfo]) -> set[int]:
    """Header offsets of members that share bytes: kilobytes can so hold gigabytes (Fifield, "A better zip bomb", WOOT
    2019).
    """
    offsets: set[int] = set()
    reached, last = -1, -1
    for info in sorted(infos, key=lambda each: each.header_offset):
        if info.header_offset < reached:
            offsets |= {last, info.header_offset}
        end = (
            info.header_offset
            + _ZIP_HEADER
            + len(info.orig_filename.encode("utf-8", "surrogateescape"))
            + info.compress_size
        )
        if end > reached:
            reached, last = end, info.header_offset
    return offsets


def _first_problem(*checks: tuple[object, str]) -> str:
    """Return the first problem that applies; "" if none does."""
    return next((problem for applies, problem in checks if applies), "")


def _clean(name: str) -> tuple[str, str]:
    """Return a member's name made relative, and why it is not followed, if it leads elsewhere."""
    shown = display_path(name)
    if name.startswith("/") or "\\" in name or re.match(r"[A-Za-z]:", name) or ".." in name.split("/"):
        return shown, "its name leads out of the archive: skipped"
    clean = posixpath.normpath(shown)
    return (clean, "") if clean not in (".", "") else (shown, "no name: skipped")


def _in_reading_order(members: list[Member], get: Callable[[str], bytes | None]) -> list[Member]:
    """Return an EPUB's pages in spine order, then other members, its navigation and package set aside.

    Source: EPUB 3.3, sections 4.2.6.3.1 (container.xml) and 5.7 (spine).
    """
    from lxml import etree

    def parse(data: bytes | None) -> Any:
        if data is None:
            return None
        parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
        try:
            return etree.fromstring(data, parser)
        except (etree.XMLSyntaxError, ValueError):
            return None

    container = parse(get("META-INF/container.xml"))
    rootfile = container.find(".//{*}rootfile") if container is not None else None
    package_path = rootfile.get("full-path") if rootfile is not None else None
    package = parse(get(package_path)) if package_path else None
    if package is None:
        return members
    folder = posixpath.dirname(str(package_path))
    items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    order: list[str] = []
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and "nav" not in (item.get("properties") or "").split():
            order.append(posixpath.normpath(posixpath.join(folder, item.get("href") or "")))
    navigation = {
        posixpath.normpath(posixpath.join(folder, item.get("href") or ""))
        for item in items.values()
        if "nav" in (item.get("properties") or "").split() or item.get("media-type") == "application/x-dtbncx+xml"
    }
    places = {name: number for number, name in enumerate(order)}
    described = navigation | {posixpath.normpath(str(package_path)), "mimetype"}
    for number, member in enumerate(members):
        if member.name in described or member.name.startswith("META-INF/"):
            members[number] = replace(member, aside="of the book's package, no page")
    return sorted(members, key=lambda member: places.get(member.name, len(places)))
