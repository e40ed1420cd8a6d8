"""Reading a request's body: all of it, before anything is done with it, within a size and a time."""

import json
import math
from typing import Any

import anyio
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class TooLarge(Exception):
    """A body that goes on beyond the limit."""


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """The whole body. Raises TooLarge beyond `most` bytes, TimeoutError after `seconds`, ClientDisconnect if the client
    leaves.
    """
    body = bytearray()
    with anyio.fail_after(seconds):
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise TooLarge
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


def parse(body: bytes) -> Any:
    """Return the value of a body. Raises ValueError."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a number of JSON")
    return value


class StrictJson:
    """In front of an application that takes more than JSON for JSON: it gets an empty body instead, and answers to that
    in its own way.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        try:
            parse(body)
        except ValueError:
            body = b""
        await self._app(scope, again(body, receive), send)
