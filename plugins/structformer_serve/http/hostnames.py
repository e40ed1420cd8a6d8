"""Names and addresses: which of them are this machine's, and what counts as one client."""

import ipaddress
import socket
import threading
from contextlib import suppress
from functools import cache

from structformer.engines import as_address

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
