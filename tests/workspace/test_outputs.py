"""What a command writes where its user says: never over what is there, never in half, never into what is read."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from structformer.cli.common import OutputPath
from structformer.cli.main import app
from structformer.errors import UsageError, WorkspaceError
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index
from structformer.storage.files import temporary_name
from structformer.workspace import new_file, new_folder

from conftest import PAGES, write_pages, writes_little


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder of a user's: documents in pages/, what was made of them in w/, a thesis."""
    folder = tmp_path_factory.mktemp("home")
    ingest(write_pages(folder / "pages", PAGES), folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    (folder / "thesis.txt").write_text("four years of work")
    return folder


def run(folder: Path, *arguments: object) -> tuple[int, str]:
    """Run a command in a folder; gives its exit code and what it printed."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        found = CliRunner().invoke(app, [str(each) for each in arguments], standalone_mode=False)
    finally:
        os.chdir(before)
    return found.exit_code or (found.return_value or 0), f"{found.output}{found.exception or ''}"


def content(folder: Path) -> dict[str, bytes]:
    passing = {"compared.json", "structformer.lock", "structformer.lock.json"}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in passing and "holds" not in path.parts
    }


WRITING = {
    "a list of edges": ("graph", "export", "{}.parquet"),
    "GraphML": ("graph", "export", "{}.graphml"),
    "DocSearch's records": ("export", "--docsearch", "{}.jsonl"),
    "a BEIR folder": ("export", "--write-beir", "{}"),
    "a search page": ("export", "--site", "{}"),
    "an evaluation": ("evaluate", "--output", "{}"),
}


def command(what: str, target: str, *more: str) -> tuple[str, ...]:
    return (*(part.replace("{}", target) for part in WRITING[what]), *more)


@pytest.mark.parametrize("what", WRITING)
def test_what_is_there_is_kept(made, what):
    assert run(made, *command(what, f"out-{len(what)}", "-w", "w"))[0] in (0, 1)
    before = content(made)
    _, said = run(made, *command(what, f"out-{len(what)}", "-w", "w"))
    assert "is there already" in said
    assert "--force" in said
    assert content(made) == before
    _, said = run(made, *command(what, f"out-{len(what)}", "-w", "w", "--force"))
    assert "is there already" not in said
    assert not list(made.glob(".structformer-tmp-*"))


@pytest.mark.parametrize("what", WRITING)
@pytest.mark.parametrize("place", ["w/mine", "w/graph/000001/mine", "pages/mine", "pages/parts/mine"])
def test_nothing_is_written_into_what_is_read(made, what, place):
    before = content(made)
    for more in ((), ("--force",)):
        _, said = run(made, *command(what, place, "-w", "w", *more))
        assert "is in the workspace" in said or "is among the files" in said
    assert content(made) == before


def test_also_not_through_a_link_nor_where_the_workspace_is_called_otherwise(made, tmp_path):
    (tmp_path / "link").symlink_to(made / "pages")
    for target in (tmp_path / "link" / "x.jsonl", made / "w" / ".." / "pages" / "x.jsonl"):
        _, said = run(tmp_path, "export", "--docsearch", target, "-w", made / "w")
        assert "is among the files" in said
    _, said = run(made, "export", "--docsearch", "pages/knots.md", "-w", "w", "--force")
    assert "is among the files" in said
    assert (made / "pages" / "knots.md").read_text() == PAGES["knots.md"]


@pytest.mark.parametrize("what", WRITING)
def test_without_a_workspace_nothing_is_touched(made, what):
    suffix = next(part for part in WRITING[what] if "{}" in part).partition("}")[2]
    (made / f"old{suffix}").write_text("old") if suffix else None
    before = content(made)
    for more in ((), ("--force",)):
        code, said = run(made, *command(what, "old" if suffix else "new-one", "-w", "typo", *more))
        assert re.search(r"no corpus in \S*typo", said) or "is there already" in said or "no index" in said, (
            code,
            said,
        )
    assert content(made) == before
    assert not (made / "typo").exists()


def test_a_folder_that_holds_more_than_was_written_stays(made):
    assert run(made, "export", "--write-beir", "corpus", "-w", "w") == (0, "corpus: 3 documents\n")
    (made / "corpus" / "notes.txt").write_text("mine")
    for more in ((), ("--force",)):
        _, said = run(made, "export", "--write-beir", "corpus", "-w", "w", *more)
        assert "is there already, with other files (notes.txt): name another folder" in said
    assert (made / "corpus" / "notes.txt").read_text() == "mine"
    (made / "photos").mkdir()
    (made / "photos" / "1.jpg").write_bytes(b"\xff\xd8")
    assert "1.jpg" in run(made, "export", "--write-beir", "photos", "-w", "w", "--force")[1]


def test_links_devices_and_folders_are_no_files_to_write_over(made):
    (made / "latest.jsonl").symlink_to("thesis.txt")
    (made / "gone.jsonl").symlink_to("nowhere")
    (made / "folder.jsonl").mkdir()
    for name in ("latest.jsonl", "gone.jsonl", "folder.jsonl"):
        for more in ((), ("--force",)):
            _, said = run(made, "export", "--docsearch", name, "-w", "w", *more)
            assert "is not a plain file: name another" in said
    assert (made / "thesis.txt").read_text() == "four years of work"
    assert not (made / "nowhere").exists()


def failing(made: Path) -> None:
    (made / "part" if made.is_dir() else made).write_text("half")
    raise RuntimeError


def test_a_block_that_fails_writes_nothing(tmp_path):
    for making, kept in ((new_file, "file"), (new_folder, "folder")):
        with pytest.raises(RuntimeError), making(tmp_path / kept) as made:
            failing(made)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_came_to_be_there_meanwhile_stays(tmp_path):
    with pytest.raises(UsageError, match="appeared meanwhile"), new_file(tmp_path / "file") as made:
        write_pages(tmp_path, {"file": "another's", str(made.relative_to(tmp_path)): "ours"})
    with pytest.raises(UsageError, match="is there already"), new_folder(tmp_path / "folder"):
        write_pages(tmp_path / "folder", {"a": "another's"})
    assert (tmp_path / "file").read_text() == (tmp_path / "folder" / "a").read_text() == "another's"


WRITER = """
import sys, time
from pathlib import Path
from structformer.workspace import new_file
with new_file(Path(sys.argv[1])) as made:
    made.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def writer(target: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def test_the_next_command_removes_what_a_killed_one_left_and_nothing_else(tmp_path):
    killed, other, alive = writer(tmp_path / "a"), writer(tmp_path / "b"), writer(tmp_path / "a2")
    for process in (killed, other):
        process.send_signal(signal.SIGKILL)
        process.wait()
    mine = tmp_path / ".structformer-tmp-0123456789abcdef"
    mine.mkdir()
    just_begun, begun_long_ago = tmp_path / temporary_name(of="a"), tmp_path / temporary_name(of="a")
    just_begun.mkdir()  # another command that has not locked it yet
    begun_long_ago.mkdir()
    os.utime(begun_long_ago, (time.time() - 60, time.time() - 60))
    (mine / "diary").write_text("mine, whatever it is called")
    left = set(tmp_path.glob(".structformer-tmp-*"))
    assert len(left) == 6
    with new_file(tmp_path / "a") as made:
        made.write_text("whole")
    assert (tmp_path / "a").read_text() == "whole"
    gone = left - set(tmp_path.glob(".structformer-tmp-*"))
    assert len(gone) == 2  # b's is left to whoever writes b, a2's is being made
    assert begun_long_ago in gone
    assert just_begun not in gone
    assert (mine / "diary").exists()
    alive.kill()
    alive.wait()


def test_a_folder_that_a_kill_left_aside_comes_back(tmp_path):
    with new_folder(tmp_path / "site") as made:
        (made / "index.html").write_text("first")
    # As a kill between the two renames leaves it.
    aside = tmp_path / temporary_name(of="site")
    aside.mkdir()
    (aside / "lock").touch()
    os.replace(tmp_path / "site", aside / "replaced")
    with pytest.raises(RuntimeError), new_folder(tmp_path / "site", force=True) as made:
        failing(made)
    assert (tmp_path / "site" / "index.html").read_text() == "first"
    assert not aside.exists()


@pytest.mark.skipif(os.name != "posix", reason="limits of processes")
def test_a_full_disk_leaves_the_old_file_and_one_line(made, tmp_path):
    (tmp_path / "records.jsonl").write_text("old")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from structformer.cli.main import main; main(sys.argv[1:])"
    )
    arguments = ("export", "--docsearch", str(tmp_path / "records.jsonl"), "--force", "-w", str(made / "w"))
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=writes_little(), check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'records.jsonl'} cannot be written (File too large)")
    assert done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"records.jsonl"}
    assert (tmp_path / "records.jsonl").read_text() == "old"


