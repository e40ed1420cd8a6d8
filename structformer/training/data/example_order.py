"""Which Examples a step sees: a pure function of the seed and the step, so that any step can be reached at once."""

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from structformer.sampling import Example

_MOST_REPEATED = 4
# Examples that are read together: in sixteen stretches of the corpus, some fifty megabytes of a task.
BLOCK, STRETCH = 16_384, 1_024


class ExampleSource(Protocol):
    """Where Examples come from: structformer.sampling.Samples, or what offers the same."""

    counts: dict[str, int]
    manifest: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """A digest of them all."""

    def example(self, task: str, number: int) -> Example:
        """Return the number-th Example of a task."""


def permuted(index: int, size: int, key: str) -> int:
    """Return where `index` goes under a pseudo-random permutation of range(size), in constant time and memory.

    A four-round Feistel network over the next even power of two, walked until the result is in range
    (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, section 3).
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for step in range(4):
            digest = hashlib.blake2b(f"{key}/{step}/{right}".encode(), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(digest, "big") & mask)
        index = left << half | right
        if index < size:
            return index


def shuffled(place: int, size: int, key: str) -> int:
    """The Example at a place of a task's random order: beyond a block, sixteen random stretches of the corpus pass at a
    time, so that Examples larger than the memory are read once an epoch.
    """
    block = place // BLOCK * BLOCK
    place = block + permuted(place - block, min(BLOCK, size - block), f"{key}/{block}" if block else key)
    if size <= BLOCK:
        return place
    stretch, inside = divmod(place, STRETCH)
    if stretch < (whole := size // STRETCH):
        stretch = permuted(stretch, whole, f"{key}/stretches")
    # Stretches begin elsewhere each epoch, so that it is not always the same Examples that come last.
    return (stretch * STRETCH + inside + permuted(0, size, f"{key}/begin")) % size


class ExampleOrder:
    """The groups of every step, in a new random order each epoch, in shares fixed by the mix; a small task's Examples
    come at most _MOST_REPEATED times as often as the average.
    """

    def __init__(self, samples: ExampleSource, mix: Mapping[str, float], groups_per_step: int, seed: int) -> None:
        self._samples = samples
        self._seed = seed
        self.mix = {task: weight for task, weight in mix.items() if samples.counts.get(task)}
        self.missing = [task for task in mix if task not in self.mix]
        self.counts = {task: samples.counts[task] for task in self.mix}
        self._total = sum(self.counts.values())
        total = sum(Fraction(weight) for weight in self.mix.values())
        most = {task: Fraction(_MOST_REPEATED * count, self._total) for task, count in self.counts.items()}
        self._shares = {task: min(Fraction(weight) / total, most[task]) for task, weight in self.mix.items()}
        self.groups_per_step = groups_per_step

    def places(self, step: int) -> list[tuple[str, int]]:
        """Return (task, Example number) of every group of a step, counted from 0."""
        before, after = (self._of_tasks(steps * self.groups_per_step) for steps in (step, step + 1))
        return [
            (task, shuffled(position % size, size, f"{self._seed}/{task}/{position // size}"))
            for task, size in self.counts.items()
            for position in range(before[task], after[task])
        ]

    def _of_tasks(self, groups: int) -> dict[str, int]:
        """Return how many of a run's first `groups` groups are each task's; together they are always `groups`."""
        counts: dict[str, int] = {}
        weight = sum(self._shares.values(), Fraction())
        for task, share in self._shares.items():
            counts[task] = int(groups * share / weight)
            groups -= counts[task]
            weight -= share
        return counts

    def chunk(self, step: int, number: int, chunks: int) -> list[tuple[str, int]]:
        """The `number`-th of a step's `chunks`, which one device sees at once, tasks spread evenly. Rank r of a run
        with accumulation a has the chunks r a .. r a + a - 1, so that two processes see what one with twice a does.
        """
        return self.places(step)[number::chunks]

    def examples(self, places: Sequence[tuple[str, int]]) -> list[Example]:
        """Return the Examples at these places."""
        return [self._samples.example(task, number) for task, number in places]

    def epochs(self, steps: int) -> float:
        """Return how often an Example is seen in so many steps, on average."""
        return steps * self.groups_per_step / max(1, self._total)
