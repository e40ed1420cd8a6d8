"""Reading a request's body: all of it, before anything is done with it, within a size and a time."""

from __future__ import annotations

import anyio
from starlette.datastructures import Headers
from starlette.types import Message, Receive


class TooLarge(Exception):
    """A body that goes on beyond the limit."""


class Gone(Exception):
    """The client left before its body was whole."""


def has_body(headers: Headers) -> bool:
    """Whether a request says that something follows its headers."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


async def read_body(receive: Receive, most: int, seconds: float) -> bytes:
    """The whole body. Raises TooLarge beyond `most` bytes, TimeoutError after `seconds`, Gone if the client leaves."""
    body = bytearray()
    with anyio.fail_after(seconds):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            body += message.get("body", b"")
            if len(body) > most:
                raise TooLarge
            if not message.get("more_body", False):
                return bytes(body)


def again(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read once more, then what comes after it."""
    given = False

    async def from_the_beginning() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return from_the_beginning
