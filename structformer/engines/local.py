"""The engines by name, plugins' too; and the local one: worker processes here, which survive hostile input."""

import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.engines.engine import Engine, Work
from structformer.engines.pool import Crew
from structformer.errors import UsageError
from structformer.lazy_names import named_object
from structformer.plugins import load_plugins


class LocalEngine:
    """Runs work in processes of this machine."""

    name = "local"

    def map(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield results in the order of the tasks."""
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
            waiting: dict[int, Any] = {}
            expected, serving = 0, len(threads)
            while serving:
                index, value, error = results.get()
                if error is not None:
                    raise error
                if index < 0:
                    serving -= 1
                    continue
                waiting[index] = value
                while expected in waiting:
                    yield waiting.pop(expected)
                    expected += 1
                    slots.release()
        finally:
            crew.stop()
            for _ in threads:
                slots.release()
            for thread in threads:
                thread.join()
            crew.close()


def get_engine(engine: str | Engine = "local") -> Engine:
    """Return an engine by its name. Raises UsageError naming those there are."""
    if not isinstance(engine, str):
        return engine
    engines: dict[str, Engine] = {LocalEngine.name: LocalEngine()}
    if engine not in engines:
        supplied = load_plugins().supplied("structformer_engines", "engine", Engine, engines)  # type: ignore[type-abstract]
        engines.update({name: each for name, (each, _) in supplied.items()})
    if engine not in engines:
        raise UsageError(f"no engine {engine!r}; {did_you_mean(engine, sorted(engines))}")
    return engines[engine]


def mapped(work: Work, tasks: Sequence[Any], engine: str | Engine = "local") -> Iterator[Any]:
    """Yield results in the order of the tasks, without a process if one worker is enough: for what cannot misbehave."""
    if work.workers > 1:
        yield from get_engine(engine).map(work, tasks)
        return
    function = named_object(work.function)
    for task in tasks:
        yield function(task, lambda item: None)
