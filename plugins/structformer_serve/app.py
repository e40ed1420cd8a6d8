"""The application: routes of the pages, the API, DocSearch's wire form, MCP, health and metrics."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar, TypeVarTuple
from urllib.parse import parse_qsl, quote

import anyio
from anyio.to_thread import run_sync
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from structformer.errors import StructformerError, UsageError
from structformer.storage import bytes_digest

from structformer_serve import docsearch, schemas
from structformer_serve.as_markdown import unlinked
from structformer_serve.asking import Asking, search_request
from structformer_serve.assets import ROBOTS, STATIC, static
from structformer_serve.comparison import Listed
from structformer_serve.feedback import FeedbackLog
from structformer_serve.generation import WORDS
from structformer_serve.http import bodies as strict_json
from structformer_serve.http.access import EVERYTHING
from structformer_serve.http.bodies import StrictJson
from structformer_serve.http.guard import COUNTS, Guard, Metrics, for_browsers, log, problem
from structformer_serve.http.options import ServerOptions
from structformer_serve.language import language
from structformer_serve.mcp_server import mcp_server
from structformer_serve.openapi import openapi
from structformer_serve.pages import COMPARE, PageMaker
from structformer_serve.service import NotThere, SearchService, View, read_address
from structformer_web import language_model

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_LISTS = frozenset({"path", "where"})
_FOR_EVER = "public, max-age=31536000, immutable"
_SHORTLY = "public, max-age=300"
_UNPACKED = re.compile(r"gzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")
_POLL_SECONDS = 1.0
_PROBED_SECONDS, _PROBE_SECONDS = 1.0, 2.0  # how long a probe's outcome holds, and how long it is waited for
_FAILURES = (HTTPException, StructformerError, TimeoutError, ValueError, Exception)
_LISTED = 1000  # documents of /llms.txt
# Of /llms-full.txt, after which no further document begins: a page must come within a request's time.
_FULL_BYTES, _FULL_DOCUMENTS = 2_000_000, 500
_URL_SIGNS = "/:?#@!$&'*+,;=%~"  # that an address in brackets may have as they are


class Application:
    """A server's application over a search service. asgi: what a server such as uvicorn runs."""

    def __init__(self, service: SearchService, options: ServerOptions | None = None, *, watch: bool = True) -> None:
        """watch: whether newer indexes are taken over as they come."""
        self.service = service
        self.options = options or ServerOptions()
        self.metrics = Metrics()
        self._asking = Asking(language_model(self.options.ask, self.options.ask_model)) if self.options.ask else None
        self._log: FeedbackLog | None = None
        if self.options.feedback:
            self._log = FeedbackLog(
                service.workspace,
                most_bytes=1_000_000 * self.options.feedback_mb,
                months=self.options.feedback_months,
                dropped=lambda reason: self.metrics.feedback_dropped.labels(reason).inc(),
            )
        self._probe: asyncio.Task[str] | None = None  # the search that tells whether searches are answered,
        self._probed = 0.0  # and when it began
        self._watch = watch
        self._limiter: anyio.CapacityLimiter | None = None
        self._mcp = mcp_server(service, partial(self._kept, door="mcp"))
        self._mcp.streamable_http_app(  # for its session manager alone
            streamable_http_path="/mcp",
            stateless_http=True,
            json_response=True,
            max_request_body_size=self.options.body_bytes,
            # The guard has looked at Host and Origin already, by the server's own names.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._starlette = Starlette(
            routes=[
                Route("/", self._search_page),
                Route("/read/{id:path}", self._read_page),
                Route("/preview/{id:path}", self._preview),
                Route("/robots.txt", partial(_plain, text=ROBOTS, kept=_SHORTLY)),
                Route("/favicon.ico", _icon),
                Route("/icon", self._site_icon),
                Route("/feedback", self._feedback_form, methods=["POST"]),
                Route("/static/{name}", self._static),
                Route("/widget.js", partial(_file, name="widget.js", kept=_SHORTLY)),
                Route("/api/search", self._search),
                Route("/api/section/{id:path}", self._section),
                Route("/api/document/{id:path}", self._document),
                Route("/api/status", self._status),
                Route("/api/ask", self._ask, methods=["POST"]),
                Route("/api/feedback", self._feedback, methods=["POST"]),
                Route("/1/indexes/{index}/queries", self._docsearch, methods=["POST"]),
                Route("/1/indexes/{index}/query", partial(self._docsearch, one=True), methods=["POST"]),
                # Only POST: GET would open a stream that never ends, and without sessions it would say nothing.
                Route("/mcp", StrictJson(self._mcp.session_manager.handle_request), methods=["POST"]),
                Route("/openapi.json", self._openapi),
                Route("/llms.txt", partial(self._for_models, self._listed)),
                Route("/llms-full.txt", partial(self._for_models, self._whole)),
                Route("/docs", self._docs),
                Route("/healthz", partial(_plain, text="ok\n")),
                Route("/readyz", self._ready),
                Route("/metrics", self._metrics),
            ],
            middleware=[Middleware(_Packed, minimum_size=2000, compresslevel=4)],
            lifespan=self._lifespan,
            exception_handlers=dict.fromkeys(_FAILURES, self._failed),
        )
        self.asgi = Guard(self._starlette, self.options, self.metrics)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._limiter = anyio.CapacityLimiter(self.options.threads)
        async with self._mcp.session_manager.run(), anyio.create_task_group() as group:
            if self._watch:
                group.start_soon(self._look_for_newer)
            yield
            group.cancel_scope.cancel()

    async def _look_for_newer(self) -> None:
        """Take over newer indexes. While one cannot be opened, what is served stays served."""
        warned = ""
        while True:
            await anyio.sleep(_POLL_SECONDS)
            try:
                if await run_sync(self.service.refresh):
                    self.metrics.swaps.inc()
            except StructformerError:
                continue
            except Exception as error:  # as of the system, which may have no more file descriptors
                if repr(error) != warned:
                    warned = repr(error)
                    log.warning("a newer index cannot be opened: %s", warned)

    async def _in_thread(self, work: Callable[[*Ts], T], *given: *Ts) -> T:
        """Return the result of work in a thread, within the time that a request may take. Raises TimeoutError."""
        with anyio.fail_after(self.options.seconds):
            return await run_sync(work, *given, limiter=self._limiter, abandon_on_cancel=True)

    def _view(self, request: Request) -> View:
        return self.service.seen_by(request.state.access)

    def _pages(self, request: Request) -> PageMaker:
        return PageMaker(self._view(request), self.options.root, self._asking.host if self._asking else "")

    async def _search(self, request: Request) -> Response:
        asked, site = schemas.SearchRequest.model_validate(_query(request)), request.headers.get("sec-fetch-site")
        door = "box" if "origin" in request.headers else "page" if site == "same-origin" else "api"
        return _json(await self._found(asked, self._view(request), door))

    async def _found(self, asked: schemas.SearchRequest, view: View, door: str) -> schemas.SearchAnswer:
        await self._encoded(asked, view)
        return await self._in_thread(lambda: self._kept(asked, view.search(asked), door))

    async def _compared(
        self, asked: schemas.SearchRequest, view: View
    ) -> tuple[schemas.SearchAnswer, list[Listed] | None]:
        await self._encoded(asked, view)
        answer, comparison = await self._in_thread(view.compare, asked)
        return await self._in_thread(self._kept, asked, answer, "page"), comparison

    async def _encoded(self, asked: schemas.SearchRequest, view: View) -> None:
        """Wait until the query is encoded, without a thread."""
        with anyio.fail_after(self.options.seconds):
            for vector in view.encoding(asked):
                await asyncio.wrap_future(vector)

    def _kept(self, asked: schemas.SearchRequest, answer: schemas.SearchAnswer, door: str) -> schemas.SearchAnswer:
        """Keep an answer as feedback if that is wanted, and return it. door: one of `feedback.DOORS`."""
        if self._log is not None and COUNTS.get() and not (asked.typing or asked.partial):
            shown = [hit.document for hit in answer.hits]
            self._log.add({"event": "search", "query": asked.q, "index": answer.index, "shown": shown, "door": door})
        return answer

    async def _section(self, request: Request) -> Response:
        asked = schemas.SectionRequest.model_validate(_query(request)).model_dump()
        read = partial(self._view(request).section, request.path_params["id"], **asked)
        return _json(await self._in_thread(read))

    async def _document(self, request: Request) -> Response:
        return _json(await self._in_thread(self._view(request).document, request.path_params["id"]))

    async def _status(self, request: Request) -> Response:
        return _json(await self._in_thread(self._view(request).status))

    async def _ask(self, request: Request) -> Response:
        """Return an answer in words, by the language model that the server was given."""
        asked, view = schemas.AskRequest.model_validate(await _body(request)), self._view(request)
        search = search_request(asked)
        if self._asking is None:
            raise NotThere("this server asks no language model: see --ask")
        answer = await self._found(search, view, "ask")
        return self._asking.response(asked, answer, view)

    async def _feedback(self, request: Request) -> Response:
        asked = schemas.FeedbackRequest.model_validate(await _body(request))
        await self._add_feedback(asked.model_dump(exclude_none=True))
        return Response(status_code=204)

    async def _feedback_form(self, request: Request) -> Response:
        """Return the button below the results, for browsers without JavaScript."""
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), max_num_fields=5))
        asked = schemas.SearchRequest.model_validate({"q": form.get("q", "")})
        await self._add_feedback({"event": "not_found", "query": asked.q, "shown": []})
        return RedirectResponse(f"{self.options.root}/", 303)

    async def _add_feedback(self, event: dict[str, Any]) -> None:
        if self._log is None:
            raise NotThere("this server keeps no feedback: see --feedback")
        if COUNTS.get():
            await self._in_thread(self._log.add, event)  # a disk may be slow

    async def _docsearch(self, request: Request, *, one: bool = False) -> Response:
        """Return the answers to a body's searches, or to a body that is one search."""
        body, base = await _body(request), str(request.base_url).rstrip("/") + self.options.root
        searches = {"requests": [body]} if one else body
        results = await self._in_thread(docsearch.answers, searches, base, self._view(request).search)
        return _json(results[0] if one else {"results": results})

    async def _openapi(self, request: Request) -> Response:
        return _unless_known(request, _json(await self._in_thread(self._described)))

    def _described(self) -> dict[str, Any]:
        return openapi(self.service.title, self.options.root, self.service.current.pipelines)

    async def _for_models(self, text: Callable[[View, int], str], request: Request) -> Response:
        """Return a text for language models (https://llmstxt.org): of the documents from the `start`th on."""
        start = _start(request.query_params.get("start", "0"))
        return _unless_known(request, _text(await self._in_thread(text, self._view(request), start)))

    def _listed(self, view: View, start: int) -> str:
        """Return the list of documents, at most a thousand."""
        root = self.options.root
        search = f"Search: {root}/api/search?q=WORDS. MCP: {root}/mcp"
        lines = [f"# {self.service.title}", "", search, "", "## Documents", ""]
        documents = view.documents()[start:]
        for name, title, url in documents[:_LISTED]:
            target = quote(url, safe=_URL_SIGNS) if url else root + read_address(name, 0)
            about = view.description(name)
            lines.append(f"- [{unlinked(title or name)}]({target})" + (f": {unlinked(about)}" if about else ""))
        if len(documents) > _LISTED:
            lines += ["", f"[More documents]({root}/llms.txt?start={start + _LISTED})"]
        return "\n".join(lines) + "\n"

    def _whole(self, view: View, start: int) -> str:
        """Return the documents whole, as Markdown, up to a bound."""
        parts: list[str] = []
        room = _FULL_BYTES
        for number, (name, _, _) in enumerate(view.documents()[start:]):
            if room <= 0 or number == _FULL_DOCUMENTS:
                more = f"{self.options.root}/llms-full.txt?start={start + number}"
                return "\n".join([*parts, f"[More documents]({more})\n"])
            parts.append(view.markdown(name))
            room -= len(parts[-1].encode("utf-8", "replace"))
        return "\n".join(parts)

    async def _docs(self, request: Request) -> Response:
        """Return the API for people."""
        return _html(await self._in_thread(lambda: self._pages(request).api(self._described())))

    async def _ready(self, request: Request) -> Response:
        """Whether a search that is asked now would be answered; if not, why, in a word."""
        reason = "draining" if self.asgi.draining else "busy" if self.asgi.busy else await self._unready()
        return PlainTextResponse(f"{reason or 'ready'}\n", 503 if reason else 200, {"cache-control": "no-store"})

    async def _unready(self) -> str:
        """The same by a search. Probes share one a second, so they cost nothing however many ask, and begin no other
        while that has not come back.
        """
        probe = self._probe
        if probe is None or (probe.done() and time.monotonic() >= self._probed + _PROBED_SECONDS):
            before = probe.result() if probe else ""
            self._probe, self._probed = probe, _ = asyncio.create_task(self._tried(before)), time.monotonic()
        await asyncio.wait([probe], timeout=_PROBE_SECONDS)
        return probe.result() if probe.done() else "slow"

    async def _tried(self, before: str) -> str:
        """before: how it was the last time, since the log says once that searches fail."""
        try:
            await run_sync(self._tiny_search, limiter=self._limiter)
        except Exception as error:  # whatever it is, searches meet it too
            if before != "failing":
                log.warning("searches fail, so /readyz says 503: %r", error)
            return "failing"
        return ""

    def _tiny_search(self) -> None:
        """A search by words that finds something, if there is anything to find."""
        view = self.service.seen_by(EVERYTHING)
        name, title, _ = next(iter(view.documents()), ("", "", ""))
        word = re.search(r"\w+", f"{title} {name}")
        query = word[0][: schemas.MAX_QUERY] if word else "a"
        view.search(schemas.SearchRequest(q=query, k=1, pipeline=WORDS))

    async def _metrics(self, request: Request) -> Response:
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            raise NotThere(f"no file {name!r}")
        return await _file(request, name, _FOR_EVER if "v" in request.query_params else _SHORTLY)

    async def _site_icon(self, request: Request) -> Response:
        icon = self.service.icon
        return Response(icon.data, media_type=icon.kind, headers={"cache-control": _SHORTLY})

    async def _search_page(self, request: Request) -> Response:
        pages, given = self._pages(request), _query(request)
        values = {key: value for key, value in given.items() if key in schemas.SearchRequest.model_fields}
        if not str(values.get("q", "")).strip():
            folder, start = str(given.get("folder", "")), _start(given.get("start", "0"))
            return _html(await self._in_thread(pages.home, folder, start))
        try:
            asked = schemas.SearchRequest.model_validate({**values, "explain": True, "group": True, "typing": False})
        except ValidationError as error:
            name = "no_words" if [each["loc"] for each in error.errors()] == [("q",)] else ""
            return _html(await self._in_thread(pages.message, "e400", name or _reasons(error)), 400)
        if COMPARE in given.items():
            answer, comparison = await self._compared(asked, pages.view)
        else:
            answer, comparison = await self._found(asked, pages.view, "page"), None
        return _html(await self._in_thread(pages.search, asked, answer, comparison))

    async def _preview(self, request: Request) -> Response:
        """Return a section as the page shows it beside the results."""
        section = schemas.SectionRequest.model_validate(_query(request)).section or 0
        name, pages = request.path_params["id"], self._pages(request)
        return _html(await self._in_thread(pages.preview, name, section))

    async def _read_page(self, request: Request) -> Response:
        pages, name = self._pages(request), request.path_params["id"]
        as_it_is = "text/markdown" in request.headers.get("accept", "")
        try:
            if as_it_is or (name.endswith(".md") and pages.view.current.number(name) is None):
                document_id = name if as_it_is else name.removesuffix(".md")
                made = _text(await self._in_thread(pages.view.markdown, document_id), "text/markdown")
                made.headers["cache-control"] = "no-store"
                return made
            return _html(await self._in_thread(pages.read, name))
        except NotThere:
            return _html(await self._in_thread(pages.message, "e404", "gone_page"), 404)

    async def _failed(self, request: Request, error: Exception) -> Response:
        """Return an error as an answer; nothing of a user's is a server error."""
        access = request.scope.get("state", {}).get("access")
        # What somebody may not see does not choose their language; before access is known, only an option does.
        spoken = self.service.seen_by(access).language if access is not None else language(self.service.own_language)
        code = spoken.code
        return for_browsers(_failure(error), request.scope, self.options.root, code)


