"""Checks before every request: who asks, from where, how much and how often; and the log of it."""

from __future__ import annotations

import json
import logging
import re
import time
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any

import anyio
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structformer.engines import is_loopback

from structformer_serve.assets import page
from structformer_serve.http.access import EVERYTHING, Access, RateLimit
from structformer_serve.http.bodies import TooLarge, again, read_body
from structformer_serve.http.options import ServerOptions, client_of
from structformer_serve.language import language

ACCESS: ContextVar[Access] = ContextVar("access", default=EVERYTHING)
# Whether what is asked counts as feedback: not if another site's page may have had it asked.
COUNTS: ContextVar[bool] = ContextVar("counts", default=True)
log = logging.getLogger("structformer.serve")
_LENGTH = re.compile(r"[0-9]{1,18}")
# Paths that need no token: a balancer has none, and the box's script is asked for by a tag that cannot send one.
_OPEN = ("/healthz", "/readyz", "/static/", "/widget.js", "/favicon.ico", "/robots.txt")
_PROBES = ("/healthz", "/readyz")  # asked by any name, or by none: a balancer knows only where the server is
_TOO_MANY = 429
_WRONG_TOKENS = 20  # of a client, one after the other, that are answered at once
_GUESS_SECONDS = 0.2
_CLIENT_LEFT = 499  # as nginx logs it; nobody receives it
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_FOR_PROGRAMS = ("/api/", "/1/", "/mcp", "/static/", "/openapi.json", "/metrics", "/healthz", "/readyz", "/widget.js")
_FOR_ANY_SITE = ("/static/", "/widget.js")


class Metrics:
    """Metrics that /metrics tells Prometheus."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        of_ours: dict[str, Any] = {"namespace": "structformer", "registry": self.registry}
        self.requests = Counter("requests", "Answered requests.", ["route", "status"], **of_ours)
        buckets = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
        self.seconds = Histogram("request_seconds", "Time of a request.", ["route"], buckets=buckets, **of_ours)
        self.active = Gauge("active_requests", "Requests being answered.", **of_ours)
        self.bodies = Gauge("bodies_being_read", "Requests still on their way.", **of_ours)
        self.connections = Gauge("connections", "Open connections.", **of_ours)
        ended = "Connections that the server ended: late headers, late body, idle, sending (answer not read), limit."
        self.closed = Counter("connections_closed", ended, ["reason"], **of_ours)
        self.swaps = Counter("index_swaps", "Changes to a newer index.", **of_ours)
        self.feedback_dropped = Counter("feedback_dropped", "Events that were not kept.", ["reason"], **of_ours)


def problem(status: int, error: str, message: str, **headers: str) -> Response:
    """Return an error as JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"error": error, "message": message}, status, named)


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


