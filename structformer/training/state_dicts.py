"""A module's and its optimizer's whole state by parameter name, the same whether one process holds it or several do
(DDP, FSDP).
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

Weights = dict[str, torch.Tensor]


def module_state(module: torch.nn.Module) -> Weights:
    """All weights, on the CPU; of a sharded module they are gathered, so all processes must ask."""
    return cast(Weights, get_model_state_dict(module, options=_whole()))


def optimizer_state(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, dict[str, torch.Tensor]]:
    """The optimizer's tensors by parameter, on the CPU; all processes must ask."""
    return cast(
        dict[str, dict[str, torch.Tensor]],
        get_optimizer_state_dict(module, optimizer, options=_whole()).get("state", {}),
    )


def set_state(
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    weights: Weights,
    moments: dict[str, dict[str, torch.Tensor]],
) -> None:
    """Put a state back that `module_state` and `optimizer_state` gave."""
    set_model_state_dict(module, cast(Any, weights), options=_whole())
    # Of the whole state the first process alone gets anything; of its own part each has the groups.
    groups = get_optimizer_state_dict(module, optimizer)["param_groups"]
    set_optimizer_state_dict(module, optimizer, cast(Any, {"state": moments, "param_groups": groups}), options=_whole())


def _whole() -> StateDictOptions:
    return StateDictOptions(full_state_dict=True, cpu_offload=True)
