"""`search.toml` beside the documents: synonyms, pins, and pages that no search finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index

from conftest import write_pages
from structformer_serve.schemas import SearchAnswer, SearchRequest
from structformer_serve.service import SearchService

PAGES = {
    "cluster.md": "# Clusters\n\nKubernetes runs containers.\n",
    "login.md": "# Accounts\n\nChange what you sign in with.\n",
    "password.md": "# Words\n\nA password is a secret word. A password is long.\n",
    "internal/notes.md": "# Notes\n\nKubernetes notes, password list.\n",
}
TOML = """
hide = ["internal/*"]
[synonyms]
k8s = "kubernetes"
[pins]
"Reset my password" = "login.md"
"""


def search(folder: Path, query: str) -> SearchAnswer:
    return SearchService(folder / "w").seen_by().search(SearchRequest(q=query, explain=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("curated")
    write_pages(found / "pages", {**PAGES, "search.toml": TOML})
    ingest(found / "pages", found / "w", workers=1)
    build_index(found / "w", encoders=[])
    return found


def test_a_synonym_is_searched_for_too_and_the_reason_is_said(folder):
    [hit] = search(folder, "k8s containers").hits
    assert (hit.document, hit.why and hit.why.by_hand) == ("cluster.md", "searched for too: kubernetes")
    assert search(folder, "kubernetes").hits[0].why.by_hand == ""  # type: ignore[union-attr]


def test_a_word_that_only_a_synonym_explains_makes_no_result_doubtful(folder, run):
    by_synonym, by_word = (search(folder, f"{word} containers") for word in ("K8s", "kubernetes"))
    assert (by_synonym.likely, by_synonym.confident) == (by_word.likely, by_word.confident)
    assert "no page has" not in run("search", "-w", folder / "w", "k8s containers").out


def test_a_pinned_page_comes_first_whatever_it_says(folder):
    answer = search(folder, "reset  my Password?")
    assert [hit.document for hit in answer.hits] == ["login.md", "password.md"]
    assert (answer.likely, answer.hits[0].why and answer.hits[0].why.by_hand) == (1.0, "pinned to this query")
    assert search(folder, "password").hits[0].document == "password.md"


def test_what_is_hidden_is_read_but_never_found(folder):
    assert "internal/notes.md" not in [hit.document for hit in search(folder, "notes kubernetes").hits]
    assert SearchService(folder / "w").seen_by().document("internal/notes.md").title == "Notes"


def test_a_change_of_the_file_is_taken_over_without_a_new_index(tmp_path):
    write_pages(tmp_path / "pages", PAGES)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    service = SearchService(tmp_path / "w")
    assert not service.seen_by().search(SearchRequest(q="k8s")).hits
    write_pages(tmp_path / "pages", {"search.toml": TOML})
    assert service.refresh()
    assert service.seen_by().search(SearchRequest(q="k8s")).hits[0].document == "cluster.md"


def test_index_reads_the_file_and_says_what_meets_nothing(run, tmp_path):
    more = TOML.replace('["internal/*"]', '["internal/*", "drafts/*"]') + '"Sail" = "sail.md"\n'
    write_pages(tmp_path / "pages", {**PAGES, "search.toml": more})
    said = run("ingest", tmp_path / "pages", "-w", tmp_path / "w", "-v")
    assert "no document by its name" not in said.err
    said = run("index", "-w", tmp_path / "w", "--encoder", "none")
    assert "search.toml applies: synonyms 1, pins 2, hidden 2" in said.out
    assert "'sail' is pinned to sail.md, no document here" in said.err
    assert "hide: no document matches 'drafts/*'" in said.err
    assert "internal" not in said.err


def test_index_refuses_a_file_with_a_mistake_before_it_begins(run, tmp_path):
    write_pages(tmp_path / "pages", {**PAGES, "search.toml": 'synonym = {k8s = "kubernetes"}\n'})
    assert run("ingest", tmp_path / "pages", "-w", tmp_path / "w").code == 0
    refused = run("index", "-w", tmp_path / "w", "--encoder", "none")
    assert refused.code == 2
    assert "no table 'synonym'; did you mean synonyms?" in refused.err
