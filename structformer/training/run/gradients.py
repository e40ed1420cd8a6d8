"""A chunk's gradients in the memory of some of its batches, however many it has.

The first batches are read without keeping anything, for their scores or vectors alone. The loss of all Examples gives
the gradient of these, and each batch is read again and takes its part of it back to the weights, with the same dropout
as before (Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup", RepL4NLP 2021)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch

from structformer.training.data.batching import Prepared, Reading
from structformer.training.objectives.objectives import Objective
from structformer.training.run.memory import read_twice


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
