"""The dense first stage: unit vectors and document overviews' vectors in memory-mapped files, searched exactly, or
where they are very many among the candidates that an approximate index names.
"""

import os
import weakref
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import WorkspaceError
from structformer.retrieval.documents.document_filter import unit_numbers
from structformer.retrieval.vectors.approximate import ApproximateIndex
from structformer.retrieval.vectors.descriptions import Descriptions
from structformer.retrieval.vectors.encoding import Vector, Vectors, product
from structformer.retrieval.vectors.second_look import SecondLook
from structformer.storage.files import read_errors

_SEARCH_ROWS = 65_536


def overview_path(path: Path) -> Path:
    """Return where the vectors of documents' overviews lie beside those of units."""
    return path.with_name(f"{path.stem}.overviews.npy")


class DenseIndex:
    """One encoder's unit vectors and overviews. owners[i]: the document number of unit i. nearest: an approximate
    index; descriptions, look: of documents and of units' tokens, if kept.
    """

    def __init__(
        self,
        path: Path,
        owners: npt.NDArray[np.int64],
        nearest: ApproximateIndex | None = None,
        descriptions: Descriptions | None = None,
        look: SecondLook | None = None,
    ) -> None:
        self.vectors = _opened(path)
        self.overviews = _opened(overview_path(path))
        self.owners = owners
        self.nearest = nearest
        self.descriptions = descriptions
        self.look = look
        tables = (self.vectors, self.overviews)
        self._files: list[Any] = [_Rows(each) for each in tables] if hasattr(os, "pread") else list(tables)
        if len(self.vectors) != len(owners) or (len(owners) and owners[-1] >= len(self.overviews)):
            raise WorkspaceError(f"{path} is not of this index: run `structformer index` again")

    def search_all(
        self, queries: Vectors, k: int, *, overview_weight: float = 0.0, documents: Collection[int] | None = None
    ) -> list[list[tuple[int, float]]]:
        """For each of the (queries, dimensions) vectors up to k (unit number, score), best first, ties in unit order:
        cosine plus `overview_weight` times the document overview's. documents: only units of these.
        """
        asked = np.ascontiguousarray(queries)
        if documents is not None:
            among = unit_numbers(documents, self.owners)
            return self._among([among] * len(asked), asked, k, overview_weight)
        if self.nearest is not None:
            return self._among(self.nearest.candidates(asked, k, overview_weight), asked, k, overview_weight)
        by_document = overview_weight * product(asked, self.overviews.T) if overview_weight else None
        best = [(np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64))]
        for start in range(0, len(self.vectors), _SEARCH_ROWS):
            scores = product(asked, self.vectors[start : start + _SEARCH_ROWS].T)
            if by_document is not None:
                scores += by_document[:, self.owners[start : start + _SEARCH_ROWS]]
            scores, units = top(scores, k)
            best.append((scores, units + start))
        rows = zip(*(np.concatenate(each, 1) for each in zip(*best, strict=True)), strict=True)
        return [_listed(units, scores, k) for scores, units in rows]

    def _among(
        self, candidates: Sequence[npt.NDArray[np.int64]], queries: Vectors, k: int, overview_weight: float
    ) -> list[list[tuple[int, float]]]:
        """Return the best of each query's own candidates."""
        ranked = []
        for query, units in zip(queries, candidates, strict=True):
            parts = [
                cosines + np.float32(overview_weight) * overviews
                for start in range(0, len(units), _SEARCH_ROWS)
                for cosines, overviews in [self.scores(query, units[start : start + _SEARCH_ROWS])]
            ]
            ranked.append(_listed(units, np.concatenate([np.empty(0, np.float32), *parts]), k))
        return ranked

    def scores(self, vector: Vectors, units: npt.NDArray[np.int64]) -> tuple[Vectors, Vectors]:
        """Cosines of a query's vector with these units, and with the overviews of their documents; (units,) each."""
        if not len(units):
            return np.empty(0, np.float32), np.empty(0, np.float32)
        documents, places = np.unique(self.owners[units], return_inverse=True)
        query = np.ascontiguousarray(vector)[None]
        tables: Sequence[Any] = (self.vectors, self.overviews) if self.nearest is None else self._files
        scores, by_document = (
            product(query, np.ascontiguousarray(table[rows]).T)[0]
            for table, rows in zip(tables, (units, documents), strict=True)
        )
        return scores, by_document[places]


class _Rows:
    """Rows of a mapped array, read from its file: through the mapping they would count as the process's memory."""

    def __init__(self, array: Vector) -> None:
        assert isinstance(array, np.memmap)
        self._kind, self._width = array.dtype, array.shape[1]
        self._size = self._width * self._kind.itemsize
        self._start = array.offset
        self._file = os.open(str(array.filename), os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def __getitem__(self, rows: npt.NDArray[np.int64]) -> Vector:
        read = (os.pread(self._file, self._size, self._start + row * self._size) for row in rows.tolist())
        rows_read: Vector = np.frombuffer(bytearray(b"").join(read), self._kind).reshape(len(rows), self._width)
        return rows_read


def _listed(units: npt.NDArray[np.int64], scores: Vectors, k: int) -> list[tuple[int, float]]:
    """Return the k best, best first, ties in unit order."""
    order = np.lexsort((units, -scores))[:k]
    return list(zip(units[order].tolist(), scores[order].tolist(), strict=True))


def _opened(path: Path) -> Vector:
    with read_errors(path, OSError, ValueError):
        # Copy-on-write: torch asks for arrays that may be written to.
        array: Vector = np.load(path, mmap_mode="c", allow_pickle=False)
    return array


def top(scores: Vectors, k: int) -> tuple[Vectors, npt.NDArray[np.int64]]:
    """Return the k best of each row and their places, in no order; of equal scores at the border any."""
    if scores.shape[1] <= k:
        return scores, np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    kept = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    return np.take_along_axis(scores, kept, 1), kept
