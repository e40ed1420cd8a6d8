"""Prepares coming chunks of Examples: beside a GPU in other processes, since it waits for Python's lock otherwise."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from structformer.errors import StructformerError
from structformer.training.data.batching import Prepared

Place = tuple[str, int]
Chunk = tuple[int, int, Sequence[Place]]
"""Step, number within the step, and what it learns from."""
_PROCESSES, _AHEAD = 2, 4


class Loader:
    """The prepared chunks, in the order of the work. idle: seconds that its user waited."""

    def __init__(self, work: Iterator[Chunk], prepare: Callable[..., Prepared], device: torch.device) -> None:
        """prepare: called with what a chunk is."""
        self.idle = 0.0
        ahead: dict[str, Any] = {}
        if device.type == "cuda" and "fork" in multiprocessing.get_all_start_methods():
            # A fork has the Examples and the tokenizer without being sent them.
            ahead = {"num_workers": _PROCESSES, "prefetch_factor": _AHEAD, "multiprocessing_context": "fork"}
        chunks = _Chunks(prepare)
        self._found = iter(
            DataLoader(chunks, None, sampler=work, collate_fn=lambda found: found, worker_init_fn=_begun, **ahead)
        )

    def next(self) -> tuple[Sequence[Place], Prepared]:
        """Return the next chunk. Raises what went wrong in preparing it."""
        begun = time.monotonic()
        step = next(self._found)
        self.idle += time.monotonic() - begun
        if isinstance(step, StructformerError):
            raise step
        places, prepared = step
        return places, pickle.loads(prepared) if isinstance(prepared, bytes) else prepared

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *raised: object) -> None:
        del self._found  # ends the processes


class _Chunks(Dataset[Any]):
    def __init__(self, prepare: Callable[..., Prepared]) -> None:
        self._prepare = prepare

    def __getitem__(self, chunk: Chunk) -> Any:
        try:
            prepared = self._prepare(*chunk)
        except StructformerError as error:  # raised in a process, its message would hold a traceback
            return error
        # Sent as they are, tensors would take shared memory, of which a container has little.
        in_process = torch.utils.data.get_worker_info() is not None
        return chunk[2], pickle.dumps(prepared, pickle.HIGHEST_PROTOCOL) if in_process else prepared


def _begun(number: int) -> None:
    """A fork lacks the threads that tokenizers would wait for."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
