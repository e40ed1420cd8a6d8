"""Errors as pages, for browsers; programs get them as JSON."""

import json
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from structformer_serve.assets import page

_FOR_PROGRAMS = ("/api/", "/1/", "/mcp", "/static/", "/openapi.json", "/metrics", "/healthz", "/readyz", "/widget.js")
_HEADINGS = {
    401: "A token is needed",
    404: "Not there",
    421: "Not under this name",
    422: "This cannot be asked",
    429: "Too many requests",
    503: "Not at the moment",
}
_IN_WORDS = {"Not Found": "There is no such page."}


def for_browsers(answer: Response, scope: Scope, root: str) -> Response:
    """An error as who asked reads it: the same status, headers and message, in a page for a browser. root: what
    precedes all paths.
    """
    path = str(scope["path"]).removeprefix(root)
    if path.startswith(_FOR_PROGRAMS) or "text/html" not in Headers(scope=scope).get("accept", ""):
        return answer
    try:
        said = str(json.loads(bytes(answer.body))["message"])
    except (ValueError, KeyError):
        return answer
    status, message = answer.status_code, _IN_WORDS.get(said, said)
    heading, sentence = _HEADINGS.get(status, HTTPStatus(status).phrase), message[:1].upper() + message[1:]
    kept = {name: value for name, value in answer.headers.items() if name not in ("content-type", "content-length")}
    shown = page("error.html", heading=heading, message=sentence, root=root)
    return Response(shown, status, {**kept, "cache-control": "no-store"}, "text/html; charset=utf-8")
