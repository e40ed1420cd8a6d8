"""Engines on clusters give the same bytes as this machine's processes, whatever happens to their workers."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path

import psutil
import pytest
from structformer import sample
from structformer.engines import Engine, Work, get_engine
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.workspace import Workspace

from structformer_cluster.engines import in_order
from topics import digests, write_topics


@pytest.fixture(scope="module")
def many_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Over 50 shards."""
    return write_topics(tmp_path_factory.mktemp("engines") / "many", 480)


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """A thread that works while the block does; it is told when that ends, and waited for."""
    done = threading.Event()
    thread = threading.Thread(target=work, args=(done,))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def killing(pids: Callable[[], set[int]], *moments: tuple[Path, int]) -> Iterator[list[int]]:
    """Kill a process each time a pattern of paths has so many; whom, so far."""
    killed: list[int] = []

    def kill(done: threading.Event) -> None:
        for pattern, count in moments:
            while len(glob(str(pattern))) < count or not pids() - set(killed):
                if done.wait(0.02):
                    return
            victim = min(pids() - set(killed))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    with beside(kill):
        yield killed


def moments(workspace: Path) -> list[tuple[Path, int]]:
    """Two while shards are made, one while Examples are drawn."""
    shards, drawn = Workspace(workspace).shards / "*", workspace / "samples" / ".structformer-tmp-*" / "pages" / "*"
    return [(shards, 10), (shards, 30), (drawn, 10)]


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """Two workers' tasks whose results are the numbers of the processes that did them."""
    (tmp_path / "pids.py").write_text("import os\n\ndef run(task, begin):\n    return os.getpid()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    def never_lost(task: str, item: str, reason: str) -> str:
        raise AssertionError(f"{item} {reason}")

    return Work("pids:run", 2, 60.0, 1 << 31, never_lost)


def test_dask_gives_the_same_bytes_of_50_shards_when_its_workers_are_killed(many_pages, tmp_path, monkeypatch):
    ingest(many_pages, tmp_path / "here")
    sample(tmp_path / "here")
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        monkeypatch.setenv("STRUCTFORMER_DASK", cluster.scheduler_address)

        def workers() -> set[int]:
            return {nanny.pid for nanny in cluster.workers.values() if nanny.pid}

        with killing(workers, *moments(tmp_path / "there")) as killed:
            ingest(many_pages, tmp_path / "there", engine="dask", workers=2)
            sample(tmp_path / "there", engine="dask", workers=2)
    assert len(killed) == 3
    assert len(list(Workspace(tmp_path / "there").shards.glob("*"))) >= 50
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


def test_a_dask_worker_keeps_its_process_between_tasks(pids):
    those = list(get_engine("dask").map(pids, range(50)))
    assert len(those) == 50
    assert len(set(those)) <= 2


def test_what_goes_wrong_in_a_task_is_told():
    work = Work("os.path:basename", 1, 60.0, 1 << 31, lambda task, item, reason: task)
    with pytest.raises(RuntimeError, match="TypeError: basename"):
        list(get_engine("dask").map(work, [7]))


@pytest.mark.ray
def test_ray_gives_the_same_bytes_of_50_shards_when_its_workers_are_killed(many_pages, tmp_path):
    pytest.importorskip("ray")
    ingest(many_pages, tmp_path / "here")
    sample(tmp_path / "here")

    def workers() -> set[int]:
        found = set()
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.cmdline()[:1] == ["ray::perform"]:
                    found.add(process.pid)
        return found

    with killing(workers, *moments(tmp_path / "there")) as killed:
        ingest(many_pages, tmp_path / "there", engine="ray", workers=2)
        sample(tmp_path / "there", engine="ray", workers=2)
    assert len(killed) == 3
    assert len(list(Workspace(tmp_path / "there").shards.glob("*"))) >= 50
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


@pytest.mark.ray
def test_a_ray_worker_keeps_its_process_between_tasks(pids):
    pytest.importorskip("ray")
    those = list(get_engine("ray").map(pids, range(50)))
    assert len(those) == 50
    assert len(set(those)) < 10  # Ray begins workers beyond those at work, and ends them again


def test_results_keep_their_order_and_few_tasks_are_given_out_ahead():
    given: list[int] = []
    results = in_order(range(20), 4, lambda task: given.append(task) or task, lambda task: task * task)
    assert next(results) == 0
    assert len(given) <= 5
    assert list(results) == [number * number for number in range(1, 20)]


def test_engines_are_named():
    for name in ("local", "dask", "ray"):
        assert isinstance(get_engine(name), Engine)
    with pytest.raises(UsageError, match="no engine 'spark'; choose from: dask, local, ray"):
        get_engine("spark")
