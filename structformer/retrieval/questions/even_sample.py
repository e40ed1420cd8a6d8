"""An even choice among texts of a corpus that depends on the texts alone, in bounded memory."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(slots=True)
class Sampled:
    """A text of a sample."""

    text: str
    document: int
    """The number of its document."""
    units: list[int]
    """The units that it was seen in."""


@dataclass(slots=True)
class EvenSample:
    """The entries whose keys have the lowest digests."""

    most: int
    """How many entries are kept."""
    salt: str
    """Text that the digests depend on beside the keys."""
    entries: dict[int, Sampled] = field(default_factory=dict)
    """By digest."""
    _below: int = 2**64

    def get(self, key: str) -> Sampled | None:
        """Return what was added under a key, if it was kept."""
        return self.entries.get(self._digest(key))

    def add(self, key: str, text: str, document: int, unit: int | None) -> None:
        """Add a text, or another unit of one that is there."""
        digest = self._digest(key)
        if digest >= self._below:
            return
        entry = self.entries.setdefault(digest, Sampled(text, document, []))
        if unit is not None and (not entry.units or entry.units[-1] != unit):
            entry.units.append(unit)
        while len(self.entries) > self.most:
            self._below //= 2
            self.entries = {key: value for key, value in self.entries.items() if key < self._below}

    def in_order(self) -> list[Sampled]:
        """Return all that was kept, by digest."""
        return [self.entries[digest] for digest in sorted(self.entries)]

    def _digest(self, key: str) -> int:
        data = f"{self.salt}/{key}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def evenly_taken(count: int, share: float) -> npt.NDArray[np.bool_]:
    """Return (count,) which of so many a sample of that share takes, at a fixed stride that depends on nothing else."""
    taken = np.zeros(count, bool)
    if count:
        places = (np.arange(max(1, round(count * share))) / share).astype(np.int64)
        taken[np.unique(places.clip(max=count - 1))] = True
    return taken
