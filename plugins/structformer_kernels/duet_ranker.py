"""DUET behind the cross-encoder's interface: it scores pairs and trains on the same Examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from structformer.errors import ModelError
from structformer.models import CrossEncoder, RankerOptions, load_tokenizer

from structformer_kernels.duet import MAX_WORDS, DuetModel, DuetSizes, packed_word
from structformer_kernels.kinds import DUET
from structformer_kernels.ngraphs import commonest_ngraphs, count_ngraphs, read_ngraphs, words_of, write_ngraphs

CONFIG, WEIGHTS, NGRAPHS_FILE = "duet.json", "model.safetensors", "ngraphs.txt"
_FEWEST_WORDS = 3  # that a filter sees at once


class PackedWords:
    """Substitute for a tokenizer: words are packed, and rows of them filled up with zeros."""

    pad_token_id = 0

    def pad(self, rows: Mapping[str, Sequence[Sequence[int]]], padding: bool, return_tensors: str) -> Any:
        """Return rows as tensors of their longest, as a tokenizer's `pad` gives them."""
        from transformers import BatchEncoding

        longest = max(len(row) for row in rows["input_ids"])
        filled = {name: [[*row, *[0] * (longest - len(row))] for row in values] for name, values in rows.items()}
        return BatchEncoding(filled, tensor_type=return_tensors)


class DuetRanker(CrossEncoder):
    """DUET over a file of n-graphs, or over the commonest n-graphs of a base model's words."""

    kind = DUET

    def __init__(self, model: DuetModel, max_tokens: int = MAX_WORDS, note: str = "") -> None:
        super().__init__(model, PackedWords(), max_tokens, note)

    @classmethod
    def load(cls, location: str, max_tokens: int = MAX_WORDS) -> DuetRanker:
        """From a folder that `save` wrote; or a fresh one over a file of n-graphs, or over those that are commonest
        among the words of a base model's vocabulary. Raises ModelError, UsageError on a file that is not such a list.
        """
        folder = Path(location)
        if (folder / CONFIG).exists():
            try:
                sizes = DuetSizes(**json.loads((folder / CONFIG).read_text(encoding="utf-8")))
                model = DuetModel(read_ngraphs(folder / NGRAPHS_FILE), sizes)
                model.load_state_dict(load_file(folder / WEIGHTS))
            except (OSError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
                raise ModelError(f"{location} holds no DUET that can be loaded: {error}") from error
            return cls(model, max_tokens)
        sizes = DuetSizes(document_words=max(_FEWEST_WORDS, min(max_tokens, MAX_WORDS)))
        if folder.is_file():
            return cls(DuetModel(read_ngraphs(folder), sizes), max_tokens)
        ngraphs = _of_vocabulary(location)
        note = (
            f"n-graphs: the {len(ngraphs):,} commonest of the base model's words; --base-model FILE names others, and "
            "structformer ngraphs FILE writes the corpus's"
        )
        return cls(DuetModel(ngraphs, sizes), max_tokens, note)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> DuetRanker:
        """Return the ranker that training starts from."""
        return cls.load(location, options.document_tokens)

    def encode_pairs(
        self,
        queries: Sequence[str],
        documents: Sequence[str],
        query_tokens: Sequence[int] | None = None,
        *,
        cut_documents: bool = False,
    ) -> dict[str, list[list[int]]]:
        """Packed words of the pairs, by feature; queries and documents are cut to the model's words."""
        sizes: DuetSizes = self.model.sizes
        encoded: dict[str, list[list[int]]] = {"input_ids": [], "token_type_ids": [], "attention_mask": []}
        limits = [sizes.query_words] * len(queries) if query_tokens is None else query_tokens
        for query, document, limit in zip(queries, documents, limits, strict=True):
            asked = words_of(query)[: min(limit, sizes.query_words)]
            read = words_of(document)[: sizes.document_words]
            packed = [(*packed_word(word), 0) for word in asked] + [(*packed_word(word), 1) for word in read]
            packed = packed or [(0, 0, 0)]
            encoded["input_ids"].append([first for first, _, _ in packed])
            encoded["token_type_ids"].append([2 * rest + side for _, rest, side in packed])
            encoded["attention_mask"].append([int(first > 0) for first, _, _ in packed])
        return encoded

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), sizes and n-graphs."""
        (folder / CONFIG).write_text(json.dumps(asdict(self.model.sizes), indent=2) + "\n", encoding="utf-8")
        write_ngraphs(folder / NGRAPHS_FILE, self.model.ngraphs)
        state: dict[str, torch.Tensor] = self.model.state_dict()
        save_file({name: value.contiguous() for name, value in state.items()}, folder / WEIGHTS)


def _of_vocabulary(location: str) -> list[str]:
    """The commonest n-graphs of the whole words that a base model's tokenizer has. Raises ModelError without any."""
    vocabulary = load_tokenizer(location).get_vocab()
    words = (word for word in vocabulary if words_of(word) == [word.lower()])  # no signs, no ends of words
    ngraphs = commonest_ngraphs(count_ngraphs(words))
    if not ngraphs:
        raise ModelError(f"{location} has no words of a to z and 0 to 9 to take n-graphs from: name a file of them")
    return ngraphs
