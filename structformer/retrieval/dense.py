"""The dense first stage: unit vectors in a memory-mapped file, searched exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from structformer.errors import CorpusError
from structformer.models.bi_encoder import BiEncoder
from structformer.retrieval.units import Unit

_CHUNK = 512
_SEARCH_ROWS = 65_536


def encode_units(
    units: Iterable[Unit], count: int, encoder: BiEncoder, path: Path, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write the (count, dimensions) float32 vectors of all units."""
    vectors = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, encoder.dimensions))
    remaining = iter(units)
    done = 0
    while texts := [unit.ranker_text for unit in islice(remaining, _CHUNK)]:
        vectors[done : done + len(texts)] = encoder.encode_documents(texts)
        done += len(texts)
        if progress:
            progress(done, count)
    vectors.flush()


class DenseIndex:
    """Unit vectors of one encoder."""

    def __init__(self, path: Path) -> None:
        try:
            self.vectors: npt.NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise CorpusError(f"{path} cannot be read ({error}): run `structformer index` again") from error

    def search(self, vector: npt.NDArray[np.float32], k: int) -> list[tuple[int, float]]:
        """Up to k (unit number, cosine), best first; equal scores in unit order."""
        return self.search_all(vector[None], k)[0]

    def search_all(self, queries: npt.NDArray[np.float32], k: int) -> list[list[tuple[int, float]]]:
        """For each of the (queries, dimensions) vectors up to k (unit number, cosine), best first."""
        best_scores = np.empty((len(queries), 0), np.float32)
        best_units = np.empty((len(queries), 0), np.int64)
        for start in range(0, len(self.vectors), _SEARCH_ROWS):
            scores = queries @ self.vectors[start : start + _SEARCH_ROWS].T
            units = np.broadcast_to(np.arange(start, start + scores.shape[1]), scores.shape)
            best_scores, best_units = _top(np.concatenate([best_scores, scores], 1), np.concatenate([best_units, units], 1), k)
        return [
            [(int(unit), float(score)) for unit, score in zip(row_units, row_scores, strict=True)]
            for row_units, row_scores in zip(best_units, best_scores, strict=True)
        ]


def _top(scores: npt.NDArray[np.float32], units: npt.NDArray[np.int64], k: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    if scores.shape[1] > k:
        kept = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        scores, units = np.take_along_axis(scores, kept, 1), np.take_along_axis(units, kept, 1)
    order = np.lexsort((units, -scores), axis=1)
    return np.take_along_axis(scores, order, 1), np.take_along_axis(units, order, 1)
