"""A language model of the user's own, behind an address that speaks OpenAI's form.

The key comes from the environment alone, and is in no message and no log."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from structformer import __version__
from structformer.engines import Deadline
from structformer.errors import StructformerError, UsageError

KEY = "STRUCTFORMER_ASK_KEY"
_LONGEST_ANSWER = 20_000
_LINE_BYTES, _BYTES = 200_000, 4_000_000


class ModelUnavailable(StructformerError):
    """The model's server cannot be asked, in one line."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model behind an address that speaks OpenAI's form."""

    address: str
    name: str = ""
    """The model's name at that address; "" for the only one that the server has."""
    key: str = field(default="", repr=False)
    silence_seconds: float = 30.0
    """Seconds without a word after which the model counts as unavailable."""
    answer_seconds: float = 120.0
    """Seconds that a whole answer may take."""
    option: str = "--ask"
    """The option that gave the address, for messages."""

    def named(self) -> "LanguageModel":
        """Return the same with the name of the address's only model, unless it has one. Raises ModelUnavailable."""
        with Deadline(self.silence_seconds) as deadline:
            return self if self.name else replace(self, name=self._only_name(deadline))

    def answer(self, messages: Sequence[dict[str, str]]) -> Iterator[str]:
        """Yield the answer as it comes. Raises ModelUnavailable."""
        with Deadline(self.answer_seconds) as deadline:
            try:
                yield from self._answer(messages, deadline)
            except ModelUnavailable:
                if not deadline.is_past:
                    raise
            if deadline.is_past:  # then a connection that ends is the deadline's doing
                raise ModelUnavailable(f"its answer took longer than {self.answer_seconds:g} s")

    def _answer(self, messages: Sequence[dict[str, str]], deadline: Deadline) -> Iterator[str]:
        name = self.name or self._only_name(deadline)
        asked = {"model": name, "messages": list(messages), "stream": True, "temperature": 0}
        with closing(self._open("/chat/completions", json.dumps(asked).encode(), deadline)) as response:
            left = _LONGEST_ANSWER
            for line in _lines(response):
                if deadline.is_past:
                    return
                text, is_last = _delta(line)
                yield text[:left]
                left -= len(text)
                if is_last or left <= 0:
                    return
            raise ModelUnavailable("the connection to it closed before the end")

    def _only_name(self, deadline: Deadline) -> str:
        names, form = list[str](), (ValueError, KeyError, TypeError, RecursionError, OSError, HTTPException)
        with closing(self._open("/models", None, deadline)) as response, suppress(*form):
            names = [str(each["id"]) for each in json.loads(response.read(_LINE_BYTES))["data"]]
        if len(names) != 1:
            there = f"; choose from: {', '.join(names[:10])}" if names else ""
            raise ModelUnavailable(f"it does not say which model to ask: {self.option}-model NAME{there}")
        return names[0]

    def _open(self, path: str, body: bytes | None, deadline: Deadline) -> HTTPResponse:
        headers = {"content-type": "application/json", "user-agent": f"structformer/{__version__}"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.address + path, body, headers)
        try:
            response: HTTPResponse = _opener(deadline).open(request, timeout=self.silence_seconds)
        except urllib.error.HTTPError as error:
            error.close()
            raise ModelUnavailable(_refused(error.code, self.option)) from None  # its text may repeat the key
        except (urllib.error.URLError, OSError, HTTPException, ValueError) as error:
            late = isinstance(getattr(error, "reason", error), TimeoutError)
            reason = f"it did not answer within {self.silence_seconds:g} s" if late else "it cannot be reached"
            raise ModelUnavailable(reason) from None
        return response


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: the question and the key are for the address that was given."""

    def redirect_request(self, *given: Any, **also: Any) -> None:
        """No request."""


def _opener(deadline: Deadline) -> urllib.request.OpenerDirector:
    """Return an opener of addresses that keeps to a deadline from their connections on."""

    class Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
        def do_open(self, http_class: Any, req: urllib.request.Request, **given: Any) -> HTTPResponse:
            class Watched(http_class):  # type: ignore[misc]
                def connect(self) -> None:
                    super().connect()
                    deadline.watch(self.sock)

            return super().do_open(Watched, req, **given)

    return urllib.request.build_opener(_NoRedirect, Handler)


def _refused(code: int, option: str) -> str:
    if code in (401, 403):
        return f"it refused the key (HTTP {code}): set {KEY}"
    if code == 404:
        return f"it knows no such model or path (HTTP 404): look at {option} and {option}-model"
    return f"it answered HTTP {code}"


def _lines(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the lines of an answer, within bounds. Raises ModelUnavailable."""
    left = _BYTES
    while True:
        try:
            line = response.readline(_LINE_BYTES)
        except TimeoutError:
            raise ModelUnavailable("it stopped in the middle of its answer") from None
        except (OSError, HTTPException, ValueError):
            raise ModelUnavailable("the connection to it broke off") from None
        left -= len(line)
        if left < 0 or len(line) >= _LINE_BYTES:
            raise ModelUnavailable("its answer is too long")
        if not line:
            return
        yield line


def _delta(line: bytes) -> tuple[str, bool]:
    """Return the text in a line of a stream, and whether the model ends with it. Raises ModelUnavailable."""
    text = line.strip().decode("utf-8", "replace")
    if not text.startswith("data:"):
        return "", False
    data = text.removeprefix("data:").strip()
    if data == "[DONE]":
        return "", True
    try:
        given = json.loads(data)
        if "error" in given:
            raise ModelUnavailable("it reports an error of its own")
        [choice, *_] = given.get("choices") or [{}]
        content, reason = (choice.get("delta") or {}).get("content") or "", choice.get("finish_reason")
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
        raise ModelUnavailable("what it sends is not OpenAI's form") from None
    if reason == "length":
        raise ModelUnavailable("it reached its own limit")
    return content if isinstance(content, str) else "", reason is not None


def language_model(address: str, name: str = "", *, option: str = "--ask", **seconds: float) -> LanguageModel:
    """A model by its address, as http://localhost:11434/v1, with the key of the environment. Raises UsageError."""
    address = address.rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise UsageError(f"{address[:200]!r} is not a model's address: write {option} http://localhost:11434/v1")
    if parts.username or parts.password:
        raise UsageError(f"{option} has no key in its address: set {KEY}")
    key = os.environ.get(KEY, "").strip()
    if any(not 32 < ord(letter) < 127 for letter in key):
        raise UsageError(f"{KEY} is not a key: it has letters that no header can hold")
    return LanguageModel(address, name, key, option=option, **seconds)
