"""DUET: one half matches words as they stand, the other half compares what words are made of; the score is their sum.

Source: Mitra, Diaz and Craswell, "Learning to Match Using Local and Distributed Representations of Text for Web
Search", WWW 2017, with the sizes of the authors' notebook."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn import Dropout, EmbeddingBag, Flatten, Linear, Parameter, Sequential, Tanh
from torch.nn.functional import embedding, max_pool1d, pad

from structformer_kernels.ngraphs import LONGEST_NGRAPH

MAX_WORDS = 1000
_IN_ROW = 3  # words that one filter sees
# Words are numbers that their letters can be read from again, so that the model needs no vocabulary: any two words are
# told apart, and the n-graphs of all words of a batch are found by arithmetic.
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz#"
_NUMBERS = {letter: number for number, letter in enumerate(_LETTERS, 1)}  # 0 is not a letter
_BASE = len(_LETTERS) + 1
_FIRST, _REST = 12, 11  # letters that 64 bits hold, and that they hold beside the side
LONGEST_WORD = _FIRST + _REST  # longer words are cut


def _packed(letters: str) -> int:
    return sum(_NUMBERS[letter] * _BASE**place for place, letter in enumerate(letters))


@lru_cache(maxsize=65_536)
def packed_word(word: str) -> tuple[int, int]:
    """Return a word of 0-9 and a-z as two numbers: its first twelve letters and the others."""
    return _packed(word[:_FIRST]), _packed(word[_FIRST:LONGEST_WORD])


def packed_ngraphs(ngraphs: Iterable[str]) -> torch.Tensor:
    """Return (n-graphs,) int64, ascending: the numbers that `ngraph_places` looks for."""
    return torch.tensor(sorted({_packed(ngraph) for ngraph in ngraphs}), dtype=torch.long)


def ngraph_places(words: torch.Tensor, known: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(found,) places in `known` of the n-graphs of all words, word after word, and (words,) where each word's begin.

    words: (words, 2) int64 packed; a word of no letters has no n-graph. known: what `packed_ngraphs` gives.
    """
    device = words.device
    parts = [
        words[:, part, None] // _BASE ** torch.arange(count, device=device) % _BASE
        for part, count in enumerate((_FIRST, _REST))
    ]
    letters = torch.cat(parts, 1)
    lengths = (letters > 0).sum(1)
    framed = torch.nn.functional.pad(letters, (1, 1))
    edge = (lengths > 0).long() * _NUMBERS["#"]
    framed[:, 0] = edge
    framed.scatter_(1, (lengths + 1)[:, None].clamp(max=LONGEST_WORD + 1), edge[:, None])
    codes = []
    for length in range(1, LONGEST_NGRAPH + 1):
        windows = framed.unfold(1, length, 1)
        powers = _BASE ** torch.arange(length, device=device)
        codes.append((windows * powers).sum(-1) * (windows[..., -1] > 0))
    code = torch.cat(codes, 1)
    places = torch.searchsorted(known, code).clamp(max=len(known) - 1)
    there = known[places] == code
    counts = there.sum(1)
    return places[there], counts.cumsum(0) - counts


@dataclass(frozen=True, slots=True)
class DuetSizes:
    """The sizes of a Duet model."""

    query_words: int = 10
    """Queries are cut or filled up to this many words."""
    document_words: int = MAX_WORDS
    """Documents are cut or filled up to this many words."""
    channels: int = 300
    """Channels of every layer."""
    window: int = 100
    """How many neighbouring places of the document share one value, the largest of theirs."""
    dropout: float = 0.2
    """Share of the values that are dropped before the last layer of each half."""

    @property
    def places(self) -> int:
        """How many windows a document has."""
        return self.document_words - _IN_ROW + 2 - self.pooled

    @property
    def pooled(self) -> int:
        """Places of a window: all of the document's where it has fewer."""
        return min(self.window, self.document_words - _IN_ROW + 1)


