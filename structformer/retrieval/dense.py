"""The dense first stage: unit vectors and document overviews' vectors in memory-mapped files, searched exactly."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

import numpy as np
import numpy.typing as npt

from structformer.errors import WorkspaceError
from structformer.retrieval.encoding import Vector, Vectors

_SEARCH_ROWS = 65_536


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
        asked = np.ascontiguousarray(queries)
        by_document = overview_weight * _products(asked, self.overviews) if overview_weight else None
        best_scores = np.empty((len(queries), 0), np.float32)
        best_units = np.empty((len(queries), 0), np.int64)
        for start in range(0, len(self.vectors), _SEARCH_ROWS):
            scores = _products(asked, self.vectors[start : start + _SEARCH_ROWS])
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
        query = np.ascontiguousarray(vector)[None]
        found, by_document = (
            _products(query, np.ascontiguousarray(table[rows]))[0]
            for table, rows in ((self.vectors, units), (self.overviews, documents))
        )
        return found, by_document[places]


def _products(queries: Vectors, vectors: Vector) -> Vectors:
    """(queries, rows) float32: the inner products of all pairs. Rows of 16 bits are widened first: a CPU multiplies
    float32 many times faster.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        found: Vectors = queries @ vectors.astype(np.float32, copy=False).T
        return found
    # numpy's own threads would be kept waiting by those of the encoder that has just run.
    product = torch.mm(torch.from_numpy(queries), torch.from_numpy(vectors).float().T)
    widened: Vectors = product.numpy()
    return widened


def _opened(path: Path) -> Vector:
    try:
        # Copy-on-write: torch asks for arrays that may be written to.
        found: Vector = np.load(path, mmap_mode="c", allow_pickle=False)
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
