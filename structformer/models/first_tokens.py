"""Texts as token ids: each read once, no further than needed, framed by special tokens, in batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

QUERY_TOKENS = 30
LONG_QUERY_TOKENS = 255  # LTM's queries are documents
MAX_TOKENS = 512  # 30 + 479 + 3 special tokens: one document token fewer than the paper's 480, which would make 513

_CHARACTERS = 6  # a token's, at first; where that proves too few, twice as many are read
_WIDE_CHARACTERS = 2  # of scripts whose characters take three bytes, as Chinese
# Where a text is cut inside a word, its last tokens may not be the whole text's: one word has at most 100 of BERT's.
_OF_A_WORD = 128
# Tokens of a batch at most, padding included, and those that a model reads in the time which it takes to begin another.
# Small batches stay in a CPU's caches. A GPU waits for Python: on an H200, BERT-base's layers and back took 40 ms to
# launch, in which it reads 18,000 tokens; slower GPUs read fewer.
_CPU = 1024, 128
_GPU = 65_536, 8192


def longest_input(model: Any) -> int | None:
    """Return the most tokens that a Transformer has positions for; None if its config does not say."""
    places: int | None = getattr(model.config, "max_position_embeddings", None)
    embeddings = getattr(getattr(model, "base_model", model), "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return places - padding - 1 if places and padding is not None else places  # RoBERTa counts from after its padding


def first_tokens(tokenizer: Any, texts: Sequence[str], limits: Sequence[int]) -> list[list[int]]:
    """Return ids of each text's first `limit` tokens, as the whole text's begin; long texts are read only as far."""
    wanted: dict[str, int] = {}
    for text, limit in zip(texts, limits, strict=True):
        wanted[text] = max(limit, wanted.get(text, 0))
    by_text: dict[str, list[int]] = {}
    reach = {text: _reach(text, limit) for text, limit in wanted.items()}
    while reach:
        heads = [_head(text, characters) for text, characters in reach.items()]
        rows = tokenizer(
            [head for head, _ in heads],
            add_special_tokens=False,
            truncation=False,
            verbose=False,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        short: dict[str, int] = {}
        for (text, characters), (head, at_space), ids in zip(reach.items(), heads, rows, strict=True):
            enough = wanted[text] + (0 if at_space else _OF_A_WORD)
            if len(head) == len(text) or len(ids) >= enough:
                by_text[text] = ids
            else:
                short[text] = 2 * characters
        reach = short
    return [by_text[text][:limit] for text, limit in zip(texts, limits, strict=True)]


def _reach(text: str, limit: int) -> int:
    """Return the characters to read at first."""
    sample = text[:limit]
    wide = len(sample.encode("utf-8", "replace")) > 2 * len(sample)
    return _OF_A_WORD + limit * (_WIDE_CHARACTERS if wide else _CHARACTERS)


def _head(text: str, characters: int) -> tuple[str, bool]:
    """Return (a text's beginning, whether it ends with a whole word)."""
    if len(text) <= characters:
        return text, True
    space = max(text.rfind(" ", characters // 2, characters), text.rfind("\n", characters // 2, characters))
    return (text[:characters], False) if space < 0 else (text[:space].rstrip(" \n"), True)


@dataclass(frozen=True, slots=True)
class Frame:
    """Tokens that a tokenizer puts around those of a text, or of a pair."""

    before: tuple[tuple[int, int], ...]
    """Special tokens, each with its type."""
    between: tuple[tuple[int, int], ...]
    after: tuple[tuple[int, int], ...]
    types: tuple[int, int]
    """Type of the first text's own tokens, and of the second's."""
    typed: bool
    """Whether the model wants types."""

    @classmethod
    def of_texts(cls, tokenizer: Any) -> Frame:
        """Around one text."""
        marked, places = _marked(tokenizer, "a")
        start, end = places[0], places[-1] + 1
        return cls(tuple(marked[:start]), (), tuple(marked[end:]), (marked[start][1], 0), _typed(tokenizer))

    @classmethod
    def of_pairs(cls, tokenizer: Any) -> Frame:
        """Around two texts, the query and the document."""
        marked, places = _marked(tokenizer, "a", "a")
        half = len(places) // 2
        first, second = places[:half], places[half:]
        between = marked[first[-1] + 1 : second[0]]
        types = (marked[first[0]][1], marked[second[0]][1])
        ends = tuple(marked[: first[0]]), tuple(between), tuple(marked[second[-1] + 1 :])
        return cls(*ends, types, _typed(tokenizer))

    @property
    def tokens(self) -> int:
        """The number of special tokens."""
        return len(self.before) + len(self.between) + len(self.after)

    def framed(self, firsts: Sequence[list[int]], seconds: Sequence[list[int]] = ()) -> dict[str, list[list[int]]]:
        """Ids by feature, unpadded, of texts, or pairs with `seconds`, between the tokenizer's special tokens."""
        before, between, after = ([token for token, _ in part] for part in (self.before, self.between, self.after))
        pairs = list(zip(firsts, seconds or [[]] * len(firsts), strict=True))
        ids = [[*before, *first, *between, *second, *after] for first, second in pairs]
        features = {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids]}
        if self.typed:
            heads, middles, ends = ([kind for _, kind in part] for part in (self.before, self.between, self.after))
            one, two = self.types
            features["token_type_ids"] = [
                [*heads, *[one] * len(first), *middles, *[two] * len(second), *ends] for first, second in pairs
            ]
        return features


def _marked(tokenizer: Any, *texts: str) -> tuple[list[tuple[int, int]], list[int]]:
    """Return (the tokens of the texts with their types, the places of those that are not special)."""
    encoded = tokenizer(*texts, return_special_tokens_mask=True)
    kinds = encoded.get("token_type_ids", [0] * len(encoded["input_ids"]))
    places = [place for place, special in enumerate(encoded["special_tokens_mask"]) if not special]
    return list(zip(encoded["input_ids"], kinds, strict=True)), places


def _typed(tokenizer: Any) -> bool:
    return "token_type_ids" in tokenizer("a")


class PairTokens:
    """Cuts pairs of queries and documents into tokens."""

    def __init__(self, tokenizer: Any, longest: int | None, max_tokens: int = MAX_TOKENS) -> None:
        """longest: tokens that the model has positions for; None for any number."""
        self.tokenizer = tokenizer
        self.max_tokens = min(max_tokens, int(longest or max_tokens))

    def encode_pairs(
        self,
        queries: Sequence[str],
        documents: Sequence[str],
        query_tokens: Sequence[int] | None = None,
        *,
        cut_documents: bool = False,
    ) -> dict[str, list[list[int]]]:
        """Token ids of the pairs without padding, by feature; queries are cut to so many tokens each, documents to what
        is left. None cuts only those queries that would leave documents less than half.

        cut_documents: as if queries had all of their tokens, so that documents of 512 tokens are cut to 479 beside a
        query of at most 30, and to 254 beside one of 255 (Wikiformer, section "Implementation Details").
        """
        if query_tokens is None:
            query_tokens = [min(LONG_QUERY_TOKENS, self.max_tokens // 2 - 1)] * len(queries)
        room = self.max_tokens - self._frame.tokens
        most = [room - tokens if cut_documents else room for tokens in query_tokens]
        rows = first_tokens(self.tokenizer, [*queries, *documents], [*query_tokens, *most])
        asked, read = rows[: len(queries)], rows[len(queries) :]
        return self._frame.framed(asked, [ids[: room - len(query)] for query, ids in zip(asked, read, strict=True)])

    @cached_property
    def _frame(self) -> Frame:
        return Frame.of_pairs(self.tokenizer)


def default_batch_tokens(device: str) -> int:
    """Return the padded tokens that a batch has at most where nobody says how many."""
    return (_CPU if device == "cpu" else _GPU)[0]


def length_buckets(lengths: Sequence[int], device: str, batch_tokens: int | None = None) -> list[list[int]]:
    """Texts' numbers in batches by length, `batch_tokens` padded tokens at most, such that they are read soonest."""
    most, launch = _CPU if device == "cpu" else _GPU
    budget = batch_tokens or most
    order = sorted(range(len(lengths)), key=lambda number: (lengths[number], number))
    cost = np.zeros(len(order) + 1, np.int64)  # of the first so many texts
    begins = [0]  # where the last batch of so many texts does
    for end, number in enumerate(order, 1):
        longest = max(1, lengths[number])
        first = max(0, end - max(1, budget // longest))
        costs = cost[first:end] + np.arange(end - first, 0, -1) * longest
        begin = int(costs.argmin())
        cost[end] = costs[begin] + launch
        begins.append(first + begin)
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    return batches[::-1]
