"""Workspaces in object storage, on a server that speaks S3, and on a network path."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from structformer.errors import UsageError, WorkspaceError
from structformer.storage.files import sha256_of
from structformer.storage.remote import RemoteFolder

from conftest import write_pages

server = pytest.importorskip("moto.server")
PAGES = {f"{name}.md": f"# {name}\n\nHow to tie a {name} in a rope of hemp.\n" for name in ("bowline", "reef", "hitch")}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty place; the server keeps what others wrote for as long as the process lives."""
    s3 = server.ThreadedMotoServer(port=0, verbose=False)
    s3.start()
    _, port = s3.get_host_and_port()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/docs", method="PUT")).read()
    yield f"s3://docs/{request.node.name[:60]}/knots"
    s3.stop()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """machine("b"): what runs now runs on another machine, which has no copy yet."""

    def become(name: str) -> Path:
        monkeypatch.setenv("STRUCTFORMER_COPIES", str(tmp_path / f"machine-{name}"))
        return tmp_path / f"machine-{name}"

    return become


def found(run, address: str) -> str:
    answer = run("search", "-w", address, "--json", "--pipeline", "lexical", "tie a reef")
    return json.loads(answer.out)["hits"][0]["document_id"]


def test_what_one_machine_makes_another_one_searches(run, bucket, machine, tmp_path):
    folder = write_pages(tmp_path / "pages", PAGES)
    machine("a")
    ingested = run("ingest", folder, "-w", bucket)
    assert (ingested.code, f"structformer index -w {bucket}" in ingested.out) == (0, True)
    assert run("index", "-w", bucket, "--encoder", "none").code == 0
    copy = machine("b")
    assert found(run, bucket) == "reef.md"
    assert run("check", "-w", bucket).code == 0
    before = sorted(path.stat().st_mtime_ns for path in copy.rglob("*.parquet"))
    assert found(run, bucket) == "reef.md"
    assert sorted(path.stat().st_mtime_ns for path in copy.rglob("*.parquet")) == before  # fetched once
    shutil.copy(folder / "reef.md", folder / "reef-2.md")
    machine("a")
    assert "4 documents" in run("ingest", folder, "-w", bucket).out
    assert run("index", "-w", bucket, "--encoder", "none").code == 0
    machine("b")
    assert json.loads(run("graph", "stats", "-w", bucket, "--json").out)["documents"] == 4


def test_parts_of_machines_that_share_nothing_else(run, bucket, machine, tmp_path):
    folder = write_pages(tmp_path / "pages", PAGES | {f"more-{n}.md": f"# More {n}\n\nText {n}.\n" for n in range(60)})
    for number in (3, 1, 2):
        machine(str(number))
        assert run("ingest", folder, "-w", bucket, "--part", f"{number}/3").code == 0
    machine("merging")
    merged = run("merge", "-w", bucket)
    assert (merged.code, "0 files read, 63 unchanged" in merged.out) == (0, True)
    assert run("index", "-w", bucket, "--encoder", "none").code == 0
    machine("new")
    assert found(run, bucket) == "reef.md"


def test_two_machines_that_write_at_once_lose_nothing(bucket, tmp_path):
    first, second = (RemoteFolder(bucket, tmp_path / name) for name in ("first", "second"))
    for folder, name in ((first, "a.txt"), (second, "b.txt")):
        folder.pull()
        folder.local.mkdir(exist_ok=True)
        (folder.local / name).write_text(name)
    assert (first.push(), second.push()) == (1, 1)
    third = RemoteFolder(bucket, tmp_path / "third")
    third.pull()
    assert sorted(path.name for path in third.local.iterdir()) == ["a.txt", "b.txt"]


def test_what_was_not_uploaded_is_not_overwritten(bucket, tmp_path):
    first, second = (RemoteFolder(bucket, tmp_path / name) for name in ("first", "second"))
    for folder in (first, second):
        folder.pull()
        folder.local.mkdir(exist_ok=True)
        (folder.local / "a.txt").write_text(str(folder.local))
    first.push()
    with pytest.raises(WorkspaceError, match="changes that were not uploaded"):
        second.pull()
    assert (second.local / "a.txt").read_text() == str(second.local)


