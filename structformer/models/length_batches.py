"""Texts of like length together, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Sequence

CPU_BATCH_TOKENS = 1024  # small batches stay in the caches, and their texts are of more like length
GPU_BATCH_TOKENS = 65_536  # a GPU waits on small batches
_LIKE = 0.75  # of the longer text's length
_WORTH_A_BATCH = 128  # tokens


def length_buckets(lengths: Sequence[int], device: str, batch_tokens: int | None = None) -> list[list[int]]:
    """Numbers of the texts in batches of ascending length, each of at most `batch_tokens` padded tokens, but at least
    one text.

    On a CPU, which loses little by small batches, texts of much unlike length stay apart even where there is room.
    """
    on_cpu = device == "cpu"
    budget = batch_tokens or (CPU_BATCH_TOKENS if on_cpu else GPU_BATCH_TOKENS)
    batches: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda number: (lengths[number], number)):
        last = batches[-1] if batches else []
        fits = bool(last) and (len(last) + 1) * lengths[number] <= budget
        if (
            fits
            and on_cpu
            and lengths[last[0]] < _LIKE * lengths[number]
            and len(last) * lengths[last[-1]] >= _WORTH_A_BATCH
        ):
            fits = False
        if fits:
            last.append(number)
        else:
            batches.append([number])
    return batches
