"""An exchange ends by the clock, however slowly the other side sends."""

from __future__ import annotations

import socket
import threading
import time

from structformer.engines import Deadline


def test_a_read_that_never_ends_is_ended():
    ours, other = socket.socketpair()
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.01):
            try:
                other.send(b"x")
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    with ours, other, Deadline(0.2) as deadline:
        deadline.watch(ours)
        with ours.makefile("rb") as lines:
            assert set(lines.readline()) <= set(b"x")  # though no line ends
        assert deadline.is_past
        stop.set()
        thread.join()


def test_what_is_connected_too_late_is_shut_at_once_and_what_is_done_in_time_is_left_open():
    late, other = socket.socketpair()
    with late, other, Deadline(0.0) as deadline:
        deadline.watch(late)
        assert late.recv(1) == b""
    good, other = socket.socketpair()
    with good, other:
        with Deadline(0.05) as deadline:
            deadline.watch(good)
        time.sleep(0.1)
        other.send(b"x")
        assert good.recv(1) == b"x"
