"""Texts of like length together, so that little of a batch is padding."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Batches:
    """A device's batches."""

    tokens: int
    """At most, padding included."""
    like: float
    """Texts have at least this share of their batch's longest, ..."""
    worth: int
    """... unless the batch has fewer tokens than this."""


# Small batches stay in a CPU's caches. A GPU waits on them, and a batch of a GPU that were ten times as large would not
# be quicker, but hold texts of any length.
_CPU = _Batches(1024, 0.75, 128)
_GPU = _Batches(16_384, 0.9, 2048)


def default_batch_tokens(device: str) -> int:
    """The padded tokens that a batch has at most where nobody says how many."""
    return _of(device).tokens


def _of(device: str) -> _Batches:
    return _CPU if device == "cpu" else _GPU


def length_buckets(lengths: Sequence[int], device: str, batch_tokens: int | None = None) -> list[list[int]]:
    """Numbers of the texts in batches of ascending length, each of at most `batch_tokens` padded tokens, but at least
    one text. Texts of much unlike length stay apart even where there is room.
    """
    chosen = _of(device)
    budget = batch_tokens or chosen.tokens
    batches: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda number: (lengths[number], number)):
        last = batches[-1] if batches else []
        fits = bool(last) and (len(last) + 1) * lengths[number] <= budget
        unlike = bool(last) and lengths[last[0]] < chosen.like * lengths[number]
        if fits and not (unlike and len(last) * lengths[last[-1]] >= chosen.worth):
            last.append(number)
        else:
            batches.append([number])
    return batches
