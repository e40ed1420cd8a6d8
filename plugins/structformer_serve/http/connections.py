"""Clients' connections: HTTP/1.1 with a time limit for everything that a client may hold up, and a limit of how many
connections one client has.
"""

import asyncio
import os
from collections import Counter
from contextlib import suppress
from enum import Enum
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from structformer_serve.http.guard import Metrics
from structformer_serve.http.listening import queued
from structformer_serve.http.options import ServerOptions, client_of

IDLE_SECONDS = 30.0
LAST_REQUEST_SECONDS = 2.0  # for the next request of a connection that is kept open, once the server ends
_SLOWEST = 1000  # bytes a second, below which an answer counts as not read
_RESERVED = 128  # file descriptors for everything else: an index that is being opened beside the old one
_SOONEST = 0.1


class Phase(Enum):
    """Phases of a connection, by what it waits for."""

    REQUEST = "headers"  # from its beginning, or from a further request's first byte, until the headers are whole
    ANSWER = "answer"  # ours
    REST = "body"  # what is left of a body whose request was answered without it
    NEXT = "idle"  # a further request, of which nothing has come
    END = "end"


class Connections(ServerState):
    """A server's connections. patient: whether its end waits for requests that are on their way."""

    def __init__(self, options: ServerOptions, metrics: Metrics) -> None:
        super().__init__()
        self.options = options
        self.metrics = metrics
        self.patient = True
        self.most = most_connections()
        self._by_client: Counter[str] = Counter()

    def entered(self, client: str) -> HTTPStatus | None:
        """Count a connection; gives the status to refuse it with where there are too many."""
        self._by_client[client] += 1
        self.metrics.connections.set(len(self.connections))
        if len(self.connections) > self.most:
            return HTTPStatus.SERVICE_UNAVAILABLE
        most = self.options.connections_of(client)
        return HTTPStatus.TOO_MANY_REQUESTS if most and self._by_client[client] > most else None

    def left(self, client: str) -> None:
        """Count a connection that has ended."""
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]
        self.metrics.connections.set(len(self.connections))


def most_connections() -> int:
    """Return how many connections the file descriptors of this process are enough for."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = len(os.listdir("/dev/fd"))
    except (ImportError, OSError):  # Windows
        return 512
    return max(16, (limit if limit > 0 else 1 << 20) - used - _RESERVED)


class Connection(H11Protocol):
    """One connection. h11's and not httptools', which uvicorn would take where it is installed, so that what is
    overridden here is there on every machine.
    """

    server_state: Connections
    _client = ""
    _phase = Phase.END
    _ending = False
    _deadline: asyncio.TimerHandle | None = None
    _looking_at_unsent: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # So that pause_writing is called whenever the client does not take all at once, and resume_writing once it has.
        transport.set_write_buffer_limits(high=0)
        self._client = client_of(self.client[0] if self.client else "")
        refused = self.server_state.entered(self._client)
        if refused is None:
            self._enter(Phase.REQUEST)
        else:
            self._refuse(refused, "limit", "too many connections")

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter(Phase.END)
        self._stop_looking()
        super().connection_lost(exc)
        self.server_state.left(self._client)

    def handle_events(self) -> None:
        super().handle_events()
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def timeout_keep_alive_handler(self) -> None:
        """uvicorn's limit for the next request, which is one of the phases here."""

    def shutdown(self) -> None:
        """Once nobody can connect any more: what is being answered is answered, and in a patient server a request on
        its way too. Closed at once, it would be cut: a client that has sent it cannot know whether it was carried out.
        """
        self._ending = True
        if self._phase is Phase.ANSWER:
            self.cycle.keep_alive = False
        elif not self.server_state.patient:
            self._set_deadline(0.0)
        elif self._phase is Phase.NEXT:
            self._enter(Phase.NEXT)

    # Deadlines

    def _look(self) -> None:
        phase = self._current_phase()
        if phase is not self._phase:
            self._enter(phase)

    def _current_phase(self) -> Phase:
        if self.transport.is_closing():
            return Phase.END
        if self.cycle is not None and not self.cycle.response_complete:
            return Phase.ANSWER
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.REST
        return Phase.REQUEST if self.cycle is None or self.conn.trailing_data[0] else Phase.NEXT

    def _enter(self, phase: Phase) -> None:
        options = self.server_state.options
        self._phase = phase
        seconds = {
            Phase.REQUEST: options.header_seconds,
            Phase.REST: options.body_seconds,
            Phase.NEXT: LAST_REQUEST_SECONDS if self._ending else IDLE_SECONDS,
        }
        self._set_deadline(seconds.get(phase))

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        begun = bool(self.conn.trailing_data[0])
        if self._phase is not Phase.REST and not begun and queued(self._descriptor(), "FIONREAD"):
            self._set_deadline(_SOONEST)  # something has come while others were served: it is read first
        elif self._phase is Phase.REQUEST and begun:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "headers", "the request's headers did not come in time")
        else:
            self._close(self._phase.value)

    # A client that does not read its answer

    def pause_writing(self) -> None:
        """Something was written that the client does not take at once."""
        super().pause_writing()
        self._look_at_unsent(None)

    def resume_writing(self) -> None:
        """All that was written is with the kernel."""
        super().resume_writing()
        self._stop_looking()

    def _look_at_unsent(self, before: int | None) -> None:
        """Whether the client took its share since the last look. Nothing is written while it has not taken all, so what
        is unsent gets less, or the client does not read.
        """
        seconds = self.server_state.options.send_seconds
        now = self.transport.get_write_buffer_size() + queued(self._descriptor(), "TIOCOUTQ")
        if before is not None and before - now < _SLOWEST * seconds:
            self.server_state.metrics.closed.labels("sending").inc()
            self.transport.abort()
            return
        self._looking_at_unsent = self.loop.call_later(seconds, self._look_at_unsent, now)

    def _stop_looking(self) -> None:
        if self._looking_at_unsent is not None:
            self._looking_at_unsent.cancel()
            self._looking_at_unsent = None

    # Closing

    def _descriptor(self) -> int:
        return int(self.transport.get_extra_info("socket").fileno())

    def _refuse(self, status: HTTPStatus, reason: str, message: str) -> None:
        """An answer without the application, then the end."""
        body = f"{message}\n"
        lines = (
            f"HTTP/1.1 {status.value} {status.phrase}",
            "content-type: text/plain; charset=utf-8",
            f"content-length: {len(body)}",
            "connection: close",
            *(["retry-after: 1"] if status is not HTTPStatus.REQUEST_TIMEOUT else []),
        )
        self.transport.write("\r\n".join((*lines, "", body)).encode())
        with suppress(OSError):  # what is left unread would make the end a reset, which may lose the answer
            os.read(self._descriptor(), 1 << 16)
        self._close(reason)

    def _close(self, reason: str) -> None:
        self.server_state.metrics.closed.labels(reason).inc()
        self._enter(Phase.END)
        self.transport.close()
