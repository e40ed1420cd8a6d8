"""Answers of a language model as server-sent events, a few at once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import anyio
from anyio.to_thread import run_sync
from starlette.responses import Response, StreamingResponse

from structformer_serve.asking import Event
from structformer_serve.http.guard import problem

_AT_ONCE = 4
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}  # a proxy passes on each event as it comes


class AnswerStreams:
    """Sends answers while they are made. Whoever leaves makes room for the next."""

    def __init__(self) -> None:
        self._running = 0
        self._limiter: anyio.CapacityLimiter | None = None  # it belongs to an event loop

    def response(self, events: Iterator[Event]) -> Response:
        """The events as an answer to a request."""
        if self._running >= _AT_ONCE:
            return problem(503, "busy", "too many questions at once", retry_after="5")
        return StreamingResponse(self._sent(events), media_type="text/event-stream", headers=_HEADERS)

    async def _sent(self, events: Iterator[Event]) -> AsyncIterator[bytes]:
        self._limiter = self._limiter or anyio.CapacityLimiter(_AT_ONCE)
        self._running += 1
        try:
            while event := await run_sync(next, events, None, limiter=self._limiter, abandon_on_cancel=True):
                yield as_event(event)
        finally:
            self._running -= 1


def as_event(event: Event) -> bytes:
    """A server-sent event. In ASCII, since texts may hold half of a surrogate pair."""
    name, value = event
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=True)}\n\n".encode()