def test_a_file_that_is_not_what_was_uploaded_is_noticed(bucket, tmp_path):
    first = RemoteFolder(bucket, tmp_path / "first")
    first.local.mkdir(parents=True)
    (first.local / "a.txt").write_text("as it was")
    first.push()
    store, root = first._store, first._root
    with store.open_output_stream(next(iter(store.get_file_info(_all(root)))).path) as file:
        file.write(b"another")
    with pytest.raises(WorkspaceError, match=r"a\.txt is not what was uploaded"):
        RemoteFolder(bucket, tmp_path / "second").pull()
    assert not list((tmp_path / "second").rglob("*.txt"))


def test_an_upload_that_was_broken_off_is_made_again(bucket, tmp_path):
    first = RemoteFolder(bucket, tmp_path / "first")
    first.local.mkdir(parents=True)
    (first.local / "a.txt").write_text("the whole of it")
    with first._store.open_output_stream(f"{first._root}/objects/{sha256_of(first.local / 'a.txt')}") as file:
        file.write(b"the who")
    first.push()
    RemoteFolder(bucket, tmp_path / "second").pull()
    assert (tmp_path / "second" / "a.txt").read_text() == "the whole of it"


def break_off(folder: RemoteFolder, key: str) -> None:
    """Begin to write a file of the store, and be killed."""
    with folder._written(key) as file:
        file.write(b'{"fi')
        raise KeyboardInterrupt


def test_a_command_that_is_killed_while_it_writes_to_a_network_path_changes_nothing(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("whole")
    first = RemoteFolder((tmp_path / "store").as_uri(), tmp_path / "a")
    first.push()
    for key in (f"{first._root}/log/{'9' * 20}-0.json", f"{first._root}/objects/{'0' * 64}"):
        with pytest.raises(KeyboardInterrupt):
            break_off(first, key)
    RemoteFolder((tmp_path / "store").as_uri(), tmp_path / "b").pull()
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["file"]


def test_a_damaged_entry_of_the_log_is_named(tmp_path):
    place = tmp_path / "store"
    (place / "log").mkdir(parents=True)
    (place / "log" / "1.json").write_text('{"files": {"a')
    with pytest.raises(WorkspaceError, match=r"log/1\.json cannot be read"):
        RemoteFolder(place.as_uri(), tmp_path / "copy").pull()


def _all(root: str):
    from pyarrow import fs

    return fs.FileSelector(f"{root}/objects")


@pytest.mark.parametrize("name", ["../out.txt", "/etc/out.txt", "a/../../out.txt"])
def test_a_log_that_names_what_lies_outside_writes_nothing_there(tmp_path, name):
    place = tmp_path / "store"
    (place / "log").mkdir(parents=True)
    (place / "log" / "1.json").write_text(json.dumps({"files": {name: "0" * 64}}))
    with pytest.raises(WorkspaceError, match="not a file of it"):
        RemoteFolder(place.as_uri(), tmp_path / "copies" / "w").pull()
    assert not list(tmp_path.rglob("out.txt"))


def test_a_network_path(run, machine, tmp_path):
    folder = write_pages(tmp_path / "pages", PAGES)
    address = (tmp_path / "mounted" / "knots").as_uri()
    machine("a")
    assert run("ingest", folder, "-w", address).code == 0
    assert run("index", "-w", address, "--encoder", "none").code == 0
    machine("b")
    assert found(run, address) == "reef.md"


def test_a_store_without_a_workspace_is_named_by_its_address(run, bucket, machine):
    machine("a")
    answer = run("search", "-w", bucket, "anything")
    assert (answer.code, bucket in answer.err, "machine-a" in answer.err) == (1, True, False)


def test_addresses_that_lead_nowhere_are_said(run, monkeypatch, tmp_path):
    with pytest.raises(UsageError, match=r"nosuch://x/y cannot be opened"):
        RemoteFolder("nosuch://key:secret@x/y", tmp_path / "w")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    answer = run("search", "-w", f"s3://k:s3cret@docs/{tmp_path.name}?region=us-east-1&retry_strategy=none", "a")
    assert answer.code in (1, 2)
    assert "s3cret" not in answer.err + answer.out


def test_what_is_uploaded_later_counts_though_the_clock_went_back(tmp_path, monkeypatch):
    (tmp_path / "store").mkdir()
    address = (tmp_path / "store").as_uri()
    for number, name in enumerate(("a", "b", "a")):
        monkeypatch.setattr("structformer.storage.remote.time.time_ns", lambda number=number: 10**18 - number)
        copy = RemoteFolder(address, tmp_path / name)
        copy.pull()
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "file").write_text(f"written {number}")
        copy.push()
    RemoteFolder(address, tmp_path / "c").pull()
    assert (tmp_path / "c" / "file").read_text() == "written 2"
