"""Who may ask: tokens, each with the documents it may see, and how often one may ask."""

import base64
import binascii
import hmac
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.retrieval import Filter
from structformer.storage import read_toml

_KNOWN = frozenset({"token", "name", "paths", "where"})
_FEWEST_CHARACTERS = 16
_MOST_CLIENTS = 10_000


@dataclass(frozen=True, slots=True)
class Access:
    """The documents that a request may see."""

    name: str = ""
    """The name of its token; "" without one."""
    where: Filter = field(default_factory=Filter)
    """A filter that nothing in a request widens."""


EVERYTHING = Access()


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a server; without any, everybody sees everything."""

    by_token: tuple[tuple[str, Access], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.by_token)

    def access(self, authorization: str) -> Access | None:
        """Return what a request's Authorization header gives access to, None for nothing. Bearer has the token itself;
        Basic, which browsers ask people for, has it as the password.
        """
        if not self.by_token:
            return EVERYTHING
        kind, _, value = authorization.partition(" ")
        if kind.lower() == "basic":
            try:
                value = base64.b64decode(value, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return None
        granted = None
        for token, access in self.by_token:  # all of them, so that the time tells nothing
            if hmac.compare_digest(token.encode(), value.strip().encode()):
                granted = access
        return granted


def read_tokens(path: Path) -> Tokens:
    """Tokens of a TOML file of [[tokens]] tables, each with `token`, and maybe `name`, `paths` (patterns of document
    ids) and `where` (metadata). Raises UsageError naming the table.
    """
    tables = read_toml(path).get("tokens")
    if not isinstance(tables, list) or not tables:
        raise UsageError(f"{path} has no [[tokens]]")
    tokens = [_token(table, f"{path}, token {number}") for number, table in enumerate(tables, 1)]
    if len({token for token, _ in tokens}) < len(tokens):
        raise UsageError(f"{path}: two tables have the same token, and it would not be clear what it may see")
    return Tokens(tuple(tokens))


def _token(table: Any, where: str) -> tuple[str, Access]:
    if not isinstance(table, dict) or not isinstance(table.get("token"), str):
        raise UsageError(f'{where}: it needs token = "..."')
    if unknown := sorted(set(table) - _KNOWN):
        raise UsageError(f"{where}: no key {unknown[0]!r}; {did_you_mean(unknown[0], sorted(_KNOWN))}")
    if len(table["token"]) < _FEWEST_CHARACTERS:
        raise UsageError(f"{where}: a token has at least {_FEWEST_CHARACTERS} characters")
    if not table["token"].isascii() or table["token"] != table["token"].strip():
        raise UsageError(f"{where}: a header carries a token of ASCII characters alone, without spaces around it")
    for key in ("paths", "where"):
        if key in table and not table[key]:
            raise UsageError(f"{where}: {key} is empty: leave it out where the token may see everything")
    paths, metadata = table.get("paths", []), table.get("where", {})
    if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
        raise UsageError(f"{where}: paths is a list of patterns")
    if not isinstance(metadata, dict):
        raise UsageError(f"{where}: where is a table of metadata")
    for key, value in metadata.items():
        if isinstance(value, list | dict):
            raise UsageError(f"{where}: where.{key} is one value: a text, a number, true or false")
    return table["token"], Access(str(table.get("name", "")), Filter(tuple(paths), metadata))


class RateLimit:
    """A bucket of requests for each client, which fills again with time. One thread asks it, the event loop's."""

    def __init__(self, per_second: float, burst: float | None = None) -> None:
        """per_second: 0 for no limit; burst: how many may come at once."""
        self._rate = per_second
        self._burst = burst or max(1.0, 5 * per_second)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Return seconds until the client may ask, 0 when it may now, which then counts."""
        if not self._rate:
            return 0.0
        now = time.monotonic()
        left, since = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
