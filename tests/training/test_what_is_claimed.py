"""The pages and the tables claim no more of a training than has been seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer.retrieval.rankings.hybrid_score import FusionWeights
from structformer.sampling.tasks import tasks
from structformer.training.recipes import recipe_names

from boats import boats
from conftest import write_pages

DOCS = Path(__file__).parents[2] / "docs"
EXPERIMENT = """
title = "one row"
measures = ["nDCG@10"]

[[rows]]
label = "frozen"
pipeline = "lexical >> rerank:{model}"
train = { ranker = "cross-encoder", mix = { srr = 1 }, learning_rate = 1e-9 }
"""
TINY = ("base_model=scratch", "size=tiny", "max_steps=4", "max_seconds=none", "groups=4", "document_tokens=64")


def test_every_recipe_is_on_the_page_of_what_helps():
    page = (DOCS / "what-helps.md").read_text()
    assert [name for name in recipe_names() if f"`{name}`" not in page and f"--recipe {name}`" not in page] == []
    assert "**No recipe of a paper has yet beaten BM25 or its own base here.**" in page


def test_the_page_of_the_papers_says_so_in_its_second_line():
    lines = (DOCS / "reproduce.md").read_text().splitlines()
    assert lines[2].startswith("No recipe here has been seen to beat BM25 or its own base on people's questions")
    assert "(what-helps.md)" in " ".join(lines[2:5])


def test_the_page_on_training_says_that_half_of_the_score_is_learned():
    assert "**Half of the score that the search uses**" in (DOCS / "why-it-works.md").read_text()


def test_a_row_that_learned_nothing_says_so_below_its_table(run, tmp_path):
    workspace = boats(tmp_path)
    given = {"e.toml": EXPERIMENT, "q.tsv": "1\tclean the keel\n", "r.txt": "1 0 keel.md 1\n"}
    write_pages(tmp_path, given)
    assert run("index", "-w", workspace, "--encoder", "none").code == 0
    settings = [part for each in TINY for part in ("--set", each)]
    judged = ["--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "r.txt"]
    ran = run("experiment", tmp_path / "e.toml", "-w", workspace, *judged, *settings, "--json")
    assert ran.code == 0, ran.err
    assert "learned nothing in 4 steps; losses at the end: srr" in ran.json[0]["caveat"]


def test_the_help_of_sample_lists_every_task(run):
    said = " ".join(run("sample", "--help", "--all").out.split())
    assert [name for name in tasks() if name not in said] == []


@pytest.mark.parametrize("weights", [{"structure_overview": 1.0}, {"overview": 1.0}])
def test_an_overview_counts_nothing_to_find_candidates_where_its_units_do_not(weights):
    made = FusionWeights(**weights)
    assert made.static_overview_share == made.overview_share == 0.0
