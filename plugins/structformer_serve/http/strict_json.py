"""JSON as it is defined: without NaN, Infinity, and numbers so large that Python reads infinity."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from structformer_serve.http.bodies import again


def parse(body: bytes) -> Any:
    """The value of a body. Raises ValueError."""
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
