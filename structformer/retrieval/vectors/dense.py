"""The dense first stage: unit vectors and document overviews' vectors in memory-mapped files, searched exactly, or
where they are very many approximately: lists of neighbours with short codes name the candidates, and the stored vectors
score them.

A unit's score for a query q is q·u + w q·o, with u its vector, o that of its document's overview and w the learned
weight, which is q·(u + w o): one index of the sums finds by both at once. The codes are products of 4 bits for every
two dimensions (Jegou, Douze and Schmid, PAMI 2011; Andre, Kermarrec and Le Scouarnec, VLDB 2015), 96 bytes for 384
numbers, in faiss's lists; how many lists a query looks into is measured when the index is made."""

import math
import os
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import WorkspaceError
from structformer.extras import MissingPackage, needed_for
from structformer.retrieval.documents.document_filter import unit_numbers
from structformer.retrieval.vectors.descriptions import Descriptions
from structformer.retrieval.vectors.encoding import Vector, Vectors, product
from structformer.retrieval.vectors.second_look import SecondLook
from structformer.storage.files import read_errors, read_json, write_json

_SEARCH_ROWS = 65_536
APPROXIMATE_FROM = 500_000  # units; below, every vector is looked at, which takes 5 ms of a core for 100,000
FEWEST = 1_000  # units that can be told apart by lists and codes
WANTED_RECALL = 0.995
_CANDIDATES, _OF_K = 400, 4  # that are scored by their stored vectors: at least, and times what is asked for
_MANY_CANDIDATES = 1600
_WORTH_TWICE_THE_LISTS = 0.001  # of the nearest that are found
_FAR, _OF_OTHERS = 0.5, 4  # a weight this far from the index's ranks otherwise: candidates, times the usual
_TRAINED_ON_A_LIST = 60
_ITERATIONS = 8
_CHUNK = 65_536
_ASKED, _FOUND = 256, 10
# Length of the noise on a passage's vector that stands for a query: its cosine with the passage is then 0.45. On the
# man pages, the share found at each number of lists was that of 300 queries of people within 0.03; without noise, and
# with overviews, far higher.
_NOISE = 2.0
_SEED = 0
Progress = Callable[[int, int], None]
Rows = Callable[[npt.NDArray[np.int64]], Vectors]  # the (rows, dimensions) float32 vectors of these numbers


@dataclass(frozen=True, slots=True)
class Approximation:
    """Measurements of an approximate index."""

    lists: int
    """Lists in all."""
    probes: int
    """Lists that a query looks into."""
    recall: float
    """Share of the ten nearest that is then found, for passages moved as far as people's questions lie from their
    answers.
    """
    weight: float = 0.0
    """Weight of the overviews."""
    candidates: int = _CANDIDATES
    """Passages that are scored by their stored vectors."""


def approximate_files(path: Path) -> tuple[Path, Path]:
    """Return the files of the approximate index that lie beside a file of vectors: the index and what was measured."""
    return path.with_name(f"{path.stem}.faiss"), path.with_name(f"{path.stem}.faiss.json")


def faiss_module() -> Any:
    """faiss. Raises MissingPackage where it is not installed."""
    with needed_for("an approximate index of vectors"):
        import faiss
    return faiss


def has_faiss() -> bool:
    """Whether an approximate index can be made and read here."""
    try:
        faiss_module()
    except (MissingPackage, ImportError):  # one that is there may lack what it needs itself
        return False
    return True


def write_approximate(
    path: Path,
    vectors: Vector,
    overviews: Vector,
    owners: npt.NDArray[np.int64],
    weight: float,
    progress: Progress | None = None,
) -> Approximation:
    """Write the approximate index beside a file of vectors. weight: of the overviews; of vectors that stand for
    themselves 0. Cost grows with the number of vectors times its root: half a minute for a million of 384 numbers on a
    core. Raises UsageError without faiss.
    """

    def rows_of(rows: npt.NDArray[np.int64]) -> Vectors:
        sums = np.asarray(vectors[rows], np.float32)
        if weight:
            sums = sums + np.float32(weight) * np.asarray(overviews[owners[rows]], np.float32)
        return np.ascontiguousarray(sums)

    faiss = faiss_module()
    count, dimensions = vectors.shape
    lists = 1 << max(0, round(math.log2(math.sqrt(max(1, count)))))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # sums of several threads differ in their last bits, and the index with them
    try:
        index = faiss.index_factory(dimensions, f"IVF{lists},PQ{dimensions // 2}x4fs", faiss.METRIC_INNER_PRODUCT)
        index.cp.niter = _ITERATIONS
        index.cp.seed = _SEED + 1
        index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1
        rng = np.random.default_rng(_SEED)
        trained_on = min(count, max(10_000, _TRAINED_ON_A_LIST * lists))
        index.train(rows_of(np.sort(rng.choice(count, trained_on, replace=False))))
        for start in range(0, count, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, count))
            index.add(rows_of(rows))
            if progress:
                progress(int(rows[-1]) + 1, count)
        measured = _measured(index, vectors, rows_of, weight, rng)
    finally:
        faiss.omp_set_num_threads(threads)
    file, facts = approximate_files(path)
    faiss.write_index(index, str(file))
    write_json(facts, asdict(measured))
    return measured


