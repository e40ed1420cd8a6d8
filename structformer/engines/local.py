"""The local engine: worker processes of this machine, which survive hostile input."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from structformer.engines.engine import Work
from structformer.engines.pool import Crew


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
        crew = Crew(work)

        def serve() -> None:
            try:
                while not crew.stopped:
                    slots.acquire()
                    with lock:
                        index, task = next(source, (-1, None))
                    if index < 0 or task is None:
                        break
                    results.put((index, crew.perform(task), None))
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
            crew.stop()
            for _ in threads:
                slots.release()
            for thread in threads:
                thread.join()
            crew.close()


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
