"""What a run that was stopped goes on from: weights, the optimizer's state and how far it had come."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import torch
from structformer.training import Checkpoints, read_optimizer, read_state, read_weights

Losses = list[dict[str, float]]


class SavedRun:
    """The checkpoints of one run, in a folder of their own. seconds: between two of them."""

    def __init__(self, folder: Path, seconds: float = 0.0) -> None:
        self._checkpoints = Checkpoints(folder)
        self._seconds = seconds
        self._last = time.monotonic()

    @property
    def begun(self) -> bool:
        """Whether there is a checkpoint."""
        return self._checkpoints.newest() is not None

    def restored(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> tuple[int, Losses]:
        """(steps done, their latest losses), with model and optimizer as they were then; (0, []) without a checkpoint.
        Raises ModelError on one that cannot be read.
        """
        self._checkpoints.prepare()
        newest = self._checkpoints.newest()
        if newest is None:
            return 0, []
        state = read_state(newest)
        model.load_state_dict(read_weights(newest))
        known = dict(model.named_parameters())
        for name, values in read_optimizer(newest).items():
            # Adam counts its steps on the CPU.
            moved = {key: value if key == "step" else value.to(known[name].device) for key, value in values.items()}
            optimizer.state[known[name]] = moved
        return int(state["step"]), list(state["losses"])

    def save_when_due(
        self, step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer, losses: Losses
    ) -> None:
        """Write a checkpoint where the last one is old enough. Raises ModelError when the disk is full."""
        if time.monotonic() - self._last < self._seconds:
            return
        states: Mapping[torch.Tensor, dict[str, torch.Tensor]] = optimizer.state
        named = {name: states[each] for name, each in model.named_parameters() if each in states}
        self._checkpoints.save(step, model.state_dict(), named, {"losses": losses})
        self._last = time.monotonic()

    def clear(self) -> None:
        """Remove the checkpoints."""
        self._checkpoints.clear()
