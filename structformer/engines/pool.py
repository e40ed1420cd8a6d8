"""Worker processes, kept between tasks. One that hangs or dies is replaced, and its item reported."""

from __future__ import annotations

import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from structformer import errors
from structformer.engines.engine import Work

# On the clock a busy machine takes far longer than on its processors; what waits for nothing to happen ends all the
# same.
_CLOCK_FACTOR, _CLOCK_SECONDS = 10.0, 10.0
_LOOK_SECONDS = 0.5  # between looks at the clock
_IDLE_SECONDS = 30.0  # that a worker waits for its next task
_TIME_SIGNALS = {-int(getattr(signal, name)) for name in ("SIGPROF", "SIGXCPU") if hasattr(signal, name)}


class _Limits(NamedTuple):
    """What a worker process may take."""

    memory_bytes: int
    seconds: float
    """Processor time for an item."""

    @property
    def clock_seconds(self) -> float:
        """How long it may say nothing."""
        return _CLOCK_FACTOR * self.seconds + _CLOCK_SECONDS


class _Worker:
    """One worker process and the pipe to it."""

    def __init__(self, limits: _Limits) -> None:
        self.limits = limits
        # Arrow's own allocator reserves address space far beyond what it uses, which a memory limit would count.
        environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        numbers = (os.getpid(), limits.memory_bytes, limits.seconds)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "structformer.engines.worker", *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.item: Any = None
        self.timed_out = False
        self.deadline = math.inf
        self.idle_since = math.inf

    def run(self, function: str, task: Any) -> tuple[str, Any]:
        """("done", result) or ("error", its kind and message). Raises EOFError or OSError when the process is gone;
        `item` is what it was at.
        """
        assert self.process.stdin is not None
        self.item = None
        pickle.dump((function, task), self.process.stdin)
        self.process.stdin.flush()
        while True:
            kind, value = self._receive()
            if kind != "item":
                return kind, value
            self.item = value

    def _receive(self) -> tuple[str, Any]:
        """The next message; the process is killed when none comes in time. Raises EOFError when it is gone."""
        assert self.process.stdout is not None
        self.deadline = time.monotonic() + self.limits.clock_seconds
        try:
            message: tuple[str, Any] = pickle.load(self.process.stdout)
            return message
        except pickle.UnpicklingError as error:
            raise EOFError from error
        finally:
            self.deadline = math.inf

    def kill_if_late(self) -> None:
        """Kill the process when it should have said something by now."""
        if time.monotonic() > self.deadline:
            self.timed_out = True
            self.process.kill()

    def reason(self) -> str:
        """Why the process ended."""
        if self.process.returncode in _TIME_SIGNALS:
            return f"took over {self.limits.seconds:g} s of processor time"
        if self.timed_out:
            return f"took over {self.limits.clock_seconds:g} s without an end"
        return f"ended its worker process (status {self.process.returncode})"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue


class Stopped(Exception):
    """No worker begins any more."""


class Pool:
    """As many worker processes as tasks are performed at once. Those that wait for a task end after a while.

    One thread begins them all: on Linux they end when the thread that began them does, and the threads that bring
    tasks come and go. Once the pool is stopped, no worker runs and none begins: what a worker that came late wrote
    would be found by whoever writes next.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._running: list[_Worker] = []
        self._idle: list[_Worker] = []  # of those that run, the latest last
        self._requests: queue.SimpleQueue[tuple[_Limits, Future[_Worker]] | None] = queue.SimpleQueue()
        self._keeper: threading.Thread | None = None

    @property
    def stopped(self) -> bool:
        """Whether no worker begins any more."""
        return self._stopped

    def perform(self, work: Work, task: Any) -> Any:
        """The task's result. Raises its error, and Stopped."""
        limits = _Limits(work.memory_bytes, work.seconds)
        kept = self._idle_worker(limits)
        while True:
            worker = kept or self._begin(limits)
            try:
                kind, value = worker.run(work.function, task)
            except (EOFError, OSError):
                self._end(worker)
                if worker.item is not None:
                    task = work.lost(task, worker.item, worker.reason())
                elif worker is not kept:  # which may have died while it waited
                    raise errors.WorkspaceError(f"a worker process could not run: it {worker.reason()}") from None
                kept = None
                continue
            except BaseException:
                self._end(worker)
                raise
            if kind == "error":
                self._end(worker)  # after a MemoryError, say, the next task would have less
                raise _error(*value)
            self._give_back(worker)
            return value

    def _idle_worker(self, limits: _Limits) -> _Worker | None:
        """A worker that waits. Where those that do have other limits, one ends for the one that begins, so that workers
        are never more than tasks were at once.
        """
        with self._lock:
            fitting = [worker for worker in self._idle if worker.limits == limits]
            chosen = fitting[-1] if fitting else self._idle[0] if self._idle else None
            if chosen is None:
                return None
            self._idle.remove(chosen)
        if fitting:
            return chosen
        self._end(chosen)
        return None

    def _begin(self, limits: _Limits) -> _Worker:
        """A new worker. Raises Stopped."""
        begun: Future[_Worker] = Future()
        with self._lock:
            if self._stopped:
                raise Stopped
            self._requests.put((limits, begun))
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, daemon=True)
                self._keeper.start()
        return begun.result()

    def _end(self, worker: _Worker) -> None:
        """Take away a worker. Raises Stopped when it was not its task that ended it."""
        worker.close()
        with self._lock:
            if self._stopped:
                raise Stopped
            self._running.remove(worker)

    def _give_back(self, worker: _Worker) -> None:
        worker.idle_since = time.monotonic()
        with self._lock:
            self._idle.append(worker)

    def stop(self) -> None:
        """Kill the workers; their pipes stay open for the threads that still read them."""
        with self._lock:
            self._stopped = True
            self._requests.put(None)
            for worker in self._running:
                worker.process.kill()

    def close(self) -> None:
        """Kill the workers and wait until they are gone."""
        self.stop()
        for worker in self._running:
            worker.close()

    def _keep(self) -> None:
        """Begin workers, kill those that are late, end those that have waited for long."""
        while True:
            with suppress(queue.Empty):
                request = self._requests.get(timeout=_LOOK_SECONDS if self._running else None)
                if request is None:
                    return
                limits, begun = request
                try:
                    begun.set_result(self._begun(limits))
                except BaseException as error:
                    begun.set_exception(error)
            self._look()

    def _begun(self, limits: _Limits) -> _Worker:
        with self._lock:
            if self._stopped:
                raise Stopped
            try:
                worker = _Worker(limits)
            except OSError as error:
                raise errors.WorkspaceError(f"a worker process could not begin: {error}") from error
            self._running.append(worker)
            return worker

    def _look(self) -> None:
        now = time.monotonic()
        with self._lock:
            for worker in self._running:
                worker.kill_if_late()
            tired = [worker for worker in self._idle if now - worker.idle_since > _IDLE_SECONDS]
            self._idle = [worker for worker in self._idle if worker not in tired]
            self._running = [worker for worker in self._running if worker not in tired]
        for worker in tired:
            worker.close()


def _error(kind: str, message: str) -> Exception:
    """A task's error: ours as what it was, any other as a RuntimeError that names it."""
    ours = getattr(errors, kind, None)
    if isinstance(ours, type) and issubclass(ours, errors.StructformerError):
        return ours(message)
    return RuntimeError(f"{kind}: {message}")
