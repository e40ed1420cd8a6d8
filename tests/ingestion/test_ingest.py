"""Ingest: what is read, what is reported, and that the corpus is the same however it came about."""

from __future__ import annotations

import hashlib
import inspect
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest
from structformer import Corpus, read
from structformer.errors import ReadError, UsageError, WorkspaceError
from structformer.formats.source import Limits
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest
from structformer.ingestion.request import Execution, IngestRequest
from structformer.workspace import Workspace

from conftest import write_pages


def contents(workspace: Path) -> dict[str, str]:
    """Every file of the current corpus and of its report, by its digest; not the page, which says when it was made."""
    place = Workspace(workspace)
    files = [*place.shards.rglob("*"), *place.folder("corpus").iterdir(), *place.reports.glob("report.json*")]
    names = {
        path: path.relative_to(place.folder("corpus") if path.parent == place.folder("corpus") else place.reports)
        for path in files
    }
    return {str(names[path]): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()}


def messages(workspace: Path) -> dict[str, list[str]]:
    return {row["path"]: row["messages"] for row in Corpus.open(workspace).sources() if row["messages"]}


def test_a_folder_becomes_a_corpus_in_path_order(pages, tmp_path):
    report = ingest(pages, tmp_path / "w")
    corpus = Corpus.open(tmp_path / "w")
    assert [document.id for document in corpus.documents()] == ["index.md", "knots.md", "parts/sails.md"]
    assert (report.documents, report.sections, corpus.document_count) == (3, 9, 3)
    assert corpus.document("knots.md") == next(document for document in read(pages) if document.id == "knots.md")
    assert corpus.check() == []


def test_number_of_workers_and_ingesting_twice_change_no_byte(npm, tmp_path):
    ingest(npm, tmp_path / "one", workers=1)
    ingest(npm, tmp_path / "four", workers=4)
    again = ingest(npm, tmp_path / "four")
    assert contents(tmp_path / "one") == contents(tmp_path / "four")
    assert (again.parsed, again.unchanged) == (0, again.files)


def test_after_edits_the_corpus_equals_a_fresh_one_and_only_changes_are_read(tmp_path):
    pages = write_pages(
        tmp_path / "pages", {f"{n // 10}/p{n}.md": f"# Page {n}\n\nText of page {n}.\n" for n in range(120)}
    )
    ingest(pages, tmp_path / "w")
    (pages / "3" / "p31.md").write_text("# Edited\n")
    (pages / "5" / "p52.md").unlink()
    (pages / "7" / "p70.md").rename(pages / "7" / "renamed.md")
    (pages / "0" / "new.md").write_text("# New\n")
    report = ingest(pages, tmp_path / "w")
    ingest(pages, tmp_path / "fresh")
    assert contents(tmp_path / "w") == contents(tmp_path / "fresh")
    assert report.parsed == 3
    assert {"0/new.md", "7/renamed.md"} <= set(Corpus.open(tmp_path / "w").document_ids())


