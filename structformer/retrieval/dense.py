"""The dense first stage: unit vectors and document overviews' vectors in memory-mapped files, searched exactly."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from structformer.errors import WorkspaceError
from structformer.models.bi_encoder import BiEncoder

_CHUNK = 512
_SEARCH_ROWS = 65_536
Vectors = npt.NDArray[np.float32]


class KnownVectors:
    """Vectors of an earlier index by the digests of their texts, so that what has not changed is not encoded again."""

    def __init__(self, path: Path) -> None:
        self._rows: dict[bytes, int] = {}
        self._vectors: Vectors | None = None
        try:
            digests = np.load(_digest_path(path), allow_pickle=False)
            self._vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError):
            return
        if len(digests) == len(self._vectors):
            self._rows = {digest.tobytes(): row for row, digest in enumerate(digests)}

    def get(self, digest: bytes) -> Vectors | None:
        """The vector of a text of that digest, None where there is none."""
        row = self._rows.get(digest)
        return None if row is None or self._vectors is None else self._vectors[row]


def encode_texts(
    texts: Iterable[str],
    count: int,
    encoder: BiEncoder,
    path: Path,
    known: KnownVectors | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write the (count, dimensions) float32 vectors of all texts, and their digests beside them; returns how many were
    encoded.
    """
    vectors = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, encoder.dimensions))
    digests = np.lib.format.open_memmap(_digest_path(path), mode="w+", dtype=np.uint8, shape=(count, 8))
    remaining = iter(texts)
    done = encoded = 0
    while chunk := list(islice(remaining, _CHUNK)):
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in chunk]
        found = [known.get(key) if known else None for key in keys]
        missing = [number for number, vector in enumerate(found) if vector is None]
        fresh = encoder.encode_documents([chunk[number] for number in missing]) if missing else None
        for place, number in enumerate(missing):
            assert fresh is not None
            found[number] = fresh[place]
        if count:
            vectors[done : done + len(chunk)] = np.stack([vector for vector in found if vector is not None])
            digests[done : done + len(chunk)] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 8)
        done += len(chunk)
        encoded += len(missing)
        if progress:
            progress(done, count)
    vectors.flush()
    digests.flush()
    return encoded


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.digests.npy")


def overview_path(path: Path) -> Path:
    """Where the vectors of documents' overviews stand beside those of units."""
    return path.with_name(f"{path.stem}.overviews.npy")


class DenseIndex:
    """Unit vectors and overview vectors of one encoder. owners[i]: the document number of unit i."""

    def __init__(self, path: Path, owners: npt.NDArray[np.int64]) -> None:
        self.vectors = _opened(path)
        self.overviews = _opened(overview_path(path))
        self.owners = owners
        if len(self.vectors) != len(owners) or (len(owners) and owners[-1] >= len(self.overviews)):
            raise WorkspaceError(f"{path} is not of this index: run `structformer index` again")

    def search(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        """Up to k (unit number, cosine), best first; equal scores in unit order."""
        return self.search_all(vector[None], k)[0]

    def search_all(
        self, queries: Vectors, k: int, *, overview_weight: float = 0.0, documents: Collection[int] | None = None
    ) -> list[list[tuple[int, float]]]:
        """For each of the (queries, dimensions) vectors up to k (unit number, score), best first; equal scores in unit
        order.

        The score is the unit's cosine plus `overview_weight` times that of its document's overview. documents: only
        units of these."""
        left_out = None if documents is None else ~np.isin(self.owners, list(documents))
        asked = torch.from_numpy(np.ascontiguousarray(queries))
        by_document = (
            overview_weight * torch.mm(asked, torch.from_numpy(self.overviews).T).numpy() if overview_weight else None
        )
        best_scores = np.empty((len(queries), 0), np.float32)
        best_units = np.empty((len(queries), 0), np.int64)
        for start in range(0, len(self.vectors), _SEARCH_ROWS):
            # By torch: numpy's own threads would be kept waiting by those of the encoder that has just run.
            scores = torch.mm(asked, torch.from_numpy(self.vectors[start : start + _SEARCH_ROWS]).T).numpy()
            if by_document is not None:
                scores += by_document[:, self.owners[start : start + _SEARCH_ROWS]]
            if left_out is not None:
                scores[:, left_out[start : start + _SEARCH_ROWS]] = -np.inf
            scores, units = top(scores, k)
            best_scores, best_units = _merged(
                np.concatenate([best_scores, scores], 1), np.concatenate([best_units, units + start], 1), k
            )
        return [
            [(int(unit), float(score)) for unit, score in zip(row_units, row_scores, strict=True) if score != -np.inf]
            for row_units, row_scores in zip(best_units, best_scores, strict=True)
        ]

    def scores(self, vector: Vectors, units: npt.NDArray[np.int64]) -> tuple[Vectors, Vectors]:
        """Cosines of a query's vector with these units, and with the overviews of their documents; (units,) each."""
        if not len(units):
            return np.empty(0, np.float32), np.empty(0, np.float32)
        documents, places = np.unique(self.owners[units], return_inverse=True)
        query = torch.from_numpy(np.ascontiguousarray(vector))
        return _products(self.vectors[units], query), _products(self.overviews[documents], query)[places]


def _products(vectors: Vectors, query: torch.Tensor) -> Vectors:
    found: Vectors = torch.mv(torch.from_numpy(np.ascontiguousarray(vectors)), query).numpy()
    return found


def _opened(path: Path) -> Vectors:
    try:
        # Copy-on-write: torch asks for arrays that may be written to.
        found: Vectors = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{path} cannot be read ({error}): run `structformer index` again") from error
    return found


def top(scores: Vectors, k: int) -> tuple[Vectors, npt.NDArray[np.int64]]:
    """The k best of each row and their places, in no order; of equal scores at the border any."""
    if scores.shape[1] <= k:
        return scores, np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    kept = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    return np.take_along_axis(scores, kept, 1), kept


def _merged(scores: Vectors, units: npt.NDArray[np.int64], k: int) -> tuple[Vectors, npt.NDArray[np.int64]]:
    order = np.lexsort((units, -scores), axis=1)[:, :k]
    return np.take_along_axis(scores, order, 1), np.take_along_axis(units, order, 1)
