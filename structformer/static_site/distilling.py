"""A static encoder distilled from the search's own: one small vector for each token, whose weighted sum stands for the
vector that the encoder gives a query. It needs no model where it is used, and asks for a few hundred bytes a word.

The token vectors solve a ridge regression: over sentences of the corpus, the weighted sum of a sentence's tokens is to
be the encoder's vector of it. Passages keep the vectors that the encoder gave them, in fewer dimensions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, identity
from scipy.sparse.linalg import cg

Floats = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Floats]
Tokenize = Callable[[Sequence[str]], list[list[str]]]

DIMENSIONS = 64
_RIDGE = 1.0
_PRIOR = 0.6  # of a token's own vector, from which the regression sets out
_MOST_SENTENCES = 12_000
_PCA_ROWS = 20_000
_BATCH = 256
_CONTINUED = "##"  # how the tokenizer marks a piece that goes on a word


@dataclass(frozen=True, slots=True)
class StaticEncoder:
    """tokens: by their number, the most frequent first. weights: (tokens,) how much each counts in a sum. vectors:
    (tokens, dimensions) float32. mean, basis: how a vector of the encoder is made shorter.
    """

    tokens: list[str]
    weights: Floats
    vectors: Floats
    mean: Floats
    basis: Floats

    def shortened(self, vectors: Floats) -> Floats:
        """(n, dimensions) float32 unit vectors in fewer dimensions."""
        return unit((vectors - self.mean) @ self.basis)


def unit(vectors: npt.NDArray[np.floating]) -> Floats:
    """Vectors of length one; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Floats = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
    return found


def distil(
    texts: Iterable[str], sentences: Sequence[str], vectors: Floats, encode: Encode, tokenize: Tokenize
) -> StaticEncoder:
    """Learn a static encoder. texts: what is searched, whose tokens are counted; sentences: what is learned from, of
    which at most 12,000 are taken, evenly; vectors: (texts, n) float32 of the texts, which the search compares with.
    """
    counts: Counter[str] = Counter()
    number = 0
    for tokens in _in_batches(texts, tokenize):
        for each in tokens:
            counts.update(set(each))
            number += 1
    vocabulary = sorted(counts, key=lambda token: (-counts[token], token))
    places = {token: place for place, token in enumerate(vocabulary)}
    weights = np.array(
        [math.log(1 + (number - counts[token] + 0.5) / (counts[token] + 0.5)) for token in vocabulary], np.float32
    )
    chosen = list(dict.fromkeys(sentences))
    chosen = chosen[:: max(1, math.ceil(len(chosen) / _MOST_SENTENCES))]
    wanted = _encoded(chosen, encode)
    own = _encoded([token.removeprefix(_CONTINUED) for token in vocabulary], encode)
    mean, basis = _principal(np.concatenate([vectors[:: max(1, math.ceil(len(vectors) / _PCA_ROWS))], wanted]))
    bags = _bags([token for batch in _in_batches(chosen, tokenize) for token in batch], places, weights)
    target, prior = unit((wanted - mean) @ basis), _PRIOR * unit((own - own.mean(0)) @ basis)
    normal = (bags.T @ bags + _RIDGE * identity(len(vocabulary))).tocsr()
    right = bags.T @ target + _RIDGE * prior
    learned = np.stack(
        [cg(normal, right[:, column], x0=prior[:, column], rtol=1e-4)[0] for column in range(len(basis.T))]
    )
    return StaticEncoder(vocabulary, weights, learned.T.astype(np.float32), mean, basis)


def _encoded(texts: Sequence[str], encode: Encode) -> Floats:
    parts = [encode(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
    return np.concatenate(parts).astype(np.float32)


def _in_batches(texts: Iterable[str], tokenize: Tokenize) -> Iterable[list[list[str]]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == _BATCH:
            yield tokenize(batch)
            batch = []
    if batch:
        yield tokenize(batch)


def _principal(vectors: Floats) -> tuple[Floats, Floats]:
    """The mean of vectors and the directions in which they differ most, (n, dimensions)."""
    mean = vectors.mean(0)
    covariance = np.cov((vectors - mean).T.astype(np.float64))
    _, directions = np.linalg.eigh(covariance)
    basis = directions[:, ::-1][:, :DIMENSIONS]
    # Directions have no sign of their own: the same one each time.
    basis = basis * np.where(basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])] < 0, -1, 1)
    return mean.astype(np.float32), basis.astype(np.float32)


def _bags(texts: Sequence[Sequence[str]], places: dict[str, int], weights: Floats) -> csr_matrix:
    """(texts, tokens) of length one each: how often a text has a token, times its weight."""
    rows, columns, values = [], [], []
    for row, tokens in enumerate(texts):
        found = Counter(places[token] for token in tokens if token in places)
        length = math.sqrt(sum((count * weights[place]) ** 2 for place, count in found.items())) or 1.0
        for place, count in sorted(found.items()):
            rows.append(row)
            columns.append(place)
            values.append(count * weights[place] / length)
    return csr_matrix((values, (rows, columns)), shape=(len(texts), len(places)), dtype=np.float64)