def test_killed_in_the_middle_and_started_again_the_corpus_is_the_same(npm, tmp_path):
    pages = tmp_path / "pages"
    for number in range(6):
        shutil.copytree(npm, pages / str(number))
    ingest(pages, tmp_path / "whole")
    command = [sys.executable, "-m", "structformer", "ingest", str(pages), "-w", str(tmp_path / "killed"), "-q"]
    rng = random.Random(1)
    for _ in range(3):
        process = subprocess.Popen(command, start_new_session=True)
        time.sleep(rng.uniform(0.6, 2.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    ingest(pages, tmp_path / "killed")
    killed = contents(tmp_path / "killed")
    killed.pop("command.json", None)  # the command line's own record, if a run came to its end
    assert killed == contents(tmp_path / "whole")


def test_bad_files_get_one_line_each_and_the_rest_is_read(tmp_path):
    folder = write_pages(tmp_path / "bad", {"good.md": "# Good\n\ntext\n", "dir.md/inner.md": "# Inner\n"})
    (folder / "latin.md").write_bytes("# Café\n\nDéjà vu à la carte, très bien, même été.\n".encode("latin-1"))
    (folder / "empty.md").write_bytes(b"")
    (folder / "binary.md").write_bytes(bytes(range(256)) * 50)
    (folder / "nul.md").write_bytes(b"# N\n\na\x00b\n")
    (folder / "long.md").write_bytes(b"x" * 2_000_000)
    (folder / "deep.md").write_bytes(b">" * 100_000 + b" bottom\n")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "outside.md").symlink_to("/etc/hostname")
    (folder / "gone.md").symlink_to("nowhere.md")
    (folder / "twin.md").symlink_to("good.md")
    os.mkfifo(folder / "pipe.md")
    report = ingest(folder, tmp_path / "w", limits=Limits(file_bytes=1_000_000))
    found = messages(tmp_path / "w")
    expected = {
        "binary.md": "binary content",
        "deep.md": "line 1: nested over 100 levels deep",
        "dir.md": "a folder despite its suffix: its files are read",
        "empty.md": "empty: no document",
        "gone.md": "symbolic link to nothing: skipped",
        "latin.md": "not UTF-8; read as",
        "long.md": "2.0 MB, over the limit of 1.0 MB (--max-file-mb): skipped",
        "loop": "symbolic link that loops: skipped",
        "nul.md": "1 NUL byte replaced",
        "outside.md": "symbolic link to outside the ingested folder: skipped",
        "pipe.md": "not a regular file",
        "twin.md": "symbolic link: its target is read in its own place",
    }
    assert {path: len(lines) for path, lines in found.items()} == dict.fromkeys(expected, 1)
    for path, part in expected.items():
        assert part in found[path][0], path
    assert sorted(Corpus.open(tmp_path / "w").document_ids()) == [
        "deep.md",
        "dir.md/inner.md",
        "good.md",
        "latin.md",
        "nul.md",
    ]
    assert report.message_count == len(expected)
    assert "Café" in Corpus.open(tmp_path / "w").document("latin.md").title


def test_a_name_or_path_as_long_as_the_system_has_costs_no_other_file(tmp_path, monkeypatch):
    folder = write_pages(tmp_path / "docs", {"good.md": "# Good\n\ntext\n"})
    (folder / f"{'x' * 251}.txt").write_text("Title\n=====\n\nSome *text* and ``more``.\n\n.. note:: x\n")
    monkeypatch.chdir(folder)
    for _ in range(500):
        os.mkdir("deeper-still")
        os.chdir("deeper-still")
    monkeypatch.chdir(tmp_path)
    ingest(folder, tmp_path / "w")
    assert list(Corpus.open(tmp_path / "w").document_ids()) == ["good.md", f"{'x' * 251}.txt"]
    [(path, lines)] = messages(tmp_path / "w").items()
    assert ("deeper-still/" in path, lines) == (True, ["cannot be read (File name too long): skipped"])


@pytest.mark.parametrize("name", ["pipe", "/dev/null"])
def test_what_is_no_file_is_said_where_it_is_all_that_was_asked_for(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReadError, match="not a regular file"):
        list(read(tmp_path / name))
    ingest(tmp_path / name, tmp_path / "w")
    assert "not a regular file" in messages(tmp_path / "w")[Path(name).name][0]


def test_an_unreadable_file_is_reported(pages, tmp_path, monkeypatch):
    (pages / "secret.md").write_text("# S\n")
    (pages / "secret.md").chmod(0)
    if os.access(pages / "secret.md", os.R_OK):
        pytest.skip("this user may read everything")
    ingest(pages, tmp_path / "w")
    assert "cannot be read" in messages(tmp_path / "w")["secret.md"][0]


def test_a_file_that_takes_too_long_costs_only_itself(pages, tmp_path):
    (pages / "slow.md").write_text("![[]()" * 400_000)
    ingest(pages, tmp_path / "w", limits=Limits(seconds=1.5))
    assert messages(tmp_path / "w") == {"slow.md": ["took over 1.5 s of processor time: skipped"]}
    assert Corpus.open(tmp_path / "w").document_count == 3


def test_a_file_that_needs_too_much_memory_costs_only_itself(pages, tmp_path):
    (pages / "big.md").write_text("a [b](c) *d* `e`\n" * 400_000)
    ingest(pages, tmp_path / "w", limits=Limits(memory_bytes=400 * 1024 * 1024))
    assert list(messages(tmp_path / "w")) == ["big.md"]
    assert Corpus.open(tmp_path / "w").document_count == 3


def test_the_format_is_detected_and_other_files_are_counted(pages, tmp_path):
    (pages / "page.html").write_text("<html><body><h1>H</h1><p>text</p></body></html>")
    (pages / "notes.txt").write_text("# Notes\n\n- [a](b.md)\n- c\n")
    (pages / "settings.yml").write_text("# comment\n- a\n- b\n")
    (pages / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(100))
    report = ingest(pages, tmp_path / "w")
    assert dict(report.formats) == {"markdown": 4, "html": 1}
    assert dict(report.ignored_suffixes) == {".yml": 1, ".jpg": 1}
    assert ingest(pages, tmp_path / "w2", format="html").documents == 1


def test_what_does_not_exist_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        ingest(tmp_path / "nowhere", tmp_path / "w")
    with pytest.raises(WorkspaceError, match=r"run `structformer ingest FOLDER -w .*` first"):
        Corpus.open(tmp_path / "w")


def test_one_writer_at_a_time_and_a_dead_writer_is_no_obstacle(pages, tmp_path):
    workspace = tmp_path / "w"
    code = "import sys, time\nfrom structformer.workspace import Workspace\nwith Workspace(sys.argv[1]).writing('a long job'): print('in'); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-u", "-c", code, str(workspace)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "in\n"
    with pytest.raises(WorkspaceError, match=rf"written by `a long job` \(process {other.pid}"):
        ingest(pages, workspace)
    other.kill()
    other.wait()
    assert ingest(pages, workspace).documents == 3


def test_a_damaged_corpus_is_found_out(pages, tmp_path):
    ingest(pages, tmp_path / "w")
    corpus = Corpus.open(tmp_path / "w")
    path = corpus.shard_folder(corpus.shards[0]) / "sections.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert corpus.check() == [f"{path}: content differs from its recorded sha256"]
    with pytest.raises(WorkspaceError, match="run `structformer ingest --fresh` again"):
        list(corpus.documents())
    ingest(pages, tmp_path / "w", fresh=True)
    assert Corpus.open(tmp_path / "w").check() == []


def test_what_is_no_document_by_its_name_or_first_line_is_not_read(tmp_path):
    write_pages(
        tmp_path / "pages",
        {
            "logo.svg": "<?xml version='1.0'?><svg><title>A logo of ours</title></svg>",
            "style.xsl": "<?xml version='1.0'?><xsl:stylesheet xmlns:xsl='x'/>",
            "plan.drawio": "<?xml version='1.0'?><mxfile/>",
            "Makefile": "# All of it\n\nall:\n\techo\n\n## More\n\n- [a](b)\n",
            "OWNERS": "approvers:\n- a\n# b\n\n## c\n",
            "run": "#!/bin/sh\n# Run all of it\n\n## Now\n\n[[ -f /x ]] && echo Some words of a sentence.\n",
            "chart.yaml": "name: {{ .Values.name }}\nb: [[ -f /x ]]\n'''x'''\n",
            "symbols.py": 'TEXT = r"""\n\\documentclass{article}\n"""\n',
            "_sources/page.md.txt": "# T\n\n## U\n\nThe source of a page that was built.\n",
            "page.1.md.in": "# T\n\nThe page.\n",
            "manual.txt": "# M\n\n## N\n\nWhat manual.html was built from.\n",
            "manual.html": "<h1>M</h1><p>What was built.</p>",
            "guide.txt": "Guide\n=====\n\nParts::\n- [x](y)\n\nMore\n----\n\nThis is AsciiDoc, see linkgit:git-add[1].\n",
            "paper.txt": "# A paper\n\nWe say what we did here.\n\n## Results\n\nThey are good.\n",
            "README": "Title\n=====\n\nThis is prose in a file without suffix.\n\n- [a](page.1.md)\n- [b](page.1)\n",
        },
    )
    report = ingest(tmp_path / "pages", tmp_path / "w")
    assert dict(report.formats) == {"markdown": 3, "html": 1, "asciidoc": 1}
    ids = ["README", "guide.txt", "manual.html", "page.1.md.in", "paper.txt"]
    assert sorted(Corpus.open(tmp_path / "w").document_ids()) == ids
    corpus = Corpus.open(tmp_path / "w")
    graph = ReferenceGraph.open(tmp_path / "w", corpus)
    assert len(list(graph.edges())) == 2  # what a template makes is found by the name of that


def test_a_dead_link_of_the_file_system_is_said_only_where_a_document_may_be_missing(tmp_path):
    pages = tmp_path / "pages"
    write_pages(pages, {"index.md": "# T\n\ntext\n"})
    for name in ("jquery.js", "lost.md", "more"):
        (pages / name).symlink_to(tmp_path / "nowhere" / name)
    report = ingest(pages, tmp_path / "w")
    assert sorted(path for path, _ in report.messages) == ["lost.md", "more"]


def test_ingest_takes_all_that_can_be_asked_for():
    options = {field.name for kind in (IngestRequest, Execution) for field in fields(kind)}
    assert set(inspect.signature(ingest).parameters) == {"workspace", *options}
