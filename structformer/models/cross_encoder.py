"""The cross-encoder: one score for `[CLS] query [SEP] document [SEP]`, from the pooled [CLS] (Wikiformer, eq. 1-2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.first_tokens import Frame, first_tokens
from structformer.models.kinds import RankerOptions
from structformer.models.length_batches import length_buckets
from structformer.models.loading import load_classifier, load_tokenizer

QUERY_TOKENS = 30
LONG_QUERY_TOKENS = 255  # LTM's queries are documents
MAX_TOKENS = 512  # 30 + 479 + 3 special tokens: one document token fewer than the paper's 480, which would make 513

_TOKENIZE_BATCH = 512  # pairs tokenized together


class CrossEncoder:
    """Scores query-document pairs jointly; BertForSequenceClassification with one label."""

    kind = "cross-encoder"

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int = MAX_TOKENS, note: str = "") -> None:
        """note: what whoever trains it must know about its weights."""
        self.note = note
        self.model = model
        self.tokenizer = tokenizer
        self.max_tokens = min(max_tokens, int(getattr(model.config, "max_position_embeddings", max_tokens)))

    @classmethod
    def load(cls, location: str, max_tokens: int = MAX_TOKENS, *, model: Any = None) -> CrossEncoder:
        """From a folder or hub name. model: used in the place of the saved one. Raises ModelError, also when there is
        no head that ranks: a random one gives scores that mean nothing.
        """
        return cls(model or load_classifier(location)[0], load_tokenizer(location), max_tokens)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> CrossEncoder:
        """What training starts from: a base model without a head gets a fresh one."""
        model, note = load_classifier(location, fresh_head=True)
        return cls(model, load_tokenizer(location), options.document_tokens, note)

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
        room = self.max_tokens - self._frame.tokens
        most = [room - tokens if cut_documents else room for tokens in query_tokens]
        found = first_tokens(self.tokenizer, [*queries, *documents], [*query_tokens, *most])
        asked, read = found[: len(queries)], found[len(queries) :]
        return self._frame.framed(asked, [ids[: room - len(query)] for query, ids in zip(asked, read, strict=True)])

    @cached_property
    def _frame(self) -> Frame:
        return Frame.of_pairs(self.tokenizer)

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
                logits = self.model(**batch).logits.squeeze(-1)
                scores[[start + number for number in numbers]] = logits.float().cpu().numpy()
        self.model.train(training)
        return scores

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, documents) float32; slow, since every pair is read."""
        asked = [query for query in queries for _ in documents]
        return self.score(asked, [*documents] * len(queries)).reshape(len(queries), len(documents))

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and tokenizer; sentence-transformers' CrossEncoder loads them and gives the same
        logits.
        """
        # Without this, sentence-transformers would pass one-label scores through a sigmoid.
        self.model.config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity"}
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
