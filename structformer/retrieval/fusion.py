"""Fusing ranked lists."""

from __future__ import annotations

from collections.abc import Sequence

RRF_K = 60


def reciprocal_rank_fusion(lists: Sequence[Sequence[tuple[int, float]]], k: int) -> list[tuple[int, float]]:
    """Up to k (unit, fused score), best first; equal scores in unit order.

    A unit scores the sum over lists of 1 / (60 + its rank), ranks from 1 (Cormack, Clarke and Buettcher, SIGIR 2009).
    """
    scores: dict[int, float] = {}
    for ranked in lists:
        for rank, (unit, _) in enumerate(ranked, 1):
            scores[unit] = scores.get(unit, 0.0) + 1.0 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
