"""The trained and the untrained search side by side: what training moved."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from structformer.extras import TORCH, are_installed
from structformer.retrieval import (
    ENCODER,
    UNTRAINED,
    OpenedIndex,
    Pipeline,
    as_pipeline,
    hybrid,
    searches_without_torch,
)

from structformer_serve.schemas import FoundDocument, SearchAnswer

COMPARED = 10  # documents of each search
_NAMES = {ENCODER: "trained", UNTRAINED: "untrained"}  # of the searches, by their encoders
_OTHER = {ENCODER: UNTRAINED, UNTRAINED: ENCODER}
Moved = Literal["same", "up", "down", "new", "gone"]


def other_search(opened: OpenedIndex, used: Pipeline) -> dict[str, Pipeline]:
    """The untrained search beside the trained one, or the other way round, by its name; none where the index has the
    vectors of one of them alone, or what encodes the other's queries is not at hand.
    """
    other = _OTHER.get(used.encoder)
    if other is None or not opened.index.has_vectors(other):
        return {}
    at_hand = are_installed(*TORCH) or searches_without_torch(opened.workspace, other)
    return {_NAMES[other]: as_pipeline(hybrid(other))} if at_hand else {}


@dataclass(frozen=True, slots=True)
class Placed:
    """A document at its place in one list. `moved` says what training did with it."""

    hit: FoundDocument
    place: int
    elsewhere: int | None
    """Its place in the other list; None if that does not find it."""
    trained: bool
    """Whether this is the trained search's list."""

    @property
    def moved(self) -> Moved:
        if self.elsewhere is None or self.elsewhere > COMPARED:
            return "new" if self.trained else "gone"
        if self.place == self.elsewhere:
            return "same"
        return "up" if (self.place < self.elsewhere) == self.trained else "down"


@dataclass(frozen=True, slots=True)
class Listed:
    """First results of one search."""

    name: str
    used: bool
    """Whether it is the search that the page uses."""
    places: list[Placed]

    @property
    def counts(self) -> Counter[Moved]:
        """How many of its documents were moved how."""
        return Counter(each.moved for each in self.places)


def compared(
    searches: Sequence[tuple[Pipeline, SearchAnswer, Sequence[int]]], number: Callable[[FoundDocument], int]
) -> list[Listed]:
    """Compare two searches, the one the page uses first; gives the list of the trained one first. Each has its
    pipeline, its answer, and the numbers of all documents that it found, best first. number: of a hit's document;
    copies have the number of the first of them.
    """
    lists = []
    for (pipeline, answer, _), (_, _, elsewhere) in (searches, searches[::-1]):
        trained = pipeline.encoder == ENCODER
        places = {document: place for place, document in enumerate(elsewhere, 1)}
        placed = [Placed(hit, place, places.get(number(hit)), trained) for place, hit in enumerate(answer.hits, 1)]
        lists.append(Listed(_NAMES[pipeline.encoder], pipeline is searches[0][0], placed))
    return sorted(lists, key=lambda each: each.name != _NAMES[ENCODER])
