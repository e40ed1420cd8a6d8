"""Running the server: uvicorn with a graceful end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import uvicorn

from structformer.errors import UsageError
from structformer.serving.app import Application

_DRAIN_SECONDS = 0.5  # in which a balancer learns that it is to ask elsewhere
_END_SECONDS = 10


class Server(uvicorn.Server):
    """On SIGTERM says that it is not ready, closes connections after their answers, then ends when all are given."""

    def __init__(self, application: Application, *, log_level: str = "warning") -> None:
        options = application.options
        self._application = application
        super().__init__(
            uvicorn.Config(
                application.asgi,
                host=options.host,
                port=options.port,
                root_path=options.root,
                log_level=log_level,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_END_SECONDS,
                timeout_keep_alive=30,
                ws="none",
            )
        )

    def handle_exit(self, sig: int, frame: Any) -> None:
        """The first signal drains, the second ends at once; the exit code is 0 either way."""
        if self._application.asgi.draining or sig == signal.SIGINT:
            self.force_exit = self.should_exit
            self.should_exit = True
            return
        self._application.asgi.draining = True
        asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self._end)

    def _end(self) -> None:
        self.should_exit = True


def run(application: Application, ready: Callable[[str], object] = lambda address: None) -> None:
    """Serve until a signal comes. ready: called with the address once it answers. Raises UsageError where the address
    is taken.
    """
    server = Server(application)
    asyncio.run(_serve(server, application, ready))
    if not server.started:
        options = application.options
        raise UsageError(f"{options.host}:{options.port} cannot be listened on: is it taken? Choose another --port")


async def _serve(server: Server, application: Application, ready: Callable[[str], object]) -> None:
    async def tell() -> None:
        while not server.started:
            await asyncio.sleep(0.02)
        sockets = [each for one in server.servers for each in one.sockets]
        port = sockets[0].getsockname()[1] if sockets else application.options.port
        host = application.options.host
        host = f"[{host}]" if ":" in host else host
        ready(f"http://{host}:{port}{application.options.root}/")

    telling = asyncio.create_task(tell())
    try:
        await server.serve()
    except SystemExit:  # uvicorn's way to say that it cannot listen
        server.started = False
    finally:
        telling.cancel()
