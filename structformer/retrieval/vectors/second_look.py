"""A second look at the first passages: late interaction by the token vectors that the encoder makes anyway, untrained
(MaxSim of Khattab and Zaharia, SIGIR 2020, section 3.3, with the mean over the query's tokens).

A passage's one vector is a mean, in which a detail is lost. Token vectors keep it, on a tenth of their axes and in 8
bits: about 12 kB a passage. They pay where each page has an outline of its own. Where all pages follow one, as man
pages do, the same section of any page answers alike, and what tells pages apart are their vectors as a whole.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import WorkspaceError
from structformer.models.sentence_encoder import SentenceEncoder
from structformer.retrieval.documents.units import Units
from structformer.retrieval.vectors.encoding import VectorJournal, Vectors, digest_path, product
from structformer.storage.files import read_errors

DIMENSIONS = 96  # or as many as the encoder has
LOOKED_AT = 100  # passages of a query
MOST_UNITS = 100_000  # whose token vectors are kept: 1.2 GB
_SAMPLE = 512  # passages whose token vectors give the axes
_SHARED, _FEWEST_SHARING = 0.1, 3  # of the documents
_ALONE, _ALL_ALIKE = 0.25, 0.35
Tokens = npt.NDArray[np.int8]
# (dimensions,) its vector; (tokens, axes) of its tokens for a second look
EncodedQuery = tuple[Vectors, Vectors | None]


def look_files(name: str) -> list[str]:
    """The files of the token vectors beside an encoder's vectors: themselves, where each unit's begin, the axes."""
    return [f"dense/{name}.tokens{suffix}" for suffix in ("", ".starts.npy", ".axes.npy")]


def own_outlines(units: Units) -> float:
    """How far documents have outlines of their own, between 0 and 1: 1 where at most a quarter of them follow a common
    one, so that at least half of their headings are ones that a tenth of the documents have; 0 from seven in twenty on.
    """
    headings: dict[int, set[str]] = {}
    for unit in units:
        headings.setdefault(unit.document, set()).update(map(str.casefold, unit.path[-1:]))
    having = Counter(heading for outline in headings.values() for heading in outline)
    most = max(_FEWEST_SHARING, _SHARED * len(headings))
    shared = [(len(outline), sum(having[heading] >= most for heading in outline)) for outline in headings.values()]
    share = sum(0 < count <= 2 * common for count, common in shared) / max(1, len(shared))
    return round(float(np.clip((_ALL_ALIKE - share) / (_ALL_ALIKE - _ALONE), 0.0, 1.0)), 3)


def principal_axes(units: Units, encoder: SentenceEncoder) -> Vectors:
    """(hidden, DIMENSIONS) float32: those along which the token vectors of an even sample of the units differ most."""
    some = np.unique(np.linspace(0, len(units) - 1, min(_SAMPLE, len(units))).astype(int)).tolist()
    total = np.zeros((1, 1))

    def see(_: int, hidden: Vectors) -> None:
        nonlocal total
        unit = _unit(hidden).astype(np.float64)
        total = total + product(unit.T.copy(), unit)

    encoder.encode_documents_with_tokens([units[number].ranker_text for number in some], see)
    _, axes = np.linalg.eigh(total)
    return np.ascontiguousarray(axes[:, ::-1][:, :DIMENSIONS], np.float32)


class TokenWriter:
    """Writes texts' token vectors in unit order, known ones from before; a context that ends with whole files."""

    def __init__(self, path: Path, axes: Vectors, earlier: Path, journal: Path) -> None:
        """path: of the encoder's vectors beside these; earlier: of the index before; journal: kept until whole."""
        self._path, self._axes = path, axes
        self._known = _known(earlier, axes)
        name = hashlib.blake2b(axes.tobytes(), digest_size=8).hexdigest()
        self._journal = VectorJournal(journal.with_name(f"{journal.name}-{name}"), axes.shape[1], tokens=True)
        self._starts = [0]

    def __enter__(self) -> TokenWriter:
        self._journal.__enter__()
        self._out = self._path.with_name(f"{self._path.stem}.tokens").open("wb")
        return self

    def __exit__(self, *raised: object) -> None:
        self._out.close()
        self._journal.__exit__(*raised)
        np.save(self._path.with_name(f"{self._path.stem}.tokens.starts.npy"), np.array(self._starts, np.int64))
        np.save(self._path.with_name(f"{self._path.stem}.tokens.axes.npy"), self._axes)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._journal or digest in self._known

    def encode(self, encoder: Any, digests: Sequence[bytes], texts: Sequence[str]) -> Vectors:
        """Return vectors of texts, whose token vectors are kept."""

        def see(place: int, hidden: Vectors) -> None:
            # Of unit length, on 8 bits, each in a unit of its own: only its direction is kept.
            directions = projected(hidden, self._axes)
            most = np.abs(directions).max(1, keepdims=True, initial=1e-9)
            self._journal.add([digests[place]], [np.rint(directions * (127 / most))])

        vectors: Vectors = encoder.encode_documents_with_tokens(texts, see)
        return vectors

    def write(self, digests: Sequence[bytes]) -> None:
        """Add the next units' token vectors, all of which are known by now."""
        for digest in digests:
            tokens = self._known[digest] if (made := self._journal.get(digest)) is None else made
            self._out.write(tokens.tobytes())
            self._starts.append(self._starts[-1] + tokens.size // self._axes.shape[1])


def _known(vectors: Path, axes: Vectors) -> dict[bytes, Tokens]:
    """Return the token vectors beside an earlier index's vectors by the digests of their texts; none on other axes."""
    try:
        look = SecondLook(vectors, 1.0)
        digests = np.load(digest_path(vectors), allow_pickle=False)
    except (OSError, EOFError, ValueError, WorkspaceError):
        return {}
    if len(digests) != len(look) or not np.array_equal(look.axes, axes):
        return {}
    return {digest.tobytes(): look.tokens(number) for number, digest in enumerate(digests)}


class SecondLook:
    """The token vectors of all units, beside an encoder's vectors. weight: how much it counts."""

    def __init__(self, vectors: Path, weight: float) -> None:
        """Raises WorkspaceError where they cannot be read, or are not all there."""
        self.weight = weight
        path = vectors.with_name(f"{vectors.stem}.tokens")
        with read_errors(path, OSError, ValueError, IndexError):
            self.axes: Vectors = np.load(path.with_name(f"{path.name}.axes.npy"), allow_pickle=False)
            self._starts = np.load(path.with_name(f"{path.name}.starts.npy"), allow_pickle=False)
            shape = int(self._starts[-1]), self.axes.shape[1]
            if path.stat().st_size != shape[0] * shape[1]:
                raise ValueError("its size is another one")
            self._tokens: Tokens = np.memmap(path, np.int8, "r", shape=shape) if shape[0] else np.empty(shape, np.int8)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def tokens(self, unit: int) -> Tokens:
        """Return (tokens, DIMENSIONS) int8 of a unit, along which direction its tokens' vectors point."""
        return self._tokens[self._starts[unit] : self._starts[unit + 1]]

    def scores(self, query: Vectors, units: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """(units,) mean over query tokens of the best cosine with a unit's. query: (tokens, DIMENSIONS), unit."""
        scores = np.zeros(len(units))
        for place, unit in enumerate(units.tolist()):
            if len(tokens_of_unit := self.tokens(unit)):
                scores[place] = (query @ _unit(tokens_of_unit.astype(np.float32)).T).max(1).mean()
        return scores


def encoded_queries(encoder: Any, look: SecondLook | None, queries: Sequence[str]) -> list[EncodedQuery]:
    """Return each query's vector, and those of its tokens on a look's axes. encoder: a SentenceEncoder with a look."""
    if look is None:
        return [(vector, None) for vector in encoder.encode_queries(queries)]
    tokens: dict[int, Vectors] = {}
    vectors = encoder.encode_queries_with_tokens(
        queries, lambda place, hidden: tokens.update({place: projected(hidden, look.axes)})
    )
    return [(vector, tokens[place]) for place, vector in enumerate(vectors)]


def projected(hidden: Vectors, axes: Vectors) -> Vectors:
    """Return (tokens, DIMENSIONS) float32, unit length, of (tokens, hidden) vectors."""
    return _unit(product(np.ascontiguousarray(hidden, np.float32), axes))


def _unit(vectors: Vectors) -> Vectors:
    units: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return units
