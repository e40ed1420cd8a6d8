"""The self-attention of an encoder's last layer, and what it says of words: what [CLS] gives to a word's first token
(B-PROP, Ma et al., SIGIR 2021).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from structformer.models.length_batches import length_buckets
from structformer.models.loading import load_encoder, load_tokenizer

MAX_TOKENS = 512
# Encoders whose last layer can be taken off: it has a query and a key projection, and nothing else decides the weights.
_BERT_LIKE = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})
_BATCH_TOKENS = {"cpu": 4096, "cuda": 65_536}
_CHARACTERS = 4  # a token's, about
_WORD = re.compile(r"[^\W_]+")


class LastAttention:
    """Computes attention of texts. Of BERT's relatives only the last layer's weights are computed: the layers before it
    run with torch's fused kernel, which keeps none, and what is behind the weights is left out. Other encoders give
    those of all layers, of which the last is taken. On a GPU in bfloat16, the weights themselves in float32.
    """

    def __init__(self, location: str, device: str) -> None:
        self._tokenizer = load_tokenizer(location)
        model = load_encoder(location)
        self._last: Any = None
        if model.config.model_type in _BERT_LIKE and not model.config.is_decoder:
            layers = model.encoder.layer
            self._last, model.encoder.layer = layers[-1].attention.self.eval().to(device), layers[:-1]
        else:
            model = load_encoder(location, attention="eager")
        self._model = model.eval().to(device)
        self.device = torch.device(device)

    @torch.inference_mode()
    def of(self, texts: Sequence[str], max_tokens: int) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Of each text its tokens' characters, (0, 0) for special tokens, and the weights from each token to each."""
        encoded = self._tokenizer(
            list(texts),
            truncation=True,
            max_length=max_tokens,
            padding=True,
            padding_side="right",
            return_tensors="pt",
            return_offsets_mapping=True,
        )
        offsets = encoded.pop("offset_mapping").numpy()
        lengths = encoded["attention_mask"].sum(1).tolist()
        weights = self._weights(encoded.to(self.device)).cpu().numpy()
        for spans, rows, length in zip(offsets, weights, lengths, strict=True):
            yield spans[:length], rows[:length, :length]

    def _weights(self, encoded: Any) -> torch.Tensor:
        """(texts, tokens, tokens)"""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type != "cpu"):
            if self._last is None:
                last: torch.Tensor = self._model(**encoded, output_attentions=True).attentions[-1]
                return last.float().mean(1)
            hidden = self._model(**encoded).last_hidden_state
            query, key = (self._heads(project(hidden)) for project in (self._last.query, self._last.key))
        scores = query.float() @ key.float().transpose(2, 3) * self._last.attention_head_size**-0.5
        seen = encoded["attention_mask"][:, None, None].bool()
        weights: torch.Tensor = scores.masked_fill(~seen, float("-inf")).softmax(-1).mean(1)
        return weights

    def _heads(self, projected: torch.Tensor) -> torch.Tensor:
        return projected.view(*projected.shape[:-1], -1, self._last.attention_head_size).transpose(1, 2)


def first_piece_attention(location: str, texts: Sequence[str]) -> list[tuple[int, dict[str, float]]]:
    """Of each text, in order, (number of tokens read, attention by word in lower case).

    Attention is the average over heads from [CLS] to the first token of each occurrence of the word, summed over these.
    Texts are read up to 512 tokens.
    """
    model = _loaded(location, "cuda" if torch.cuda.is_available() else "cpu")
    device = model.device.type
    found: list[tuple[int, dict[str, float]]] = [(0, {})] * len(texts)
    lengths = [min(MAX_TOKENS, len(text) // _CHARACTERS + 2) for text in texts]
    for numbers in length_buckets(lengths, device, _BATCH_TOKENS[device]):
        results = model.of([texts[number] for number in numbers], MAX_TOKENS)
        for number, (spans, weights) in zip(numbers, results, strict=True):
            found[number] = len(spans), _by_word(texts[number], spans.tolist(), weights[0].tolist())
    return found


_loaded = lru_cache(maxsize=1)(LastAttention)


def _by_word(text: str, spans: Sequence[Sequence[int]], received: Iterable[float]) -> dict[str, float]:
    """spans: each token's characters, (0, 0) for special tokens; received: what [CLS] gives to each."""
    totals: dict[str, float] = {}
    words = _WORD.finditer(text)
    word = next(words, None)
    for (first, last), weight in zip(spans, received, strict=True):
        while word is not None and word.end() <= first:
            word = next(words, None)
        if word is None:
            break
        if first <= word.start() < last:
            key = word.group().lower()
            totals[key] = totals.get(key, 0.0) + weight
            word = next(words, None)
    return dict(sorted(totals.items()))
