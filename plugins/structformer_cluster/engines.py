"""Engines on several machines, by libraries that people run already: Dask and Ray map, the function and its files stay
ours.

A cluster's worker performs a task in a process of ours, as the local engine does, so that what hangs or dies is ended
and named. It keeps that process for its next task. A worker that is lost is the cluster's affair, which runs its
tasks again elsewhere. All machines see the same folders under the same names."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from structformer.engines import Work, perform
from structformer.extras import needed_for

DASK_SCHEDULER, RAY_ADDRESS = "STRUCTFORMER_DASK", "RAY_ADDRESS"
_AHEAD = 4  # tasks of each worker that wait or run, so that results waiting for their turn stay few
_LOST_WORKERS = 20  # that one task may cost before it is given up


class DaskEngine:
    """Runs work on Dask: on the scheduler that STRUCTFORMER_DASK names, else on worker processes of this machine."""

    name = "dask"

    def map(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield results in the order of the tasks. Raises MissingPackage without structformer[dask]."""
        with needed_for("the engine dask"):
            import dask
            from distributed import Client, LocalCluster
        with ExitStack() as stack:
            stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": _LOST_WORKERS}))
            scheduler = os.environ.get(DASK_SCHEDULER)
            if scheduler is None:
                cluster = LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=work.workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=":0",  # else two commands at once warn of their port
                    silence_logs=50,
                )
                stack.enter_context(cluster)
                scheduler = cluster.scheduler_address
            client = stack.enter_context(Client(scheduler, set_as_default=False))  # type: ignore[no-untyped-call]
            workers = max(1, sum(client.nthreads().values()))

            def submit(task: Any) -> Any:
                return client.submit(perform, work, task, pure=False)

            yield from in_order(tasks, _AHEAD * workers, submit, lambda future: future.result())


class RayEngine:
    """Runs work on Ray: on the cluster that RAY_ADDRESS names, else on this machine."""

    name = "ray"

    def map(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield results in the order of the tasks. Raises MissingPackage without structformer[ray]."""
        with needed_for("the engine ray"):
            import ray
        begun = not ray.is_initialized()
        if begun:
            alone = {} if os.environ.get(RAY_ADDRESS) else {"num_cpus": work.workers, "include_dashboard": False}
            ray.init(log_to_driver=False, **alone)
        try:
            remote = ray.remote(num_cpus=1, max_retries=_LOST_WORKERS)(perform)
            workers = max(1, int(ray.cluster_resources().get("CPU", work.workers)))
            yield from in_order(tasks, _AHEAD * workers, lambda task: remote.remote(work, task), _result_of_ray)
        finally:
            if begun:
                ray.shutdown()


def _result_of_ray(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause or error) from error


def in_order(
    tasks: Iterable[Any], ahead: int, submit: Callable[[Any], Any], result: Callable[[Any], Any]
) -> Iterator[Any]:
    """Yield results in the order of the tasks; at most so many tasks are started before their turn."""
    waiting: deque[Any] = deque()
    for task in tasks:
        waiting.append(submit(task))
        if len(waiting) >= ahead:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())
