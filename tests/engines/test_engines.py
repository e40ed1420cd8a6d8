"""Engines on clusters give the same bytes as this machine's processes, whatever happens to their workers."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path

import psutil
import pytest
from structformer import sample
from structformer.engines import Engine, Work, get_engine
from structformer.engines.cluster import in_order, perform
from structformer.engines.pool import Pool
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.workspace import Workspace

from conftest import write_pages

_MADE_WHERE = {"command.json", "report.html", "seal.json", "compared.json"}  # say when and how, or list those that do


def digests(workspace: Path) -> dict[str, str]:
    """What a corpus, its graph and its Examples are, file by file."""
    place = Workspace(workspace)
    found = {}
    for part in ("corpus", "graph", "samples"):
        folder = place.folder(part)
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in _MADE_WHERE:
                found[f"{part}/{path.relative_to(folder)}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sorted(place.shards.rglob("*.parquet")):
        found[str(path.relative_to(place.shards))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def write_topics(folder: Path, count: int) -> Path:
    topics = [f"{first}{second}" for first in ("mast", "keel", "jib", "oar") for second in range(count // 4)]
    texts = {
        f"{topic[:3]}/{topic}.md": f"# The {topic}\n\nThe {topic} is a part of the boat that everybody knows.\n\n"
        f"## Mend the {topic}\n\nTo mend the {topic} take a cloth and thread, and never mend a wet {topic} in the rain.\n\n"
        f"## See also\n\n- [the next](../{topics[number - 1][:3]}/{topics[number - 1]}.md)\n"
        for number, topic in enumerate(topics)
    }
    write_pages(folder, texts)
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_topics(tmp_path_factory.mktemp("engines") / "pages", 240)


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


KEPT = """
import os

def run(task, begin):
    begin(task)
    if task == "dies":
        os._exit(7)
    return os.getpid()
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Work]]:
    """What KEPT does, for a cluster's worker or for this process in its place, whose own workers end with the test."""
    pools: dict[int, Pool] = {}
    (tmp_path / "kept.py").write_text(KEPT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("structformer.engines.cluster._pools", pools)

    def never_lost(task: str, item: str, reason: str) -> str:
        raise AssertionError(f"{item} {reason}")

    yield lambda workers=1, seconds=60.0, lost=never_lost: Work("kept:run", workers, seconds, 1 << 31, lost)
    for pool in pools.values():
        pool.close()


def test_a_dask_worker_keeps_its_process_between_tasks(kept):
    pids = list(get_engine("dask").map(kept(workers=2), range(50)))
    assert len(pids) == 50
    assert len(set(pids)) <= 2


def test_a_kept_process_outlives_the_thread_that_wanted_it(kept):
    def in_a_thread() -> int:
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(perform, kept(), "task").result()

    assert in_a_thread() == in_a_thread()


def test_a_process_that_died_while_it_waited_is_replaced_and_no_item_is_lost(kept):
    first = perform(kept(), "task")
    os.kill(first, signal.SIGKILL)
    second = perform(kept(), "task")
    assert second != first
    assert perform(kept(), "task") == second


def test_the_item_that_kills_a_kept_process_is_lost(kept):
    lost: list[tuple[str, str]] = []
    work = kept(lost=lambda task, item, reason: lost.append((item, reason)) or "instead")
    first = perform(work, "before")
    assert perform(work, "dies") != first
    assert lost == [("dies", "ended its worker process (status 7)")]


def test_kept_processes_are_no_more_than_tasks_at_once_and_end_when_none_comes(kept, monkeypatch):
    for seconds in (60.0, 61.0, 62.0):
        perform(kept(seconds=seconds), "task")
        assert len(running_workers()) == 1
    monkeypatch.setattr("structformer.engines.pool._IDLE_SECONDS", 0.1)
    for _ in range(100):
        if not running_workers():
            return
        time.sleep(0.1)
    pytest.fail("a process without a task goes on")


def test_what_goes_wrong_in_a_task_is_told():
    work = Work("os.path:basename", 1, 60.0, 1 << 31, lambda task, item, reason: task)
    with pytest.raises(RuntimeError, match="TypeError: basename"):
        list(get_engine("dask").map(work, [7]))


AT_WORK = """
import time
from pathlib import Path

def write(task, begin):
    begin(task)
    if task == "fails":
        while len(list(Path(__file__).parent.glob("begun-*"))) < 3:
            time.sleep(0.01)
        raise ValueError("no")
    (Path(__file__).parent / f"begun-{task}-{time.monotonic_ns()}").touch()
    time.sleep(60)
"""


def running_workers() -> list[psutil.Process]:
    children = [each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE]
    return [each for each in children if "structformer.engines.worker" in each.cmdline()]


def test_when_a_task_fails_the_other_workers_end_and_none_begins_in_their_place(tmp_path, monkeypatch):
    (tmp_path / "at_work.py").write_text(AT_WORK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    lost: list[str] = []
    work = Work("at_work:write", 4, 60.0, 1 << 31, lambda task, item, reason: lost.append(task) or task)
    with pytest.raises(RuntimeError, match="ValueError: no"):
        list(get_engine().map(work, ["a", "b", "c", "fails"]))
    assert not running_workers()
    assert lost == []
    assert len(list(tmp_path.glob("begun-*"))) == 3


def test_what_waits_for_nothing_is_ended_by_the_clock(tmp_path, monkeypatch):
    (tmp_path / "at_rest.py").write_text(AT_WORK.replace("time.sleep(60)", "return time.sleep(60 * (task == 'waits'))"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("structformer.engines.pool._CLOCK_SECONDS", 1.0)
    lost: list[tuple[str, str]] = []
    work = Work("at_rest:write", 1, 0.1, 1 << 31, lambda task, item, reason: lost.append((item, reason)) or "instead")
    assert list(get_engine().map(work, ["before", "waits", "after"])) == [None, None, None]
    assert lost == [("waits", "took over 2 s without an end")]
    begun = sorted(tmp_path.glob("begun-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    assert [path.name.split("-")[1] for path in begun] == ["before", "waits", "instead", "after"]


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
def test_a_ray_worker_keeps_its_process_between_tasks(kept):
    pytest.importorskip("ray")
    pids = list(get_engine("ray").map(kept(workers=2), range(50)))
    assert len(pids) == 50
    assert len(set(pids)) < 10  # Ray begins workers beyond those at work, and ends them again


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


def test_ingest_takes_an_engine_by_name(run, pages, tmp_path):
    wrong = run("ingest", pages, "-w", tmp_path / "w", "--engine", "spark")
    assert (wrong.code, "no engine 'spark'" in wrong.err) == (2, True)
