"""Attention that words get in a Transformer's last layer, computed in batches and kept on disk (HARP, Ma et al., CIKM
2021, eq. 1-3).
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.scratch import weights_digest

_WORD = re.compile(r"\w+")
_MAX_TOKENS = 256
_BATCH_TOKENS = 8192
_DIGITS = 4  # weights are rounded, so that how texts were batched cannot change which words are drawn
_KEPT = 4096  # requests in memory

Request = tuple[
    str, int, int
]  # a text and the span that attends, empty for [CLS]; a negative one asks for tokens by place


class AttentionWeights:
    """Word weights: the average over heads of the last layer's self-attention from the tokens of a span, or from [CLS],
    to each word's tokens, summed over a word's places and normalised to one.

    Texts are read up to 256 tokens. Results are kept in an SQLite file named by the model's weights.
    """

    def __init__(self, location: str, cache: Path) -> None:
        self._location = location
        self.fingerprint = weights_digest(location)
        cache.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(cache / f"attention-{self.fingerprint}.sqlite")
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("CREATE TABLE IF NOT EXISTS weights (key BLOB PRIMARY KEY, words TEXT) WITHOUT ROWID")
        self._model: Any = None
        self._tokenizer: Any = None
        self._known: dict[Request, dict[str, float]] = {}
        self.computed = 0  # requests that the cache could not answer

    def prepare(self, requests: Sequence[Request]) -> None:
        """Compute what the cache doesn't hold yet, in batches of texts of like length, and keep it."""
        if len(self._known) > _KEPT:
            self._known.clear()
        missing = [request for request in requests if request not in self._known and not self._stored(request)]
        by_text: dict[str, list[Request]] = {}
        for request in missing:
            by_text.setdefault(request[0], []).append(request)
        texts = sorted(by_text, key=lambda text: (len(text), text))
        for batch in _batches(texts):
            self._compute(batch, by_text)
        self._database.commit()

    def weights(self, text: str, start: int = 0, end: int = 0) -> Mapping[str, float]:
        """Weights by word in lower case; they sum to one. Empty for a text without a word."""
        request = (text, start, end)
        if request not in self._known and not self._stored(request):
            self.prepare([request])
        return self._known[request]

    def span_weights(self, text: str, spans: Sequence[tuple[int, int]]) -> list[float]:
        """Weights of a text's spans, [start, end) in characters: what their own tokens get from [CLS], of what all
        words get. Source: HARP, eq. 10.
        """
        request = (text, -1, -1)
        if request not in self._known and not self._stored(request):
            self.prepare([request])
        by_place = {tuple(map(int, place.split("-"))): weight for place, weight in self._known[request].items()}
        return [
            sum(weight for (first, last), weight in by_place.items() if first < end and last > start)
            for start, end in spans
        ]

    def _stored(self, request: Request) -> bool:
        row = self._database.execute("SELECT words FROM weights WHERE key = ?", (_key(request),)).fetchone()
        if row is not None:
            self._known[request] = json.loads(row[0])
        return row is not None

    @torch.inference_mode()
    def _compute(self, texts: Sequence[str], by_text: Mapping[str, list[Request]]) -> None:
        if self._model is None:
            self._model = (
                load_encoder(self._location, attention="eager")
                .eval()
                .to("cuda" if torch.cuda.is_available() else "cpu")
            )
            self._tokenizer = load_tokenizer(self._location)
        encoded = self._tokenizer(
            list(texts),
            truncation=True,
            max_length=_MAX_TOKENS,
            padding=True,
            return_tensors="pt",
            return_offsets_mapping=True,
        )
        offsets = encoded.pop("offset_mapping").tolist()
        attention = (
            self._model(**encoded.to(self._model.device), output_attentions=True).attentions[-1].mean(1).float().cpu()
        )
        for text, spans, rows in zip(texts, offsets, attention, strict=True):
            for request in by_text[text]:
                words = (
                    _place_weights(spans, rows)
                    if request[1] < 0
                    else _word_weights(text, spans, rows, request[1], request[2])
                )
                self._known[request] = words
                self._database.execute(
                    "INSERT OR REPLACE INTO weights VALUES (?, ?)", (_key(request), json.dumps(words))
                )
                self.computed += 1


def _word_weights(text: str, spans: list[list[int]], attention: torch.Tensor, start: int, end: int) -> dict[str, float]:
    """attention: (tokens, tokens), from row to column; spans: each token's characters, (0, 0) for special tokens and
    padding.
    """
    rows = (
        [place for place, (first, last) in enumerate(spans) if last > first and first < end and last > start]
        if end > start
        else []
    )
    received = attention[rows or [0]].mean(0).tolist()
    totals: dict[str, float] = {}
    words = [(found.start(), found.end(), found.group().lower()) for found in _WORD.finditer(text)]
    place = 0
    for (first, last), weight in zip(spans, received, strict=True):
        while place < len(words) and words[place][1] <= first:
            place += 1
        if last > first and place < len(words) and words[place][0] < last:
            totals[words[place][2]] = totals.get(words[place][2], 0.0) + weight
    total = sum(totals.values())
    return {word: round(weight / total, _DIGITS) for word, weight in sorted(totals.items())} if total > 0 else {}


def _place_weights(spans: list[list[int]], attention: torch.Tensor) -> dict[str, float]:
    """What each token gets from [CLS], by its characters "first-last"."""
    received = attention[0].tolist()
    found = {(first, last): weight for (first, last), weight in zip(spans, received, strict=True) if last > first}
    total = sum(found.values())
    return (
        {f"{first}-{last}": round(weight / total, _DIGITS) for (first, last), weight in found.items()} if total else {}
    )


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Texts in ascending length, in batches whose padded size is about _BATCH_TOKENS tokens of four characters."""
    batches: list[list[str]] = []
    for text in texts:
        tokens = min(_MAX_TOKENS, len(text) // 3 + 3)
        if batches and (len(batches[-1]) + 1) * tokens <= _BATCH_TOKENS:
            batches[-1].append(text)
        else:
            batches.append([text])
    return batches


def _key(request: Request) -> bytes:
    text, start, end = request
    return hashlib.blake2b(f"{start}/{end}/{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