def _measured(index: Any, vectors: Vector, rows_of: Rows, weight: float, rng: np.random.Generator) -> Approximation:
    """Find the fewest lists that reach the wanted share of the nearest, with many candidates if few do not."""
    count, dimensions = vectors.shape
    chosen = np.sort(rng.choice(count, min(count, _ASKED), replace=False))
    noise = rng.standard_normal((len(chosen), dimensions), np.float32) * np.float32(_NOISE / math.sqrt(dimensions))
    asked = np.asarray(vectors[chosen], np.float32) + noise
    best: list[npt.NDArray[np.int64]] = [np.empty((len(asked), 0), np.int64)]
    scores = [np.empty((len(asked), 0), np.float32)]
    for start in range(0, count, _CHUNK):
        rows = np.arange(start, min(start + _CHUNK, count))
        found_rows = asked @ rows_of(rows).T
        kept = np.argpartition(-found_rows, min(_FOUND, len(rows)) - 1, axis=1)[:, :_FOUND]
        best.append(rows[kept])
        scores.append(np.take_along_axis(found_rows, kept, 1))
    order = np.argsort(-np.concatenate(scores, 1), axis=1, kind="stable")[:, :_FOUND]
    nearest = np.take_along_axis(np.concatenate(best, 1), order, 1)
    measured = [Approximation(index.nlist, 0, 0.0, weight)]
    for candidates in (_CANDIDATES, _MANY_CANDIDATES):
        before = 0.0
        powers = range(max(0, index.nlist.bit_length() - 8), index.nlist.bit_length())
        for probes in (1 << power for power in powers):  # from one list in 128 to all
            index.nprobe = probes
            # What is among the candidates is found: the stored vectors decide.
            _, found_rows = index.search(asked, candidates)
            recall = float(np.mean([np.isin(near, row).mean() for near, row in zip(nearest, found_rows, strict=True)]))
            if recall < before + _WORTH_TWICE_THE_LISTS:
                break  # more lists are not what is wanting
            before = recall
            measured.append(Approximation(index.nlist, probes, round(recall, 4), weight, candidates))
            if recall >= WANTED_RECALL:
                return measured[-1]
    return max(measured, key=lambda each: each.recall)


class ApproximateIndex:
    """Names the candidates for a query's nearest units."""

    def __init__(self, path: Path) -> None:
        """path: of the vectors. Raises WorkspaceError where the index cannot be read, UsageError without faiss."""
        faiss = faiss_module()
        file, facts = approximate_files(path)
        with read_errors(file, RuntimeError, TypeError):
            self._index = faiss.read_index(str(file), faiss.IO_FLAG_READ_ONLY)
            self.measured = Approximation(**read_json(facts))
        self._index.nprobe = self.measured.probes

    def candidates(self, queries: Vectors, k: int, weight: float) -> list[npt.NDArray[np.int64]]:
        """Units, ascending, with the k best of each of the (queries, dimensions) vectors. weight: of the overviews."""
        other = abs(weight - self.measured.weight) > _FAR
        wanted = min(self._index.ntotal, max(self.measured.candidates, _OF_K * k) * (_OF_OTHERS if other else 1))
        _, found = self._index.search(np.ascontiguousarray(queries, np.float32), wanted)
        return [np.sort(row[row >= 0]) for row in found]

    def nearest(self, queries: Vectors, k: int) -> npt.NDArray[np.int64]:
        """Return (queries, up to k) numbers of the nearest by their codes, in no order; -1 where there are fewer."""
        found: npt.NDArray[np.int64] = self._index.search(np.ascontiguousarray(queries, np.float32), k)[1]
        return found


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