def test_a_mounted_folder_is_filled_and_filled_again(tmp_path):
    """As containers have them: it cannot be replaced."""
    volume = tmp_path / "volume"
    volume.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", volume], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting needs root")
    try:
        for number in (1, 2):
            with new_folder(volume, force=number == 2) as folder:
                (folder / "deep").mkdir()
                (folder / "deep" / f"{number}.txt").write_text("written")
            assert [path.name for path in volume.rglob("*.txt")] == [f"{number}.txt"]
        (volume / "thesis.txt").write_text("four years of work")
        with pytest.raises(UsageError, match="with other files"), new_folder(volume, force=True):
            pass
        assert list(tmp_path.iterdir()) == [volume]
    finally:
        subprocess.run(["umount", volume], check=True)


def test_a_mounted_file_is_written_over(tmp_path):
    (tmp_path / "real.txt").touch()
    target = tmp_path / "target.txt"
    target.write_text("old")
    if subprocess.run(["mount", "--bind", tmp_path / "real.txt", target], capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        with new_file(target, force=True) as file:
            file.write_text("new")
        assert target.read_text() == "new"
    finally:
        subprocess.run(["umount", target], check=True)


@pytest.mark.skipif(os.name != "posix", reason="ulimit")
def test_too_few_file_handles_are_one_line(made):
    for handles in (16, 20, 24):
        command = [sys.executable, "-m", "structformer", "index", "-w", made / "w", "--encoder", "none"]
        limited = ["sh", "-c", f'ulimit -n {handles}; exec "$@"', "sh", *map(str, command)]
        done = subprocess.run(limited, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, handles


def test_where_nothing_can_be_written_the_target_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkspaceError, match=r"file(/more)? cannot be written"), new_file(tmp_path / "file/more/x"):
        pass


def options(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Parameter]]:
    """All parameters of a command and of those below it, with the command's name."""
    if isinstance(command, click.Group):
        for each, below in command.commands.items():
            yield from options(below, f"{name} {each}")
    for parameter in command.params:
        yield name, parameter


