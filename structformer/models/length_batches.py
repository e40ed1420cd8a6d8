"""Texts of like length together, so that little of a batch is padding."""

from collections.abc import Sequence

import numpy as np

# Tokens of a batch at most, padding included, and those that a model reads in the time which it takes to begin another.
# Small batches stay in a CPU's caches. A GPU waits for Python: on an H200, BERT-base's layers and back took 40 ms to
# launch, in which it reads 18,000 tokens; slower GPUs read fewer.
_CPU = 1024, 128
_GPU = 65_536, 8192


def default_batch_tokens(device: str) -> int:
    """Return the padded tokens that a batch has at most where nobody says how many."""
    return (_CPU if device == "cpu" else _GPU)[0]


def length_buckets(lengths: Sequence[int], device: str, batch_tokens: int | None = None) -> list[list[int]]:
    """Texts' numbers in batches by length, `batch_tokens` padded tokens at most, such that they are read soonest."""
    most, launch = _CPU if device == "cpu" else _GPU
    budget = batch_tokens or most
    order = sorted(range(len(lengths)), key=lambda number: (lengths[number], number))
    cost = np.zeros(len(order) + 1, np.int64)  # of the first so many texts
    begins = [0]  # where the last batch of so many texts does
    for end, number in enumerate(order, 1):
        longest = max(1, lengths[number])
        first = max(0, end - max(1, budget // longest))
        costs = cost[first:end] + np.arange(end - first, 0, -1) * longest
        begin = int(costs.argmin())
        cost[end] = costs[begin] + launch
        begins.append(first + begin)
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    return batches[::-1]
