"""The kernel's data on a socket: bytes in its queues, connections that wait; and a filter against new ones."""

import ctypes
import selectors
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress

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
