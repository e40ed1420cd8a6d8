"""The worker process: takes tasks as pickles on standard input, gives progress and results on standard output.

A process of its own interpreter, not a fork, so that it can be killed when a file exceeds its limits and so that
a script that calls `ingest` needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from typing import Any


def main() -> None:
    """Serve tasks until standard input closes."""
    incoming = sys.stdin.buffer
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not disturb the protocol

    def send(kind: str, value: Any) -> None:
        pickle.dump((kind, value), outgoing)
        outgoing.flush()

    memory_bytes: int = pickle.load(incoming)
    _limit_memory(memory_bytes)
    while True:
        try:
            name, task = pickle.load(incoming)
        except EOFError:
            return
        try:
            module, _, function = name.partition(":")
            result = getattr(importlib.import_module(module), function)(task, lambda item: send("item", item))
            send("done", result)
        except KeyboardInterrupt:
            return
        except BaseException as error:
            send("error", f"{type(error).__name__}: {error}")


def _limit_memory(memory_bytes: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    except (ImportError, OSError, ValueError):
        return  # no such limit on this platform; the time limit still holds


if __name__ == "__main__":
    main()
