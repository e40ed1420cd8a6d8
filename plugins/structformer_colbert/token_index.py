"""Late-interaction retrieval: all units' token vectors in a memory-mapped file. Each query token's nearest, by a look
at all or an approximate index, name the units that are scored in full.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from structformer.errors import UsageError, WorkspaceError
from structformer.models import checked_model, model_kind, ranker_kind, read_record, trained_models
from structformer.retrieval import OpenedIndex, Units, approximate_files, has_faiss, write_approximate
from structformer.storage import fsync_folder, read_errors, temporary_name

from structformer_colbert.kind import LATE_INTERACTION
from structformer_colbert.ranker import LateInteraction, TokenVectors

_CHUNK = 256
_TOKENS_AT_ONCE = 131_072
APPROXIMATE_FROM = 2_000_000  # token vectors; a look at so many takes a second


def _starts_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.starts.npy")


def open_token_index(opened: OpenedIndex, name: str) -> "TokenIndex":
    """Return a model's token vectors, made first where the index lacks them. Raises ModelError, UsageError."""
    workspace, index = opened.workspace, opened.index
    kind = ranker_kind(model_kind(workspace, name))
    if kind.first_stage != LATE_INTERACTION.first_stage:
        raise UsageError(f"{name} is not a late-interaction model; choose from: {', '.join(trained_models(workspace))}")
    ranker: Any = kind.load(str(checked_model(workspace, name)))
    path = Path(f"late/{read_record(workspace, name).fingerprint}.npy")
    files = [file.as_posix() for file in (path, _starts_path(path))]
    nearest = [file.as_posix() for file in approximate_files(path)]
    if not all(map(index.has, files)):
        with index.adding(f"making the token vectors of {name}", files, nearest):
            write_token_vectors(opened.units, ranker, index.folder / path)
    vectors, _ = [index.path(file) for file in files]  # both are checked
    return TokenIndex(opened, vectors, ranker)


@torch.inference_mode()
def write_token_vectors(units: Units, ranker: LateInteraction, path: Path) -> None:
    """Write the (tokens, dimensions) float16 vectors of all units one after another, and where each unit's begin."""
    ranker.model.eval()
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(temporary_name(path.name))
    starts, dimensions = [0], ranker.options.dimensions
    layout = {"descr": "<f2", "fortran_order": False, "shape": (0, dimensions)}
    try:
        with temporary.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, layout)  # of one length for any number of rows
            for begin in range(0, len(units), _CHUNK):
                numbers = range(begin, min(begin + _CHUNK, len(units)))
                tokens = ranker.embed_documents(ranker.encode_document_tokens(units.ranker_texts(numbers)))
                for own in TokenVectors(tokens.vectors.half().cpu(), tokens.mask.cpu()):
                    file.write(own.numpy().tobytes())
                    starts.append(starts[-1] + len(own))
            file.seek(0)
            np.lib.format.write_array_header_1_0(file, {**layout, "shape": (starts[-1], dimensions)})
            file.flush()
            os.fsync(file.fileno())
        if starts[-1] >= APPROXIMATE_FROM and ranker.options.similarity == "cosine" and has_faiss():
            stored = np.load(temporary, mmap_mode="r")
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
    """Token vectors of all units."""

    def __init__(self, opened: OpenedIndex, path: Path, ranker: LateInteraction) -> None:
        self.ranker = ranker
        with read_errors(path, OSError, ValueError, advice=": delete it, and it is made again"):
            self._vectors = np.load(path, mmap_mode="r", allow_pickle=False)
            self._starts = np.load(_starts_path(path), allow_pickle=False)
        if len(self._starts) != len(opened.owners) + 1 or self._starts[-1] != len(self._vectors):
            raise WorkspaceError(f"{path} is not of this index: run `structformer index` again")
        self._owners = opened.owners
        self._nearest = opened.index.nearest(path)

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
            units = np.array([unit for unit in units.tolist() if int(self._owners[unit]) in documents], np.int64)
        places_of = zip(self._starts[units], self._starts[units + 1], strict=True)
        stored = (torch.from_numpy(np.asarray(self._vectors[start:end], np.float32)) for start, end in places_of)
        scores = self.ranker.similarity(asked, stored)[0].numpy() if len(units) else np.zeros(0)
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
