"""The nine scores of a query and a document that ARES compares pseudo-queries by, each after a retrieval axiom (Chen et
al., "Axiomatically Regularized Pre-training for Ad hoc Search", SIGIR 2022).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, combinations

import numpy as np
import numpy.typing as npt
from structformer.sampling import CollectionCounts, DocumentModel, counted_words

from structformer_exports import WordVectors

AXIOMS = ("PROX-1", "PROX-2", "REP-QL", "REP-TFIDF", "REG", "STM-1", "STM-2", "STM-3", "RANK")
_DIGITS = 9  # scores that agree in so many are equal, whatever the order in which they were added up


class ScoredDocument:
    """A document that queries are scored for. model: its language model; collection: the corpus's word counts."""

    def __init__(
        self,
        text: str,
        stop_words: frozenset[str],
        model: DocumentModel,
        collection: CollectionCounts,
        vectors: WordVectors,
    ) -> None:
        self._model = model
        self._collection = collection
        self._vectors = vectors
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(counted_words(text, frozenset()), 1):
            self._places.setdefault(word, []).append(place)
        self._matrix = self._unit_vectors([word for word in self._places if word not in stop_words])

    def scores(self, query: Sequence[str], rank: int | None) -> tuple[float, ...]:
        """The scores in the order of AXIOMS; more is better. rank: the document's place when the corpus is searched for
        the query, None where it is not found.

        PROX-1: one by the mean distance in words of all pairs of occurrences of two query terms. PROX-2: one by the
        mean place of the query terms' first occurrences. REP-QL: log-likelihood of the query. REP-TFIDF: sum of tf-idf.
        REG: mean similarity of the query's terms to each other. STM: similarity of the query's terms to the document's:
        the mean of all, the mean of each query term's best, that of the sums. RANK: one by the rank.
        """
        terms = list(dict.fromkeys(query))
        query_matrix = self._unit_vectors(terms)
        scores = (
            _inverse(self._mean_distance(terms)),
            _inverse(self._mean_first_place(terms)),
            self._model.log_likelihood(query),
            sum(self._tf_idf(word) for word in query),
            _mean_to_each_other(query_matrix),
            *_similarities(query_matrix, self._matrix),
            _inverse(rank),
        )
        return tuple(round(score, _DIGITS) for score in scores)

    def _unit_vectors(self, words: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return (words that have a vector, dimensions)."""
        rows = [self._vectors.numbers[word] for word in words if word in self._vectors.numbers]
        vectors = self._vectors.matrix[rows].astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths > 0, lengths, 1.0)

    def _mean_distance(self, terms: Sequence[str]) -> float | None:
        places = [self._places[term] for term in terms if term in self._places]
        distances = [_mean_distance(first, second) for first, second in combinations(places, 2)]
        return sum(distances) / len(distances) if distances else None

    def _mean_first_place(self, terms: Sequence[str]) -> float | None:
        first = [self._places[term][0] for term in terms if term in self._places]
        return sum(first) / len(first) if first else None

    def _tf_idf(self, word: str) -> float:
        frequency = len(self._places.get(word, ()))
        documents = max(1, self._collection.document_frequency(word))
        return frequency * math.log(max(1, self._collection.documents) / documents)


def signs(first: Sequence[float], second: Sequence[float]) -> tuple[int, ...]:
    """For each axiom whether the first query scores higher (1), lower (-1) or the same (0)."""
    return tuple((one > two) - (one < two) for one, two in zip(first, second, strict=True))


def _inverse(value: float | None) -> float:
    return 1.0 / value if value else 0.0


def _mean_distance(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the mean of |a - b| over all pairs from two ascending lists, in the time of sorting them."""
    sums = [0, *accumulate(second)]
    total = 0
    for place in first:
        before = bisect_left(second, place)
        total += place * before - sums[before] + (sums[-1] - sums[before]) - place * (len(second) - before)
    return total / (len(first) * len(second))


def _mean_to_each_other(vectors: npt.NDArray[np.float64]) -> float:
    count = len(vectors)
    if count < 2:
        return 0.0
    whole = vectors.sum(0)
    return float((whole @ whole - (vectors * vectors).sum()) / (count * (count - 1)))


def _similarities(query: npt.NDArray[np.float64], document: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Return (mean of all cosines, mean of each query term's highest, cosine of the sums)."""
    if not len(query) or not len(document):
        return 0.0, 0.0, 0.0
    cosines = query @ document.T
    one, two = query.sum(0), document.sum(0)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(two))
    return float(cosines.mean()), float(cosines.max(1).mean()), float(one @ two) / lengths if lengths else 0.0
