"""Fetching of one site's addresses, within bounds: one connection, a pause before every request, no cookies, no
redirect followed unseen, no more than so many bytes and seconds each.
"""

import socket
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

from structformer import __version__
from structformer.engines import Deadline
from structformer.errors import ReadError
from structformer.extras import needed_for

from structformer_web.addresses import Scope, is_public

with needed_for("reading a website"):
    import httpx

AGENT = "structformer"
HOURS = 12.0
MOST_BYTES = 2_000_000_000
_SECONDS = 30.0  # for a request, from connecting to its last byte
_LATE = f"not there after {_SECONDS:.0f} s"
_LONGEST_WAIT = 120.0  # that a site may ask for
_TRIES = 3
_BUSY = (429, 503)


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request."""

    status: int
    """The HTTP status; 0 if there was no answer."""
    headers: Mapping[str, str]
    body: bytes = b""
    problem: str = ""
    """Why the body is missing; "" if it is not."""

    @property
    def kind(self) -> str:
        """The content type, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The encoding that the content type names; "" where it names none."""
        for parameter in self.headers.get("content-type", "").split(";")[1:]:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "charset":
                return value.strip(" \"'").lower()
        return ""


class Fetcher:
    """Asks the host of a scope. delay: seconds between requests. places: the host's IP addresses, best first. hours:
    for all requests together, after which nothing is asked any more.
    """

    def __init__(self, scope: Scope, delay: float, hours: float = HOURS) -> None:
        self.delay = delay
        self._hours, self._until = hours, time.monotonic() + hours * 3600
        self._received = 0
        self._scope = scope
        self.places = _places(scope)
        self._last = -delay
        self._connection: socket.socket | None = None
        self._client = httpx.Client(
            timeout=_SECONDS,
            trust_env=False,  # a proxy would look the host up by itself
            verify=httpx.create_ssl_context(),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            limits=httpx.Limits(max_connections=1),
        )

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    @property
    def spent(self) -> str:
        """Which of the limits is reached; "" while none is."""
        if time.monotonic() >= self._until:
            return f"it has taken {self._hours:g} hours (--max-hours)"
        return f"{self._received / 1e9:.1f} GB were sent" if self._received >= MOST_BYTES else ""

    def get(
        self,
        address: str,
        limit: int,
        *,
        headers: Mapping[str, str] | None = None,
        wanted: Callable[[Answer], str] = lambda answer: "",
        cut: bool = False,
    ) -> Answer:
        """Return the answer to a request. Its body is read where the status is 200 and `wanted` has no objection, up to
        `limit` bytes; over that it is a problem, or is cut off.
        """
        for again in range(_TRIES):
            self._pause(self.delay)
            if self.spent:
                return Answer(0, {}, problem=self.spent)
            answer = self._once(partial(self._asked, address, limit, headers or {}, wanted, cut))
            self._last = time.monotonic()
            wait = _asked_to_wait(answer)
            if wait is None or again == _TRIES - 1:
                break
            self._pause(max(self.delay, wait))
        return answer

    def _pause(self, seconds: float) -> None:
        left = min(self._last + seconds, self._until) - time.monotonic()
        if left > 0:
            time.sleep(left)

    def _once(self, ask: Callable[[str, Deadline], Answer]) -> Answer:
        with Deadline(_SECONDS) as deadline:
            while True:
                try:
                    return ask(self.places[0], deadline)
                except (httpx.HTTPError, httpx.InvalidURL, zlib.error) as error:
                    if deadline.is_past:
                        return Answer(0, {}, problem=_LATE)
                    if not isinstance(error, httpx.ConnectError) or len(self.places) == 1:
                        return Answer(0, {}, problem=" ".join(str(error).split()) or type(error).__name__)
                    self.places.pop(0)

    def _asked(
        self,
        address: str,
        limit: int,
        headers: Mapping[str, str],
        wanted: Callable[[Answer], str],
        cut: bool,
        place: str,
        deadline: Deadline,
    ) -> Answer:
        """One request, to a place that was looked up when the crawl began: the host's name means nothing else later."""

        def connected(event: str, told: Mapping[str, Any]) -> None:
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                self._connection = told["return_value"].get_extra_info("socket")
                deadline.watch(self._connection)

        deadline.watch(self._connection)
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        sent = {
            "Host": self._scope.host,
            "User-Agent": f"{AGENT}/{__version__}",
            "Accept": "text/html, application/xhtml+xml, application/xml;q=0.9, text/plain;q=0.5",
            "Accept-Encoding": "gzip",
            **headers,
        }
        url = f"{parts.scheme}://{f'[{place}]' if ':' in place else place}{port}{path}"
        with self._client.stream(
            "GET", url, headers=sent, extensions={"sni_hostname": parts.hostname or "", "trace": connected}
        ) as response:
            answer = Answer(response.status_code, {key.lower(): value for key, value in response.headers.items()})
            if answer.status != 200:
                return answer
            if problem := wanted(answer):
                return Answer(answer.status, answer.headers, problem=problem)
            try:
                body, problem = _body(response, limit, deadline, cut)
            finally:
                self._received += response.num_bytes_downloaded
            return Answer(answer.status, answer.headers, body, problem)


def _places(scope: Scope) -> list[str]:
    """The IP addresses of the host. One of a private network is among them only where all are, and so it was asked for.
    Raises ReadError where there is none.
    """
    parts = urlsplit(scope.start)
    try:
        addresses = socket.getaddrinfo(parts.hostname, parts.port or parts.scheme, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ReadError(f"{scope.start}: the host cannot be found ({error.strerror or error})") from error
    places = list(dict.fromkeys(str(each[4][0]) for each in addresses))
    return [place for place in places if is_public(place)] or places


def _body(response: httpx.Response, limit: int, deadline: Deadline, cut: bool) -> tuple[bytes, str]:
    """Return (what a response holds, why it is not whole)."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        return b"", f"packed as {encoding[:40]}, which was not asked for"
    unpacking = zlib.decompressobj(wbits=31) if encoding.endswith("gzip") else None
    parts: list[bytes] = []
    size = 0
    for block in response.iter_raw():
        part = unpacking.decompress(block, limit + 1 - size) if unpacking else block
        parts.append(part)
        size += len(part)
        if size > limit:
            return (b"".join(parts)[:limit], "") if cut else (b"", f"over {limit / 1e6:g} MB")
    if deadline.is_past:  # what comes until the connection closes would else be the whole
        return b"", _LATE
    if unpacking and size and not unpacking.eof:
        return b"", "ends too early"
    return b"".join(parts), ""


def _asked_to_wait(answer: Answer) -> float | None:
    """Return the seconds after which a busy site wants to be asked again; None where it does not say so."""
    header = answer.headers.get("retry-after", "").strip() if answer.status in _BUSY else ""
    if not header:
        return None
    try:
        seconds = float(header) if header.isdecimal() else parsedate_to_datetime(header).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)
