"""Behavior that sentence encoders share, whatever runs them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.models.plain_tokenizer import Prompt
from structformer.models.sentence_modules import DOCUMENT, DOCUMENT_TOKENS, QUERY, QUERY_TOKENS, SIDES, SentenceModules

Vectors = npt.NDArray[np.float32]
SeeTokens = Callable[[int, Vectors], None]
"""Called with each text's place and its token vectors, (tokens, hidden) float32."""


class SentenceEncoder(ABC):
    """Encodes queries and documents into vectors whose inner product is their score."""

    kind = "bi-encoder"
    modules: SentenceModules
    """Modules around the Transformer."""
    passages: Any
    """The encoder of documents if they have their own, else None."""
    tokenizer: Any

    @abstractmethod
    def encode(
        self, texts: Sequence[str], max_tokens: int, prompt: Prompt | None = None, see: SeeTokens | None = None
    ) -> Vectors:
        """Return (texts, dimensions) float32, unit length, of each text's first tokens after the prompt."""

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts before texts, by side: "query", "document"."""
        pooled = self.modules.include_prompt
        return {side: Prompt.of(self.modules.prompt(side), self.tokenizer, pooled=pooled) for side in SIDES}

    def encode_queries(self, queries: Sequence[str]) -> Vectors:
        """Return vectors of queries, read up to QUERY_TOKENS beside the prompt."""
        return self._prompted(queries, QUERY_TOKENS, self.prompts[QUERY])

    def encode_documents(self, documents: Sequence[str]) -> Vectors:
        """Return vectors of documents (index units), read up to DOCUMENT_TOKENS beside the prompt."""
        encoder: SentenceEncoder = self.passages or self
        return encoder._prompted(documents, DOCUMENT_TOKENS, encoder.prompts[DOCUMENT])

    def encode_queries_with_tokens(self, queries: Sequence[str], see: SeeTokens) -> Vectors:
        """Return what `encode_queries` does, and show token vectors."""
        return self.encode(queries, QUERY_TOKENS, self.prompts[QUERY], see)

    def encode_documents_with_tokens(self, documents: Sequence[str], see: SeeTokens) -> Vectors:
        """Return what `encode_documents` does, and show token vectors."""
        encoder: SentenceEncoder = self.passages or self
        return encoder.encode(documents, DOCUMENT_TOKENS, encoder.prompts[DOCUMENT], see)

    def _prompted(self, texts: Sequence[str], max_tokens: int, prompt: Prompt) -> Vectors:
        """Vectors of texts after a prompt. Rankers of plugins encode texts alone, and need not know of prompts."""
        return self.encode(texts, max_tokens, prompt) if prompt.text else self.encode(texts, max_tokens)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Vectors:
        """Return (pairs,) float32 cosines; equal queries are encoded once."""
        rows = {query: row for row, query in enumerate(dict.fromkeys(queries))}
        vectors = self.encode_queries(list(rows))[[rows[query] for query in queries]]
        scores: Vectors = (vectors * self.encode_documents(documents)).sum(1)
        return scores