class _NgraphFilters(torch.nn.Module):
    """A convolution over counts of n-graphs, three words at once. A word has some twenty of two thousand n-graphs, so
    the rows of those are summed and no table of counts is made.
    """

    def __init__(self, ngraphs: int, channels: int) -> None:
        super().__init__()
        self.bag = EmbeddingBag(ngraphs, _IN_ROW * channels, mode="sum")
        self.bias = Parameter(torch.empty(channels))
        bound = (ngraphs * _IN_ROW) ** -0.5  # what a convolution over the counts would begin with
        torch.nn.init.uniform_(self.bag.weight, -bound, bound)
        torch.nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, places: torch.Tensor, starts: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        """(texts, words - 2, channels). places, starts: of `ngraph_places`; texts: (texts, words) numbers of words."""
        words = self.bag(places, starts).view(len(starts), _IN_ROW, -1)
        last = texts.shape[1] - _IN_ROW + 1
        seen = [embedding(texts[:, place : place + last], words[:, place]) for place in range(_IN_ROW)]
        total: torch.Tensor = sum(seen, self.bias)
        return total


class DuetModel(torch.nn.Module):
    """Scores pairs given as one row of packed words, the query's in front of the document's."""

    def __init__(self, ngraphs: Sequence[str], sizes: DuetSizes | None = None) -> None:
        super().__init__()
        self.sizes = sizes = sizes or DuetSizes()
        self.ngraphs = list(ngraphs)
        self.known: torch.Tensor
        self.register_buffer("known", packed_ngraphs(ngraphs), persistent=False)
        wide, count = sizes.channels, len(self.known)

        def scored(values: int) -> list[torch.nn.Module]:
            hidden = Linear(values, wide), Tanh(), Linear(wide, wide), Tanh()
            return [*hidden, Dropout(sizes.dropout), Linear(wide, 1), Tanh()]

        matching = Linear(sizes.document_words, wide), Tanh(), Flatten()
        self.local = Sequential(*matching, *scored(sizes.query_words * wide))
        self.query_filters = _NgraphFilters(count, wide)
        self.query_dense = Sequential(Linear(wide, wide), Tanh())
        self.document_filters = _NgraphFilters(count, wide)
        self.document_dense = Sequential(Linear(wide, wide), Tanh())
        self.distributed = Sequential(Flatten(), *scored(sizes.places * wide))
        self.config = SimpleNamespace(max_position_embeddings=MAX_WORDS, hidden_size=wide)

    @property
    def device(self) -> torch.device:
        return self.known.device

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        output_hidden_states: bool = False,
    ) -> Any:
        """(pairs, 1) logits. input_ids: words' first letters; token_type_ids: twice the others, + 1 in documents."""
        words = torch.stack([input_ids, token_type_ids // 2], -1)
        real, of_document = attention_mask.bool(), token_type_ids % 2 == 1
        query = _side(words, real & ~of_document, self.sizes.query_words)
        document = _side(words, real & of_document, self.sizes.document_words)
        return SimpleNamespace(logits=self.local(_matches(query, document)) + self._likeness(query, document))

    def _likeness(self, query: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
        """Return (pairs, 1): what the distributed half says."""
        distinct, numbers = torch.unique(torch.cat([query, document], 1).flatten(0, 1), dim=0, return_inverse=True)
        numbers = numbers.view(len(query), -1)
        places, starts = ngraph_places(distinct, self.known)
        asked = self.query_filters(places, starts, numbers[:, : query.shape[1]]).tanh().amax(1)
        read = self.document_filters(places, starts, numbers[:, query.shape[1] :]).tanh()
        pooled = max_pool1d(read.transpose(1, 2), self.sizes.pooled, stride=1).transpose(1, 2)
        scores: torch.Tensor = self.distributed(self.query_dense(asked)[:, None] * self.document_dense(pooled))
        return scores


def _side(words: torch.Tensor, chosen: torch.Tensor, length: int) -> torch.Tensor:
    """Return (pairs, length, 2): the chosen words of every row at its left, filled up with words of no letters."""
    order = torch.argsort((~chosen).int(), dim=1, stable=True)[:, :length]
    kept = words.gather(1, order[..., None].expand(-1, -1, 2)) * chosen.gather(1, order)[..., None]
    return pad(kept, (0, 0, 0, length - kept.shape[1]))


def _matches(query: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
    """Return (pairs, query's words, document's words) float: 1 where they are the same word."""
    same = (query[:, :, None] == document[:, None]).all(-1)
    return (same & (query[:, :, None, 0] > 0)).float()
