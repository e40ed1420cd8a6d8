"""The local engine: worker processes that survive hostile input. One that hangs or dies is replaced, and its item
reported.
"""

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
from collections.abc import Iterable, Iterator
from typing import Any

from structformer import errors
from structformer.engines.engine import Work

# On the clock a busy machine takes far longer than on its processors; what waits for nothing to happen ends all the
# same.
_CLOCK_FACTOR, _CLOCK_SECONDS = 10.0, 10.0
_LOOK_SECONDS = 0.5  # between looks at the clock
_TIME_SIGNALS = {-int(getattr(signal, name)) for name in ("SIGPROF", "SIGXCPU") if hasattr(signal, name)}


class LocalEngine:
    """Runs work in processes of this machine."""

    name = "local"

    def map(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Results in the order of the tasks."""
        source = enumerate(tasks)
        lock = threading.Lock()
        results: queue.Queue[tuple[int, Any, BaseException | None]] = queue.Queue()
        count = max(1, work.workers)
        slots = threading.Semaphore(count * 4)  # so that results waiting for their turn stay few
        workers = _Workers(work)

        def serve() -> None:
            worker: _Worker | None = None
            try:
                while not workers.stopped:
                    slots.acquire()
                    with lock:
                        index, task = next(source, (-1, None))
                    if index < 0 or task is None:
                        break
                    worker, value, error = _perform(workers, worker, task)
                    results.put((index, value, error))
            except _Stopped:
                return
            except BaseException as failure:
                results.put((-1, None, failure))
            finally:
                results.put((-1, None, None))

        threads = [threading.Thread(target=serve, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield from _in_order(results, len(threads), slots)
        finally:
            workers.stop()
            for _ in threads:
                slots.release()
            for thread in threads:
                thread.join()
            workers.close()


class _Worker:
    """One worker process and the pipe to it."""

    def __init__(self, work: Work) -> None:
        # Arrow's own allocator reserves address space far beyond what it uses, which a memory limit would count.
        environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "structformer.engines.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.timed_out = False
        self.deadline = math.inf
        self.send((os.getpid(), work.memory_bytes, work.seconds))

    def send(self, value: Any) -> None:
        assert self.process.stdin is not None
        pickle.dump(value, self.process.stdin)
        self.process.stdin.flush()

    def receive(self, seconds: float) -> tuple[str, Any]:
        """The next message; the process is killed when none comes in time. Raises EOFError when it is gone."""
        assert self.process.stdout is not None
        self.deadline = time.monotonic() + seconds
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

    def reason(self, work: Work) -> str:
        """Why the process ended."""
        if self.process.returncode in _TIME_SIGNALS:
            return f"took over {work.seconds:g} s of processor time"
        if self.timed_out:
            return f"took over {_clock_seconds(work):g} s without an end"
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


class _Stopped(Exception):
    """No worker begins any more."""


class _Workers:
    """The worker processes of one piece of work. Once it is stopped, none runs and none begins: what a worker that came
    late wrote would be found by whoever writes next.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._running: list[_Worker] = []
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def stopped(self) -> bool:
        """Whether no worker begins any more."""
        return self._stopped.is_set()

    def _watch(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            with self._lock:
                for worker in self._running:
                    worker.kill_if_late()

    def begin(self) -> _Worker:
        """A new worker. Raises _Stopped."""
        with self._lock:
            if self.stopped:
                raise _Stopped
            worker = _Worker(self.work)
            self._running.append(worker)
            return worker

    def end(self, worker: _Worker) -> None:
        """Take away a worker that is gone. Raises _Stopped when it was not its task that ended it."""
        worker.close()
        with self._lock:
            if self.stopped:
                raise _Stopped
            self._running.remove(worker)

    def stop(self) -> None:
        """Kill the workers; their pipes stay open for the threads that still read them."""
        with self._lock:
            self._stopped.set()
            for worker in self._running:
                worker.process.kill()

    def close(self) -> None:
        """Kill the workers and wait until they are gone."""
        self.stop()
        for worker in self._running:
            worker.close()


def _clock_seconds(work: Work) -> float:
    return _CLOCK_FACTOR * work.seconds + _CLOCK_SECONDS


def _perform(workers: _Workers, worker: _Worker | None, task: Any) -> tuple[_Worker | None, Any, BaseException | None]:
    work = workers.work
    while True:
        worker = worker or workers.begin()
        item: Any = None
        try:
            worker.send((work.function, task))
            while True:
                kind, value = worker.receive(_clock_seconds(work))
                if kind == "item":
                    item = value
                elif kind == "done":
                    return worker, value, None
                else:
                    return worker, None, _error(*value)
        except (EOFError, OSError):
            workers.end(worker)
            reason = worker.reason(work)
            worker = None
            if item is None:
                return None, None, errors.WorkspaceError(f"a worker process could not run: it {reason}")
            task = work.lost(task, item, reason)


def perform(work: Work, task: Any) -> Any:
    """One task's result, by a worker process that is begun for it and ended after it: how a cluster's workers run ours.

    Raises the task's error.
    """
    workers = _Workers(work)
    try:
        _, value, error = _perform(workers, None, task)
    finally:
        workers.close()
    if error is not None:
        raise error
    return value


def _error(kind: str, message: str) -> Exception:
    """A task's error: ours as what it was, any other as a RuntimeError that names it."""
    ours = getattr(errors, kind, None)
    if isinstance(ours, type) and issubclass(ours, errors.StructformerError):
        return ours(message)
    return RuntimeError(f"{kind}: {message}")


def _in_order(
    results: queue.Queue[tuple[int, Any, BaseException | None]], servers: int, slots: threading.Semaphore
) -> Iterator[Any]:
    waiting: dict[int, Any] = {}
    expected = 0
    while servers:
        index, value, error = results.get()
        if error is not None:
            raise error
        if index < 0:
            servers -= 1
            continue
        waiting[index] = value
        while expected in waiting:
            yield waiting.pop(expected)
            expected += 1
            slots.release()
