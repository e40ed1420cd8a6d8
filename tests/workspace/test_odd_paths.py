"""Workspaces under odd names, and a current folder that changes: what was given stays what is meant."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import sys
from pathlib import Path

import pytest
from structformer import Corpus, Retriever, WorkspaceError, index, ingest
from structformer.graph import ReferenceGraph
from structformer.storage.files import read_only


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "docs").mkdir()
    for name in ("a", "b"):
        (folder / "docs" / f"{name}.md").write_text(f"# Page {name}\n\nA walrus. See [a](a.md).\n")
    (folder / "C#").mkdir()
    before = Path.cwd()
    os.chdir(folder)
    try:
        ingest("docs", "C#/what?%41 a:b\n", workers=1)
        index("C#/what?%41 a:b\n", encoders=())
    finally:
        os.chdir(before)
    assert sorted(each.name for each in folder.iterdir()) == ["C#", "docs"]
    assert [each.name for each in (folder / "C#").iterdir()] == ["what?%41 a:b\n"]
    return folder / "C#" / "what?%41 a:b\n"


def test_a_change_of_the_current_folder_changes_nothing(made, monkeypatch, tmp_path):
    monkeypatch.chdir(made.parent)
    retriever = Retriever.open(made.name)
    assert str(retriever.workspace) == made.name
    monkeypatch.chdir(tmp_path)
    for pipeline in (None, "lexical >> bm25"):
        assert {hit.document_id for hit in retriever.search("walrus", 5, pipeline)} == {"a.md", "b.md"}
    assert str(retriever.workspace) == str(made)
    assert not list(tmp_path.iterdir())


def test_a_retriever_is_copied_and_pickled(made, monkeypatch, tmp_path):
    monkeypatch.chdir(made.parent)
    retriever = Retriever.open(made.name)
    kept = pickle.dumps(retriever)
    monkeypatch.chdir(tmp_path)
    for each in (pickle.loads(kept), copy.deepcopy(retriever)):
        assert [hit.address for hit in each.search("walrus")] == [hit.address for hit in retriever.search("walrus")]


def test_bytes_of_another_encoding_are_a_query(made):
    assert len(Retriever.open(made).search("walrus caf\udce9")) == 2


def test_a_database_under_any_name_is_the_one_that_is_read(made):
    with pytest.raises(Exception, match="unable to open"):
        read_only(made.parent / "what").execute("SELECT 1 FROM sqlite_master")
    assert not (made.parent / "what").exists()


def test_a_file_of_links_that_is_gone_is_said(made, tmp_path):
    shutil.copytree(made, tmp_path / "w")
    [edges] = (tmp_path / "w" / "graph").glob("*/edges/*.parquet")
    edges.unlink()
    with pytest.raises(WorkspaceError, match=f"{edges.name} is missing: run `structformer ingest`"):
        list(ReferenceGraph.open(tmp_path / "w").edges())


def test_a_copy_without_links_is_searched_where_it_may_only_be_read(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "w")
    for lock in (tmp_path / "w" / "index").glob("*/lexical/*/.tantivy-meta.lock"):
        lock.unlink()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write everywhere
    assert len(Retriever.open(tmp_path / "w").search("walrus", 5)) == 2
    assert not list((tmp_path / "w" / "index").glob("*/lexical/*/.tantivy-meta.lock"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
def test_bytes_that_are_no_utf8_name_folders_files_and_workspaces(tmp_path, monkeypatch, run):
    odd = os.fsdecode(b"caf\xe9")
    (tmp_path / odd / "docs").mkdir(parents=True)
    (tmp_path / odd / "docs" / f"{odd}.md").write_text("# Walrus\n\nA walrus swims.\n")
    links = "[the one](caf%E9.md), [another](caf%E8.md), [as a site has it](/caf%e9)"
    (tmp_path / odd / "docs" / "links.md").write_text(f"# Links\n\nTo {links}.\n")
    monkeypatch.chdir(tmp_path / odd)
    workspace = str(tmp_path / odd / f"w-{odd}")
    assert "No corpus".lower() in run("search", "walrus", "-w", workspace).err
    assert not Path(workspace).exists()
    told = run("ingest", "docs", "-w", workspace)
    assert (told.code, f"w-{odd}".replace(odd, "caf\\udce9") in told.out) == (0, True)
    assert "/proc/" not in told.out + told.err
    for command in (["index"], ["sample"], ["check"], ["export", "--write-beir", "beir"]):
        assert run(*command, "-w", workspace).code == 0
    for path in (f"{odd}.md", f"{odd}*"):
        found = run("search", "walrus", "-w", workspace, "--path", path, "--json")
        assert [hit["document_id"] for hit in found.json["hits"]] == ["caf\\xe9.md"]
    corpus = Corpus.open(workspace)
    edges = [(edge["text"], edge["target_document"]) for edge in ReferenceGraph.open(workspace, corpus).edges()]
    assert edges == [("the one", 0), ("as a site has it", 0)]
    assert list(corpus.document_ids()) == ["caf\\xe9.md", "links.md"]
    retriever = Retriever.open(workspace)
    assert str(retriever.workspace) == workspace
    assert [hit.address for hit in pickle.loads(pickle.dumps(retriever)).search("walrus")]
    assert sorted(each.name for each in Path().iterdir()) == sorted(["beir", "docs", f"w-{odd}"])
