"""Losses over groups of pairs and over batches."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn.functional import cross_entropy


def group_softmax(scores: torch.Tensor, group_sizes: Sequence[int]) -> torch.Tensor:
    """Mean over groups of -log softmax at each group's first item (Wikiformer eq. 3-6).

    scores: (pairs,) float, the pairs of all groups one after another; group_sizes sums to pairs.
    Raises ValueError on an empty group or sizes that don't fit.
    """
    if not group_sizes or min(group_sizes) < 1 or sum(group_sizes) != len(scores):
        raise ValueError(f"group sizes {list(group_sizes)} don't cut {len(scores)} scores into groups of at least one")
    groups = torch.split(scores, list(group_sizes))
    return torch.stack([torch.logsumexp(group, 0) - group[0] for group in groups]).mean()


def info_nce(scores: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Mean over queries of -log softmax at the own document, over the allowed ones.

    scores: (queries, documents) float, query i's positive is document i; allowed: the same shape, bool, False where a
    document must not count as a negative. Source: van den Oord et al. 2018, eq. 4, with the batch's documents.
    """
    own = torch.arange(len(scores), device=scores.device)
    allowed = allowed.clone()
    allowed[own, own] = True
    return cross_entropy(scores.masked_fill(~allowed, torch.finfo(scores.dtype).min), own)
