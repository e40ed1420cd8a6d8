"""Checkpoints: everything that a run needs to go on as if it had never stopped, written so that half a one is never
seen.

A checkpoint is a folder: weights and optimizer state in safetensors, and `state.json`, whose digests tell whether all
of it is there. It is written under a temporary name, synced and renamed, so that a kill at any point leaves the one
before."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from structformer.errors import ModelError, WorkspaceError
from structformer.storage import files

KEPT = 2
_STATE = "state.json"
_WEIGHTS, _OPTIMIZER = "weights.safetensors", "optimizer.safetensors"
_SEPARATOR = "//"
_WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)
_STEP = re.compile(r"step-\d{8}")
_OURS = frozenset({"best", "run.json", "training.jsonl", "report.html"})

Weights = Mapping[str, torch.Tensor]


class Checkpoints:
    """The checkpoints of one run, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def clear(self) -> None:
        """Remove all of them, and nothing else that may be in the folder."""
        if self.folder.is_dir():
            for path in list(self.folder.iterdir()):
                if path.name in _OURS or _STEP.fullmatch(path.name) or files.is_temporary(path.name):
                    files.remove(path)
            with suppress(OSError):  # something of a user's is left
                self.folder.rmdir()

    def prepare(self) -> None:
        """Make the folder and remove what a killed writer left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files.remove_temporaries(self.folder)

    def steps(self) -> list[int]:
        """Steps with a checkpoint, ascending."""
        return sorted(
            int(path.name.removeprefix("step-")) for path in self.folder.glob("step-*") if path.name[5:].isdigit()
        )

    def save(
        self, step: int, weights: Weights, optimizer: Mapping[str, Any], state: Mapping[str, Any], *, name: str = ""
    ) -> None:
        """Write a checkpoint, of which KEPT stay. Raises ModelError if the disk is full, saying what is left."""
        final = self.folder / (name or f"step-{step:08}")
        temporary = self.folder / files.temporary_name()
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            moments = {
                f"{parameter}{_SEPARATOR}{name}": torch.as_tensor(value)
                for parameter, values in optimizer.items()
                for name, value in values.items()
            }
            save_file(_contiguous(weights), temporary / _WEIGHTS)
            save_file(_contiguous(moments), temporary / _OPTIMIZER)
            digests = {file: files.fast_digest(temporary / file) for file in (_WEIGHTS, _OPTIMIZER)}
            files.write_json(temporary / _STATE, {**state, "step": step, "digests": digests}, digest=True)
            files.fsync_tree(temporary)
            shutil.rmtree(final, ignore_errors=True)
            os.replace(temporary, final)
            files.fsync_folder(self.folder)
        except (OSError, SafetensorError, WorkspaceError) as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise self._not_saved(step, error) from error
        if not name:
            for old in self.steps()[:-KEPT]:
                shutil.rmtree(self.folder / f"step-{old:08}", ignore_errors=True)

    def _not_saved(self, step: int, error: Exception) -> ModelError:
        kept = self.steps()
        good = f"the checkpoint of step {kept[-1]} is kept" if kept else "there is no checkpoint yet"
        room = "make room there, then run `structformer train --resume`"
        advice = room if files.is_full(error) else "see that the folder can be written"
        return ModelError(
            f"the checkpoint of step {step} could not be saved in {self.folder} ({error}): {advice}; {good}"
        )

    def newest(self) -> Path | None:
        """Return the folder of the newest complete checkpoint; one that is broken is passed over."""
        for step in reversed(self.steps()):
            folder = self.folder / f"step-{step:08}"
            if self.is_complete(folder):
                return folder
        return None

    def is_complete(self, folder: Path) -> bool:
        """Whether a checkpoint is all there and as it was written."""
        try:
            digests = files.read_json(folder / _STATE, digest=True)["digests"]
            return all(files.fast_digest(folder / file) == digest for file, digest in digests.items())
        except (OSError, WorkspaceError, KeyError, TypeError, AttributeError):
            return False


def read_state(folder: Path) -> dict[str, Any]:
    """Return a checkpoint's state. Raises ModelError when it is none."""
    try:
        state: dict[str, Any] = files.read_json(folder / _STATE, digest=True)
    except WorkspaceError as error:
        raise ModelError(f"{folder} is not a checkpoint of structformer: {error}") from error
    return state


def _unusable(folder: Path, why: str) -> ModelError:
    return ModelError(f"the checkpoint {folder} {why}; remove it, and an older one is taken")


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return a checkpoint's weights, on the CPU. Raises ModelError if they cannot be read or have changed."""
    if not Checkpoints(folder.parent).is_complete(folder):
        raise _unusable(folder, "has changed since it was written")
    try:
        return load_file(folder / _WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise _unusable(folder, f"cannot be read ({error})") from error


def read_optimizer(folder: Path) -> dict[str, dict[str, torch.Tensor]]:
    """Return a checkpoint's optimizer state by parameter name. Raises ModelError when it cannot be read."""
    states: dict[str, dict[str, torch.Tensor]] = {}
    try:
        with safe_open(folder / _OPTIMIZER, "pt") as file:
            for key in file.keys():  # noqa: SIM118 (it is not a dict)
                parameter, _, name = key.rpartition(_SEPARATOR)
                states.setdefault(parameter, {})[name] = file.get_tensor(key)
    except (OSError, SafetensorError) as error:
        raise _unusable(folder, f"cannot be read ({error})") from error
    return states


def _contiguous(weights: Weights) -> dict[str, torch.Tensor]:
    """Return the weights, each in memory of its own, as safetensors wants."""
    return {name: value.detach().to("cpu").clone().contiguous() for name, value in weights.items()}


def module_state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return all weights, on the CPU; of a sharded module they are gathered, so all processes must ask."""
    return cast(dict[str, torch.Tensor], get_model_state_dict(module, options=_WHOLE))


def optimizer_state(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, dict[str, torch.Tensor]]:
    """Return the optimizer's tensors by parameter, on the CPU; all processes must ask."""
    return cast(
        dict[str, dict[str, torch.Tensor]], get_optimizer_state_dict(module, optimizer, options=_WHOLE).get("state", {})
    )


def set_state(
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    weights: dict[str, torch.Tensor],
    moments: dict[str, dict[str, torch.Tensor]],
) -> None:
    """Put a state back that `module_state` and `optimizer_state` gave."""
    set_model_state_dict(module, cast(Any, weights), options=_WHOLE)
    # Of the whole state the first process alone gets anything; of its own part each has the groups.
    groups = get_optimizer_state_dict(module, optimizer)["param_groups"]
    set_optimizer_state_dict(module, optimizer, cast(Any, {"state": moments, "param_groups": groups}), options=_WHOLE)
