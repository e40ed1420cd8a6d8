"""Attention that words get in an encoder's last layer, computed in batches (HARP, Ma et al., CIKM 2021, eq. 1-3), and
what [CLS] gives to their first tokens (B-PROP, Ma et al., SIGIR 2021).

Where it is kept on disk, it is as float16 numbers: of a text's words in the order in which they first occur there, so
that no word is written.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structformer.models.first_tokens import length_buckets
from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.scratch import weights_digest

# Encoders whose last layer can be taken off: it has a query and a key projection, and nothing else decides the weights.
_BERT_LIKE = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})
_WORD = re.compile(r"\w+")
_MAX_TOKENS = 256
_BATCH_TOKENS = {"cpu": 8192, "cuda": 65_536}
# The same where first tokens are looked at.
MAX_TOKENS = 512
_FIRST_BATCH_TOKENS = {"cpu": 4096, "cuda": 65_536}
_CHARACTERS = 4  # a token's, about
_PLAIN_WORD = re.compile(r"[^\W_]+")
_BY_DEVICE = 2  # processes that feed a device: one prepares texts while the other's go through the model
_MOST_PROCESSES = 16  # on processors alone, each with a model in memory, unless more are asked for
_KEPT = 4096  # requests in memory

Request = tuple[str, int, int]  # as structformer.sampling.neighbourhood has it


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
        """Return (texts, tokens, tokens)"""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type != "cpu"):
            if self._last is None:
                last: torch.Tensor = self._model(**encoded, output_attentions=True).attentions[-1]
                return last.float().mean(1)
            hidden = self._model(**encoded).last_hidden_state
            heads = (*hidden.shape[:-1], -1, self._last.attention_head_size)
            query, key = (proj(hidden).view(heads).transpose(1, 2) for proj in (self._last.query, self._last.key))
        scores = query.float() @ key.float().transpose(2, 3) * self._last.attention_head_size**-0.5
        seen = encoded["attention_mask"][:, None, None].bool()
        weights: torch.Tensor = scores.masked_fill(~seen, float("-inf")).softmax(-1).mean(1)
        return weights


_loaded = lru_cache(maxsize=1)(LastAttention)


class AttentionWeights:
    """Word weights: the average over heads of the last layer's self-attention from the tokens of a span, or from [CLS],
    to each word's tokens, summed over a word's places and normalised to one.

    Texts are read up to 256 tokens. On processors one thread computes, so that how many processes share the work
    changes no bit. cache: where `folder` is, in which drawing keeps what it computed.
    """

    def __init__(self, location: str, cache: Path, fingerprint: str = "") -> None:
        self._location = location
        self._cache = cache
        self.fingerprint = fingerprint or weights_digest(location)
        self.folder = cache / f"attention-{self.fingerprint}"
        self.place = 0
        self._known: dict[Request, np.ndarray[Any, Any]] = {}
        self.computed = 0  # requests that were not known

    def __reduce__(self) -> tuple[Any, ...]:
        return AttentionWeights, (self._location, self._cache, self.fingerprint)

    def processes(self, asked: int | None) -> int:
        """Return how many processes share the work. asked: what the user wants."""
        devices = torch.cuda.device_count()
        return asked or (_BY_DEVICE * devices if devices else min(_MOST_PROCESSES, os.cpu_count() or 1))

    def prepare(self, requests: Sequence[Request]) -> None:
        """Compute what isn't known yet, and remember it while it is asked for."""
        if len(self._known) > _KEPT:
            self._known.clear()
        missing = [request for request in requests if request not in self._known]
        self._known.update(zip(missing, self.compute(missing), strict=True))

    def know(self, rows: Mapping[Request, np.ndarray[Any, Any]]) -> None:
        """Take over what `compute` gave earlier, in the place of what is remembered."""
        self._known = dict(rows)

    def weights(self, text: str, start: int = 0, end: int = 0) -> Mapping[str, float]:
        """Return weights by word in lower case; they sum to one. Empty for a text without a word."""
        words, _ = _words(text)
        if (request := (text, start, end)) not in self._known:
            self.prepare([request])
        row = self._known[request].tolist()
        return {word: weight for word, weight in zip(words, row, strict=False) if weight > 0}

    def span_weights(self, text: str, spans: Sequence[tuple[int, int]]) -> list[float]:
        """Return the shares of [CLS]'s attention that a text's spans, [start, end), get (HARP, eq. 10)."""
        self.prepare([(text, ~start, ~end) for start, end in spans])
        return [float(self._known[text, ~start, ~end][0]) for start, end in spans]

    def first_pieces(self, texts: Sequence[str]) -> list[tuple[int, dict[str, float]]]:
        """(tokens read, up to 512; what [CLS] gives each word's first tokens, by word in lower case) of each text."""
        model = _loaded(self._location, "cuda" if torch.cuda.is_available() else "cpu")
        device = model.device.type
        read: list[tuple[int, dict[str, float]]] = [(0, {})] * len(texts)
        lengths = [min(MAX_TOKENS, len(text) // _CHARACTERS + 2) for text in texts]
        for numbers in length_buckets(lengths, device, _FIRST_BATCH_TOKENS[device]):
            results = model.of([texts[number] for number in numbers], MAX_TOKENS)
            for number, (spans, weights) in zip(numbers, results, strict=True):
                read[number] = len(spans), _by_word(texts[number], spans.tolist(), weights[0].tolist())
        return read

    def compute(self, requests: Sequence[Request]) -> list[np.ndarray[Any, Any]]:
        """Return what is asked for as float16, in batches of texts of like length that depend on the requests alone."""
        by_text: dict[str, list[int]] = {}
        for number, request in enumerate(requests):
            by_text.setdefault(request[0], []).append(number)
        weights = [np.zeros(0, np.float16)] * len(requests)
        texts = sorted((text for text in by_text if text), key=lambda text: (len(text), text))
        self.computed += sum(len(by_text[text]) for text in texts)
        if not texts:
            return weights
        devices = torch.cuda.device_count()
        model = _loaded(self._location, f"cuda:{self.place % devices}" if devices else "cpu")
        with _one_thread():
            for batch in _batches(texts, _BATCH_TOKENS[model.device.type]):
                for text, (spans, attention) in zip(batch, model.of(batch, _MAX_TOKENS), strict=True):
                    asked = [requests[number][1:] for number in by_text[text]]
                    for number, row in zip(by_text[text], _rows(text, spans, attention, asked), strict=True):
                        weights[number] = row
        return weights


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _words(text: str) -> tuple[dict[str, int], list[tuple[int, int, int]]]:
    """Return numbers of a text's words in lower case, by first place; and (start, end, number) of each place."""
    numbers: dict[str, int] = {}
    places = [
        (found.start(), found.end(), numbers.setdefault(found.group().lower(), len(numbers)))
        for found in _WORD.finditer(text)
    ]
    return numbers, places


def _rows(
    text: str, spans: np.ndarray[Any, Any], attention: np.ndarray[Any, Any], asked: Sequence[tuple[int, int]]
) -> Iterator[np.ndarray[Any, Any]]:
    """Yield each request's row. attention: (tokens, tokens), row to column; spans: characters, (0, 0) if special."""
    numbers, places = _words(text)
    first, last = spans[:, 0], spans[:, 1]
    of_text = last > first
    ends = np.array([end for _, end, _ in places] or [0])
    # Each token is of the first word that ends behind its beginning, if that word begins before its end.
    of_word = np.minimum(np.searchsorted(ends, first, side="right"), len(ends) - 1)
    begins = np.array([begin for begin, _, _ in places] or [0])
    inside = of_text & (begins[of_word] < last) & (ends[of_word] > first) & bool(places)
    of_tokens = np.array([number for _, _, number in places] or [0])[of_word][inside]
    for start, end in asked:
        if start < 0:
            wanted = of_text & (first < ~end) & (last > ~start)
            part, whole = attention[0][wanted].sum(), attention[0][of_text].sum()
            yield np.array([part / whole if whole > 0 else 0.0], np.float16)
            continue
        rows = np.flatnonzero(of_text & (first < end) & (last > start)) if end > start else np.zeros(0, np.intp)
        received = attention[rows if len(rows) else [0]].mean(0)[inside]
        totals = np.bincount(of_tokens, received, len(numbers))
        yield np.trim_zeros(totals / (totals.sum() or 1.0), "b").astype(np.float16)


def _batches(texts: Sequence[str], tokens_at_once: int) -> list[list[str]]:
    """Return texts in ascending length, in batches whose padded size is about so many tokens of four characters."""
    batches: list[list[str]] = []
    for text in texts:
        tokens = min(_MAX_TOKENS, len(text) // 3 + 3)
        if batches and (len(batches[-1]) + 1) * tokens <= tokens_at_once:
            batches[-1].append(text)
        else:
            batches.append([text])
    return batches


def _by_word(text: str, spans: Sequence[Sequence[int]], received: Iterable[float]) -> dict[str, float]:
    """spans: each token's characters, (0, 0) for special tokens; received: what [CLS] gives to each."""
    totals: dict[str, float] = {}
    words = _PLAIN_WORD.finditer(text)
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