class _Packed(GZipMiddleware):
    """Packs answers, but not for clients that say `gzip;q=0`."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        asked = Headers(scope=scope).get("accept-encoding", "") if scope["type"] == "http" else ""
        await (self.app if _UNPACKED.search(asked) else super().__call__)(scope, receive, send)


def _failure(error: Exception) -> Response:
    if isinstance(error, HTTPException):
        names = {404: "not_found", 405: "wrong_method"}
        headers = {name.replace("-", "_"): value for name, value in (error.headers or {}).items()}
        return problem(error.status_code, names.get(error.status_code, "refused"), str(error.detail), **headers)
    if isinstance(error, ValidationError):
        return problem(422, "invalid", _reasons(error))
    if isinstance(error, NotThere):
        return problem(404, "not_found", str(error)[:300])
    if isinstance(error, UsageError):
        return problem(422, "invalid", str(error)[:300])
    if isinstance(error, TimeoutError):
        return problem(503, "timeout", "it took too long", retry_after="2")
    if isinstance(error, StructformerError):
        log.warning("the index cannot be read: %s", error)
        return problem(503, "unavailable", "the index cannot be read at the moment", retry_after="5")
    if isinstance(error, ValueError):
        return problem(400, "invalid", "the request cannot be read")
    # Our own fault: after the answer it is raised again, and uvicorn writes it into the log.
    return problem(500, "fault", "the server made a mistake; its log has more")


async def _plain(request: Request, text: str, kept: str = "") -> Response:
    return PlainTextResponse(text, headers={"cache-control": kept} if kept else None)


async def _icon(request: Request) -> Response:
    """For browsers that ask for it where a page names none."""
    return Response(static("icon.svg"), media_type=STATIC["icon.svg"], headers={"cache-control": _SHORTLY})


async def _file(request: Request, name: str, kept: str) -> Response:
    headers = {"cache-control": kept, "access-control-allow-origin": "*"}
    return _unless_known(request, Response(static(name), 200, headers, f"{STATIC[name]}; charset=utf-8"))


def _unless_known(request: Request, answer: Response) -> Response:
    """Return an answer with its ETag, without its body for a client that has it already."""
    # Weak: it is the same whether it is packed or not.
    answer.headers["etag"] = f'W/"{bytes_digest(bytes(answer.body))[:32]}"'
    asked = request.headers.get("if-none-match", "")
    known = asked.strip() == "*" or answer.headers["etag"] in [each.strip() for each in asked.split(",")]
    if not known:
        return answer
    of_body = ("content-length", "content-type")
    return Response(status_code=304, headers={k: v for k, v in answer.headers.items() if k not in of_body})


def _start(given: str) -> int:
    """Raises UsageError."""
    if not given.isdecimal() or len(given) > 12:
        raise UsageError("start is a number of documents")
    return int(given)


def _query(request: Request) -> dict[str, Any]:
    """Query parameters as a model takes them: lists where several are meant, the rest once. Raises UsageError."""
    values: dict[str, Any] = {}
    for key, value in request.query_params.multi_items():
        if key in _LISTS:
            values.setdefault(key, []).append(value)
        elif key in values:
            raise UsageError(f"{key[:50]} is given twice")
        else:
            values[key] = value
    return values


async def _body(request: Request) -> Any:
    """Return the body as JSON. Raises UsageError."""
    try:
        return strict_json.parse(await request.body())
    except ValueError:
        raise UsageError("the body is not JSON") from None


def _reasons(error: ValidationError) -> str:
    wrong = ((".".join(map(str, each["loc"])) or "body", str(each["msg"])) for each in error.errors()[:5])
    return "; ".join(f"{place}: {reason.removeprefix('Value error, ')}"[:200] for place, reason in wrong)


def _json(value: BaseModel | dict[str, Any]) -> Response:
    """JSON in ASCII, since texts may hold half of a surrogate pair, which has no other form."""
    plain = value.model_dump() if isinstance(value, BaseModel) else value
    text = json.dumps(plain, ensure_ascii=True, separators=(",", ":"), default=str)
    return Response(text, media_type="application/json", headers={"cache-control": "no-store"})


def _text(text: str, kind: str = "text/plain") -> Response:
    return Response(text.encode("utf-8", "backslashreplace"), media_type=f"{kind}; charset=utf-8")


def _html(page: bytes, status: int = 200) -> Response:
    return Response(page, status, media_type="text/html; charset=utf-8", headers={"cache-control": "no-store"})
