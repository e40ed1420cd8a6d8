"""Worker processes are kept between tasks and between maps; one that hangs, dies or comes late costs its item only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from structformer.corpus import Corpus
from structformer.engines import Work, get_engine, perform
from structformer.engines.pool import end_workers
from structformer.errors import WorkspaceError
from structformer.ingestion import ingest

from conftest import write_pages

KEPT = """
import os
import time

def run(task, begin):
    begin(task)
    if task == "dies":
        os._exit(7)
    return os.getpid()

def where(task, begin):
    return os.getcwd()

def imports_of_pandas(task, begin):
    import sys
    import pyarrow
    pyarrow.table({"a": [1]})
    by_pyarrow = "pandas" in sys.modules
    import pandas
    return by_pyarrow, "pandas" in sys.modules

def some_last(task, begin):
    begin(task)
    if task == "long":
        time.sleep(60)
        open(os.path.join(os.path.dirname(__file__), "written-late"), "w")
    return task
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Work]]:
    """What KEPT does, for a cluster's worker or for this process in its place, whose own workers end with the test."""
    end_workers()
    (tmp_path / "kept.py").write_text(KEPT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    def never_lost(task: str, item: str, reason: str) -> str:
        raise AssertionError(f"{item} {reason}")

    yield lambda workers=1, seconds=60.0, lost=never_lost: Work("kept:run", workers, seconds, 1 << 31, lost)
    end_workers()


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


def test_workers_that_end_at_an_item_again_and_again_end_the_work(kept):
    """As one that dies while it writes what it made, whatever is left out of that."""
    with pytest.raises(WorkspaceError, match=r"dies: its worker process ended .*status 7"):
        perform(kept(lost=lambda task, item, reason: task), "dies")


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


def test_maps_share_their_processes_whatever_time_they_give_and_wherever_they_are(kept, tmp_path, monkeypatch):
    def pids(seconds: float) -> set[int]:
        return set(get_engine().map(kept(workers=2, seconds=seconds), range(20)))

    first = pids(60.0)
    monkeypatch.chdir(tmp_path)
    assert pids(61.0) <= first | {each.pid for each in running_workers()}
    assert len(running_workers()) <= 2
    assert first & pids(60.0)


def test_a_task_has_the_folder_of_who_gave_it(kept, tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert perform(replace(kept(), function="kept:where"), "task") == str(tmp_path / name)
    assert len(running_workers()) == 1


def test_another_environment_or_other_memory_has_other_processes_and_those_before_end(kept, monkeypatch):
    before = perform(kept(), "task")
    monkeypatch.setenv("BOATS", "many")
    changed = perform(kept(), "task")
    assert changed != before
    smaller = perform(replace(kept(), memory_bytes=1 << 30), "task")
    assert [each.pid for each in running_workers()] == [smaller]


def test_pyarrow_imports_no_pandas_in_a_worker_and_a_plugin_can(kept):
    pytest.importorskip("pandas")
    assert perform(replace(kept(), function="kept:imports_of_pandas"), "a") == (False, True)


def test_processes_that_shall_not_wait_end_with_their_map(kept):
    assert list(get_engine().map(replace(kept(), keep=False), ["task"]))
    assert not running_workers()


def test_of_a_map_that_is_left_early_only_what_is_at_work_ends(kept, tmp_path):
    resting = perform(kept(), "task")
    results = get_engine().map(replace(kept(workers=2), function="kept:some_last"), ["short", "long"])
    assert next(results) == "short"
    results.close()
    waiting = {each.pid for each in running_workers()}
    assert len(waiting) <= 2  # one may just have begun: it has no task
    assert not waiting or perform(kept(), "task") in waiting
    assert not list(tmp_path.glob("written-*")), resting


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks")
def test_a_fork_begins_its_own_processes(kept):
    ours = perform(kept(), "task")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, str(perform(kept(), "task")).encode())
        end_workers()
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 20)) != ours
    assert perform(kept(), "task") == ours


ENDS = """
import os, signal, sys
from structformer.engines import Work, perform
print(perform(Work("kept:run", 1, 60.0, 1 << 31, print), "task"), flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit({"fails": "no"}.get(sys.argv[1], 0))
"""


@pytest.mark.parametrize("how", ["ends", "fails", "killed"])
def test_no_process_that_waits_outlives_who_began_it(kept, how):
    ended = subprocess.run([sys.executable, "-c", ENDS, how], stdout=subprocess.PIPE, text=True, check=False)
    worker = int(ended.stdout)
    for _ in range(100):
        if not psutil.pid_exists(worker) or psutil.Process(worker).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    pytest.fail("a process goes on alone")


@pytest.mark.skipif(os.name != "posix", reason="no groups of processes")
def test_a_terminals_interrupt_does_not_reach_them(kept):
    """One that is just beginning would tell of it in lines of its own."""
    assert os.getpgid(perform(kept(), "task")) != os.getpgrp()


def test_a_file_that_another_takes_in_is_looked_at_again_by_a_process_that_knew_it(tmp_path):
    pages = write_pages(tmp_path / "pages", {"boat.md": "# Boat\n\n{{#include part.md}}\n", "part.md": "A keel.\n"})
    for text in ("A keel.", "A mast."):
        (pages / "part.md").write_text(text + "\n")
        ingest(pages, tmp_path / "w", workers=1)
        [boat] = Corpus.open(tmp_path / "w").documents()
        assert text in boat.root.text


def test_modules_in_the_folder_that_is_read_are_not_run(tmp_path, monkeypatch):
    pages = write_pages(
        tmp_path / "pages", {"boat.md": "# Boat\n\nA boat has a keel.\n", "pyarrow.py": "raise SystemExit\n"}
    )
    monkeypatch.chdir(pages)
    end_workers()
    assert ingest(".", tmp_path / "w", workers=1).documents == 1


def test_what_goes_wrong_in_a_task_is_told():
    work = Work("os.path:basename", 1, 60.0, 1 << 31, lambda task, item, reason: task)
    with pytest.raises(RuntimeError, match="TypeError: basename"):
        list(get_engine().map(work, [7]))


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


@pytest.mark.parametrize(("sentences", "begun"), [(10, 1), (300, 2)])
def test_a_second_reader_begins_only_where_there_is_work_for_it(sentences, begun, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    end_workers()
    pages = {f"{number}.md": f"# Page {number}\n\n{'What is known of boats. ' * sentences}" for number in range(40)}
    report = ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w")
    assert (report.documents, len(running_workers())) == (40, begun)


def test_ingest_takes_an_engine_by_name(run, pages, tmp_path):
    wrong = run("ingest", pages, "-w", tmp_path / "w", "--engine", "spark")
    assert (wrong.code, "no engine 'spark'" in wrong.err) == (2, True)
