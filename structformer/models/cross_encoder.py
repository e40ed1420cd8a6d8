"""The cross-encoder: one score for `[CLS] query [SEP] document [SEP]`, from the pooled [CLS] (Wikiformer, eq. 1-2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.kinds import RankerOptions
from structformer.models.length_batches import length_buckets
from structformer.models.loading import load_classifier, load_tokenizer

QUERY_TOKENS = 30
_SPECIAL_TOKENS = 3  # [CLS] and two [SEP]
LONG_QUERY_TOKENS = 255  # LTM's queries are documents
MAX_TOKENS = 512  # 30 + 479 + 3 special tokens: one document token fewer than the paper's 480, which would make 513

_TOKENIZE_BATCH = 512  # pairs tokenized together


class CrossEncoder:
    """Scores query-document pairs jointly; BertForSequenceClassification with one label."""

    kind = "cross-encoder"

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int = MAX_TOKENS) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.max_tokens = min(max_tokens, int(getattr(model.config, "max_position_embeddings", max_tokens)))

    @classmethod
    def load(cls, location: str, max_tokens: int = MAX_TOKENS, *, model: Any = None) -> CrossEncoder:
        """From a folder or hub name; a base model without a head gets a fresh one. model: used in the place of the
        saved one. Raises ModelError.
        """
        return cls(model or load_classifier(location), load_tokenizer(location), max_tokens)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> CrossEncoder:
        """What training starts from."""
        return cls.load(location, options.document_tokens)

    def encode_pairs(
        self,
        queries: Sequence[str],
        documents: Sequence[str],
        query_tokens: Sequence[int],
        *,
        cut_documents: bool = False,
    ) -> dict[str, list[list[int]]]:
        """Token ids of the pairs without padding, by feature; queries are cut to so many tokens each, documents to what
        is left.

        cut_documents: as if queries had all of their tokens, so that documents of 512 tokens are cut to 479 beside a
        query of at most 30, and to 254 beside one of 255 (Wikiformer, section "Implementation Details").
        """
        if cut_documents:
            left = [self.max_tokens - _SPECIAL_TOKENS - tokens for tokens in query_tokens]
            documents = self._shorten(documents, left)
        encoded = self.tokenizer(
            self._shorten(queries, query_tokens),
            list(documents),
            padding=False,
            truncation="only_second",
            max_length=self.max_tokens,
        )
        return {name: list(values) for name, values in encoded.items()}

    @torch.inference_mode()
    def score(
        self, queries: Sequence[str], documents: Sequence[str], query_tokens: int | None = None
    ) -> npt.NDArray[np.float32]:
        """(pairs,) float32 scores; pairs of like length go through the model together, so that little is padding.

        query_tokens: queries are cut after so many; None cuts only those that would leave documents less than half.
        """
        training = self.model.training
        limit = query_tokens or min(LONG_QUERY_TOKENS, self.max_tokens // 2 - 1)
        self.model.eval()
        scores = np.zeros(len(documents), np.float32)
        for start in range(0, len(documents), _TOKENIZE_BATCH):
            chunk = slice(start, start + _TOKENIZE_BATCH)
            encoded = self.encode_pairs(queries[chunk], documents[chunk], [limit] * len(documents[chunk]))
            for numbers in length_buckets([len(ids) for ids in encoded["input_ids"]], self.model.device.type):
                bucket = {name: [values[number] for number in numbers] for name, values in encoded.items()}
                batch = self.tokenizer.pad(bucket, padding=True, return_tensors="pt").to(self.model.device)
                scores[[start + number for number in numbers]] = (
                    self.model(**batch).logits.squeeze(-1).float().cpu().numpy()
                )
        self.model.train(training)
        return scores

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, documents) float32; slow, since every pair is read."""
        pairs = [(query, document) for query in queries for document in documents]
        return self.score([query for query, _ in pairs], [document for _, document in pairs]).reshape(
            len(queries), len(documents)
        )

    def _shorten(self, queries: Sequence[str], tokens: Sequence[int]) -> list[str]:
        """Queries cut after so many tokens, at the token's end in the text, so that they give the same tokens again."""
        known = list(dict.fromkeys(queries))
        encoded = self.tokenizer(
            known, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        offsets = dict(zip(known, encoded["offset_mapping"], strict=True))
        return [
            query[: offsets[query][limit - 1][1]] if len(offsets[query]) > limit else query
            for query, limit in zip(queries, tokens, strict=True)
        ]

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and tokenizer; sentence-transformers' CrossEncoder loads them and gives the same
        logits.
        """
        # Without this, sentence-transformers would pass one-label scores through a sigmoid.
        self.model.config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity"}
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
