"""Clients that hold a server up, and clients that must not notice it: for tests, and for benchmarks that attack a server."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException

LOCAL = "127.0.0.1"
Held = AbstractContextManager[list[socket.socket]]
SEARCH = "/api/search?q=mast&pipeline=words"
# Takes the socket's number and then the arguments of the command, as systemd would start it.
HANDED_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.executable, [sys.executable, "-m", "structformer", *sys.argv[2:]])
"""


@dataclass(slots=True)
class Answers:
    """What searches got: how often each status, or the kind of error, and how long each took in seconds."""

    statuses: Counter[int | str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def ask(port: int, count: int = 20, path: str = SEARCH, *, timeout: float = 20) -> Answers:
    """Searches one after the other, each on a connection of its own."""
    found = Answers()
    for _ in range(count):
        begun = time.perf_counter()
        connection = HTTPConnection(LOCAL, port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            found.statuses[answer.status] += 1
        except (OSError, HTTPException) as error:
            found.statuses[type(error).__name__] += 1
        finally:
            connection.close()
        found.seconds.append(time.perf_counter() - begun)
    return found


@contextmanager
def held(port: int, count: int, sent: bytes, *, buffer: int = 0) -> Iterator[list[socket.socket]]:
    """Connections on which so much was sent and nothing is read. buffer: bytes that the kernel takes for them at most."""
    sockets: list[socket.socket] = []
    try:
        for _ in range(count):
            one = socket.socket()
            sockets.append(one)
            if buffer:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            one.settimeout(20)
            one.connect((LOCAL, port))
            with suppress(OSError):  # refused at once
                one.sendall(sent)
        yield sockets
    finally:
        for one in sockets:
            one.close()


def half_sent_headers(port: int, count: int) -> Held:
    """Held connections whose requests' headers do not end."""
    return held(port, count, b"GET /api/search?q=mast HTTP/1.1\r\nhost: localhost\r\nx-slow: ")


def half_sent_bodies(port: int, count: int, *, chunked: bool = False) -> Held:
    """Held connections whose requests' bodies do not end."""
    how = b"transfer-encoding: chunked\r\n\r\n5\r\n{" if chunked else b"content-length: 1000\r\n\r\n{"
    return held(port, count, b"POST /1/indexes/a/query HTTP/1.1\r\nhost: localhost\r\n" + how)


def never_read(port: int, count: int, path: str) -> Held:
    """Held connections that ask for something large, a megabyte or more, and read nothing of it. They ask several times,
    since the kernel takes some megabytes for them without anybody reading.
    """
    return held(port, count, 4 * f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode(), buffer=2048)


def closed_after(sockets: Sequence[socket.socket], most: float) -> list[float]:
    """Seconds from now until the server ended each connection, what it sent before read and thrown away; `most` for those
    that it did not end.
    """
    begun = time.perf_counter()
    found = []
    for one in sockets:
        try:
            while (left := begun + most - time.perf_counter()) > 0:
                one.settimeout(left)
                if not one.recv(65536):
                    break
        except OSError:  # reset, or too late
            pass
        found.append(time.perf_counter() - begun)
    return found


# The end of a server under load


@dataclass(slots=True)
class Ended:
    """What clients saw of a server's end. refused: connections that were refused, and tried again; cut: what happened to
    each request that was not answered with 200; exit_code: the ended server's; seconds: until it had ended.
    """

    answered: int = 0
    refused: int = 0
    cut: list[str] = field(default_factory=list)
    exit_code: int | None = None
    seconds: float = 0.0


def sigterm_under_load(
    start: Callable[[], subprocess.Popen[str]],
    port: int,
    *,
    clients: int = 16,
    requests: int = 1000,
    path: str = SEARCH,
    overlap: bool = False,
    thinking: float = 0.0,
) -> Ended:
    """Ask a server from threads, half of them on connections that they keep, end it by SIGTERM in the middle, start it
    again, and go on until so many requests were answered. start: gives a server that answers; overlap: whether the second
    one may start before the first has closed its port, as with a socket that was handed over; thinking: seconds that a
    client waits at most before its next request.
    """
    found = Ended()
    lock = threading.Lock()
    finished = threading.Event()

    def client(number: int) -> None:
        keeps, chance = number % 2 == 0, random.Random(number)
        connection = HTTPConnection(LOCAL, port, timeout=60)
        while not finished.is_set():
            time.sleep(chance.uniform(0, thinking))
            try:
                if connection.sock is None:
                    try:
                        connection.connect()
                    except ConnectionRefusedError:
                        with lock:
                            found.refused += 1
                        time.sleep(0.05)
                        continue
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                problem = "" if answer.status == 200 else f"status {answer.status}"
            except (OSError, HTTPException) as error:
                problem = repr(error)
                connection.close()
            with lock:
                if problem:
                    found.cut.append(problem)
                else:
                    found.answered += 1
                if found.answered + len(found.cut) >= requests:
                    finished.set()
            if not keeps:
                connection.close()
        connection.close()

    first = start()
    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    _wait(lambda: found.answered + len(found.cut) >= requests // 2)
    begun = time.perf_counter()
    first.send_signal(signal.SIGTERM)

    def end() -> None:
        found.exit_code = first.wait(60)
        found.seconds = time.perf_counter() - begun

    threads.append(threading.Thread(target=end))
    threads[-1].start()
    if not overlap:
        _wait(lambda: _is_free(port))
    second = start()
    _wait(finished.is_set)
    for thread in threads:
        thread.join()
    second.terminate()
    second.wait(60)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((LOCAL, port))
            one.listen()
        except OSError:
            return False
    return True


def _wait(found: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.01)


def serve(*arguments: object, on: socket.socket | None = None) -> subprocess.Popen[str]:
    """`structformer serve` in a process of its own, once it answers. on: a listening socket to hand over."""
    given = [*map(str, arguments)]
    command = [sys.executable, "-m", "structformer", "serve", *given]
    if on is not None:
        command = [sys.executable, "-c", HANDED_OVER, str(on.fileno()), "serve", *given]
    kept = () if on is None else (on.fileno(),)
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=kept, env=dict(os.environ))
    assert started.stdout is not None
    assert "http://" in started.stdout.readline()
    return started
