"""What is learned of nodes. Each gives one mean over the nodes that are looked at."""

from __future__ import annotations

import torch
from torch.nn.functional import cosine_similarity, log_softmax, normalize, softplus


def masked_node(seen: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    """MNP, a scalar: how far what is in a masked child's place is from what would be there without the mask, as
    1 - cosine.

    seen, masked: (nodes, dimensions), the node encoder's outputs at the child's place.
    """
    apart: torch.Tensor = (1 - cosine_similarity(seen, masked, dim=-1)).mean()
    return apart


def matching(asked: torch.Tensor, own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """PCM and SNM, a scalar: -log of the softmax over a node's own child and a node of another page, at its own.

    asked: (nodes, dimensions) of the parent or of a sibling, projected; it is brought to length one. own, other: as
    many vectors of nodes.
    """
    unit = normalize(asked, dim=-1)
    return softplus((unit * other).sum(-1) - (unit * own).sum(-1)).mean()


def child_order(logits: torch.Tensor, places: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """COP, a scalar: the Kullback-Leibler divergence of what is said of shuffled children's order from that order.

    logits: (nodes, most children); places: (nodes, most children) where each child is among the shuffled ones,
    anything beyond the children; counts: (nodes,) of children, two or more. The order as a distribution gives a child
    the number of children behind it, over the sum of these numbers.
    """
    real = torch.arange(places.shape[1], device=places.device) < counts[:, None]
    behind = (counts[:, None] - 1 - places).masked_fill(~real, 0).float()
    target = behind / behind.sum(1, keepdim=True)
    each: torch.Tensor = torch.special.xlogy(target, target) - target * log_softmax(logits.float(), -1)
    return each.sum(1).mean()
