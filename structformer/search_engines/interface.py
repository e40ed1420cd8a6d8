"""What a search engine does for the hybrid: it keeps units with one vector and their terms, and ranks by each.

The vector is u + w o, of a unit's vector and its document's overview's by the learned weight, so that one inner product
is the meaning's whole share of the score. Terms are ours, stemmed and joined by spaces, so that every engine counts the
same words, whatever its own analysis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from structformer.errors import UsageError
from structformer.retrieval.ranking import Ranked

Vector = npt.NDArray[np.float32]
BATCH = 512  # rows that are sent together
APPROXIMATE_FROM = 100_000  # units; below, an engine that leaves the choice to us looks at every vector


@dataclass(frozen=True, slots=True)
class EngineUnit:
    """A unit as an engine keeps it. fields: what a hit shows, as JSON types. terms: in order, as often as they stand
    there.
    """

    number: int
    document: int
    vector: Vector
    terms: Sequence[str]
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EngineDocument:
    """A document as an engine keeps it: its number and its terms."""

    number: int
    terms: Sequence[str]


@runtime_checkable
class EngineIndex(Protocol):
    """An index in a search engine. Numbers are those of the index that it was written from.

    Every method raises WorkspaceError where the engine does not answer or is not what was written."""

    def write(
        self,
        units: Iterable[Sequence[EngineUnit]],
        documents: Iterable[Sequence[EngineDocument]],
        dimensions: int,
        facts: Mapping[str, Any],
    ) -> None:
        """Replace the engine's index by these batches; the facts, last, make it whole."""
        ...

    def facts(self) -> dict[str, Any]:
        """What was written of the index: its encoder, its weights, its language."""
        ...

    def nearest(self, vector: Vector, k: int) -> Ranked:
        """Up to k (unit, inner product), best first."""
        ...

    def by_words(self, terms: Sequence[str], k: int, *, documents: bool = False) -> Ranked:
        """Up to k (unit, BM25 score), best first; with `documents` (document, BM25 score of its whole text)."""
        ...

    def units(self, numbers: Sequence[int]) -> dict[int, tuple[int, Vector, dict[str, Any]]]:
        """(document, vector, fields) of units by their numbers."""
        ...


_USER = re.compile(r"://[^/?#]*@")
_KEYWORD = re.compile(r"(password=)('[^']*'|[^\s&#]+)")
PLACES = (
    "lancedb:FOLDER, qdrant:FOLDER, qdrant:http://HOST:PORT/NAME, pgvector:postgresql://USER@HOST/DATABASE#NAME, "
    "opensearch:http://HOST:PORT/NAME or elasticsearch:http://HOST:PORT/NAME"
)


def open_engine(address: str) -> EngineIndex:
    """An engine's index by its address, as `structformer export --help` lists them. Raises UsageError."""
    from structformer.search_engines.lance import LanceIndex
    from structformer.search_engines.opensearch import ElasticsearchIndex, OpenSearchIndex
    from structformer.search_engines.postgres import PostgresIndex
    from structformer.search_engines.qdrant import QdrantIndex

    kinds: dict[str, Callable[[str], EngineIndex]] = {
        "lancedb": LanceIndex,
        "qdrant": QdrantIndex,
        "pgvector": PostgresIndex,
        "opensearch": OpenSearchIndex,
        "elasticsearch": ElasticsearchIndex,
    }
    name, colon, place = address.partition(":")
    if name not in kinds or not colon or not place:
        raise UsageError(f"{without_password(address)!r} is not the address of a search engine: write {PLACES}")
    return kinds[name](place)


def folder_of(address: str) -> Path | None:
    """The folder that an engine's address names, None of one that is asked over a network."""
    name, _, place = address.partition(":")
    return Path(place) if name in ("lancedb", "qdrant") and place and "://" not in place else None


def without_password(address: str) -> str:
    """An engine's address as it may be shown."""
    return _KEYWORD.sub(r"\1...", _USER.sub("://", address))
