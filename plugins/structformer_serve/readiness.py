"""Whether a search that is asked now would be answered: found out by a search, whose outcome holds for a second."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import anyio

from structformer_serve.http.guard import log

_KEPT_SECONDS = 1.0
_MOST_SECONDS = 2.0
READY, SLOW, FAILING = "", "slow", "failing"


class Readiness:
    """Probes share one search a second, so they cost nothing however many ask."""

    def __init__(self, run: Callable[[Callable[[], object]], Awaitable[object]], search: Callable[[], object]) -> None:
        """run: does work in the threads that searches have, and waits for one like they do."""
        self._run = run
        self._search = search
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._reason = READY
        self._under_way = False

    async def reason(self) -> str:
        """Why a search would not be answered, in a word; READY where it would."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._reason = await self._tried()
                self._until = time.monotonic() + _KEPT_SECONDS
        return self._reason

    async def _tried(self) -> str:
        if self._under_way:  # the last one has still not come back: another would only hold another thread
            return SLOW
        try:
            with anyio.fail_after(_MOST_SECONDS):
                await self._run(self._noted_search)
        except TimeoutError:
            return SLOW
        except Exception as error:  # whatever it is, searches meet it too
            if self._reason != FAILING:
                log.warning("searches fail, so /readyz says 503: %r", error)
            return FAILING
        return READY

    def _noted_search(self) -> None:
        self._under_way = True
        try:
            self._search()
        finally:
            self._under_way = False
