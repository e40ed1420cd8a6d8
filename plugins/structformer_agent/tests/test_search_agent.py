"""The section-title agent: which titles it searches on with, what it finds, and how the command shows it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from structformer import Retriever, train
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index

from boats import TINY, boats
from conftest import write_pages
from structformer_agent.agent import SearchAgent, merge, read_descriptions, read_titles
from structformer_exports.word_vectors import read_word_vectors


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty pages with a tiny bi-encoder, indexed."""
    folder = boats(tmp_path_factory.mktemp("harbour"))
    train(folder, replace(TINY, max_steps=3, mix={"ict": 1.0, "srr": 1.0}))
    build_index(folder, encoders=["bi-encoder"])
    return folder


def made(folder: Path, pages: dict[str, str]) -> Path:
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    return folder / "w"


def test_the_agent_compares_sections_texts_by_word_vectors(harbour, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("cloth 1 0 0\nwet 0 1 0\nrain 0 0 1\ndark 0 1 0\nharbour 0 0.6 0.8\n")
    retriever = Retriever.open(harbour)
    [ranking] = retriever.rank(["mast rain"], "lexical[k=5]")
    agent = SearchAgent(retriever, "texts", documents=1, vectors=read_word_vectors(tmp_path / "vectors.txt"))
    # Every section says cloth twice or thrice, and one of rain, dark and harbour: by hand, rain is nearest to rain.
    assert agent.next_titles("mast rain", ranking)[:2] == ["Mend the mast", "Clean the mast"]
    (tmp_path / "asked.tsv").write_text("7\tWhat must not be done in the dark?\n")
    described = SearchAgent(
        retriever,
        "texts",
        documents=1,
        vectors=read_word_vectors(path),
        descriptions=read_descriptions(tmp_path / "asked.tsv"),
    )
    assert described.next_titles("mast rain", ranking, "7")[0] == "Stow the mast", "the topic's description says dark"
    assert described.next_titles("mast rain", ranking, "8")[0] == "Mend the mast", "a topic without one is its query"
    [staged] = retriever.rank(["mast rain"], f'agent:texts[k=50, vectors="{path}", query=without]')
    assert staged.ranked


def test_the_agents_titles_are_a_topics_own_and_may_come_from_another_workspace(harbour, tmp_path):
    retriever = Retriever.open(harbour)
    (tmp_path / "titles.tsv").write_text("7\tStow the keel\n8\tMend the jib\n7\tClean the deck\n")
    titles = read_titles(tmp_path / "titles.tsv")
    assert titles == {"7": ["Stow the keel", "Clean the deck"], "8": ["Mend the jib"]}
    asked = SearchAgent(retriever, "titles", titles=titles).rank("mast", "lexical", name="8")
    assert [ranking.query for ranking in asked] == ["mast", "mast Mend the jib"]
    other = made(tmp_path, {"wiki.md": "# Mast\n\nA mast is tall.\n\n## History of masts\n\nOld masts were of wood.\n"})
    searched = SearchAgent(retriever, "first", titles_from=Retriever.open(other)).search("mast", 5, "lexical")
    assert [subtask.query for subtask in searched.subtasks] == ["mast", "mast History of masts"]


def test_the_agent_drops_documents_that_judged_ones_are_unlike(harbour, tmp_path):
    retriever = Retriever.open(harbour)
    judged = {"1": {"mast.md": 1, "keel.md": 0}, "2": {"keel.md": 1, "mast.md": 0, "jib.md": 0}}
    # Query 2 learns from query 1 alone: what is like mast.md stays, what is like keel.md goes.
    rankings = SearchAgent(retriever, "first", judged=judged).rank("mast keel", "lexical", name="2")
    kept = {retriever.units[unit].document_id for ranking in rankings for unit, _ in ranking.ranked}
    assert "mast.md" in kept
    assert "keel.md" not in kept
    with pytest.raises(UsageError, match="judged documents of other queries"):
        SearchAgent(retriever, "first", judged={"2": judged["2"]}).rank("mast", "lexical", name="2")


def test_the_agent_is_a_stage_that_can_be_evaluated(harbour):
    retriever = Retriever.open(harbour)
    agent = SearchAgent(retriever, "first")
    rankings = agent.rank("mend mast", "lexical[k=100]")
    assert len(rankings) > 2
    by_turns = [unit for unit, _ in merge(rankings)]
    [ranking] = retriever.rank(["mend mast"], "agent:first[k=100]")
    assert [unit for unit, _ in ranking.ranked] == by_turns[:100]
    [without] = retriever.rank(["mend mast"], "agent:first[k=100, query=without]")
    assert [unit for unit, _ in without.ranked] == [unit for unit, _ in merge(rankings[1:])][:100]
    with pytest.raises(UsageError, match="no agent 'nobody'"):
        retriever.rank(["mend mast"], "agent:nobody")


def test_the_agent_asks_with_section_titles_and_says_what_brought_each_hit(harbour, tmp_path):
    retriever = Retriever.open(harbour)
    found = SearchAgent(retriever, "first").search("mast", 10, "lexical")
    assert [subtask.query for subtask in found.subtasks][:2] == ["mast", "mast Clean the mast"]
    assert found.hits[0].subtasks[0] == "mast"
    assert all(hit.subtasks for hit in found.hits[:5])
    assert len(SearchAgent(retriever, "embedding").search("mend the mast", 10, "lexical").subtasks) == 6
    chosen = SearchAgent(retriever, "titles", titles=["Stow the keel"]).search("mast", 10, "lexical")
    assert [subtask.query for subtask in chosen.subtasks] == ["mast", "mast Stow the keel"]
    assert any(hit.document_id == "keel.md" for hit in chosen.hits)
    assert len(SearchAgent(retriever, "classifier").search("mend the mast", 10, "lexical").subtasks) <= 6
    with pytest.raises(UsageError, match="titles of your own"):
        SearchAgent(retriever, "titles")


def test_the_agents_trace_says_which_subtask_brought_which_hit(run, harbour, tmp_path):
    found = run("agent", "mast", "-w", harbour, "--choose", "first", "--explain", "--pipeline", "lexical")
    assert found.code == 0
    assert "found by: mast; mast Clean the mast" in found.out
    assert "subtask 'mast Clean the mast' (section title 'Clean the mast'):" in found.out
    assert len(run("agent", "mend mast", "-w", harbour, "--choose", "embedding", "--json").json["subtasks"]) == 6
    (tmp_path / "titles.txt").write_text("Stow the keel\n")
    chosen = run(
        "agent", "mast", "-w", harbour, "--choose", "titles", "--titles", tmp_path / "titles.txt", "--json"
    ).json
    assert [subtask["query"] for subtask in chosen["subtasks"]] == ["mast", "mast Stow the keel"]
    assert run("agent", "mast", "-w", harbour, "--choose", "titles").err.startswith("error: the agent `titles` needs")
    assert run("agent", "mast", "-w", harbour, "--titles", tmp_path / "titles.txt").code == 2


def test_help_of_the_agent_and_of_all_commands_loads_nothing_heavy():
    for arguments in (["--help", "--all"], ["agent", "--help"]):
        code = (
            "import sys\nfrom structformer.cli.main import main\n"
            f"try: main({arguments!r})\nexcept SystemExit as e: assert e.code in (0, None), e.code\n"
            "heavy = {'torch', 'transformers', 'pyarrow', 'numpy', 'lxml'} & set(sys.modules)\nassert not heavy, heavy\n"
        )
        shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        assert "gain with section titles of the documents found" in " ".join(shown.split())
