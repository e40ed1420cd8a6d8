"""Which section titles fit a query: what the agent learns from the corpus's own sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
from structformer.document import word_count
from structformer.retrieval import Retriever
from structformer.text import query_like, sentences

_PAIRS = 400
Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]  # unit vectors of texts


@dataclass(frozen=True, slots=True)
class TitleClassifier:
    """Whether a section title fits a query, by logistic regression on the cosine of the two; learned from the corpus: a
    sentence fits the title that it is under, and not that of another section of its document.
    """

    weight: float
    bias: float
    encode: Encode

    def relevant(self, query: str, title: str) -> bool:
        """Whether the title fits the query, at even odds."""
        one, two = self.encode([query, title])
        return self.weight * float(one @ two) + self.bias > 0

    @classmethod
    def trained(cls, retriever: Retriever, encode: Encode) -> TitleClassifier:
        """Learned from up to 400 sentences of the index. A corpus without sections gives a classifier that takes every
        title.
        """
        rng = Random("title classifier")
        by_document: dict[int, list[int]] = {}
        for number, unit in enumerate(retriever.units):
            if unit.section and unit.text:
                by_document.setdefault(unit.document, []).append(number)
        numbers = [number for units in by_document.values() if len(units) > 1 for number in units]
        queries, titles, labels = [], [], []
        for number in rng.sample(numbers, min(_PAIRS, len(numbers))):
            unit = retriever.units[number]
            other = retriever.units[rng.choice(by_document[unit.document])]
            sentence = next((query_like(each) for each in sentences(unit.text) if word_count(each) >= 4), None)
            if sentence and other.title != unit.title:
                queries += [sentence, sentence]
                titles += [unit.title, other.title]
                labels += [1.0, 0.0]
        if not labels:
            return cls(0.0, 1.0, encode)
        cosines = (encode(queries) * encode(titles)).sum(1).astype(np.float64)
        return cls(*_logistic(cosines, np.array(labels)), encode)


def _logistic(values: npt.NDArray[np.float64], labels: npt.NDArray[np.float64]) -> tuple[float, float]:
    """(weight, bias) of a one-dimensional logistic regression with a small ridge, by Newton's method."""
    rows = np.stack([values, np.ones(len(values))], 1)
    weights = np.zeros(2)
    for _ in range(25):
        likely = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (labels - likely) - 0.01 * weights
        curvature = (rows * (likely * (1 - likely))[:, None]).T @ rows + 0.01 * np.eye(2)
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(weights[1])
