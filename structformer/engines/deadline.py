"""An exchange over a network: its end by the clock, whatever the other side sends and however slowly, and whether the
other side is this machine.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from contextlib import suppress


class Deadline:
    """Shuts the sockets it watches when its time is up: whoever waits for one gets its end or an OSError, and then asks
    `is_past`. A limit between two reads is none, since the other side chooses what a read waits for.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._shut)
        self._timer.daemon = True

    @property
    def is_past(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._end

    def watch(self, connection: socket.socket | None) -> None:
        """Shut this socket, instead of the one before, at the end; at once after it."""
        self._socket = connection
        if self.is_past:
            self._shut()

    def _shut(self) -> None:
        with self._lock, suppress(OSError):
            if self._socket is not None:
                # An SSLSocket's own shutdown would first forget the encryption that another thread reads with.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._timer.cancel()
        with self._lock:  # the socket may serve the next exchange
            self._socket = None


def as_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address written as text, one of IPv4 in IPv6's clothes as what it is; None for anything else."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_loopback(host: str) -> bool:
    """Whether an address or a name is reached from this machine alone."""
    address = as_address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback
