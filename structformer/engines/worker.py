"""The worker process: takes tasks as pickles on standard input, returns progress and results on standard output.

A process of its own interpreter, not a fork, so that it can be killed when a file exceeds its limits and so that
a script that calls `ingest` needs no `if __name__ == "__main__"`. It keeps its limits itself, and ends with its parent.
"""

import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from structformer.extras import hide_pandas_from_pyarrow
from structformer.lazy_names import named_object
from structformer.storage.files import writing_errors


def limit_time(seconds: float) -> None:
    """The system ends this process when it has used that much processor time from now on; 0: no more limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def main() -> None:
    """Serve tasks until standard input closes."""
    incoming = sys.stdin.buffer
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not disturb the protocol

    def send(kind: str, value: Any) -> None:
        pickle.dump((kind, value), outgoing)
        outgoing.flush()

    parent, memory_bytes = int(sys.argv[1]), int(sys.argv[2])
    _end_with(parent)
    hide_pandas_from_pyarrow()
    with suppress(ImportError, OSError, ValueError):  # no such limit on this platform; the time limit still holds
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))

    def begin(item: Any) -> None:
        limit_time(seconds)
        send("item", item)

    while True:
        limit_time(0)  # what comes between tasks counts for none
        try:
            name, task, seconds, folder = pickle.load(incoming)
        except (EOFError, KeyboardInterrupt):
            return
        try:
            limit_time(seconds)
            if folder:
                os.chdir(folder)
            written = (getattr(task, each, None) for each in ("shards", "folder", "output"))
            with writing_errors(Path(next(filter(None, written), "the workspace"))):  # named when the disk is full
                result = named_object(name)(task, begin)
            send("done", result)
        except (KeyboardInterrupt, BrokenPipeError):
            return  # nobody is left to hear of it
        except BaseException as error:
            send("error", (type(error).__name__, str(error)))


def _end_with(parent: int) -> None:
    """End when the parent does, at once where the system can do that, else within a second."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            # PR_SET_PDEATHSIG: also within a library that never returns
            ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))
    if os.name == "posix":
        if os.getppid() != parent:
            os._exit(1)
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main()
