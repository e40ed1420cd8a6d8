"""The limits of processor time and memory that a worker process keeps to, by the system's means."""

from __future__ import annotations

import signal


def limit_time(seconds: float) -> None:
    """The system ends this process when it has used that much processor time from now on; 0: no more limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def limit_memory(memory_bytes: int) -> None:
    """The system refuses this process more data than that."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    except (ImportError, OSError, ValueError):
        return  # no such limit on this platform; the time limit still holds
