"""Rows of all processes that take a step together, with gradients: negatives across devices."""

from typing import Any

import torch


def of_all(rows: torch.Tensor) -> torch.Tensor:
    """Return the rows of all processes, in their order; each may have another number of them."""
    return torch.cat(_parts(rows))


def and_others(rows: torch.Tensor) -> torch.Tensor:
    """Return a process's own rows and after them those of the others, in their order."""
    parts = _parts(rows)
    own = torch.distributed.get_rank()
    return torch.cat([rows, *parts[:own], *parts[own + 1 :]])


def _parts(rows: torch.Tensor) -> list[torch.Tensor]:
    counts = _gathered(torch.tensor([len(rows)], device=rows.device))[:, 0].tolist()
    padded = torch.cat([rows, rows.new_zeros(max(counts) - len(rows), *rows.shape[1:])])
    return [part[:count] for part, count in zip(_gathered(padded), counts, strict=True)]


def _gathered(rows: torch.Tensor) -> torch.Tensor:
    gathered: torch.Tensor = _Gathered.apply(rows)  # type: ignore[no-untyped-call]
    return gathered


class _Gathered(torch.autograd.Function):
    """(processes, ...): a tensor of each process, with the sum of their gradients: each has a part of the loss."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor) -> torch.Tensor:
        parts = [torch.empty_like(rows) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(parts, rows.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        summed = gradient.contiguous()
        torch.distributed.all_reduce(summed)
        return summed[torch.distributed.get_rank()]
