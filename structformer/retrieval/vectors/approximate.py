"""Approximate search of very many vectors: lists of neighbours with short codes name the candidates, and the stored
vectors score them.

A unit's score for a query q is q·u + w q·o, with u its vector, o that of its document's overview and w the learned
weight, which is q·(u + w o): one index of the sums finds by both at once. The codes are products of 4 bits for every
two dimensions (Jegou, Douze and Schmid, PAMI 2011; Andre, Kermarrec and Le Scouarnec, VLDB 2015), 96 bytes for 384
numbers, in faiss's lists; how many lists a query looks into is measured when the index is made.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.extras import MissingPackage, needed_for
from structformer.retrieval.vectors.encoding import Vector, Vectors
from structformer.storage.files import read_errors, read_json, write_json

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
