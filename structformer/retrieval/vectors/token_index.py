"""Late-interaction retrieval: all units' token vectors in a memory-mapped file. Each query token's nearest, by a look
at all or an approximate index, name the units that are scored in full.
"""

import os
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from structformer.errors import WorkspaceError
from structformer.models.late_interaction import LateInteraction, TokenVectors
from structformer.retrieval.documents.document_filter import unit_numbers
from structformer.retrieval.documents.units import Units
from structformer.retrieval.vectors.approximate import (
    ApproximateIndex,
    approximate_files,
    is_installed,
    write_approximate,
)
from structformer.storage.files import fsync_folder, read_errors, temporary_name

_CHUNK = 256
_TOKENS_AT_ONCE = 131_072
APPROXIMATE_FROM = 2_000_000  # token vectors; a look at so many takes a second


def _starts_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.starts.npy")


def token_files(name: str) -> list[str]:
    """Return the files of an index that hold a model's token vectors: the vectors, and where each unit's begin."""
    return [name, name.removesuffix(".npy") + ".starts.npy"]


def nearest_files(name: str) -> list[str]:
    """Return the files of an index that hold the approximate index of a model's token vectors, where there is one."""
    return [str(Path(name).with_name(file.name)) for file in approximate_files(Path(name))]


@torch.inference_mode()
def write_token_vectors(
    units: Units, ranker: LateInteraction, path: Path, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write the (tokens, dimensions) float16 vectors of all units one after another, and where each unit's begin."""
    ranker.model.eval()
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(temporary_name(path.name))
    starts = [0]
    dimensions = ranker.options.dimensions
    try:
        with temporary.with_suffix(".raw").open("wb") as file:
            for begin in range(0, len(units), _CHUNK):
                numbers = range(begin, min(begin + _CHUNK, len(units)))
                tokens = ranker.embed_documents(ranker.encode_document_tokens(units.ranker_texts(numbers)))
                vectors, mask = tokens.vectors.half().cpu().numpy(), tokens.mask.cpu().numpy()
                for place in range(len(numbers)):
                    own = vectors[place][mask[place]]
                    file.write(own.tobytes())
                    starts.append(starts[-1] + len(own))
                if progress:
                    progress(numbers[-1] + 1, len(units))
        stored = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float16, shape=(starts[-1], dimensions))
        raw = (
            np.memmap(temporary.with_suffix(".raw"), dtype=np.float16, mode="r", shape=(starts[-1], dimensions))
            if starts[-1]
            else stored
        )
        for begin in range(0, starts[-1], _TOKENS_AT_ONCE):
            stored[begin : begin + _TOKENS_AT_ONCE] = raw[begin : begin + _TOKENS_AT_ONCE]
        stored.flush()
        if starts[-1] >= APPROXIMATE_FROM and ranker.options.similarity == "cosine" and is_installed():
            write_approximate(temporary, stored, stored, np.empty(0, np.int64), 0.0)
            for made, final in zip(approximate_files(temporary), approximate_files(path), strict=True):
                os.replace(made, final)
        np.save(_starts_path(temporary), np.array(starts, np.int64))
        os.replace(_starts_path(temporary), _starts_path(path))
        os.replace(temporary, path)
    finally:
        for left in path.parent.glob(f"{temporary.stem}*"):
            left.unlink(missing_ok=True)
    fsync_folder(path.parent)


class TokenIndex:
    """Token vectors of all units. owners[i]: the document number of unit i."""

    def __init__(self, path: Path, ranker: LateInteraction, owners: npt.NDArray[np.int64]) -> None:
        self.ranker = ranker
        with read_errors(path, OSError, ValueError, advice=": delete it, and it is made again"):
            self._vectors = np.load(path, mmap_mode="r", allow_pickle=False)
            self._starts = np.load(_starts_path(path), allow_pickle=False)
        if len(self._starts) != len(owners) + 1 or (len(self._starts) and self._starts[-1] != len(self._vectors)):
            raise WorkspaceError(f"{path} is not of this index: run `structformer index` again")
        self._owners = owners
        made = is_installed() and all(file.exists() for file in approximate_files(path))
        self._nearest = ApproximateIndex(path) if made else None

    @torch.inference_mode()
    def search(
        self, query: str, k: int, documents: Collection[int] | None = None, k_hat: int = 0
    ) -> list[tuple[int, float]]:
        """Up to k (unit number, MaxSim score), best first, ties in unit order. Each query token's k_hat best token
        vectors (0: k / 2) name the candidates (Khattab and Zaharia, SIGIR 2020, section 3.6).
        """
        asked = self.ranker.embed_queries(self.ranker.encode_query_tokens([query]))
        tokens = asked.vectors[0][asked.mask[0]].float()
        wanted = k_hat or max(1, k // 2)
        places = self._places(tokens, wanted)
        units = np.unique(np.searchsorted(self._starts, places[places >= 0], side="right") - 1)
        if documents is not None:
            units = np.intersect1d(units, unit_numbers(documents, self._owners))
        scores = self.scores(asked, units)
        return [(int(units[place]), float(scores[place])) for place in np.lexsort((units, -scores))[:k]]

    def _places(self, tokens: torch.Tensor, wanted: int) -> npt.NDArray[np.int64]:
        """Return (query tokens, up to `wanted`) numbers of each one's nearest token vectors."""
        if self._nearest is not None:
            return self._nearest.nearest(tokens.numpy(), wanted)
        best = torch.empty((len(tokens), 0))
        places = torch.empty((len(tokens), 0), dtype=torch.long)
        for start in range(0, len(self._vectors), _TOKENS_AT_ONCE):
            part = torch.from_numpy(np.asarray(self._vectors[start : start + _TOKENS_AT_ONCE], np.float32))
            similar = tokens @ part.T
            if self.ranker.options.similarity != "cosine":
                similar = 2 * similar - part.square().sum(1)
            nearest = similar.topk(min(wanted, similar.shape[1]))
            best, places = torch.cat([best, nearest.values], 1), torch.cat([places, nearest.indices + start], 1)
            kept = best.topk(min(wanted, best.shape[1])).indices
            best, places = best.gather(1, kept), places.gather(1, kept)
        numbers: npt.NDArray[np.int64] = places.numpy()
        return numbers

    @torch.inference_mode()
    def scores(self, query: TokenVectors, units: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return (units,) float32 MaxSim scores of one query with stored units."""
        scores = np.zeros(len(units), np.float32)
        for begin in range(0, len(units), _CHUNK):
            numbers = units[begin : begin + _CHUNK]
            lengths = self._starts[numbers + 1] - self._starts[numbers]
            vectors = torch.zeros(len(numbers), int(lengths.max(initial=1)), self._vectors.shape[1])
            mask = torch.zeros(vectors.shape[:2], dtype=torch.bool)
            for place, number in enumerate(numbers):
                own = np.asarray(self._vectors[self._starts[number] : self._starts[number + 1]], np.float32)
                vectors[place, : len(own)] = torch.from_numpy(own)
                mask[place, : len(own)] = True
            scores[begin : begin + _CHUNK] = self.ranker.similarity(query, TokenVectors(vectors, mask))[0].numpy()
        return scores
