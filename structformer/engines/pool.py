"""Worker processes, kept between tasks and between maps. One that hangs or dies is replaced, and its item reported."""

import atexit
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from structformer import errors
from structformer.engines.engine import Work

# On the clock a busy machine takes far longer than on its processors; what waits for nothing to happen ends all the
# same.
_CLOCK_FACTOR, _CLOCK_SECONDS = 10.0, 10.0
_LOOK_SECONDS = 0.5  # between looks at the clock
_MOST_LOSSES = 3  # workers at one item of a task
_IDLE_SECONDS = 30.0  # that a worker waits for its next task
_TIME_SIGNALS = {-int(getattr(signal, name)) for name in ("SIGPROF", "SIGXCPU") if hasattr(signal, name)}


# pytest changes it with every test.
_TELLS_WORKERS_NOTHING = "PYTEST_CURRENT_TEST"


class _Kind(NamedTuple):
    """Values that a worker process keeps from its start."""

    memory_bytes: int
    """That it may take."""
    environment: dict[str, str]


class _Worker:
    """One worker process and the pipe to it."""

    def __init__(self, kind: _Kind) -> None:
        self.kind = kind
        # -P: else Python would take modules from the current folder, which may be the one that is read.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "structformer.engines.worker", str(os.getpid()), str(kind.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Arrow's own allocator reserves address space far beyond what it uses, which a memory limit would count.
            env={**kind.environment, "ARROW_DEFAULT_MEMORY_POOL": "system"},
            process_group=0 if os.name == "posix" else None,  # a terminal's Ctrl-C is for the command: it ends these
        )
        self.item: Any = None
        self.seconds = 0.0  # of processor time that an item may take
        self.timed_out = False
        self.deadline = math.inf
        self.idle_since = math.inf

    @property
    def clock_seconds(self) -> float:
        """How long it may say nothing."""
        return _CLOCK_FACTOR * self.seconds + _CLOCK_SECONDS

    def run(self, work: Work, task: Any) -> tuple[str, Any]:
        """Return ("done", result) or ("error", kind and message). Raises EOFError or OSError if the process is gone."""
        assert self.process.stdin is not None
        self.item, self.seconds = None, work.seconds
        pickle.dump((work.function, task, work.seconds, _current_folder()), self.process.stdin)
        self.process.stdin.flush()
        while True:
            kind, value = self._receive()
            if kind != "item":
                return kind, value
            self.item = value

    def _receive(self) -> tuple[str, Any]:
        """Return the next message; the process is killed when none comes in time. Raises EOFError when it is gone."""
        assert self.process.stdout is not None
        self.deadline = time.monotonic() + self.clock_seconds
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
        """Return why the process ended."""
        if self.process.returncode in _TIME_SIGNALS:
            return f"took over {self.seconds:g} s of processor time"
        if self.timed_out:
            return f"took over {self.clock_seconds:g} s without an end"
        return f"ended its worker process (status {self.process.returncode})"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


class Stopped(Exception):
    """No worker begins any more."""


class Pool:
    """The worker processes of this process, which end a while after their work. One thread begins them all: on Linux
    they end with the thread that began them, and those that bring tasks come and go.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._running: list[_Worker] = []
        self._idle: list[_Worker] = []  # of those that run, the latest last
        self._requests: queue.SimpleQueue[tuple[_Kind, Future[_Worker]]] = queue.SimpleQueue()
        self._keeper: threading.Thread | None = None

    def take(self, kind: _Kind) -> tuple[_Worker, bool]:
        """A worker, and whether it waited. If none of that kind waits, others end, for memory. Raises Stopped."""
        begun: Future[_Worker] = Future()
        with self._lock:
            if self._stopped:
                raise Stopped
            if fitting := [worker for worker in self._idle if worker.kind == kind]:
                self._idle.remove(fitting[-1])
                return fitting[-1], True
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, daemon=True)
                self._keeper.start()
        self.dismiss(lambda worker: worker.kind != kind)
        self._requests.put((kind, begun))
        return begun.result(), False

    def give_back(self, worker: _Worker) -> None:
        """Let a worker wait for other work."""
        worker.idle_since = time.monotonic()
        with self._lock:
            self._idle.append(worker)

    def end(self, worker: _Worker) -> None:
        """End a worker that does not wait."""
        worker.close()
        with self._lock:
            self._running.remove(worker)

    def dismiss(self, which: Callable[[_Worker], bool]) -> None:
        """End those of the workers that wait."""
        with self._lock:
            chosen = [worker for worker in self._idle if which(worker)]
            self._idle = [worker for worker in self._idle if worker not in chosen]
        for worker in chosen:
            self.end(worker)

    def close(self) -> None:
        """Kill the workers and wait until they are gone; none begins any more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for worker in running:
            worker.process.kill()
        for worker in running:
            worker.close()

    def _keep(self) -> None:
        """Begin workers, kill those that are late, end those that have waited for long."""
        while True:
            with suppress(queue.Empty):
                kind, begun = self._requests.get(timeout=_LOOK_SECONDS if self._running else None)
                try:
                    begun.set_result(self._begun(kind))
                except BaseException as error:
                    begun.set_exception(error)
            self._look()

    def _begun(self, kind: _Kind) -> _Worker:
        with self._lock:
            if self._stopped:
                raise Stopped
            try:
                worker = _Worker(kind)
            except OSError as error:
                raise errors.WorkspaceError(f"a worker process could not begin: {error}") from error
            self._running.append(worker)
            return worker

    def _look(self) -> None:
        now = time.monotonic()
        with self._lock:
            for worker in self._running:
                worker.kill_if_late()
            beyond = self._idle[: -(os.cpu_count() or 1)]  # memory that nobody uses
        self.dismiss(lambda worker: worker in beyond or now - worker.idle_since > _IDLE_SECONDS)


