"""Engines on clusters give the same bytes as this machine's processes, whatever happens to their workers."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from distributed import Client, LocalCluster
from structformer import sample
from structformer.engines import Engine, Work, get_engine
from structformer.engines.cluster import in_order
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.workspace import Workspace

from conftest import write_pages
from test_cli import run as run  # the fixture

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


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engines") / "pages"
    topics = [f"{first}{second}" for first in ("mast", "keel", "jib", "oar") for second in range(60)]
    texts = {
        f"{topic[:3]}/{topic}.md": f"# The {topic}\n\nThe {topic} is a part of the boat that everybody knows.\n\n"
        f"## Mend the {topic}\n\nTo mend the {topic} take a cloth and thread, and never mend a wet {topic} in the rain.\n\n"
        f"## See also\n\n- [the next](../{topics[number - 1][:3]}/{topics[number - 1]}.md)\n"
        for number, topic in enumerate(topics)
    }
    write_pages(folder, texts)
    return folder


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


def test_dask_gives_the_same_bytes_when_its_workers_are_killed(pages, tmp_path, monkeypatch):
    ingest(pages, tmp_path / "here")
    sample(tmp_path / "here")
    killed: list[int] = []

    def kill(done: threading.Event) -> None:
        with Client(cluster.scheduler_address, set_as_default=False) as client:
            while not done.is_set() and len(killed) < 3:
                time.sleep(0.7)
                for pid in list(client.run(os.getpid).values())[:1]:
                    if pid not in killed:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        monkeypatch.setenv("STRUCTFORMER_DASK", cluster.scheduler_address)
        with beside(kill):
            ingest(pages, tmp_path / "there", engine="dask", workers=2)
            sample(tmp_path / "there", engine="dask", workers=2)
    assert killed
    here, there = digests(tmp_path / "here"), digests(tmp_path / "there")
    assert len(here) > 8
    assert there == here


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
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lost: list[str] = []
    work = Work("at_work:write", 4, 60.0, 1 << 31, lambda task, item, reason: lost.append(task) or task)
    with pytest.raises(RuntimeError, match="ValueError: no"):
        list(get_engine().map(work, ["a", "b", "c", "fails"]))
    assert not running_workers()
    assert lost == []
    assert len(list(tmp_path.glob("begun-*"))) == 3


def test_what_waits_for_nothing_is_ended_by_the_clock(tmp_path, monkeypatch):
    (tmp_path / "at_rest.py").write_text(AT_WORK.replace("time.sleep(60)", "return time.sleep(60 * (task == 'waits'))"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("structformer.engines.local._CLOCK_SECONDS", 1.0)
    lost: list[tuple[str, str]] = []
    work = Work("at_rest:write", 1, 0.1, 1 << 31, lambda task, item, reason: lost.append((item, reason)) or "instead")
    assert list(get_engine().map(work, ["before", "waits", "after"])) == [None, None, None]
    assert lost == [("waits", "took over 2 s without an end")]
    begun = sorted(tmp_path.glob("begun-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    assert [path.name.split("-")[1] for path in begun] == ["before", "waits", "instead", "after"]


@pytest.mark.ray
def test_ray_gives_the_same_bytes_when_a_worker_is_killed(pages, tmp_path):
    pytest.importorskip("ray")
    ingest(pages, tmp_path / "here")
    sample(tmp_path / "here")
    killed: list[int] = []

    def kill_one(done: threading.Event) -> None:
        while not done.wait(0.05) and not killed:
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if process.cmdline()[:1] == ["ray::perform"] and not killed:
                        process.kill()
                        killed.append(process.pid)

    with beside(kill_one):
        ingest(pages, tmp_path / "there", engine="ray", workers=2)
        sample(tmp_path / "there", engine="ray", workers=2)
    assert killed
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


def test_results_keep_their_order_and_few_tasks_are_given_out_ahead():
    given: list[int] = []
    results = in_order(range(20), 4, lambda task: given.append(task) or task, lambda task: task * task)
    assert next(results) == 0
    assert len(given) <= 5
    assert list(results) == [number * number for number in range(1, 20)]


def test_engines_are_named():
    for name in ("local", "dask", "ray"):
        assert isinstance(get_engine(name), Engine)
    with pytest.raises(UsageError, match="no engine 'spark'; there are: dask, local, ray"):
        get_engine("spark")


def test_ingest_takes_an_engine_by_name(run, pages, tmp_path):
    wrong = run("ingest", pages, "-w", tmp_path / "w", "--engine", "spark")
    assert (wrong.code, "no engine 'spark'" in wrong.err) == (2, True)
