"""Interface of a search engine for the hybrid: it keeps units with one vector and their terms, and ranks by each.

The vector is u + x o, of a unit's vector and its document's overview's by its weight, and behind it the same of the
static encoder's where that counts too, so that one inner product ranks by meaning.
Terms are ours, stemmed and joined by spaces, so that every engine counts the same words, whatever its own analysis.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from structformer.errors import UsageError, WorkspaceError
from structformer.extras import MissingPackage, install_command
from structformer.plugins import load_plugins
from structformer.retrieval import Ranked
from structformer.workspace import checked_name

_USER = re.compile(r"://[^/?#]*@")
_KEYWORD = re.compile(r"(password=)('[^']*'|[^\s&#]+)")

Vector = npt.NDArray[np.float32]
BATCH = 512  # rows that are sent together
APPROXIMATE_FROM = 100_000  # units; below, an engine that leaves the choice to us looks at every vector


@dataclass(frozen=True, slots=True)
class EngineUnit:
    """A unit as an engine keeps it."""

    number: int
    document: int
    vector: Vector
    terms: Sequence[str]
    """In order, as often as they occur."""
    fields: Mapping[str, Any]
    """Fields that a hit shows, as JSON types."""


@dataclass(frozen=True, slots=True)
class EngineDocument:
    """A document as an engine keeps it: its number and its terms."""

    number: int
    terms: Sequence[str]


Kept = tuple[int, Vector, dict[str, Any]]  # a unit's document, vector and fields
Units = Iterable[Sequence[EngineUnit]]  # in batches
Documents = Iterable[Sequence[EngineDocument]]


@runtime_checkable
class EngineIndex(Protocol):
    """An index in a search engine. Numbers are those of the index that it was written from.

    Every method raises WorkspaceError where the engine does not answer or is not what was written."""

    def write(self, units: Units, documents: Documents, dimensions: int, facts: Mapping[str, Any]) -> None:
        """Replace the engine's index by these batches; the facts, last, make it whole."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return the facts written of the index: its encoders, its weights, its language."""
        ...

    def nearest(self, vector: Vector, k: int) -> Ranked:
        """Return up to k (unit, inner product), best first."""
        ...

    def by_words(self, terms: Sequence[str], k: int, *, documents: bool = False) -> Ranked:
        """Return up to k (unit, BM25 score), best first; with `documents` (document, BM25 score of its whole text)."""
        ...

    def units(self, numbers: Sequence[int]) -> dict[int, Kept]:
        """Return (document, vector, fields) of units by their numbers; a number that it does not have is left out."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@contextmanager
def one_line_errors(where: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn an engine's errors into WorkspaceError: where, what happened in a line, and what to do."""
    try:
        yield
    except WorkspaceError:
        raise
    except kinds as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise WorkspaceError(f"{where}: {reason}; write it with structformer export") from error


def local_folder(place: str) -> Path | None:
    """Return the folder that a place is, None of an address."""
    return Path(place) if place and "://" not in place else None


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """A search engine, by the name that its addresses begin with: NAME:PLACE."""

    name: str
    places: tuple[str, ...]
    """Forms of PLACE, such as "FOLDER" or "http://HOST:PORT/NAME"."""
    index: Callable[[str], EngineIndex]
    """Opens the engine's index in a place; raises UsageError if the place is wrong."""
    folder: Callable[[str], Path | None] = lambda place: None
    """The folder that a place names; None if the engine is asked over a network."""
    install: str = ""
    """The extra of structformer, or what else pip installs, when a package is missing: "structformer[lancedb]"."""
    experimental: bool = False
    """True if its tests run no real server."""

    def __post_init__(self) -> None:
        checked_name(self.name, "the search engine's name")
        if not self.places or isinstance(self.places, str):
            raise ValueError(f"the search engine {self.name} lists no places, such as 'FOLDER'")
        if not callable(self.index):
            raise TypeError(f"the search engine {self.name} cannot open an index")

    @property
    def addresses(self) -> tuple[str, ...]:
        """Forms of its addresses."""
        return tuple(f"{self.name}:{place}" for place in self.places)

    def open(self, place: str) -> EngineIndex:
        """Open the index in a place. Raises UsageError on a wrong place, MissingPackage without its package."""
        try:
            return self.index(place)
        except ImportError as error:
            if not self.install:
                raise
            extra = self.install.removeprefix("structformer[").removesuffix("]")
            command = f"pip install '{self.install}'" if extra == self.install else install_command(extra)
            raise MissingPackage(f"{self.name} needs a package ({error}): {command}") from error


def search_engines() -> dict[str, SearchEngine]:
    """Return all search engines by name."""
    supplied = load_plugins().supplied("structformer_search_engines", "search engine", SearchEngine)
    return {name: engine for name, (engine, _) in supplied.items()}


def open_engine(address: str) -> EngineIndex:
    """Return an engine's index by its address, NAME:PLACE. Raises UsageError with the addresses that there are."""
    name, _, place = address.partition(":")
    engine = search_engines().get(name)
    if engine is None or not place:
        *others, last = [each for known in search_engines().values() for each in known.addresses] or [""]
        advice = f"write {', '.join(others)} or {last}" if others else f"write {last}" if last else "none is installed"
        raise UsageError(f"{without_password(address)!r} is not the address of a search engine: {advice}")
    return engine.open(place)


def folder_of(address: str) -> Path | None:
    """Return the folder that an engine's address names, None of one that is asked over a network."""
    name, _, place = address.partition(":")
    engine = search_engines().get(name)
    return engine.folder(place) if engine is not None else None


def without_password(address: str) -> str:
    """Return an engine's address as it may be shown."""
    return _KEYWORD.sub(r"\1...", _USER.sub("://", address))
