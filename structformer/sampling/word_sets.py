"""Word sets that are drawn from a document's language model, as PROP's pseudo-queries are (Ma et al., WSDM 2021)."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np

from structformer.document import word_count
from structformer.sampling.collection import CollectionCounts, document_words, left_out
from structformer.sampling.example import Census, Example
from structformer.sampling.neighbourhood import Neighbourhood


def positive_poisson(random: Random, mean: float) -> int:
    """Return a Poisson number (Knuth's method), drawn again while it is zero, as the released code of PROP draws it."""
    limit, count = math.exp(-mean), 0
    while not count:
        product = random.random()
        while product > limit:
            product *= random.random()
            count += 1
    return count


MEAN_SIZE = 3.0  # of a set, Poisson distributed
_PAIRS, _TAKEN = 10, 4  # of a document; those that are learned from in an epoch
_SHORT_WORDS = 75  # about 100 tokens
_VOCABULARY = 500
_BEYOND = 100  # words of the collection for a document with more words than that


class DocumentModel:
    """A document's unigram language model with Dirichlet smoothing, over a sampling vocabulary.

    Source: PROP, eq. 1-3, with what the released code adds: the background model counts documents, mu is the
    documents' mean length, and the vocabulary is the document's words with as many words drawn from the collection as
    make 500, so that sets have words that the document lacks. words: the document's, without stop words.
    """

    def __init__(self, words: Sequence[str], collection: CollectionCounts, min_frequency: int, rng: Random) -> None:
        self._counts = Counter(words)
        self._collection = collection
        self._length = len(words) + collection.mean_length
        counts, frequency = self._counts, collection.frequency
        own = sorted([word for word in counts if frequency(word) >= min_frequency])
        missing = _VOCABULARY - len(own) if len(own) < _VOCABULARY else len(own) + _BEYOND
        others = [word for word in dict.fromkeys(collection.drawn(rng, missing, min_frequency)) if word not in counts]
        self.vocabulary = [*own, *others] if own else []
        # As `probability` has it, for all words at once: this is most of what drawing by the model costs.
        background = collection.mean_length * np.array(collection.probabilities(self.vocabulary), np.float64)
        counted = np.array([counts.get(word, 0) for word in self.vocabulary], np.float64)
        self._ends: list[float] = np.cumsum((counted + background) / self._length).tolist()

    def probability(self, word: str) -> float:
        """P(word | document) = (tf + mu P(word | collection)) / (length + mu)."""
        background = self._collection.mean_length * self._collection.probability(word)
        return (self._counts[word] + background) / self._length

    def log_likelihood(self, words: Sequence[str]) -> float:
        """Sum of log P(word | document)."""
        return sum(math.log(self.probability(word)) for word in words)

    def draw(self, size: int, rng: Random) -> list[str]:
        """Return a set of words, drawn with replacement; frequent words of the collection are often drawn again."""
        drawn: list[str] = []
        while len(drawn) < size:
            place = bisect_right(self._ends, rng.random() * self._ends[-1])
            word = self.vocabulary[min(place, len(self.vocabulary) - 1)]
            if rng.random() <= self._collection.kept(word):
                drawn.append(word)
        return drawn


def document_model(
    here: Neighbourhood,
    text: str,
    rng: Random,
    census: Census,
    task: str,
    given: tuple[Sequence[str], CollectionCounts] | None = None,
) -> DocumentModel | None:
    """The model of a document that is shown as `text`; None if it takes no part, which is counted as dropped. given:
    its words, and the collection's counts, where they are a task's own.
    """
    options = here.view.options
    length = word_count(text)
    if length < _SHORT_WORDS and options.keep_short < 1 and rng.random() >= options.keep_short:
        census.drop(task, "one of the short documents that are left out")
        return None
    words, collection = given or (document_words(here.view.document, left_out(options.stop_words)), here.collection)
    assert collection is not None
    model = DocumentModel(words if length >= options.min_words else [], collection, options.min_frequency, rng)
    if len(model.vocabulary) < 2:
        census.drop(task, "document too short")
        return None
    return model


def word_set_examples(
    task: str,
    here: Neighbourhood,
    text: str,
    model: tuple[Callable[[int], list[str]], Callable[[Sequence[str]], float]],
    rng: Random,
    census: Census,
) -> Iterator[Example]:
    """Examples of pairs of word sets of equal size, the one with the higher score first, for the document shown as
    `text`. model: draws a set of a size, and scores one.

    Of ten pairs four are taken. A set's size is Poisson with mean 3, drawn again while it is 0.
    """
    draw, score = model
    taken = 0
    for _ in range(_PAIRS):
        size = positive_poisson(rng, MEAN_SIZE)
        first, second = draw(size), draw(size)
        scores = score(first), score(second)
        if sorted(first) == sorted(second) or scores[0] == scores[1]:
            census.drop(task, "word sets of equal score")
            continue
        better, worse = (first, second) if scores[0] > scores[1] else (second, first)
        yield Example(task, (" ".join(better), " ".join(worse)), (text, text), here.view.document.id, (0, 0))
        taken += 1
        if taken == _TAKEN:
            return
