"""A chunk of Examples as tokens, and what its batches are read to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from structformer.sampling import Example
from structformer.training.batching import TokenBatch, tokens_in

# What one batch of texts, or a whole chunk's losses, come to: a row for each, and the masked words' losses, if any.
Reading = tuple[torch.Tensor, torch.Tensor | None]


@dataclass(slots=True)
class Prepared:
    """A chunk of Examples as the objective wants it, made on the CPU. batches: token batches by kind of text; places:
    numbers of texts by role; pairs: how many pairs are scored. known: what the first batches were read to already;
    only: the number of the one batch that is to be read, for itself.
    """

    examples: list[Example]
    sizes: list[int]
    batches: dict[str, list[TokenBatch]]
    places: dict[str, torch.Tensor] = field(default_factory=dict)
    pairs: int = 0
    known: Sequence[Reading] = ()
    only: int | None = None

    @property
    def all_batches(self) -> list[tuple[str, TokenBatch]]:
        """All batches with their kinds, in the order in which they are read."""
        return [(name, batch) for name, batches in self.batches.items() for batch in batches]

    @property
    def tokens(self) -> tuple[int, int]:
        """(real tokens, tokens with padding)."""
        counted = [tokens_in(batches) for batches in self.batches.values()]
        return sum(real for real, _ in counted), sum(padded for _, padded in counted)
