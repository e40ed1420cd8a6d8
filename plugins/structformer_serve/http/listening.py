"""The sockets that a server listens on: opened by an address, or handed over by systemd; and what only the kernel knows
of a socket: bytes in its queues, connections that wait, a filter against new ones."""

import ctypes
import errno
import os
import selectors
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from structformer.engines import is_loopback
from structformer.errors import UsageError

_BACKLOG = 2048
_FIRST_HANDED_OVER = 3  # systemd's protocol: sd_listen_fds(3)
_NEAR, _LAST_PORT = 20, 65535  # ports that are tried
_ANY_IPV6 = "::"
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # as ::1, a second address of localhost, without IPv6


@dataclass(frozen=True, slots=True)
class Listening:
    """Sockets that listen."""

    sockets: tuple[socket.socket, ...]
    handed_over: bool = False
    """Whether they belong to a supervisor and stay open when this process ends."""

    @property
    def port(self) -> int:
        """The port of the first one."""
        return int(self.sockets[0].getsockname()[1])

    @property
    def host(self) -> str:
        """An address that it listens on, one that other machines reach if there is one."""
        hosts = [str(each.getsockname()[0]) for each in self.sockets]
        return next((host for host in hosts if not is_loopback(host)), hosts[0])


def listening(host: str, port: int) -> Listening:
    """Return the sockets that were handed over, else those of an address.

    To be called before anything slow: the port is then known to be ours. Who connects meanwhile waits in the kernel's
    queue until there is something to answer with, which `up` reaches in seconds; a refusal would only make a browser
    give up. Raises UsageError with the reason."""
    return handed_over() or Listening(tuple(listen(host, port)))


def listening_near(host: str, port: int) -> Listening:
    """As `listening`; where the port is taken, one of the next few that are not. Raises UsageError as `listening` does
    where they all are.
    """
    for near in range(port + 1, min(port + _NEAR, _LAST_PORT) + 1):
        try:
            return listening(host, near - 1)
        except UsageError as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno != errno.EADDRINUSE:
                raise
    return listening(host, port)


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on all addresses of a host. port: 0 for a free one. Raises UsageError with the reason."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise UsageError(f"--host {host}: no such host name is known") from None
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(addresses):
        try:
            sockets.append(_listen(family, (address[0], port, *address[2:])))
        except OSError as error:
            missing = error
            if error.errno not in _NOT_HERE:
                close(sockets)
                raise UsageError(_reason(error, host, port)) from error
        else:
            port = int(sockets[-1].getsockname()[1])
    if not sockets:
        raise UsageError(_reason(missing or OSError(errno.EADDRNOTAVAIL, ""), host, port)) from missing
    return sockets


def _listen(family: int, address: tuple[str | int, ...]) -> socket.socket:
    # `::` is every address of this machine, those of IPv4 too.
    both = address[0] == _ANY_IPV6 and socket.has_dualstack_ipv6()
    made = socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    # With the protocol named: asyncio turns Nagle's algorithm off only then, and with it answers wait 40 ms.
    one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())
    one.setblocking(False)
    return one


def _reason(error: OSError, host: str, port: int) -> str:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{address} is in use by another program: choose another --port, or 0 for any free one"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{address}: this user may not listen on port {port}: choose a --port from 1024 on"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host {host} is not an address of this machine: 0.0.0.0 listens on all that it has"
    return f"{address} cannot be listened on: {error.strerror or error}"


def handed_over() -> Listening | None:
    """Sockets that systemd opened and passed to this process; None where there are none. Raises UsageError where one
    cannot be served on.
    """
    names = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
    process, count, _ = (os.environ.get(name, "") for name in names)
    if process != str(os.getpid()) or not count.isdigit() or not int(count):
        return None
    for name in names:  # processes that this one starts are not meant
        os.environ.pop(name, None)
    sockets = [_inherited(descriptor) for descriptor in range(_FIRST_HANDED_OVER, _FIRST_HANDED_OVER + int(count))]
    return Listening(tuple(sockets), handed_over=True)


def _inherited(descriptor: int) -> socket.socket:
    try:
        one = socket.socket(fileno=descriptor)
        listens = bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except OSError as error:
        raise UsageError(f"LISTEN_FDS: file descriptor {descriptor} is not a socket ({error.strerror})") from error
    if not listens or one.family not in (socket.AF_INET, socket.AF_INET6):
        raise UsageError(f"LISTEN_FDS: file descriptor {descriptor} is not a listening TCP socket: see ListenStream=")
    one.set_inheritable(False)
    one.setblocking(False)
    return one


def close(sockets: Sequence[socket.socket]) -> None:
    """Close sockets that are not served on after all."""
    for each in sockets:
        each.close()


_SO_ATTACH_FILTER = 26
# Classic BPF over the TCP header: a segment with SYN and without ACK is dropped, everything else is kept whole.
_NO_SYN = (
    (0x30, 0, 0, 13),  # load the byte of flags
    (0x54, 0, 0, 0x12),  # and SYN | ACK
    (0x15, 0, 1, 0x02),  # SYN alone: the next instruction, else the one after it
    (0x06, 0, 0, 0),
    (0x06, 0, 0, 0xFFFFFFFF),
)


def queued(descriptor: int, request: str) -> int:
    """Bytes that have arrived and were not read yet (FIONREAD), or that were written and that the other side has not
    acknowledged (TIOCOUTQ); 0 where the system does not say.
    """
    with suppress(ImportError, AttributeError, OSError, ValueError):  # Windows has neither module
        import fcntl
        import termios

        answer = fcntl.ioctl(descriptor, getattr(termios, request), struct.pack("i", 0))
        return int(struct.unpack("i", answer)[0])
    return 0


def keep_newcomers_out(listening: socket.socket) -> None:
    """Drop what begins a connection, so that those begun can be accepted until none waits, where the system can.

    A client sends its first packet again after a second, and learns then that the port is closed. Closing the port
    while connections wait in it would reset them."""
    if sys.platform == "linux":
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _NO_SYN))
        program = struct.pack("@HP", len(_NO_SYN), ctypes.addressof(code))
        with suppress(OSError):
            listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def someone_waits(listening: Sequence[socket.socket]) -> bool:
    """Whether a connection waits to be accepted."""
    with selectors.DefaultSelector() as selector:
        for each in listening:
            selector.register(each, selectors.EVENT_READ)
        return bool(selector.select(0))
