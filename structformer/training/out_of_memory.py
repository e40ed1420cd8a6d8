"""Turn out-of-memory errors into messages that say what to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structformer.errors import ModelError, is_out_of_memory


@contextmanager
def memory_errors(when: str) -> Iterator[None]:
    """Raises ModelError in the place of torch's errors about memory. when: where in the run, as "at step 3"."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ModelError(
            f"out of memory {when}: use a smaller --batch-tokens (what is learned stays the same), a smaller --batch "
            "or --max-tokens (--accumulation keeps the step's size), or a smaller --base-model"
        ) from error
