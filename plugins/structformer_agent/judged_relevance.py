"""A text classifier of relevance, learned from judged documents: what the search agent's last run filters with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """Multinomial naive Bayes of two classes. weights: by word log P(word | relevant) - log P(word | other); prior: the
    logarithm of the classes' odds.
    """

    weights: Mapping[str, float]
    prior: float

    @classmethod
    def trained(cls, documents: Iterable[tuple[list[str], bool]]) -> NaiveBayes | None:
        """Learned from documents' words and whether they are relevant, with add-one smoothing; None where one of the
        classes has no document.

        Source: Manning et al., "Introduction to Information Retrieval", 2008, section 13.2."""
        counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        sizes = {True: 0, False: 0}
        for words, relevant in documents:
            counts[relevant].update(words)
            sizes[relevant] += 1
        if not all(sizes.values()):
            return None
        vocabulary = sorted(counts[True] | counts[False])
        totals = {label: found.total() + len(vocabulary) for label, found in counts.items()}
        weights = {
            word: math.log((counts[True][word] + 1) / totals[True])
            - math.log((counts[False][word] + 1) / totals[False])
            for word in vocabulary
        }
        return cls(weights, math.log(sizes[True] / sizes[False]))

    def relevant(self, words: Iterable[str]) -> bool:
        """Whether a document of these words is rather relevant; words that were never seen say nothing."""
        return self.prior + sum(self.weights.get(word, 0.0) for word in words) > 0
