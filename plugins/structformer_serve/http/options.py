"""How a server runs; which names and addresses are this machine's, and what counts as one client."""

import ipaddress
import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

from structformer.engines import as_address, is_loopback
from structformer.errors import UsageError

from structformer_serve.http.access import Tokens
from structformer_serve.language import checked_language
from structformer_web import language_model

_LOOKUP_SECONDS = 0.5
_ONE_CLIENT = 64  # bits of an IPv6 address: whoever has one has all that begin with these


def client_of(address: str) -> str:
    """Return what counts as one client: an address of IPv4, the network of one of IPv6."""
    client = as_address(address)
    if isinstance(client, ipaddress.IPv6Address) and not client.is_loopback:
        return str(ipaddress.IPv6Network((int(client) >> _ONE_CLIENT << _ONE_CLIENT, _ONE_CLIENT)))
    return str(client or address)


def name_in(host: str) -> str:
    """Return the name or the address in a Host header, without its port and brackets, in small letters."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name.strip("[]").removesuffix(".").lower()


@cache
def own_names() -> frozenset[str]:
    """This machine's names: its own, that in the local network (`name.local`), and the full one if known at once."""
    full: list[str] = []
    # The full name may be asked for over a network that does not answer.
    asking = threading.Thread(target=lambda: full.append(socket.getfqdn()), daemon=True)
    with suppress(OSError):
        asking.start()
        asking.join(_LOOKUP_SECONDS)
    name = socket.gethostname()
    short = name.partition(".")[0]
    names = {name, short, f"{short}.local", *full[:1]}
    return frozenset(each.lower() for each in names if each and as_address(each) is None)


ANY_NAME = "*"
_CONNECTIONS = 64
_ROOT = re.compile(r"(/(?!\.{1,2}(/|$))[\w.~-]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server runs: where it listens, who may ask, what it keeps, and how much it does at once."""

    host: str = "127.0.0.1"
    """The name or address on which it listens."""
    port: int = 8765
    hosts: tuple[str, ...] = ()
    """Host names that it answers to beside its own; "*" for any."""
    cors: tuple[str, ...] = ()
    """Origins of other sites whose pages may ask, such as https://docs.example.org; "*" for any."""
    tokens: Tokens = field(default_factory=Tokens)
    """Who may ask; without any token everybody may."""
    rate: float = 0.0
    """Requests a second that each client may make; 0 for any number."""
    root: str = ""
    """The path that a proxy puts in front of all others, such as /search; "" for none."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    feedback: bool = False
    """Whether searches and clicks are kept."""
    feedback_mb: int = 50
    """Megabytes of searches and clicks that are kept in a month at most."""
    feedback_months: int = 12
    """How many months of them are kept beside the current one."""
    language: str = ""
    """The code of the page's own language, as de; "" for the language of most documents."""
    log_queries: bool = False
    """Whether the log has the texts of queries."""
    threads: int = 2
    """Searches that run at once. More than the machine has cores only wait for each other."""
    connections: int | None = None
    """Connections that one client may have open; 0: any number; None: 64, from this machine any number."""
    ask: str = ""
    """The address of a language model that answers questions; "" for none."""
    ask_model: str = ""
    """The name of the model at that address; "" for the only one that it has."""
    queued: int = 64
    """Requests that are worked on at once; the searches among them wait for a thread."""
    bodies: int = 64
    """Requests whose bodies are read at once, before they are worked on."""
    seconds: float = 10.0
    """Seconds that an answer may take."""
    header_seconds: float = 5.0
    """Seconds in which all headers of a request must arrive."""
    body_seconds: float = 5.0
    """Seconds in which all of a request's body must arrive."""
    send_seconds: float = 10.0
    """Seconds after which a client that takes nothing of its answer is disconnected."""
    body_bytes: int = 16_384
    """Bytes that the body of a request has at most."""

    def __post_init__(self) -> None:
        checked_language(self.language)
        if not _ROOT.fullmatch(self.root):
            raise UsageError(f"{self.root!r}: a root path begins with a slash and ends without one, as /docs/search")
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy, strict=False)
            except ValueError:
                raise UsageError(f"{proxy!r} is not an address: write 127.0.0.1 or 10.0.0.0/8") from None
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