_pools: dict[int, Pool] = {}  # by process: a fork has its parent's pipes, which it must not use


@atexit.register
def end_workers() -> None:
    """End the worker processes of this process. Later work begins others."""
    if (pool := _pools.pop(os.getpid(), None)) is not None:
        pool.close()


class Crew:
    """The workers of one map. Once stopped, none runs: what a late one wrote would be found by the next writer."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._pool = _pools.setdefault(os.getpid(), Pool())
        environment = {name: value for name, value in os.environ.items() if name != _TELLS_WORKERS_NOTHING}
        self._kind = _Kind(work.memory_bytes, environment)
        self._lock = threading.Lock()
        self._busy: list[_Worker] = []
        self.stopped = False

    def perform(self, task: Any) -> Any:
        """Return the task's result. Raises its error, Stopped, or WorkspaceError if workers keep ending at an item."""
        losses: Counter[str] = Counter()
        while True:
            worker, waited = self._take()
            try:
                kind, value = worker.run(self._work, task)
            except (EOFError, OSError):
                self._end(worker)
                if worker.item is not None:
                    losses[str(worker.item)] += 1
                    if losses[str(worker.item)] > _MOST_LOSSES:
                        raise errors.WorkspaceError(f"{worker.item}: its worker process {worker.reason()}") from None
                    task = self._work.lost(task, worker.item, worker.reason())
                elif not waited:  # it may have died while it did
                    raise errors.WorkspaceError(f"a worker process could not run: it {worker.reason()}") from None
                continue
            except BaseException:
                self._end(worker)
                raise
            if kind == "error":
                self._end(worker)  # after a MemoryError, say, the next task would have less
                raise _error(*value)
            self._give_back(worker)
            return value

    def stop(self) -> None:
        """Kill the workers at work; their pipes stay open for the threads that still read them."""
        with self._lock:
            self.stopped = True
            for worker in self._busy:
                worker.process.kill()

    def close(self) -> None:
        """End the workers that wait, where they shall not for other work."""
        if not self._work.keep:
            self._pool.dismiss(lambda worker: worker.kind == self._kind)

    def _take(self) -> tuple[_Worker, bool]:
        worker, waited = self._pool.take(self._kind)
        with self._lock:
            if not self.stopped:
                self._busy.append(worker)
                return worker, waited
        self._pool.give_back(worker)
        raise Stopped

    def _end(self, worker: _Worker) -> None:
        """Take away a worker. Raises Stopped when it was not its task that ended it."""
        self._pool.end(worker)
        with self._lock:
            self._busy.remove(worker)
            if self.stopped:
                raise Stopped

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            if not self.stopped:
                self._busy.remove(worker)
                self._pool.give_back(worker)
                return
        self._end(worker)


def perform(work: Work, task: Any) -> Any:
    """Return one task's result, by a worker process that then waits for the next. Raises the task's error."""
    return Crew(work).perform(task)


def _current_folder() -> str:
    """Return the folder that relative paths of a task are of, "" where it was deleted."""
    with suppress(OSError):
        return os.getcwd()
    return ""


def _error(kind: str, message: str) -> Exception:
    """Return a task's error: ours as what it was, any other as a RuntimeError that names it."""
    ours = getattr(errors, kind, None)
    if isinstance(ours, type) and issubclass(ours, errors.StructformerError):
        return ours(message)
    return RuntimeError(f"{kind}: {message}")
