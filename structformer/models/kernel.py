"""Kernel-pooling rankers, the neural baselines of the papers: KNRM and Conv-KNRM, over the word pieces of a base model.

Sources: Xiong et al., "End-to-End Neural Ad-hoc Ranking with Kernel Pooling", SIGIR 2017 (KNRM); Dai et al.,
"Convolutional Neural Networks for Soft-Matching N-Grams in Ad-hoc Search", WSDM 2018 (Conv-KNRM)."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from structformer.errors import ModelError
from structformer.models.cross_encoder import CrossEncoder
from structformer.models.kinds import RankerOptions
from structformer.models.loading import load_encoder, load_tokenizer

KINDS = ("knrm", "conv-knrm")
CONFIG, WEIGHTS = "kernel.json", "model.safetensors"
# One kernel for exact matches, ten over the rest of [-1, 1] (KNRM, section 4.2).
_MEANS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9)
_WIDTHS = (0.001, *(0.1,) * 10)
_GRAMS = 3
_FILTERS = 128
MAX_TOKENS = 256


class KernelModel(torch.nn.Module):
    """Scores pairs given as one row of tokens, the query's of type 0 and the document's of type 1."""

    def __init__(self, architecture: str, vocabulary: int, dimensions: int, special: list[int], pad: int) -> None:
        super().__init__()
        if architecture not in KINDS:
            raise ModelError(f"no kernel ranker {architecture!r}; there are: {', '.join(KINDS)}")
        self.architecture = architecture
        self.special = special
        self.embedding = torch.nn.Embedding(vocabulary, dimensions, padding_idx=pad)
        grams = _GRAMS if architecture == "conv-knrm" else 0
        self._sizes = range(1, grams + 1)
        self.convolutions = torch.nn.ModuleList(torch.nn.Conv1d(dimensions, _FILTERS, size) for size in self._sizes)
        self.means: torch.Tensor
        self.widths: torch.Tensor
        self.register_buffer("means", torch.tensor(_MEANS), persistent=False)
        self.register_buffer("widths", torch.tensor(_WIDTHS), persistent=False)
        self.dense = torch.nn.Linear(len(_MEANS) * max(1, grams) ** 2, 1)
        self.config = SimpleNamespace(max_position_embeddings=MAX_TOKENS, hidden_size=dimensions)

    @property
    def device(self) -> torch.device:
        return self.dense.weight.device

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        output_hidden_states: bool = False,
    ) -> Any:
        """(pairs, 1) logits. KNRM: eq. 2-6 of its paper; Conv-KNRM: every n-gram length of the query with every one of
        the document (its eq. 3-6). The last tanh is left out: it bounds scores and changes no order.
        """
        words = attention_mask.bool() & ~torch.isin(input_ids, torch.tensor(self.special, device=input_ids.device))
        # Rows are "[CLS] query [SEP] document [SEP]": the two sides are cut out of it and pushed to the left.
        query, query_mask = _side(input_ids, words & (token_type_ids == 0))
        document, document_mask = _side(input_ids, words & (token_type_ids == 1))
        queries, documents = self._grams(self.embedding(query)), self._grams(self.embedding(document))
        features = [self._pooled(one, query_mask, two, document_mask) for one in queries for two in documents]
        return SimpleNamespace(logits=self.dense(torch.cat(features, -1)))

    def _grams(self, vectors: torch.Tensor) -> list[torch.Tensor]:
        if not len(self.convolutions):
            return [torch.nn.functional.normalize(vectors, dim=-1)]
        turned = vectors.transpose(1, 2)
        padded = [torch.nn.functional.pad(turned, (0, size - 1)) for size in self._sizes]
        found = [torch.relu(convolution(each)) for convolution, each in zip(self.convolutions, padded, strict=True)]
        return [torch.nn.functional.normalize(each.transpose(1, 2), dim=-1) for each in found]

    def _pooled(
        self, query: torch.Tensor, query_mask: torch.Tensor, document: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """(pairs, kernels): soft term frequencies, logged and summed over the query's words."""
        similar = (query @ document.transpose(1, 2)).float().unsqueeze(-1)
        kernels = torch.exp(-((similar - self.means) ** 2) / (2 * self.widths**2)) * mask[:, None, :, None]
        counts = kernels.sum(2).clamp(min=1e-10).log() * 0.01
        return (counts * query_mask[..., None]).sum(1)


def _side(ids: torch.Tensor, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The chosen tokens of every row pushed to its left, and which places they fill."""
    longest = max(1, int(chosen.sum(1).max()))
    order = torch.argsort((~chosen).int(), dim=1, stable=True)[:, :longest]
    mask = chosen.gather(1, order)
    return ids.gather(1, order) * mask, mask


class KernelRanker(CrossEncoder):
    """KNRM or Conv-KNRM behind the cross-encoder's interface: it scores pairs, and trains on the same Examples."""

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Which of the two it is."""
        return str(self.model.architecture)

    @classmethod
    def load(cls, location: str, max_tokens: int = MAX_TOKENS, architecture: str = "knrm") -> KernelRanker:
        """From a folder that `save` wrote, or a fresh one over a base model's word-piece vectors. Raises ModelError."""
        folder = Path(location)
        tokenizer = load_tokenizer(location)
        special, pad = sorted(set(tokenizer.all_special_ids)), int(tokenizer.pad_token_id)
        if (folder / CONFIG).exists():
            config = json.loads((folder / CONFIG).read_text())
            model = KernelModel(config["architecture"], config["vocabulary"], config["dimensions"], special, pad)
            model.load_state_dict(load_file(folder / WEIGHTS))
            return cls(model, tokenizer, max_tokens)
        words = load_encoder(location).get_input_embeddings().weight
        model = KernelModel(architecture, words.shape[0], words.shape[1], special, pad)
        with torch.no_grad():
            model.embedding.weight.copy_(words)
        return cls(model, tokenizer, max_tokens)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> KernelRanker:
        """What training starts from."""
        return cls.load(location, options.document_tokens, kind)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), their shape and the tokenizer."""
        self.tokenizer.save_pretrained(folder)
        rows, dimensions = self.model.embedding.weight.shape
        config = {"architecture": self.model.architecture, "vocabulary": rows, "dimensions": dimensions}
        (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")
        save_file({name: value.contiguous() for name, value in self.model.state_dict().items()}, folder / WEIGHTS)
