"""The protocol of a format plugin."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, runtime_checkable

from structformer.document import Document, Link
from structformer.formats.source import SourceFile


@dataclass(frozen=True, slots=True)
class FormatOption:
    """An option of a format: name, help, values (any if none are listed), and a check that raises UsageError."""

    name: str
    help: str
    choices: tuple[str, ...] = ()
    check: Callable[[str], object] | None = None


@runtime_checkable
class Format(Protocol):
    """A format plugin: a pure function from bytes to Documents, without network or global state. An attribute
    `options`, a tuple of FormatOption, says what `read` takes; other names are refused.
    """

    @property
    def name(self) -> str: ...
    @property
    def suffixes(self) -> tuple[str, ...]: ...
    @property
    def media_types(self) -> tuple[str, ...]: ...
    @property
    def completeness(self) -> str: ...
    def sniff(self, head: bytes, path: str) -> float:
        """0..1: how sure it is, from the first bytes, that a file of unknown suffix is of this format."""

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """The source's Documents; a dump yields many. Raises ReadError, and nothing else, on what it cannot read."""

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Names that the link may mean, best first, each "name" or "name#anchor"; the reference graph looks them up."""


@runtime_checkable
class StreamFormat(Format, Protocol):
    """A format with sources of many documents, which are read piece by piece on all cores."""

    @property
    def stream_suffixes(self) -> tuple[str, ...]:
        """Suffixes of files whose first bytes must be looked at; "" for none."""

    def streams(self, head: bytes, options: Mapping[str, Any]) -> bool:
        """Whether a file with these first bytes is such a source, given the options that `read` will get."""

    def pieces(self, stream: BinaryIO, limit: int) -> Iterator[bytes | str]:
        """Yield pieces of some megabytes that `read` takes each by itself; a str says what had to be left out. Raises
        ReadError.

        limit: bytes that one document may have.
        """


@dataclass(frozen=True, slots=True)
class Frame:
    """Head and tail that make a part of a stream readable by itself."""

    head: bytes
    """The bytes before the first record."""
    start: bytes
    """How a record begins."""
    tail: bytes
    """The bytes after the last record."""


@runtime_checkable
class CutFormat(StreamFormat, Protocol):
    """A stream of independent records: a compressed file of several streams can be read in parts anywhere."""

    def frame(self, beginning: bytes) -> Frame | None:
        """Return the frame of a stream that begins so; None where it is not to be cut. Raises ReadError."""


@runtime_checkable
class CompositeFormat(Format, Protocol):
    """A format whose files take in others, which then are not documents of their own."""

    def parts(self, source: SourceFile) -> set[str]:
        """Return paths of files that a source takes in whole, also through others, and that are not documents."""


@runtime_checkable
class FragmentFormat(CompositeFormat, Protocol):
    """A format with files that only hold pieces for others."""

    def fragments(self, source: SourceFile) -> set[str]:
        """Return paths of the files of which a source takes pieces and which are not documents of their own."""


def format_options(format: Format) -> tuple[FormatOption, ...]:
    """Return the options of a format's `read`: its attribute `options`, none without one."""
    return tuple(getattr(format, "options", ()))
