"""Masked language modelling on the inputs of another task (Devlin et al., NAACL 2019, sections 3.1 and A.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, cast

import torch
from torch.nn.functional import cross_entropy, gelu, linear

from structformer.document import MARKS, SPACELESS
from structformer.errors import ModelError
from structformer.models.published import masked_head

MASKED_SHARE = 0.15
_AS_MASK, _AS_RANDOM = 0.8, 0.1
_MOST_WORDS = 400  # of a text, of which a share is masked where words are masked whole: 60 of 15 %
_BEGINNINGS = ("\u2581", "\u0120", "\u010a")  # of a word after a space, or of a line, in SentencePiece and GPT-2
_UNSPACED = re.compile(f"(?![{MARKS}]).*[{SPACELESS}]", re.DOTALL)  # a letter of a script without spaces
# The same in UTF-8, of whose characters GPT-2's tokens may be parts; such a token begins with the first byte of one.
_UNSPACED_BYTES = re.compile(rb"(?![\x80-\xbf]).*([\xe3-\xe9]|\xe0[\xb8-\xbb]|\xe1[\x80-\x82\x9e\x9f])", re.DOTALL)
IGNORED = -100


class Masker:
    """Chooses a share of a text's tokens, 15 %: of these 80 % become [MASK], 10 % a random token, 10 % stay.

    whole_words: chooses words, all tokens of each, until that share of the tokens, or if none is given of the words'
    number, of 400 at most (PROP's released code); one that would go beyond is passed over. Where a share is left, words
    that are longer than the whole of it give single tokens. In scripts without spaces each token is a word.
    document_alone: of a pair the query has no masks. Every text that has tokens gets a mask."""

    def __init__(
        self, tokenizer: Any, *, whole_words: bool = False, document_alone: bool = False, share: float | None = None
    ) -> None:
        self._mask = tokenizer.mask_token_id
        self._special = frozenset(tokenizer.all_special_ids)
        self._size, self._share, self._by_words = len(tokenizer), share or MASKED_SHARE, share is None
        self._separator = tokenizer.sep_token_id if document_alone else None
        self._inner = _inner_tokens(tokenizer) if whole_words else None

    def masked(self, ids: Sequence[int], rng: Random) -> tuple[list[int], list[int]]:
        """Return (ids with masks, labels: the true id at the chosen places, IGNORED elsewhere)."""
        shown, labels = list(ids), [IGNORED] * len(ids)
        for place in self._chosen(ids, rng):
            labels[place] = ids[place]
            chance = rng.random()
            if chance < _AS_MASK:
                shown[place] = self._mask
            elif chance < _AS_MASK + _AS_RANDOM:
                shown[place] = rng.randrange(self._size)
        return shown, labels

    def _chosen(self, ids: Sequence[int], rng: Random) -> list[int]:
        start = ids.index(self._separator) if self._separator in ids else 0
        places = [place for place in range(start, len(ids)) if ids[place] not in self._special]
        if self._inner is None:
            drawn = [place for place in places if rng.random() < self._share]
            return drawn or (places and [rng.choice(places)])
        return list(self._of_words(ids, places, rng))

    def _of_words(self, ids: Sequence[int], places: Sequence[int], rng: Random) -> Iterator[int]:
        assert self._inner is not None
        words: list[list[int]] = []
        for place in places:
            if words and ids[place] in self._inner and words[-1][-1] == place - 1:
                words[-1].append(place)
            else:
                words.append([place])
        most = max(1, round(self._share * len(places)))
        if self._by_words:
            count = sum(1 if len(word) <= most else len(word) for word in words)
            most = max(1, round(self._share * min(_MOST_WORDS, count)))
        left = most
        rng.shuffle(words)
        for word in words:
            if len(word) <= left:
                left -= len(word)
                yield from word
        single = [place for word in words if len(word) > most for place in word]
        yield from rng.sample(single, min(left, len(single)))


def _inner_tokens(tokenizer: Any) -> frozenset[int]:
    """The tokens that go on with a word: WordPiece marks these, other tokenizers mark the beginnings of words."""
    tokens: dict[str, int] = tokenizer.get_vocab()
    begun = {token for token in tokens if len(token) > 1 and token.startswith(_BEGINNINGS)}
    continued = {token for token in tokens if len(token) > 2 and token.startswith("##")}
    if len(continued) <= len(begun):  # GPT-2 has headings of Markdown as tokens
        continued = {token for token in tokens if not token.startswith(_BEGINNINGS)} if begun else set()
    in_bytes = any(token[0] == _BEGINNINGS[1] for token in begun)
    return frozenset(tokens[token] for token in continued if not _is_unspaced(token, in_bytes=in_bytes))


# How GPT-2 writes bytes: printable ones as themselves, the others from 256 on.
_PRINTED = {*range(33, 127), *range(161, 173), *range(174, 256)}
_BYTES = {byte: byte for byte in _PRINTED} | {
    256 + number: byte for number, byte in enumerate(sorted(set(range(256)) - _PRINTED))
}


def _is_unspaced(token: str, *, in_bytes: bool) -> bool:
    if in_bytes and all(ord(character) in _BYTES for character in token):
        return _UNSPACED_BYTES.match(bytes(_BYTES[ord(character)] for character in token)) is not None
    return not token.isascii() and _UNSPACED.match(token.removeprefix("##")) is not None


class MaskedHead(torch.nn.Module):
    """BERT's head over token vectors: dense, GELU, layer norm, the word embeddings as output weights, a bias. The dense
    layer brings the vectors to the width of the embeddings, which ELECTRA-small and ALBERT have narrower."""

    def __init__(self, embeddings: torch.nn.Module, width: int) -> None:
        super().__init__()
        weight = cast(torch.Tensor, embeddings.weight)
        self.dense = torch.nn.Linear(width, weight.shape[1])
        self.norm = torch.nn.LayerNorm(weight.shape[1], eps=1e-12)
        self.bias = torch.nn.Parameter(torch.zeros(weight.shape[0]))
        self._embeddings = (embeddings,)  # in a tuple, so that the shared weights are not registered twice

    @classmethod
    def of(cls, model: Any, location: str) -> MaskedHead:
        """A head for a model, with the base's own weights if any. Raises ModelError if unreadable or of other size."""
        encoder = getattr(model, model.base_model_prefix, model)
        head = cls(encoder.get_input_embeddings(), int(model.config.hidden_size))
        if (own := masked_head(location)) is not None:
            try:
                head.load_state_dict(own)
            except RuntimeError as error:
                raise ModelError(f"the head for masked words of {location} does not fit the model: {error}") from error
        return head

    def forward(self, hidden: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """(texts,): mean cross-entropy over each text's chosen tokens, 0 without any. hidden: (texts, tokens, width)
        float; labels: (texts, tokens) int, IGNORED elsewhere.
        """
        chosen = labels != IGNORED
        counts = chosen.sum(1)
        weight = cast(torch.Tensor, self._embeddings[0].weight)
        vectors = self.norm(gelu(self.dense(hidden[chosen])))
        losses = cross_entropy(linear(vectors, weight, self.bias).float(), labels[chosen], reduction="none")
        rows = torch.arange(len(labels), device=labels.device)[:, None].expand_as(labels)[chosen]
        sums = torch.zeros(len(labels), device=losses.device).index_add(0, rows, losses)
        return sums / counts.clamp(min=1)
