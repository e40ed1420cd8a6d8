"""Running the server: uvicorn with a graceful end, in which no request is cut."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from structformer_serve.app import Application
from structformer_serve.http.connections import IDLE_SECONDS, Connection, Connections
from structformer_serve.http.listening import Listening, keep_newcomers_out, someone_waits

_DRAIN_SECONDS = 0.5  # in which a balancer learns to ask elsewhere
_LAST_SECONDS = 0.5  # in which connections that were begun by then are accepted: longer than their packets travel
_MOST_LAST_SECONDS = 2.0  # for the same, where some still wait
_LOOK_SECONDS = 0.05


class Server(uvicorn.Server):
    """On SIGTERM it says that it is not ready, then keeps out whoever has not begun to connect, answers the others, and
    ends.

    Sockets that were handed over stay open: who connects meanwhile waits for the next process."""

    def __init__(
        self, application: Application, on: Listening, ready: Callable[[str], object] = lambda address: None
    ) -> None:
        """ready: called with the address once it answers."""
        options = application.options
        self._application = application
        self._listening = on
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None
        super().__init__(
            uvicorn.Config(
                application.asgi,
                http=Connection,
                # Whoever asks writes that header too, so it is believed from no one but proxies that are named.
                proxy_headers=bool(options.proxies),
                forwarded_allow_ips=list(options.proxies),
                root_path=options.root,
                log_level="warning",
                access_log=False,
                server_header=False,
                # As long as all that a request may wait for one after the other.
                timeout_graceful_shutdown=round(options.header_seconds + options.body_seconds + options.seconds),
                timeout_keep_alive=round(IDLE_SECONDS),
                ws="none",
            )
        )
        self._connections = self.server_state = Connections(options, application.metrics)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes."""
        asyncio.run(self.serve(sockets or list(self._listening.sockets)))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        host = self._application.options.host
        host = f"[{host}]" if ":" in host else host
        self._ready(f"http://{host}:{self._listening.port}{self._application.options.root}/")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, and let the application end too: uvicorn forgets it where it hurries, and then shows how it was cut."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM drains; Ctrl-C ends after the answers that are under way, and either of them at once the second time.
        The exit code is 0.
        """
        guard = self._application.asgi
        if guard.draining or sig == signal.SIGINT or self._loop is None:
            self.force_exit = self.should_exit
            self.should_exit = True
            self._connections.patient = guard.draining and sig != signal.SIGINT
            guard.draining = True
            return
        guard.draining = True
        self._loop.call_soon_threadsafe(self._loop.call_later, _DRAIN_SECONDS, self._accept_the_last)

    def _accept_the_last(self) -> None:
        assert self._loop is not None
        for each in self._listening.sockets:
            if self._listening.handed_over:
                self._loop.remove_reader(each)  # a filter would stay on the socket, and meet the next process
            else:
                keep_newcomers_out(each)
        self._loop.call_later(_LAST_SECONDS, self._end, self._loop.time() + _MOST_LAST_SECONDS)

    def _end(self, latest: float) -> None:
        """Close the port, once nobody waits in it; where newcomers cannot be kept out there may always be one."""
        assert self._loop is not None
        if self._listening.handed_over or self._loop.time() > latest or not someone_waits(self._listening.sockets):
            self.should_exit = True
        else:
            self._loop.call_later(_LOOK_SECONDS, self._end, latest)


def run(application: Application, ready: Callable[[str], object], on: Listening) -> None:
    """Serve until a signal comes, which ends the process: while that ends, Ctrl-C does nothing more. ready: called with
    the address once it answers.
    """
    server = Server(application, on, ready)
    if threading.current_thread() is threading.main_thread():
        # uvicorn has its own handlers while it serves, and leaves this one behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.run()
