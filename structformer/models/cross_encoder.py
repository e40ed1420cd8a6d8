"""The cross-encoder: one score for `[CLS] query [SEP] document [SEP]`, from the pooled [CLS] (Wikiformer, eq. 1-2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.loading import load_classifier, load_tokenizer

QUERY_TOKENS = 30
LONG_QUERY_TOKENS = 255  # LTM's queries are documents
MAX_TOKENS = 512  # 30 + 479 + 3 special tokens: one document token fewer than the paper's 480, which would make 513


class CrossEncoder:
    """Scores query-document pairs jointly; BertForSequenceClassification with one label."""

    kind = "cross-encoder"

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int = MAX_TOKENS) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.max_tokens = min(max_tokens, int(getattr(model.config, "max_position_embeddings", max_tokens)))

    @classmethod
    def load(cls, location: str, max_tokens: int = MAX_TOKENS) -> CrossEncoder:
        """From a folder or hub name; a base model without a head gets a fresh one. Raises ModelError."""
        return cls(load_classifier(location), load_tokenizer(location), max_tokens)

    def logits(self, queries: Sequence[str], documents: Sequence[str], *, query_tokens: int = QUERY_TOKENS) -> torch.Tensor:
        """(pairs,) float scores, with gradients when they are enabled."""
        batch = self.tokenizer(
            self._shorten(queries, query_tokens),
            list(documents),
            padding=True,
            truncation="only_second",
            max_length=self.max_tokens,
            return_tensors="pt",
        ).to(self.model.device)
        scores: torch.Tensor = self.model(**batch).logits.squeeze(-1)
        return scores

    @torch.inference_mode()
    def score(self, queries: Sequence[str], documents: Sequence[str], batch_size: int | None = None) -> npt.NDArray[np.float32]:
        """(pairs,) float32 scores; pairs are batched by length, so that little is padding."""
        training = self.model.training
        self.model.eval()
        # On a CPU small batches of like length win over large ones, since less of them is padding.
        batch_size = batch_size or (8 if self.model.device.type == "cpu" else 64)
        scores = np.zeros(len(documents), np.float32)
        order = sorted(range(len(documents)), key=lambda number: len(queries[number]) + len(documents[number]))
        for start in range(0, len(order), batch_size):
            numbers = order[start : start + batch_size]
            logits = self.logits([queries[number] for number in numbers], [documents[number] for number in numbers])
            scores[numbers] = logits.float().cpu().numpy()
        self.model.train(training)
        return scores

    def _shorten(self, queries: Sequence[str], tokens: int) -> list[str]:
        """Queries cut after so many tokens, at the token's end in the text, so that they give the same tokens again."""
        encoded = self.tokenizer(list(queries), add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False)
        return [
            query[: offsets[tokens - 1][1]] if len(offsets) > tokens else query
            for query, offsets in zip(queries, encoded["offset_mapping"], strict=True)
        ]

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and tokenizer; sentence-transformers' CrossEncoder loads them and gives the same logits."""
        # Without this, sentence-transformers would pass one-label scores through a sigmoid.
        self.model.config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity"}
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