def test_one_name_of_an_option_never_means_reading_here_and_writing_there():
    context = click.Context(app)
    reading: dict[str, str] = {}
    writing: dict[str, str] = {}
    for each in app.list_commands(context):
        found = app.get_command(context, each)
        assert found is not None
        for name, parameter in options(found, each):
            if not isinstance(parameter.type, click.Path) or parameter.name == "workspace":
                continue
            told = (getattr(parameter, "help", None) or "").lower()
            writes = isinstance(parameter.type, OutputPath)
            assert writes or not told.startswith(("write", "learn")), f"{name} {parameter.opts} writes"
            if isinstance(parameter, click.Option):
                (writing if writes else reading).update(dict.fromkeys(parameter.opts, name))
    assert not {option: (writing[option], reading[option]) for option in set(writing) & set(reading)}
    assert {"--docsearch", "--site", "--output", "--write-beir"} <= set(writing)


def test_a_query_log_that_was_meant_to_be_read_is_not_emptied(made):
    (made / "queries.txt").write_text("how do I reef\n")
    for arguments in (
        ("--query-log", "queries.txt", "-w", "w"),  # as `train` has it
        ("--write-query-log", "queries.txt", "-w", "w"),
        ("--write-query-log", "queries.txt", "--force", "-w", "w"),  # nothing was searched for
        ("--write-query-log", "queries.txt", "--force", "-w", "typo"),
        ("--judgements", "queries.txt", "-w", "w"),
    ):
        run(made, "feedback", *arguments)
        assert (made / "queries.txt").read_text() == "how do I reef\n", arguments
    _, said = run(made, "feedback", "-w", "typo")
    assert "no corpus in typo" in said
