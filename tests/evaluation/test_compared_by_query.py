"""What a comparison says beside its table: intervals of every measure, every query's scores; and rows that need files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from structformer.evaluation.measures import bootstrap_intervals
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index

from conftest import PAGES, write_pages
from structformer_lab.experiment import files_of, filled

TITLES = """
title = "Titles"
measures = ["P@5", "RR"]
baseline = "once"
[[rows]]
label = "once"
pipeline = "lexical[k=50]"
[[rows]]
label = "chosen"
pipeline = "agent:titles[k=50, query=without, titles={titles}, judged={judged?}]"
[[rows]]
label = "published"
pipeline = "lexical >> rerank('{model}')[k=5]"
checkpoint = "somebody/something"
"""


@pytest.fixture
def judged(tmp_path: Path) -> list[object]:
    """A workspace of three pages, an experiment, and two judged queries."""
    write_pages(tmp_path / "pages", PAGES)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    files = {
        "e.toml": TITLES,
        "q.tsv": "1\trope loop\n2\tsail wind <b>\n",
        "r.txt": "1 0 knots.md 1\n2 0 parts/sails.md 1\n",
    }
    write_pages(tmp_path, {**files, "titles.tsv": "1\tBowline\n2\tReefing\n"})
    return [
        "experiment",
        tmp_path / "e.toml",
        "-w",
        tmp_path / "w",
        "--queries",
        tmp_path / "q.tsv",
        "--qrels",
        tmp_path / "r.txt",
    ]


def test_rows_without_their_file_or_checkpoint_are_left_out_and_named(run, judged, tmp_path, monkeypatch):
    monkeypatch.setattr("structformer.models.base.hub_in_reach", lambda: False)
    alone = run(*judged, "--json")
    assert [row["label"] for row in alone.json[0]["rows"]] == ["once"]
    assert "chosen left out: it needs --file titles=FILE" in alone.err
    assert "published left out: somebody/something is neither a folder nor available from the hub" in alone.err
    both = run(*judged, "--json", "--file", f"titles={tmp_path / 'titles.tsv'}")
    assert [row["label"] for row in both.json[0]["rows"]] == ["once", "chosen"]
    assert "no row needs 'names'; choose from: judged, titles" in run(*judged, "--file", "names=x").err
    assert "no such file" in run(*judged, "--file", "titles=gone").err


def test_a_row_whose_published_base_is_not_to_be_had_gives_no_advice_about_others(run, judged, tmp_path, monkeypatch):
    monkeypatch.setattr("structformer.models.base.hub_in_reach", lambda: False)
    (tmp_path / "e.toml").write_text(
        '[[rows]]\nlabel = "words"\npipeline = "lexical"\n[[rows]]\nlabel = "tuned"\npipeline = "lexical >> rerank:{model}"\n'
        'finetune = { ranker = "cross-encoder", base_model = "somebody/something" }\n'
    )
    done = run(*judged, "--train-queries", tmp_path / "q.tsv", "--train-qrels", tmp_path / "r.txt")
    assert done.code == 0, done.err
    left_out = "tuned left out: somebody/something is neither a folder nor available from the hub"
    assert left_out in done.err.splitlines()


def test_places_of_a_pipeline_are_filled():
    pipeline = "{candidates} >> agent:texts[from={wikipedia?}, judged={judged}]"
    assert files_of([pipeline]) == ["judged", "wikipedia"]
    assert filled(pipeline, {"candidates": "lexical", "judged": "j"}) == "lexical >> agent:texts[from=, judged=j]"


def test_every_query_and_every_interval_is_shown(run, judged, tmp_path):
    ran = run(
        *judged, "--file", f"titles={tmp_path / 'titles.tsv'}", "--rows", "once,chosen", "--output", tmp_path / "out"
    )
    assert ran.code == 0, ran.err
    folder = tmp_path / "out" / "e"
    lines = [line.split("\t") for line in (folder / "by_query.tsv").read_text().splitlines()]
    assert lines[0] == ["query", "row", "P@5", "RR"]
    assert [line[:2] for line in lines[1:]] == [["1", "once"], ["2", "once"], ["1", "chosen"], ["2", "chosen"]]
    report = json.loads((folder / "report.json").read_text())
    assert {float(line[3]) for line in lines if line[1] == "once"} == set(report["per_query"]["once"]["RR"].values())
    for row in report["rows"]:
        for measure, (low, high) in row["intervals"].items():
            assert low <= row["scores"][measure] <= high
    assert "| 95 % | P@5 | RR |" in (folder / "report.md").read_text()
    page = (folder / "report.html").read_text()
    assert "P@5 by query" in page
    assert "RR with 95 % intervals" in page
    assert "<title>1, once: " in page


def test_intervals_of_several_measures_are_those_of_each_alone():
    first, second = [0.0, 0.5, 1.0, 0.25, 1.0], [1.0, 0.2, 0.1, 0.0, 0.3]
    assert bootstrap_intervals([first, second]) == [
        pytest.approx(bootstrap_intervals([first])[0]),
        pytest.approx(bootstrap_intervals([second])[0]),
    ]
