"""Rankings: units with scores, best first. What is equal is in the order of the index, as this module alone decides."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeVar

Ranked = list[tuple[int, float]]
Whose = TypeVar("Whose", bound=Hashable)


@dataclass(slots=True)
class Ranking:
    """Results of a pipeline for one query."""

    query: str
    ranked: Ranked = field(default_factory=list)
    """Units, best first."""
    scores: dict[str, dict[int, float]] = field(default_factory=dict)
    """Each stage's scores, by unit."""
    name: str = ""
    """The query's id, if any."""
    likely: float | None = None
    """How likely the first document was asked for, between 0 and 1 (doubt.py); None if the pipeline cannot tell."""
    absent_phrases: tuple[str, ...] = ()
    """Phrases in quotes that no page has: their words were searched for."""
    absent_name: str = ""
    """The name that the query is, where no page has the whole of it."""

    def add(self, stage: str, ranked: Ranked) -> None:
        """Take a stage's order over."""
        self.ranked = ranked
        self.scores[stage] = dict(ranked)


DOUBTED = 0.38  # below this a search is in doubt: 10 % of right first documents are, on six sites


def is_confident(likely: float | None) -> bool:
    """Whether a search is not in doubt, by how likely its first document is right; True where none can tell."""
    return likely is None or likely >= DOUBTED


def in_order(scored: Iterable[tuple[int, float]]) -> Ranked:
    """Return (number, score) pairs, best first; equal scores in the order of their numbers."""
    return sorted(sorted(scored), key=itemgetter(1), reverse=True)  # twice by C is faster than once by Python


def top_k(scores: Mapping[int, float], k: int) -> Ranked:
    """Return the k best by score."""
    return in_order(scores.items())[:k]


def best_of(ranked: Ranked, k: int, whose: Callable[[int], Whose]) -> dict[Whose, float]:
    """Return the first k of what units belong to, best first, each with the score of its best unit."""
    best: dict[Whose, float] = {}
    for unit, score in ranked:
        best.setdefault(whose(unit), score)
        if len(best) >= k:
            break
    return best


def append_tail(head: Ranked, tail: Ranked) -> Ranked:
    """Return a reordered head, then the rest of the ranking in its own order, with scores below the head's last."""
    floor = head[-1][1] if head else 0.0
    return head + [(unit, floor - 1.0 - place) for place, (unit, _) in enumerate(tail)]
