"""Masked language modelling on the inputs of another task (Devlin et al., NAACL 2019, sections 3.1 and A.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import torch
from safetensors import safe_open
from torch.nn.functional import cross_entropy, gelu, linear

MASKED_SHARE = 0.15
_AS_MASK, _AS_RANDOM = 0.8, 0.1
IGNORED = -100


class Masker:
    """Chooses 15 % of a text's tokens: of these 80 % become [MASK], 10 % a random token, 10 % stay."""

    def __init__(self, tokenizer: Any) -> None:
        self._mask = tokenizer.mask_token_id
        self._special = frozenset(tokenizer.all_special_ids)
        self._size = len(tokenizer)

    def masked(self, ids: Sequence[int], rng: Random) -> tuple[list[int], list[int]]:
        """(ids with masks, labels: the true id at the chosen places, IGNORED elsewhere)."""
        found, labels = list(ids), [IGNORED] * len(ids)
        for place, token in enumerate(ids):
            if token in self._special or rng.random() >= MASKED_SHARE:
                continue
            labels[place] = token
            chance = rng.random()
            if chance < _AS_MASK:
                found[place] = self._mask
            elif chance < _AS_MASK + _AS_RANDOM:
                found[place] = rng.randrange(self._size)
        return found, labels


class MaskedHead(torch.nn.Module):
    """BERT's head over token vectors: dense, GELU, layer norm, the word embeddings as output weights, a bias."""

    def __init__(self, embeddings: torch.nn.Module, width: int) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width, eps=1e-12)
        weight = embeddings.weight
        assert isinstance(weight, torch.Tensor)
        self.bias = torch.nn.Parameter(torch.zeros(weight.shape[0]))
        self._embeddings = (embeddings,)  # in a tuple, so that the shared weights are not registered twice

    @classmethod
    def of(cls, model: Any, location: str) -> MaskedHead:
        """The head for a model, with the base's own head's weights where its folder has them."""
        encoder = getattr(model, model.base_model_prefix, model)
        head = cls(encoder.get_input_embeddings(), int(model.config.hidden_size))
        weights = Path(location) / "model.safetensors"
        prefix = "cls.predictions."
        names = {
            "dense.weight": "transform.dense.weight",
            "dense.bias": "transform.dense.bias",
            "norm.weight": "transform.LayerNorm.weight",
            "norm.bias": "transform.LayerNorm.bias",
            "bias": "bias",
        }
        if weights.exists():
            with safe_open(weights, "pt") as file:
                if all(prefix + name in file.keys() for name in names.values()):  # noqa: SIM118
                    head.load_state_dict({ours: file.get_tensor(prefix + theirs) for ours, theirs in names.items()})
        return head

    def forward(self, hidden: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """(texts,): mean cross-entropy over each text's chosen tokens, 0 where it has none.

        hidden: (texts, tokens, width) float; labels: (texts, tokens) int, IGNORED where nothing is asked.
        """
        chosen = labels != IGNORED
        counts = chosen.sum(1)
        weight = cast(torch.Tensor, self._embeddings[0].weight)
        vectors = self.norm(gelu(self.dense(hidden[chosen])))
        losses = cross_entropy(linear(vectors, weight, self.bias).float(), labels[chosen], reduction="none")
        rows = torch.arange(len(labels), device=labels.device)[:, None].expand_as(labels)[chosen]
        sums = torch.zeros(len(labels), device=losses.device).index_add(0, rows, losses)
        return sums / counts.clamp(min=1)
