"""Pre-training a bi-encoder's [CLS]: Condenser (Gao and Callan, EMNLP 2021) and coCondenser (the same, ACL 2022)."""

import hashlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from structformer.errors import ModelError, UsageError
from structformer.models.sentence_modules import model_file
from structformer.sampling import Example
from structformer.training.data.batching import Prepared, Reading, TokenBatch, in_order
from structformer.training.objectives.losses import of_all
from structformer.training.objectives.masked import MASKED_SHARE, MaskedHead, Masker
from structformer.training.objectives.objectives import BiEncoderObjective, ObjectiveOptions, Teacher

HEAD = "condenser_head.safetensors"
_HEAD_LAYERS = 2
_OF_A_LAYER = (
    "hidden_size", "num_attention_heads", "intermediate_size", "hidden_act", "hidden_dropout_prob",
    "attention_probs_dropout_prob", "layer_norm_eps", "initializer_range", "max_position_embeddings",
)  # fmt: skip
_ENCODER = "model."  # what the names of the encoder's weights begin with


class CondenserObjective(BiEncoderObjective):
    """Masked words guessed by two more BERT layers, whatever the encoder, that read the last [CLS] beside the other
    tokens of the middle layer, so that what they lack must be in [CLS]; and by the last layer, whose loss comes as that
    of the masked words. These two layers and the head for masked words are saved beside the encoder, which does not
    need them. A training from that folder goes on with them, as coCondenser does from Condenser; from any other the
    layers are fresh.

    coCondenser adds the contrast of an Example's two spans over all spans of the step, by inner products of [CLS];
    spans of the same document are not negatives."""

    file = HEAD  # what is saved beside the encoder
    guessed = 2 * MASKED_SHARE

    def __init__(
        self, ranker: Any, options: ObjectiveOptions, *, head: MaskedHead | None = None, teacher: Teacher | None = None
    ) -> None:
        """Raises UsageError without a head for masked words, and on an encoder of one layer."""
        super().__init__(ranker, options, head=head, teacher=teacher)
        config = ranker.model.config
        if config.num_hidden_layers < 2:
            raise UsageError(f"the loss {options.loss} needs an encoder of at least two layers")
        if head is None:
            raise UsageError(f"the loss {options.loss} learns from masked words: it needs --mlm 1")
        self._masker = Masker(ranker.tokenizer, whole_words=options.whole_words, share=MASKED_SHARE)
        self._middle = config.num_hidden_layers // 2
        self.layers = fresh_bert(config).encoder.layer

    def take_up(self, location: str) -> None:
        path = model_file(location, self.file)
        if path is None:
            return
        own = {name for name in self.state_dict() if not name.startswith(_ENCODER)}
        try:
            saved = load_file(path)
            if saved.keys() != own:
                odd = ", ".join(sorted(saved.keys() ^ own)[:3])
                raise ModelError(f"{path} is not the head of this encoder: it differs in {odd}")
            self.load_state_dict(saved, strict=False)
        except (OSError, SafetensorError, RuntimeError) as error:
            raise ModelError(f"{path} is not the head of this encoder: {error}") from error

    def kept(self, weights: Mapping[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
        return {self.file: {name: value for name, value in weights.items() if not name.startswith(_ENCODER)}}

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        prepared = super().prepare(examples, rng)
        documents = torch.tensor([_number(example.document_id) for example in examples])
        prepared.places["owned_by"] = documents.repeat_interleave(torch.tensor(prepared.sizes))
        return prepared

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        """A row is a text's loss of the two layers, with its [CLS] behind it for coCondenser."""
        moved = batch.to(self.model.device)
        assert self.head is not None
        assert moved.labels is not None
        read = self.model(**moved.features, output_hidden_states=True)
        last, middle = read.last_hidden_state, read.hidden_states[self._middle]
        hidden = self.through_layers(torch.cat([last[:, :1], middle[:, 1:]], 1), moved.features["attention_mask"])
        row = self.head(hidden, moved.labels)[:, None]
        if self.minimised.compute:
            row = torch.cat([row, last[:, 0].float()], 1)
        return row, self.head(last, moved.labels)

    def through_layers(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return (texts, tokens, width) after the two layers, of the same; mask: (texts, tokens), 0 at padding."""
        unseen = (1 - mask)[:, None, None].to(hidden.dtype) * torch.finfo(hidden.dtype).min
        for layer in self.layers:
            hidden = layer(hidden, attention_mask=unseen)
        return hidden

    def combined(self, prepared: Prepared, rows: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        vectors = in_order(prepared.batches["texts"], rows["texts"])
        first, second = (vectors[prepared.places[side].to(vectors.device)] for side in ("queries", "documents"))
        losses = (first[:, 0] + second[:, 0]) / 2
        if self.minimised.compute:
            owned_by, together = prepared.places["owned_by"].to(vectors.device), self.processes > 1
            losses = losses + self.minimised.function(first[:, 1:], second[:, 1:], owned_by, together=together)
        sizes = torch.tensor(prepared.sizes, device=vectors.device)
        owners = torch.repeat_interleave(torch.arange(len(sizes), device=vectors.device), sizes)
        return torch.zeros(len(sizes), device=vectors.device).index_add(0, owners, losses) / sizes


def fresh_bert(config: Any) -> BertModel:
    """Return embeddings and two layers of BERT's form with random weights, as wide as an encoder with this config."""
    known: dict[str, Any] = {name: getattr(config, name) for name in _OF_A_LAYER if hasattr(config, name)}
    small = BertConfig(vocab_size=1, num_hidden_layers=_HEAD_LAYERS, **known)
    return BertModel(small, add_pooling_layer=False)


def span_contrast(
    first: torch.Tensor, second: torch.Tensor, owned_by: torch.Tensor, *, together: bool = False
) -> torch.Tensor:
    """(pairs,): the mean over a pair's two spans of -log(exp(c1 c2) / sum of exp(c1 c)), over the other spans c but for
    those of its own document.

    first, second: (pairs, dimensions); owned_by: (pairs,) numbers of their documents; together: over the spans of all
    processes, which must all ask. Source: coCondenser, eq. 6.
    """
    with torch.autocast(first.device.type, enabled=False):
        spans = torch.stack([first.float(), second.float()], 1)  # (pairs, 2, dimensions)
        others, documents = (of_all(spans), of_all(owned_by)) if together else (spans, owned_by)
        every = others.flatten(0, 1)
        own = owned_by.repeat_interleave(2)[:, None] == documents.repeat_interleave(2)[None]
        products = (spans.flatten(0, 1) @ every.T).masked_fill(own, float("-inf"))
        right = (spans[:, :1] * spans[:, 1:]).sum(-1).expand(-1, 2).flatten()
        return (torch.logsumexp(torch.cat([right[:, None], products], 1), 1) - right).view(-1, 2).mean(1)


def _number(name: str) -> int:
    """Return a number for a document, the same in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big")
