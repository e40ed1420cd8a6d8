"""What [CLS] gives to each word of a text in a Transformer's last layer, by the word's first token (B-PROP, Ma et al.,
SIGIR 2021).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import torch

from structformer.models.attention import LastAttention
from structformer.models.length_batches import length_buckets

MAX_TOKENS = 512
_BATCH_TOKENS = {"cpu": 4096, "cuda": 65_536}
_CHARACTERS = 4  # a token's, about
_WORD = re.compile(r"[^\W_]+")


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


@lru_cache(maxsize=1)
def _loaded(location: str, device: str) -> LastAttention:
    return LastAttention(location, device)


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
