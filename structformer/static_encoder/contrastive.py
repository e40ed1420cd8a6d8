"""Learning by contrast, on a CPU and without torch: what a passage of a document says is to be nearer to its other
passages than to those of the other documents of the batch.

Sources: InfoNCE with negatives of the batch: van den Oord et al. 2018, equation 4; Karpukhin et al., EMNLP 2020,
section 3.2. Adam: Kingma and Ba, ICLR 2015, algorithm 1, of which a step moves only rows that it has a gradient of."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from structformer.static_encoder.encoder import Table, narrowed

Vectors = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
_NEVER = np.float32(-1e4)
# More than so many pairs in all, and what helps nobody's queries is learned too; but a large corpus is read twice:
# docs/why-it-works.md has the figures.
_EPOCHS, _FEWEST_EPOCHS, _MOST_SEEN = 8.0, 2.0, 60_000


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """How the vectors are learned."""

    epochs: float | None = None
    """None: as many as show it 60,000 pairs, from two to eight."""
    learning_rate: float = 1e-3
    """Of the first step; it falls to zero."""
    temperature: float = 0.05
    """Cosines are divided by it before the softmax."""
    batch: int = 512
    """Pairs of a step."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs to learn from."""

    queries: Table
    """(pairs, words)."""
    passages: Table
    """(passages, words)."""
    documents: Numbers
    """(pairs,) numbers of the pairs' documents, whose other pairs in a batch are not negatives."""
    first: Numbers
    """(pairs,) one of the passages [first, last) is the pair's positive."""
    last: Numbers
    own: Numbers
    """(pairs,) a passage among these that is not; -1 for none."""
    shares: npt.NDArray[np.float64]
    """(pairs,) how often each is drawn, in proportion."""

    def __len__(self) -> int:
        return int(self.queries.shape[0])

    def epochs(self, options: LearningOptions) -> float:
        """Return how often each of them is seen, in the mean."""
        if options.epochs is not None:
            return options.epochs
        return min(_EPOCHS, max(_FEWEST_EPOCHS, _MOST_SEEN / max(1, len(self))))


def learn(
    vectors: Vectors,
    table: Table,
    pairs: Pairs,
    options: LearningOptions,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Change the (features, dimensions) vectors so that pairs' queries are near to their positives. table: (words,
    features), the words being those of the pairs. With `shares` that are all equal every pair is seen once in an epoch.
    """
    size = min(options.batch, len(pairs))
    if size < 2:
        return
    rng = np.random.default_rng(options.seed)
    adam = _Adam(vectors, options.learning_rate)
    steps = math.ceil(pairs.epochs(options) * len(pairs) / size)
    order = np.empty(0, np.int64)
    for step in range(steps):
        if len(order) < size:
            chances = None if np.ptp(pairs.shares) == 0 else pairs.shares / pairs.shares.sum()
        order = rng.permutation(len(pairs)) if chances is None else rng.choice(len(pairs), len(pairs), p=chances)
        batch, order = order[:size], order[size:]
        rows, gradient = _gradient(vectors, table, pairs, batch, _positives(pairs, batch, rng), options.temperature)
        adam.step(rows, gradient, 1 - step / steps)
        if progress:
            progress(step + 1, steps)


def _positives(pairs: Pairs, batch: Numbers, rng: np.random.Generator) -> Numbers:
    """Return (batch,) a random passage of those that are each pair's."""
    first, last, own = pairs.first[batch], pairs.last[batch], pairs.own[batch]
    drawn = first + (rng.random(len(batch)) * (last - first - (own >= 0))).astype(np.int64)
    return drawn + ((own >= 0) & (drawn >= own))


def _gradient(
    vectors: Vectors, table: Table, pairs: Pairs, batch: Numbers, positives: Numbers, temperature: float
) -> tuple[Numbers, Vectors]:
    """The rows of the vectors that the mean loss of a batch depends on, and its gradient with respect to them."""
    asked, answers = pairs.queries[batch], pairs.passages[positives]
    words, (asked, answers) = narrowed(table.shape[0], asked, answers)
    rows, (features,) = narrowed(table.shape[1], table[words])
    of_words = features @ vectors[rows]
    queries, query_lengths = _unit(asked @ of_words)
    passages, passage_lengths = _unit(answers @ of_words)
    logits = queries @ passages.T / np.float32(temperature)
    same = pairs.documents[batch][:, None] == pairs.documents[batch][None]
    np.fill_diagonal(same, False)
    logits[same] = _NEVER
    logits -= logits.max(1, keepdims=True)
    likely = np.exp(logits)
    likely /= likely.sum(1, keepdims=True)
    np.fill_diagonal(likely, likely.diagonal() - 1)
    likely /= np.float32(len(batch) * temperature)
    by_queries = _through(likely @ passages, queries, query_lengths)
    by_passages = _through(likely.T @ queries, passages, passage_lengths)
    return rows, features.T @ (asked.T @ by_queries + answers.T @ by_passages)


def _unit(sums: Vectors) -> tuple[Vectors, Vectors]:
    """Return vectors of length one, and (n, 1) their lengths before."""
    lengths = np.maximum(np.sqrt((sums * sums).sum(1, keepdims=True)), np.float32(1e-9))
    return sums / lengths, lengths


def _through(gradient: Vectors, units: Vectors, lengths: Vectors) -> Vectors:
    """Return the gradient before vectors were made of length one."""
    gradients: Vectors = (gradient - units * (gradient * units).sum(1, keepdims=True)) / lengths
    return gradients


class _Adam:
    """Adam over rows of a matrix."""

    _MEAN, _SQUARE, _EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, vectors: Vectors, rate: float) -> None:
        self._vectors, self._rate = vectors, rate
        self._means, self._squares = np.zeros_like(vectors), np.zeros_like(vectors)
        self._steps = 0

    def step(self, rows: Numbers, gradient: Vectors, share: float) -> None:
        """Move rows against their gradient. share: of the learning rate."""
        self._steps += 1
        mean = self._means[rows]
        mean += np.float32(1 - self._MEAN) * (gradient - mean)
        self._means[rows] = mean
        square = self._squares[rows]
        square += np.float32(1 - self._SQUARE) * (gradient * gradient - square)
        self._squares[rows] = square
        rate = share * self._rate * math.sqrt(1 - self._SQUARE**self._steps) / (1 - self._MEAN**self._steps)
        np.sqrt(square, out=square)
        square += np.float32(self._EPSILON)
        self._vectors[rows] -= np.float32(rate) * mean / square
