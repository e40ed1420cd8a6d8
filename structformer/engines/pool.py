"""A pool of worker processes that survive hostile input: one that hangs or dies is replaced, and its item reported."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")


class _Worker:
    """One worker process and the pipe to it."""

    def __init__(self, memory_bytes: int) -> None:
        # Arrow's own allocator reserves address space far beyond what it uses, which a memory limit would count.
        environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "structformer.engines.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.timed_out = False
        self.send(memory_bytes)

    def send(self, value: Any) -> None:
        assert self.process.stdin is not None
        pickle.dump(value, self.process.stdin)
        self.process.stdin.flush()

    def receive(self, seconds: float) -> tuple[str, Any]:
        """The next message; the process is killed when none comes in time. Raises EOFError when it is gone."""
        assert self.process.stdout is not None
        timer = threading.Timer(seconds, self._expire)
        timer.start()
        try:
            message: tuple[str, Any] = pickle.load(self.process.stdout)
            return message
        except pickle.UnpicklingError as error:
            raise EOFError from error
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self.timed_out = True
        self.process.kill()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue


class WorkerPool(Generic[Task]):
    """Runs `function` ("module:name", called with a task and a progress callback) over tasks in worker processes.

    lost(task, item, reason) gives the task to run instead when the worker was killed or died while at `item`.
    """

    def __init__(self, function: str, *, workers: int, seconds: float, memory_bytes: int, lost: Callable[[Task, Any, str], Task]) -> None:
        self._function = function
        self._count = max(1, workers)
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._lost = lost

    def run(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """Results in the order of the tasks. A task's own error is raised here as RuntimeError."""
        source = enumerate(tasks)
        lock = threading.Lock()
        results: queue.Queue[tuple[int, Any, BaseException | None]] = queue.Queue()
        slots = threading.Semaphore(self._count * 4)  # so that results waiting for their turn stay few
        stopping = threading.Event()
        workers: list[_Worker] = []

        def serve() -> None:
            worker: _Worker | None = None
            try:
                while not stopping.is_set():
                    slots.acquire()
                    with lock:
                        index, task = next(source, (-1, None))
                    if index < 0 or task is None or stopping.is_set():
                        break
                    worker, value, error = self._perform(worker, task, workers)
                    results.put((index, value, error))
            except BaseException as failure:
                results.put((-1, None, failure))
            finally:
                results.put((-1, None, None))

        threads = [threading.Thread(target=serve, daemon=True) for _ in range(self._count)]
        for thread in threads:
            thread.start()
        try:
            yield from _in_order(results, len(threads), slots)
        finally:
            stopping.set()
            for _ in threads:
                slots.release()
            for worker in workers:
                worker.close()

    def _perform(self, worker: _Worker | None, task: Task, workers: list[_Worker]) -> tuple[_Worker | None, Any, BaseException | None]:
        while True:
            if worker is None:
                worker = _Worker(self._memory_bytes)
                workers.append(worker)
            item: Any = None
            try:
                worker.send((self._function, task))
                while True:
                    kind, value = worker.receive(self._seconds)
                    if kind == "item":
                        item = value
                    elif kind == "done":
                        return worker, value, None
                    else:
                        return worker, None, RuntimeError(value)
            except (EOFError, OSError):
                worker.close()
                workers.remove(worker)
                code = worker.process.returncode
                reason = f"took over {self._seconds:g} s" if worker.timed_out else f"ended the reader process (status {code})"
                worker = None
                if item is None:
                    return None, None, RuntimeError(f"a worker process could not run: {reason}")
                task = self._lost(task, item, reason)


def _in_order(results: queue.Queue[tuple[int, Any, BaseException | None]], servers: int, slots: threading.Semaphore) -> Iterator[Any]:
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