class Guard:
    """The outermost part of the application.

    A request counts among those that are worked on from the moment that it is whole until its answer begins to be sent,
    so that no client can take a place by sending or reading slowly."""

    def __init__(self, app: ASGIApp, options: ServerOptions, metrics: Metrics) -> None:
        self._app = app
        self._options = options
        self._metrics = metrics
        self._rate = RateLimit(0.0 if options.on_loopback and not options.tokens else options.rate)
        self._wrong = RateLimit(1.0, _WRONG_TOKENS)
        # Requests that are worked on, and those whose bodies are read, by an object of each.
        self._active: set[object] = set()
        self._bodies: set[object] = set()
        metrics.active.set_function(lambda: len(self._active))
        metrics.bodies.set_function(lambda: len(self._bodies))
        self.draining = False

    @property
    def busy(self) -> bool:
        """Whether a search would be refused at the moment."""
        return len(self._active) >= self._options.queued

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        headers = Headers(scope=scope)
        _take_as_a_proxy_may_send_it(scope, headers)
        path = _path(scope)
        status = 500
        slot = object()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._active.discard(slot)
                self._add_headers(MutableHeaders(scope=message), path, headers.get("origin", ""))
            await send(message)

        try:
            refused = self._refusal(scope, headers)
            has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
            if refused is None and has_body:
                refused, receive = await self._with_body(Request(scope, receive))
            if refused is None and not path.startswith(_OPEN):
                if self.busy:
                    refused = _busy()
                else:
                    self._active.add(slot)
            if refused is not None:
                if refused.status_code == _TOO_MANY and self._options.tokens:
                    await anyio.sleep(_GUESS_SECONDS)  # else who guesses tokens would only have to go on
                refused = for_browsers(refused, scope, self._options.root)
            await (refused or self._app)(scope, receive, answer)
        except ClientDisconnect:
            status = _CLIENT_LEFT
        finally:
            self._active.discard(slot)
            self._note(scope, status, time.perf_counter() - begun)

    async def _with_body(self, request: Request) -> tuple[Response | None, Receive]:
        """The answer to a request whose body cannot be read, None for one that may go on, which has it in memory."""
        options, receive = self._options, request.receive
        if len(self._bodies) >= options.bodies:
            return _busy(), receive
        self._bodies.add(request)
        try:
            return None, again(await read_body(request, options.body_bytes, options.body_seconds), receive)
        except TooLarge:
            return self._too_large(), receive
        except TimeoutError:
            self._metrics.closed.labels("body").inc()
            message = "the request's body did not come in time"
            return problem(408, "timeout", message, connection="close"), receive
        finally:
            self._bodies.discard(request)

    def _too_large(self) -> Response:
        return problem(413, "too_large", f"a request has at most {self._options.body_bytes} bytes")

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a request that may not go on; None for one that may. Sets what it has access to."""
        options, path = self._options, _path(scope)
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if "transfer-encoding" in headers and "content-length" in headers:  # a proxy may take the other for true
            return problem(400, "two_lengths", "Transfer-Encoding beside Content-Length", connection="close")
        if not options.answers_to(host) and path not in _PROBES:
            return problem(421, "wrong_host", f"this server does not answer to {host[:100]!r}: see --host-name")
        if origin and not options.may_ask(origin, host):
            return problem(403, "wrong_origin", f"pages of {origin[:100]!r} may not ask: see --cors")
        # From one of our own pages, the browser's user, or no browser. Browsers send no Origin with images, scripts and
        # frames, but all of today's say whose page has something fetched.
        own = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        declared = bool(origin) and options.may_ask(origin, host)
        if not (own or declared or path.startswith(_OPEN) or _opens_a_page(scope, headers)):
            return problem(403, "other_site", "a page of another site may not ask: see --cors")
        COUNTS.set(origin in options.cors or (own and (not origin or origin.partition("://")[2] == host)))
        if scope["method"] == "OPTIONS" and origin:
            return Response(status_code=204)
        length = headers.get("content-length", "0")
        if not _LENGTH.fullmatch(length) or int(length) > options.body_bytes:
            return self._too_large()
        access = EVERYTHING if path.startswith(_OPEN) else options.tokens.access(headers.get("authorization", ""))
        address = client_of((scope.get("client") or ("",))[0])
        if access is None:
            if wait := self._wrong.wait(address):
                return _too_many(wait)
            return problem(401, "unauthorized", "a token is needed", www_authenticate='Basic realm="search"')
        client = access.name or address
        if not path.startswith(_OPEN) and (wait := self._rate.wait(client)):
            return _too_many(wait)
        ACCESS.set(access)
        scope.setdefault("state", {})["access"] = access
        return None

    def _add_headers(self, headers: MutableHeaders, path: str, origin: str) -> None:
        if path.startswith(_FOR_ANY_SITE):
            headers["cross-origin-resource-policy"] = "cross-origin"
        else:
            headers.add_vary_header("Sec-Fetch-Site")
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        if origin and (origin in self._options.cors or "*" in self._options.cors):
            headers["access-control-allow-origin"] = origin
            headers["access-control-allow-headers"] = (
                "authorization, content-type, x-algolia-api-key, x-algolia-application-id"
            )
            headers["access-control-allow-methods"] = "GET, POST"
            headers.add_vary_header("Origin")
        if self.draining:
            headers["connection"] = "close"

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        line: dict[str, Any] = {
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000 * seconds, 1),
        }
        if access := ACCESS.get().name:
            line["token"] = access
        if self._options.log_queries:
            line["query"] = scope["query_string"].decode("latin-1")[:600]
        log.info(json.dumps(line))


def _opens_a_page(scope: Scope, headers: Headers) -> bool:
    """Whether a link of another site is followed in a window of its own: not in a frame, and not ahead of a click."""
    return (
        scope["method"] in ("GET", "HEAD")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "sec-purpose" not in headers
        and "purpose" not in headers
    )


def _path(scope: Scope) -> str:
    """Return the path without what a proxy puts in front of it."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _take_as_a_proxy_may_send_it(scope: Scope, headers: Headers) -> None:
    """Proxies pass a path on with what they put in front of all paths or without it; the server has put it there. One
    on this machine says whether it was asked over TLS.
    """
    root = scope.get("root_path", "")
    if root and (scope["path"] + "/").startswith(f"{root}{root}/"):
        scope["path"] = root + (scope["path"].removeprefix(root + root) or "/")
    scheme = headers.get("x-forwarded-proto", "").strip()
    if scheme in ("http", "https") and is_loopback((scope.get("client") or ("",))[0]):
        scope["scheme"] = scheme


def _too_many(wait: float) -> Response:
    return problem(_TOO_MANY, "too_many", "too many requests", retry_after=str(max(1, round(wait))))


def _busy() -> Response:
    return problem(503, "busy", "too many requests at once", retry_after="1")
