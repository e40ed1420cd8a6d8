"""How a server runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from structformer.errors import UsageError

from structformer_serve.http.access import Tokens
from structformer_serve.http.hostnames import as_address, is_loopback, name_in, own_names
from structformer_serve.language_model import language_model

ANY_NAME = "*"
_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """host, port: where it listens. hosts: names it answers to beside its own, "*" for any; cors: origins of other
    sites whose pages may ask, "*" for any; tokens: who may ask, everybody without; rate: requests a second for each
    client, 0 for any number; root: what a proxy puts in front of all paths; feedback: whether searches and clicks are
    kept; feedback_mb: how much of them in a month; feedback_months: how many months beside the current one;
    log_queries: whether the log has the texts of queries; threads: searches at once: more than cores only wait for
    each other; connections: of one client at once, 0 for any number; None for 64, from this machine any number; ask:
    the address of a language model that answers questions, "" for none; ask_model: its name there.

    queued: requests that are worked on at once; bodies: how many are read at once, before that; body_bytes: of each.
    header_seconds, body_seconds: for all of a request's headers, and all of its body; seconds: for an answer;
    send_seconds: after which a client that takes nothing of its answer is disconnected.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    rate: float = 0.0
    root: str = ""
    feedback: bool = False
    feedback_mb: int = 50
    feedback_months: int = 12
    log_queries: bool = False
    threads: int = 2
    connections: int | None = None
    ask: str = ""
    ask_model: str = ""
    queued: int = 64
    bodies: int = 64
    seconds: float = 10.0
    header_seconds: float = 5.0
    body_seconds: float = 5.0
    send_seconds: float = 10.0
    body_bytes: int = 16_384

    def __post_init__(self) -> None:
        if self.root and (not self.root.startswith("/") or self.root.endswith("/")):
            raise UsageError(f"{self.root!r}: a root path begins with a slash and ends without one, as /search")
        for origin in self.cors:
            if origin != "*" and (not origin.startswith(("https://", "http://")) or origin.count("/") > 2):
                raise UsageError(f"{origin!r} is not an origin: write https://docs.example.org, or *")
        if self.ask:
            language_model(self.ask, self.ask_model)
        elif self.ask_model:
            raise UsageError("--ask-model says which model --ask asks: give --ask too")

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    @property
    def names(self) -> frozenset[str]:
        """The names that it answers to, addresses apart."""
        given = {name_in(each) for each in self.hosts if each != ANY_NAME}
        others = frozenset[str]() if self.on_loopback else own_names() | {self.host.lower()}
        return frozenset(each for each in {"localhost", *given, *others} if as_address(each) is None)

    def answers_to(self, host: str) -> bool:
        """Whether a Host header is one of ours, as all addresses are.

        A foreign page can have a name of its own point at this machine, and ask it as its own site (DNS rebinding); but
        then the browser sends that name."""
        name = name_in(host)
        return ANY_NAME in self.hosts or as_address(name) is not None or name in self.names

    def may_ask(self, origin: str, host: str) -> bool:
        """Whether a page of that origin may ask: one of ours, or of a site on the list."""
        return (bool(host) and origin.partition("://")[2] == host) or origin in self.cors or "*" in self.cors

    def connections_of(self, client: str) -> int:
        """How many connections a client may have, 0 for any number. Without a wish this machine may have any number,
        since all clients of a reverse proxy come from there.
        """
        if self.connections is not None:
            return self.connections
        return 0 if not client or is_loopback(client) else _CONNECTIONS
