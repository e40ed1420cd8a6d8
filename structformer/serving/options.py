"""How a server runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from structformer.errors import UsageError
from structformer.serving.access import Tokens

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """host, port: where it listens. hosts: names it answers to beside its own; cors: origins of other sites whose pages
    may ask, "*" for any; tokens: who may ask, everybody without; rate: requests a second for each client, 0 for any
    number; root: what a proxy puts in front of all paths; feedback: whether searches and clicks are kept; log_queries:
    whether the log has the texts of queries; threads: searches at once: more than cores only
    wait for each other.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    rate: float = 0.0
    root: str = ""
    feedback: bool = False
    log_queries: bool = False
    threads: int = 2
    queued: int = 64
    seconds: float = 10.0
    body_bytes: int = 16_384

    def __post_init__(self) -> None:
        if self.root and (not self.root.startswith("/") or self.root.endswith("/")):
            raise UsageError(f"{self.root!r}: a root path begins with a slash and ends without one, as /search")
        for origin in self.cors:
            if origin != "*" and (not origin.startswith(("https://", "http://")) or origin.count("/") > 2):
                raise UsageError(f"{origin!r} is not an origin: write https://docs.example.org, or *")

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK

    def answers_to(self, host: str) -> bool:
        """Whether a Host header is one of ours. One that listens to other machines and was given no names answers
        to any.
        """
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        return name in LOOPBACK or name in self.hosts or (not self.on_loopback and not self.hosts)

    def may_ask(self, origin: str, host: str) -> bool:
        """Whether a page of that origin may ask: one of ours, or of a site on the list."""
        return (bool(host) and origin.partition("://")[2] == host) or origin in self.cors or "*" in self.cors
