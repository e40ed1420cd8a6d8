"""Judged queries, each with the candidate documents that a ranker puts in order, and the score of that order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structformer.models.kinds import Ranker
from structformer.training.judging import RECIPROCAL, Floats, Ranks

_NOT_FOUND = 1_000_000  # the rank of what is not among the candidates


@dataclass(frozen=True, slots=True)
class JudgedCandidates:
    """What Wikiformer chooses its checkpoint by (Su et al., AAAI 2024, section "Implementation Details"): MRR@10 of the
    candidates of each query, whatever the ranker. texts: of the documents, each once; candidates: of each query, as
    places in `texts`; relevant: those of them that are.
    """

    queries: list[str]
    texts: list[str]
    candidates: list[list[int]]
    relevant: list[frozenset[int]]

    @property
    def measure(self) -> str:
        """What is made of the ranks."""
        return RECIPROCAL

    @property
    def weights(self) -> Floats:
        """(queries,) each counts the same."""
        return np.ones(len(self.queries))

    @property
    def groups(self) -> Ranks:
        """(queries,) each by itself."""
        return np.arange(len(self.queries), dtype=np.int64)

    def ranks(self, ranker: Ranker) -> Ranks:
        """(queries,) the rank from 1 of each one's best relevant candidate; ties count against it."""
        return np.array([self._rank(ranker, number) for number in range(len(self.queries))], np.int64)

    def _rank(self, ranker: Ranker, query: int) -> int:
        candidates, relevant = self.candidates[query], self.relevant[query]
        if not relevant:
            return _NOT_FOUND
        scores = ranker.score([self.queries[query]] * len(candidates), [self.texts[place] for place in candidates])
        right = np.array([place in relevant for place in candidates])
        return 1 + int((scores[~right] >= scores[right].max()).sum())
