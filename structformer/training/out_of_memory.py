"""Turn out-of-memory errors into messages that say what to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from structformer.errors import ModelError

_CPU = "allocate memory"  # in torch's message of a CPU that has no more; it has no error of its own


@contextmanager
def memory_errors(when: str) -> Iterator[None]:
    """Raises ModelError in the place of torch's errors about memory. when: where in the run, as "at step 3"."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, torch.OutOfMemoryError | MemoryError) and _CPU not in str(error):
            raise
        raise ModelError(
            f"out of memory {when}: use a smaller --batch or --max-tokens (--accumulation keeps "
            "the step's size), --gradient-checkpointing, "
            "or a smaller --base-model"
        ) from error
