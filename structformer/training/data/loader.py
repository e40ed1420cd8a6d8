"""Prepares coming chunks of Examples in a thread, so that training does not wait for reading and tokenizing."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from structformer.training.data.batching import Prepared

Place = tuple[str, int]
_AHEAD = 4


class Loader:
    """Iterates over (step, places, prepared chunk). idle: seconds that its user waited."""

    def __init__(
        self, work: Iterator[tuple[int, int, Sequence[Place]]], prepare: Callable[[int, int, Sequence[Place]], Prepared]
    ) -> None:
        self.idle = 0.0
        self._queue: queue.Queue[tuple[int, Sequence[Place], Prepared] | BaseException | None] = queue.Queue(_AHEAD)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work, prepare), daemon=True)
        self._thread.start()

    def _run(
        self, work: Iterator[tuple[int, int, Sequence[Place]]], prepare: Callable[[int, int, Sequence[Place]], Prepared]
    ) -> None:
        try:
            for step, chunk, places in work:
                if not self._put((step, places, prepare(step, chunk, places))):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _put(self, value: tuple[int, Sequence[Place], Prepared] | BaseException | None) -> bool:
        while not self._stopping.is_set():
            with suppress(queue.Full):
                self._queue.put(value, timeout=0.1)
                return True
        return False

    def next(self) -> tuple[int, Sequence[Place], Prepared] | None:
        """The next chunk, None after the last. Raises what went wrong in preparing it."""
        begun = time.monotonic()
        value = self._queue.get()
        self.idle += time.monotonic() - begun
        if isinstance(value, BaseException):
            raise value
        return value

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stopping.set()
        self._thread.join()
