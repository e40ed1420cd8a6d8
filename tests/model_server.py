"""A small stand-in for a language model's server: speaks OpenAI's form and writes what its test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Writer(ThreadingHTTPServer):
    """A model's server. writes: the answer to a section's quotation, its pieces, or an HTTP status; asked: the bodies it
    got.
    """

    def __init__(self, writes: Callable[[str], Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.writes = writes
        self.asked: list[dict] = []
        self.keys: list[str] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, *given: object) -> None:
        """A client that waits no longer is nothing to print."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def sections(self) -> list[str]:
        """The titles of the sections that it was asked about."""
        return sorted(body["messages"][1]["content"].split("\n")[1] for body in self.asked)


def servers() -> Iterator[Callable[[Callable[[str], Any]], Writer]]:
    """Yield what starts a server, for a fixture; end the started ones after the test."""
    started: list[Writer] = []

    def start(writes: Callable[[str], Any]) -> Writer:
        started.append(Writer(writes))
        return started[-1]

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Writer

    def log_message(self, *given: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "small"}]}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers["authorization"])
        answer = self.server.writes(body["messages"][1]["content"])
        self.send_response(answer if isinstance(answer, int) else 200)
        self.end_headers()
        if not isinstance(answer, int):
            for piece in [answer] if isinstance(answer, str) else answer:
                self.wfile.write(f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
