"""What sentence encoders share, whatever runs them: prompts, and a folder's tokenizer without transformers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError
from structformer.models import sentence_modules

Vectors = npt.NDArray[np.float32]
SeeTokens = Callable[[int, Vectors], None]
"""Called with each text's place and its token vectors, (tokens, hidden) float32."""
_FILE = "tokenizer.json"


class PlainTokenizer:
    """A tokenizer.json, whose texts are neither padded nor cut."""

    def __init__(self, location: str, body: str = "", *, lower_case: bool = False) -> None:
        """body: the folder within; lower_case: lower-case all. Raises OtherForm if missing, ModelError if broken."""
        from tokenizers import Tokenizer

        path = sentence_modules.model_file(location, sentence_modules.in_folder(body, _FILE))
        if path is None:
            raise sentence_modules.OtherForm(f"{location} has no {sentence_modules.in_folder(body, _FILE)}")
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers has no error of its own
            raise ModelError(f"{path} cannot be read ({error}): fetch the model again") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if lower_case:
            read_in_lower_case(self._tokenizer)
        settings = sentence_modules.read_model_json(location, sentence_modules.in_folder(body, "config.json"))
        padding = settings.get("pad_token_id") if isinstance(settings, dict) else None
        self.padding = padding if isinstance(padding, int) else 0
        """Number of the token that texts are filled up with."""

    def __call__(
        self, text: str | Sequence[str], pair: str | None = None, *, add_special_tokens: bool = True, **_: Any
    ) -> dict[str, Any]:
        """Return token ids, types and which tokens are special, of a text or a pair; of several texts the ids alone."""
        if not isinstance(text, str):
            rows = self._tokenizer.encode_batch_fast(list(text), add_special_tokens=add_special_tokens)
            return {"input_ids": [row.ids for row in rows]}
        encoded = self._tokenizer.encode(text, pair, add_special_tokens=add_special_tokens)
        return {
            "input_ids": encoded.ids,
            "token_type_ids": encoded.type_ids,
            "special_tokens_mask": encoded.special_tokens_mask,
        }


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt before the texts of a side."""

    text: str = ""
    tokens: int = 0
    """How many it has; texts are not cut to make room for them."""
    skipped: int = 0
    """How many of a text's first tokens are not pooled."""

    @classmethod
    def of(cls, text: str, tokenizer: Any, *, pooled: bool) -> Prompt:
        """Return a prompt as a tokenizer cuts it. pooled: whether its tokens are pooled."""
        if not text:
            return cls()
        alone = tokenizer(text, return_special_tokens_mask=True)
        tokens = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        return cls(text, tokens, 0 if pooled else len(alone["input_ids"]) - alone["special_tokens_mask"][-1])


def read_in_lower_case(tokenizer: Any) -> None:
    """Let a tokenizer of the library tokenizers lower-case texts, in place, unless it does so already."""
    from tokenizers import normalizers

    def lowers(normalizer: Any) -> bool:
        parts: Any = normalizer if isinstance(normalizer, normalizers.Sequence) else ()
        return (
            isinstance(normalizer, normalizers.Lowercase)
            or bool(getattr(normalizer, "lowercase", False))
            or any(map(lowers, parts))
        )

    if not lowers(tokenizer.normalizer):
        others = [] if tokenizer.normalizer is None else [tokenizer.normalizer]
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *others])


class SentenceEncoder(ABC):
    """Encodes queries and documents into vectors whose inner product is their score."""

    kind = "bi-encoder"
    modules: sentence_modules.SentenceModules
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
        return {
            side: Prompt.of(self.modules.prompt(side), self.tokenizer, pooled=pooled) for side in sentence_modules.SIDES
        }

    def encode_queries(self, queries: Sequence[str]) -> Vectors:
        """Return vectors of queries, read up to QUERY_TOKENS beside the prompt."""
        return self._prompted(queries, sentence_modules.QUERY_TOKENS, self.prompts[sentence_modules.QUERY])

    def encode_documents(self, documents: Sequence[str]) -> Vectors:
        """Return vectors of documents (index units), read up to DOCUMENT_TOKENS beside the prompt."""
        encoder: SentenceEncoder = self.passages or self
        return encoder._prompted(
            documents, sentence_modules.DOCUMENT_TOKENS, encoder.prompts[sentence_modules.DOCUMENT]
        )

    def encode_queries_with_tokens(self, queries: Sequence[str], see: SeeTokens) -> Vectors:
        """Return what `encode_queries` does, and show token vectors."""
        return self.encode(queries, sentence_modules.QUERY_TOKENS, self.prompts[sentence_modules.QUERY], see)

    def encode_documents_with_tokens(self, documents: Sequence[str], see: SeeTokens) -> Vectors:
        """Return what `encode_documents` does, and show token vectors."""
        encoder: SentenceEncoder = self.passages or self
        return encoder.encode(
            documents, sentence_modules.DOCUMENT_TOKENS, encoder.prompts[sentence_modules.DOCUMENT], see
        )

    def _prompted(self, texts: Sequence[str], max_tokens: int, prompt: Prompt) -> Vectors:
        """Vectors of texts after a prompt. Rankers of plugins encode texts alone, and need not know of prompts."""
        return self.encode(texts, max_tokens, prompt) if prompt.text else self.encode(texts, max_tokens)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Vectors:
        """Return (pairs,) float32 cosines; equal queries are encoded once."""
        rows = {query: row for row, query in enumerate(dict.fromkeys(queries))}
        vectors = self.encode_queries(list(rows))[[rows[query] for query in queries]]
        scores: Vectors = (vectors * self.encode_documents(documents)).sum(1)
        return scores
