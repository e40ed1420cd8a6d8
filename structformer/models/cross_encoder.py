"""The cross-encoder: one score for `[CLS] query [SEP] document [SEP]`, from the pooled [CLS] (Wikiformer, eq. 1-2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.first_tokens import MAX_TOKENS, PairTokens, length_buckets, longest_input
from structformer.models.kinds import RankerOptions
from structformer.models.loading import load_classifier, load_tokenizer

_TOKENIZE_BATCH = 512  # pairs tokenized together


class CrossEncoder(PairTokens):
    """Scores query-document pairs jointly; BertForSequenceClassification with one label."""

    kind = "cross-encoder"

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int = MAX_TOKENS, note: str = "") -> None:
        """note: what whoever trains it must know about its weights."""
        super().__init__(tokenizer, longest_input(model), max_tokens)
        self.note = note
        self.model = model

    @classmethod
    def load(cls, location: str, max_tokens: int = MAX_TOKENS) -> CrossEncoder:
        """Load a folder or hub name. Raises ModelError, also without a head that ranks: a random one means nothing."""
        return cls(load_classifier(location)[0], load_tokenizer(location), max_tokens)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> CrossEncoder:
        """Load what training starts from: a base model without a head gets a fresh one."""
        model, note = load_classifier(location, fresh_head=True)
        return cls(model, load_tokenizer(location), options.document_tokens, note)

    @torch.inference_mode()
    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (pairs,) float32 scores; pairs of like length go through the model together."""
        training = self.model.training
        self.model.eval()
        scores = np.zeros(len(documents), np.float32)
        for start in range(0, len(documents), _TOKENIZE_BATCH):
            chunk = slice(start, start + _TOKENIZE_BATCH)
            encoded = self.encode_pairs(queries[chunk], documents[chunk])
            for numbers in length_buckets([len(ids) for ids in encoded["input_ids"]], self.model.device.type):
                bucket = {name: [values[number] for number in numbers] for name, values in encoded.items()}
                batch = self.tokenizer.pad(bucket, padding=True, return_tensors="pt").to(self.model.device)
                logits = self.model(**batch).logits.squeeze(-1)
                scores[[start + number for number in numbers]] = logits.float().cpu().numpy()
        self.model.train(training)
        return scores

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (queries, documents) float32; slow, since every pair is read."""
        asked = [query for query in queries for _ in documents]
        return self.score(asked, [*documents] * len(queries)).reshape(len(queries), len(documents))

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and tokenizer, as sentence-transformers' CrossEncoder loads them."""
        # Without this, sentence-transformers would pass one-label scores through a sigmoid.
        self.model.config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity"}
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
