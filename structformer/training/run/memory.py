"""The share of a chunk that fits into memory at once: how many tokens' intermediate results the gradient keeps; and a
chunk's gradients in the memory of some of its batches, however many it has.

The first batches are read without keeping anything, for their scores or vectors alone. The loss of all Examples gives
the gradient of these, and each batch is read again and takes its part of it back to the weights, with the same dropout
as before (Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup", RepL4NLP 2021)."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import torch

from structformer.errors import ModelError, is_out_of_memory
from structformer.models.first_tokens import default_batch_tokens
from structformer.sampling import Example
from structformer.training.data.batching import Batching, Prepared, Reading
from structformer.training.objectives.objectives import Objective

_SHARE = 0.5  # of the memory; weights, their moments and what one operation needs take the rest
# Measured with BERT's shapes: what a layer keeps of a token for each of its dimensions, and where attention weights are
# kept too, as torch does on a CPU, for each head and token that is looked at. A checkpointed layer keeps its input. On
# an H200 in bf16, all of a step, weights and moments too, took 44 bytes.
_LAYER_BYTES, _ATTENTION_BYTES, _INPUT_BYTES = 100, 12, 4
_HALF_LAYER_BYTES = 50
_WORD_BYTES = 12  # of each word of the vocabulary, for a masked token
_UNSAID = 8 << 30  # bytes of a machine whose system does not say how many it has
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup/memory.max")


def fitted(objective: Objective, *, half: bool = False, free_alone: bool = False) -> Batching:
    """The objective's batching for the device's memory: given batches are all that is kept, else tokens for half the
    memory. half: layers compute in 16 bits; free_alone: of a CPU's memory only the free part, so that runs may differ.
    """
    batching = objective.batching
    if batching.batch_tokens is not None:
        return replace(batching, kept_tokens=batching.batch_tokens)
    device = objective.model.device
    layer_bytes = _HALF_LAYER_BYTES if half and device.type != "cpu" else _LAYER_BYTES
    token_bytes = _bytes_per_token(objective, layer_bytes, on_cpu=device.type == "cpu")
    room = int(_SHARE * _memory(device, free_alone=free_alone) / token_bytes)
    tokens = min(default_batch_tokens(batching.device), room)
    return replace(batching, batch_tokens=tokens, kept_tokens=room)


def _bytes_per_token(objective: Objective, layer_bytes: int, *, on_cpu: bool) -> float:
    model = objective.model
    width = int(getattr(model.config, "hidden_size", 1))
    layers = int(getattr(model.config, "num_hidden_layers", 1))
    heads = int(getattr(model.config, "num_attention_heads", 0)) if on_cpu else 0
    layer = layer_bytes * width + _ATTENTION_BYTES * heads * objective.longest
    if any(getattr(module, "gradient_checkpointing", False) for module in model.modules()):
        kept = layer + layers * _INPUT_BYTES * width
    else:
        kept = layer * layers
    words = int(getattr(model.config, "vocab_size", 0)) if objective.head is not None else 0
    return kept + objective.guessed * _WORD_BYTES * words


def _memory(device: torch.device, *, free_alone: bool) -> float:
    """Return the bytes of a device's memory, of a CPU's what this process's share of it is."""
    if device.type == "cuda":
        return float(torch.cuda.get_device_properties(device).total_memory)
    size = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else _UNSAID)
    with suppress(OSError, StopIteration):  # not on Linux
        lines = _MEMINFO.read_text(encoding="utf-8").splitlines() if free_alone else ()
        size = min(size, next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")))
    with suppress(OSError, ValueError):  # there is no such file, or no limit in it
        size = min(size, float(_CGROUP.read_text(encoding="utf-8")))
    return size / int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def tried(objective: Objective, example: Example, learn: Callable[[Prepared], object]) -> Batching:
    """The objective's batching, made smaller until the largest possible chunk fits: texts as long as they come, as many
    as are ever kept. Raises the memory's error if not even one text fits.
    """
    while True:
        try:
            learn(objective.prepare(_largest(objective, example), Random(0)))
            return objective.batching
        except (RuntimeError, MemoryError) as error:
            kept = objective.batching.kept_tokens or 0
            if not is_out_of_memory(error) or kept <= objective.longest:
                raise
        objective.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        tokens = min(objective.batching.batch_tokens or kept, kept // 2)
        objective.batching = replace(objective.batching, batch_tokens=tokens, kept_tokens=kept // 2)


def _largest(objective: Objective, example: Example) -> list[Example]:
    """Return examples with long texts, all different, to fill what is kept."""
    numbers = count()

    def long(text: str) -> str:
        words = f"{next(numbers)} {text} "
        return words * (1 + objective.longest // len(words.split()))

    wanted = 1 + (objective.batching.kept_tokens or 0) // objective.longest
    return [
        replace(
            example, queries=example.queries[:1], documents=(long(example.documents[0]),), sections=example.sections[:1]
        )
        for _ in range(wanted)
    ]


def peak_memory() -> int | None:
    """Most bytes taken at once: a GPU's since `forget_peak`, else this process's; None if the system does not say."""
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def forget_peak() -> None:
    """Reset the GPU's peak, so that what follows is measured alone."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def read_twice(prepared: Prepared, kept_tokens: int | None) -> int:
    """How many of a chunk's first batches are read twice, for loss and gradient; the others' graphs fit at once."""
    batches: Sequence[int] = [batch.features["input_ids"].numel() for _, batch in prepared.all_batches]
    if kept_tokens is None or not batches:
        return 0
    kept, number = batches[-1], len(batches) - 1
    while number > 0 and kept + batches[number - 1] <= kept_tokens:
        number -= 1
        kept += batches[number]
    return number


@contextmanager
def memory_errors(when: str) -> Iterator[None]:
    """Raises ModelError in the place of torch's errors about memory. when: where in the run, as "at step 3"."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ModelError(
            f"out of memory {when}: use a smaller --batch-tokens (what is learned stays the same), a smaller --batch "
            "or --max-tokens (--accumulation keeps the step's size), or a smaller --base-model"
        ) from error


@dataclass(frozen=True, slots=True)
class Learning:
    """How a chunk is learned from."""

    objective: Objective
    module: Callable[[Prepared], Reading]
    """The objective, or what wraps it."""
    total: Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]
    """The loss to minimise, from the Examples' losses and their masked words'."""
    autocast: Callable[[], AbstractContextManager[Any]]
    """The precision of reading."""
    backward: Callable[[torch.Tensor], None]
    """Computes the weights' gradients from the total."""
    alone: Callable[[], AbstractContextManager[Any]]
    """Keeps gradients from being exchanged with other processes."""


def learn(learning: Learning, prepared: Prepared, exchanged: Callable[[], AbstractContextManager[Any]]) -> Reading:
    """Add a chunk's gradients to the weights'; returns its losses, and those of its masked words. exchanged: as
    `alone`, or does nothing where this chunk's last gradients go to the other processes.
    """
    objective = learning.objective
    by_batches = type(objective).forward is Objective.forward
    twice = read_twice(prepared, objective.batching.kept_tokens) if by_batches else 0
    device = objective.model.device
    states: list[list[torch.Tensor]] = []
    known: list[Reading] = []
    # Compiled for reading alone, a model may draw its dropout otherwise; what it keeps then goes with each batch.
    compiled = getattr(objective.model, "_compiled_call_impl", None) is not None
    with torch.set_grad_enabled(compiled), learning.alone():
        for number in range(twice):
            states.append(
                [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]
            )
            with learning.autocast():
                known.append(_to_learn(learning.module(replace(prepared, only=number))))
    with learning.alone() if twice else exchanged():
        with learning.autocast():
            losses, masked = learning.module(replace(prepared, known=known) if twice else prepared)
        learning.backward(learning.total(losses, masked))
    for number in range(twice):
        torch.set_rng_state(states[number][0])
        if device.type == "cuda":
            torch.cuda.set_rng_state(states[number][1], device)
        with exchanged() if number == twice - 1 else learning.alone():
            with learning.autocast():
                reading = learning.module(replace(prepared, only=number))
            _backward(reading, known[number])
    return losses.detach(), None if masked is None else masked.detach()


def _to_learn(reading: Reading) -> Reading:
    """Return a batch's rows as if they were weights, so that the loss gives them a gradient."""
    rows, masked = reading
    return rows.detach().requires_grad_(), None if masked is None else masked.detach().requires_grad_()


def _backward(reading: Reading, known: Reading) -> None:
    parts = [(new, old) for new, old in zip(reading, known, strict=True) if new is not None and old is not None]
    # Rows that no loss depends on have no gradient, but other processes wait for all weights'.
    gradients = [torch.zeros_like(old) if old.grad is None else old.grad for _, old in parts]
    torch.autograd.backward([new for new, _ in parts], gradients)
