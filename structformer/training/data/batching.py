"""Texts as batches of tokens: bucketed by length, padded to the longest of their batch, masked where asked. Coming
chunks are prepared beside a GPU in other processes, since it waits for Python's lock otherwise.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from structformer.errors import StructformerError
from structformer.models.first_tokens import length_buckets
from structformer.sampling import Example
from structformer.training.objectives.masked import IGNORED, Masker

# What one batch of texts, or a whole chunk's losses, come to: a row for each, and the masked words' losses, if any.
Reading = tuple[torch.Tensor, torch.Tensor | None]

# With torch.compile every shape is compiled once, so lengths are rounded up to few of them.
COMPILED_MULTIPLE = 32
Place = tuple[str, int]
Chunk = tuple[int, int, Sequence[Place]]
"""Step, number within the step, and what it learns from."""
_PROCESSES, _AHEAD = 2, 4


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Some of a step's texts."""

    numbers: list[int]
    """Which of the texts."""
    features: dict[str, torch.Tensor]
    """(texts, tokens) int each."""
    labels: torch.Tensor | None
    """(texts, tokens) int, of masked tokens; None if none are masked."""

    def to(self, device: torch.device) -> TokenBatch:
        """Return the batch on a device."""
        features = {name: value.to(device, non_blocking=True) for name, value in self.features.items()}
        labels = None if self.labels is None else self.labels.to(device, non_blocking=True)
        return TokenBatch(self.numbers, features, labels)


@dataclass(frozen=True, slots=True)
class Batching:
    """How texts become batches."""

    device: str
    """Either "cpu" or "cuda"."""
    batch_tokens: int | None = None
    """Padded tokens of a batch; None: the device's default."""
    multiple: int = 1
    """Batches' lengths are rounded up to multiples of it."""
    whole: bool = False
    """All texts are one batch, so that processes which must do the same operations have equally many."""
    kept_tokens: int | None = None
    """Padded tokens whose intermediate results are kept at once; None: those of a whole chunk."""


def token_batches(
    encoded: Mapping[str, Sequence[Sequence[int]]],
    tokenizer: Any,
    batching: Batching,
    masker: Masker | None = None,
    rng: Random | None = None,
) -> list[TokenBatch]:
    """Batches of all the texts. encoded: a tokenizer's output without padding, by feature."""
    ids = [list(row) for row in encoded["input_ids"]]
    labels: list[list[int]] = []
    if masker is not None and rng is not None:
        for place, row in enumerate(ids):
            ids[place], marked = masker.masked(row, rng)
            labels.append(marked)
    padding = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": 0, "attention_mask": 0}
    rows: dict[str, Sequence[Sequence[int]]] = {name: encoded[name] for name in encoded if name in padding}
    rows["input_ids"] = ids
    batches: list[TokenBatch] = []
    buckets = length_buckets([len(row) for row in ids], batching.device, batching.batch_tokens)
    for numbers in [list(range(len(ids)))] if batching.whole else buckets:
        longest = max(len(ids[number]) for number in numbers)
        width = -(-longest // batching.multiple) * batching.multiple
        features = {
            name: _padded([values[number] for number in numbers], width, padding[name]) for name, values in rows.items()
        }
        masked = _padded([labels[number] for number in numbers], width, IGNORED) if labels else None
        batches.append(TokenBatch(numbers, features, masked))
    return batches


def _padded(rows: Sequence[Sequence[int]], width: int, value: int) -> torch.Tensor:
    lengths = np.array([len(row) for row in rows])
    padded = np.full((len(rows), width), value, np.int64)
    padded[np.arange(width) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    return torch.from_numpy(padded)


def in_order(batches: Sequence[TokenBatch], parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return rows of the batches' results back in the order of the texts."""
    order = torch.tensor([number for batch in batches for number in batch.numbers], device=parts[0].device)
    return torch.cat(list(parts))[torch.argsort(order)]


@dataclass(slots=True)
class Prepared:
    """A chunk of Examples as the objective wants it, made on the CPU."""

    examples: list[Example]
    sizes: list[int]
    batches: dict[str, list[TokenBatch]]
    """By kind of text."""
    places: dict[str, torch.Tensor] = field(default_factory=dict)
    """Numbers of texts, by role."""
    pairs: int = 0
    """How many are scored."""
    known: Sequence[Reading] = ()
    """Results of the first batches, which were read before."""
    only: int | None = None
    """Number of the single batch to read; None: all."""

    @property
    def all_batches(self) -> list[tuple[str, TokenBatch]]:
        """All batches with their kinds, in the order in which they are read."""
        return [(name, batch) for name, batches in self.batches.items() for batch in batches]

    @property
    def tokens(self) -> tuple[int, int]:
        """(real tokens, tokens with padding)."""
        masks = [batch.features["attention_mask"] for _, batch in self.all_batches]
        return sum(int(mask.sum()) for mask in masks), sum(mask.numel() for mask in masks)


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
