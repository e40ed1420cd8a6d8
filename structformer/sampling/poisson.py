"""How many words a pseudo-query has: a Poisson number that is never zero."""

from __future__ import annotations

import math
from random import Random


def positive_poisson(random: Random, mean: float) -> int:
    """A Poisson number, drawn again while it is zero, as the released code of HARP and PROP draws it."""
    while True:
        if count := _poisson(random, mean):
            return count


def _poisson(random: Random, mean: float) -> int:
    """A Poisson number (Knuth's method)."""
    limit, product, count = math.exp(-mean), random.random(), 0
    while product > limit:
        product *= random.random()
        count += 1
    return count
