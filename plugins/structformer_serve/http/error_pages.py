"""Errors as pages, for browsers; programs get them as JSON."""

import json
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from structformer_serve.assets import page
from structformer_serve.language import language

_FOR_PROGRAMS = ("/api/", "/1/", "/mcp", "/static/", "/openapi.json", "/metrics", "/healthz", "/readyz", "/widget.js")


def for_browsers(answer: Response, scope: Scope, root: str, code: str = "") -> Response:
    """Return an error as who asked reads it: the same status, headers and message, in a page for a browser.

    root: what precedes all paths. code: the page's language; "" for the browser's.
    """
    path, headers = str(scope["path"]).removeprefix(root), Headers(scope=scope)
    if path.startswith(_FOR_PROGRAMS) or "text/html" not in headers.get("accept", ""):
        return answer
    try:
        message = str(json.loads(bytes(answer.body))["message"])
    except (ValueError, KeyError):
        return answer
    accepted = (each.partition(";")[0].strip() for each in headers.get("accept-language", "").split(","))
    t, status = language(code, *accepted), answer.status_code
    heading = t(name) if (name := f"e{status}") in t.strings else HTTPStatus(status).phrase
    # What went wrong is said in English alone.
    message = message[:1].upper() + message[1:] if t.code == "en" else ""
    kept = {name: value for name, value in answer.headers.items() if name not in ("content-type", "content-length")}
    if status == HTTPStatus.NOT_FOUND:
        message = t("gone_page")
    shown = page("error.html", t=t, heading=heading, message=message, root=root)
    return Response(shown, status, {**kept, "cache-control": "no-store"}, "text/html; charset=utf-8")
