"""`search.toml` beside the documents: synonyms, pins, and pages that no search finds, on every way to search."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.retrieval import Filter, Retriever
from structformer.retrieval.curated import Curated, read_curated
from structformer.retrieval.indexing import build_index

from conftest import write_pages

PAGES = {
    "cluster.md": "# Clusters\n\nKubernetes runs containers.\n",
    "login.md": "# Accounts\n\nChange what you sign in with.\n",
    "password.md": "# Words\n\nA password is a secret word. A password is long.\n",
    "internal/notes.md": "# Notes\n\nKubernetes notes, password list.\n",
    "search.toml": """
hide = ["internal/*"]
[synonyms]
k8s = "kubernetes"
[pins]
"Reset my password" = "login.md"
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("curated")
    write_pages(found / "pages", PAGES)
    ingest(found / "pages", found / "w", workers=1)
    build_index(found / "w", encoders=[])
    return found


@pytest.fixture(scope="module")
def retriever(folder: Path) -> Retriever:
    return Retriever.open(folder / "w")


def names(retriever: Retriever, query: str, where: Filter | None = None) -> list[str]:
    return [hit.document_id for hit in retriever.search(query, where=where)]


def test_a_retriever_searches_for_synonyms_too(retriever):
    assert names(retriever, "k8s") == ["cluster.md"]
    [hit] = asyncio.run(retriever.asearch("k8s"))
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["Kubernetes"]


def test_a_pinned_page_comes_first_unless_a_filter_keeps_it_out(retriever):
    hits = retriever.search("reset  my Password?")
    assert ([hit.document_id for hit in hits], hits.likely) == (["login.md", "password.md"], 1.0)
    assert names(retriever, "reset my password", Filter(("password.md",))) == ["password.md"]
    assert retriever.rank_documents(["reset my password"])[0][0][0] == "login.md"


def test_what_is_hidden_is_not_found_whatever_is_asked(retriever):
    assert "internal/notes.md" not in names(retriever, "notes kubernetes password")
    assert names(retriever, "notes", Filter(("internal/*",))) == []
    assert names(retriever, '"password list"') == ["password.md"]  # no page that may be found has the phrase


def test_the_command_says_what_was_done_by_hand(run, folder):
    said = run("search", "k8s", "--explain", "-w", folder / "w")
    assert said.code == 0
    assert "by hand, in search.toml: searched for too: kubernetes" in said.out + said.err
    said = run("search", "reset my password", "--explain", "-w", folder / "w")
    assert "by hand, in search.toml: pinned to this query" in said.out + said.err
    assert "by hand" not in run("search", "password", "--explain", "-w", folder / "w").err


def test_an_evaluation_says_that_the_file_applies_and_is_judged_with_it(run, folder, tmp_path):
    (tmp_path / "q.tsv").write_text("1\tk8s\n")
    (tmp_path / "j.txt").write_text("1 0 cluster.md 1\n")
    asked = ("evaluate", "--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "j.txt", "--pipeline", "lexical")
    said = run(*asked, "-w", folder / "w")
    assert "search.toml applies: synonyms 1, pins 1, hidden 1" in said.err
    assert "1.000" in said.out  # no page has "k8s"


def test_a_file_in_one_of_several_folders_is_said_to_be_unused(run, folder, tmp_path):
    write_pages(tmp_path / "more", {"a.md": "# Anchors\n\nIron.\n"})
    run("ingest", folder / "pages", tmp_path / "more", "-w", tmp_path / "w")
    said = run("index", "--encoder", "none", "-w", tmp_path / "w")
    assert f"{folder / 'pages' / 'search.toml'} is not used" in said.out + said.err
    assert "is not used" not in run("index", "--encoder", "none", "-w", folder / "w").out


def test_several_reasons_are_all_said():
    curated = Curated({"k8s": "kubernetes"}, {"k8s": "cluster.md"})
    assert curated.reason("k8s", "cluster.md") == "pinned to this query; searched for too: kubernetes"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[synonym]\na = 'b'\n", "no table 'synonym'; did you mean synonyms"),
        ("hide = 'x'\n", "hide is a list of patterns"),
        ("[hide]\na = 'b'\n", "hide is a list of patterns"),
        ("[pins]\na = 1\n", "pins is a table"),
        ("[pins\n", "search.toml: "),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, text, said):
    (tmp_path / "search.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_curated(tmp_path / "search.toml")
