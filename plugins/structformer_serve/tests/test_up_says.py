"""What `up` says: what was read, how far it is, what it came to, and what went wrong, each of it once."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer.errors import UsageError

from structformer_serve.background_steps import STAGES, Improver
from structformer_serve.http.listening import close, listen, listening_near
from structformer_serve.service import SearchService
from structformer_serve.step_progress import StepProgress, in_lines


@pytest.fixture
def up(run, monkeypatch):
    """`up`, whose server ends as soon as it would begin."""
    monkeypatch.setattr(
        "structformer_serve.http.server.run", lambda application, ready, on: [each.close() for each in on.sockets]
    )
    return lambda *arguments: run("up", *arguments, "--no-open", "--train", "none", "--port", 0)


@pytest.mark.slow
def test_up_says_what_was_read_and_indexed_and_that_it_has_ended(up, pages):
    (pages / "boat.png").write_bytes(b"\x89PNG")
    said = up(pages, "-w", "w")
    assert said.code == 0, said.err
    lines = said.err.splitlines()
    assert lines[0] == f"Reading {pages}"
    assert "3 documents" in said.err
    assert "4 seen: 3 read" in said.err
    assert "boat.png" in said.err
    assert "internal links, " in said.err
    assert "passages indexed, lexical only" in said.err  # meaning joins once the page is there
    assert lines[-1] == "Stopped."
    assert "next:" not in said.err
    again = up(pages, "-w", "w")
    assert "Indexing" not in again.err
    assert "0 files read" in again.err


def test_an_empty_folder_is_said_once_and_leaves_no_workspace(up, tmp_path):
    (tmp_path / "empty").mkdir()
    said = up(tmp_path / "empty", "-w", "w")
    assert (said.code, said.err.count("nothing could be read")) == (1, 1)
    assert len(said.err.splitlines()) == 2, said.err  # "Reading ...", and that nothing was there
    assert "no files are there; looked for " in said.err
    assert not Path("w").exists()


def test_a_wrong_base_model_is_said_before_anything_is_read(up, pages):
    for name in ("nowhere/at/all", "scratch"):
        said = up(pages, "-w", "w", "--base-model", name)
        assert (said.code, "Reading" in said.err) == (1, False), said.err
        assert not Path("w").exists()


def recorded(monkeypatch) -> list[tuple[str, ...]]:
    """What `up` would run, which runs nothing."""
    begun: list[tuple[str, ...]] = []

    class Recorder:
        def __init__(self, *arguments: str, polite: bool = False) -> None:
            begun.append(arguments)

        def run(self, told):
            return 0, ""

        def end(self):
            pass

    for module in ("commands.up", "background_steps"):
        monkeypatch.setattr(f"structformer_serve.{module}.Command", Recorder)
    return begun


def test_threads_are_handed_to_the_first_index(up, pages, monkeypatch):
    begun = recorded(monkeypatch)
    up(pages, "-w", "w", "--threads", 1)
    assert [arguments[:3] for arguments in begun] == [("ingest", str(pages), "-w"), ("index", "--threads", "1")]
    begun.clear()
    up(pages, "-w", "w")
    assert "--threads" not in begun[1]


def test_threads_are_handed_to_what_goes_on_beside_the_page(workspace, run, monkeypatch):
    run("index", "-w", workspace, "--encoder", "structure")
    begun = recorded(monkeypatch)
    monkeypatch.setattr("structformer_serve.background_steps.has_vectors", lambda workspace, encoders: False)

    def serve(application, ready, on):
        ready("here")
        deadline = time.monotonic() + 60
        while not any(arguments[0] == "train" for arguments in begun) and time.monotonic() < deadline:
            time.sleep(0.05)
        for each in on.sockets:
            each.close()

    monkeypatch.setattr("structformer_serve.http.server.run", serve)
    pages = workspace.parent / "pages"
    run("up", pages, "-w", workspace, "--no-open", "--port", 0, "--threads", 3, "--train", "1m")
    steps = {arguments[0]: arguments for arguments in begun}
    assert "--threads" not in steps["ingest"]
    assert steps["index"][1:3] == ("--threads", "3")
    assert steps["train"][1:5] == ("--max-time", "1m", "--threads", "3")


def test_meaning_is_the_first_step_once_a_page_of_words_is_there(workspace, run, monkeypatch):
    run("index", "-w", workspace, "--encoder", "none")
    begun = recorded(monkeypatch)
    monkeypatch.setattr("structformer_serve.background_steps.are_installed", lambda *packages: False)
    monkeypatch.setattr("structformer_serve.background_steps.pretrained_here", lambda workspace: False)
    Improver(SearchService(workspace), train=None, changes=None, say=lambda line: None).run()
    assert begun == [("index", "--encoder", "structure", "-w", str(workspace), "-v")]


def test_a_mistake_in_search_toml_is_said_and_files_are_watched_on(pages, run, monkeypatch):
    run("ingest", pages, "-w", "w")
    run("index", "-w", "w", "--encoder", "none")
    begun = recorded(monkeypatch)
    monkeypatch.setattr("structformer_serve.background_steps.are_installed", lambda *packages: False)
    service = SearchService("w")
    (pages / "search.toml").write_text("[pins]\nrope = 3\n")

    class ChangedTwice:
        def __iter__(self):
            return iter([None, None])

        def end(self) -> None:
            pass

    said: list[str] = []
    Improver(service, train=None, changes=ChangedTwice(), say=said.append).run()  # type: ignore[arg-type]
    assert [arguments[0] for arguments in begun] == ["index", "ingest", "ingest"]
    assert len([line for line in said if "search.toml" in line]) == 3


def test_a_port_that_nobody_chose_gives_way_to_the_next():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        taken = one.getsockname()[1]
        with pytest.raises(UsageError, match="in use"):
            listen("127.0.0.1", taken)
        on = listening_near("127.0.0.1", taken)
        near = on.port
        close(on.sockets)
    assert taken < near <= taken + 20
    with pytest.raises(UsageError, match="no such host"):
        listening_near("nosuch.invalid", taken)


def test_progress_has_a_share_of_each_stage_and_other_lines_are_none():
    now = 0.0
    progress = StepProgress("Training", lambda: now)
    assert not progress.told("3 documents, 7 sections from 3 files (3 markdown)")
    assert progress.share == 0
    assert progress.told("questions: 10/40")
    assert (progress.stage, progress.share, progress.left) == (
        "questions",
        0.125,
        "",
    )  # a stage is half of what is left
    now = 10.0
    assert progress.told("questions: 20/40, 1 s left")
    assert (progress.share, progress.left) == (0.25, "about 20 s left")
    assert progress.told("questions: 40/40")
    assert progress.told("step 3/10: loss a 1.0; 3 pairs/s, 5 s left")
    assert (progress.stage, progress.share) == ("", 0.5 + 0.25 * 0.3)


def test_the_time_left_is_of_all_named_stages_and_at_most_doubles():
    now = 0.0
    progress = StepProgress("Reading", lambda: now, {"reading": 0.5, "words": 0.5})
    progress.told("reading: 0/100")
    now = 10.0
    progress.told("reading: 10/100")
    assert progress.left == "about 4 min left"  # 90 s of reading, 100 s of words
    for now in (11.0, 12.0, 13.0):
        progress.told(f"reading: {80 + now:.0f}/100")
    assert progress.left == "about 20 s left"
    progress.told("reading: 100/100")
    now, times = 14.0, []
    progress.told("words: 0/1000")
    for seconds, done in ((24.0, 200), (44.0, 202), (50.0, 800)):
        now = seconds
        progress.told(f"words: {done}/1000")
        times.append(progress.left)
    assert times == ["about 40 s left", "longer than expected", "about 10 s left"]


def times_left(stages: Mapping[str, float], lines: list[tuple[int, str]]) -> list[str]:
    """Return what a step says of the time left after each of its lines, which come at these seconds."""
    now, times = 0, []
    progress = StepProgress("Reading what the passages mean", lambda: now, stages)
    for seconds, line in lines:
        now = seconds
        progress.told(line)
        times.append(progress.left)
    return times


def test_a_tenth_of_a_step_founds_no_time_left():
    """Words are indexed in seconds; how long the vectors take, nobody knows before some are made."""
    lines = [(0, "words: 50/500"), (4, "words: 400/500"), (5, "words: 500/500"), (5, "vectors of base: 0/3000")]
    lines += [(20, "vectors of base: 0/3000"), (22, "vectors of base: 50/3000"), (30, "vectors of base: 250/3000")]
    assert times_left({"words": 0.1, "vectors of base": 0.9}, lines) == [""] * 6 + ["about 2 min left"]


def test_what_the_documents_teach_founds_no_time_left_of_an_encoder():
    """Beside an encoder's vectors it takes seconds: 20 s were said, and five minutes were left."""
    lines = [(0, "words: 500/500"), (5, "structure: 0/900"), (15, "structure: 300/900"), (30, "structure: 900/900")]
    lines += [(31, "vectors of base: 0/3000"), (41, "vectors of base: 100/3000"), (51, "vectors of base: 200/3000")]
    assert times_left(STAGES, lines) == [""] * 5 + ["about 5 min left"] * 2


@given(st.lists(st.tuples(st.sampled_from(["reading", "words", "vectors"]), st.integers(0, 9))))
def test_a_bar_never_goes_back(stages):
    progress = StepProgress("Reading", stages={"reading": 0.6, "words": 0.3})
    before = 0.0
    for stage, total in stages:
        for done in range(total + 1):
            progress.told(f"{stage}: {done}/{total}")
            assert before <= progress.share <= 1
            before = progress.share


def test_in_lines_a_step_is_said_when_it_begins_and_then_now_and_then():
    now = 0.0
    said: list[str] = []
    show = in_lines(said.append, lambda: now)
    progress = StepProgress("Indexing", lambda: now)
    show(progress)
    for now in (5.0, 10.0, 16.0, 20.0):
        progress.told(f"words: {now:.0f}/100")
        show(progress)
    show(None)
    assert said == ["Indexing", "Indexing: words, about 2 min left"]
