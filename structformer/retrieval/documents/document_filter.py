"""Which documents a search may find, as a bitmap."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Names = Callable[[Sequence[int]], list[str]]


class Allowed(Collection[int]):
    """The numbers of the documents that may be found.

    documents: (documents,) whether each is one of them; owners: (units,) the number of each unit's document. names:
    what units are called by links that the asker may see, where these are not all; it takes units' numbers. sources:
    (documents,) whether each may be seen, so that what it says of others counts, where these are not all: more than may
    be found where somebody has asked for some of them."""

    def __init__(
        self, documents: Mask, owners: npt.NDArray[np.int64], names: Names | None = None, sources: Mask | None = None
    ) -> None:
        self.documents = documents
        self.names = names
        self.sources = sources
        self._owners = owners
        self._count = int(np.count_nonzero(documents))

    @classmethod
    def of(cls, numbers: Collection[int], count: int, owners: npt.NDArray[np.int64]) -> Allowed:
        """These of so many documents."""
        if isinstance(numbers, Allowed):
            return numbers
        mask = np.zeros(count, bool)
        mask[[number for number in numbers if 0 <= number < count]] = True
        return cls(mask, owners)

    @cached_property
    def units(self) -> Mask:
        """(units,) whether each may be found."""
        mask: Mask = self.documents[self._owners]
        return mask

    @property
    def whole(self) -> bool:
        """Whether nothing is kept from the asker."""
        return self.names is None and self._count == len(self.documents)

    def owners_of(self, units: Sequence[int]) -> list[int]:
        """Return the documents of these units."""
        return sorted({int(self._owners[unit]) for unit in units})

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and 0 <= number < len(self.documents) and bool(self.documents[number])

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self.documents).tolist())

    def __len__(self) -> int:
        return self._count


def unit_numbers(documents: Collection[int], owners: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the numbers of these documents' units, ascending. owners: (units,) the number of each unit's document."""
    if isinstance(documents, Allowed):
        return np.flatnonzero(documents.units)
    return np.flatnonzero(np.isin(owners, list(documents)))
