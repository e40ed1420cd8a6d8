"""structformer benchmark judges on every set of a folder, and on those of NanoBEIR, with the mean in the last row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structformer_lab.commands.benchmark import _sets

TEXTS = {"d1": "ropes are tied with knots", "d2": "sails catch the wind", "d3": "the wind breaks ropes"}
SETS = {"knots": ("ropes knots", "d1"), "wind": ("sails wind", "d3")}  # the second one's answer is not the first hit


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    for name, (query, right) in SETS.items():
        made = tmp_path / "sets" / name
        made.mkdir(parents=True)
        corpus = [json.dumps({"_id": each, "title": "", "text": text}) for each, text in TEXTS.items()]
        (made / "corpus.jsonl").write_text("\n".join(corpus))
        (made / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": query}))
        (made / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\nq\t{right}\t1\n")
    return tmp_path / "sets"


def test_each_set_is_a_row_and_the_mean_is_the_last(run, sets, tmp_path):
    given = ["benchmark", sets, "-w", tmp_path / "w", "--pipeline", "lexical", "--measures", "RR@10,R@10"]
    ran = run(*given)
    assert ran.code == 0, ran.err
    [reciprocal, recall] = ran.out.strip().split("\n\n")
    title, _, _, *rows = [line.split() for line in reciprocal.splitlines()]
    assert title == ["RR@10"]
    assert rows == [["knots", "1.000"], ["wind", "0.500"], ["mean", "0.750"]]
    assert recall.splitlines()[-1].split()[-1] == "1.000"
    again = run(*given, "--json")
    assert again.code == 0, again.err
    assert again.json["mean"] == {"BM25": {"RR@10": 0.75, "R@10": 1.0}}
    assert again.json["sets"]["wind"] == {"BM25": {"RR@10": 0.5, "R@10": 1.0}}
    assert "indexing" not in again.err


def test_a_set_alone_is_no_benchmark(run, sets, tmp_path):
    ran = run("benchmark", sets / "knots", "-w", tmp_path / "w")
    assert ran.code == 2
    assert "neither NanoBEIR nor a folder that holds BEIR folders" in ran.err


def test_nanobeir_has_thirteen_sets(run, tmp_path):
    pytest.importorskip("ir_datasets")
    ran = run("evaluate", "--beir", "NanoBEIR", "-w", tmp_path / "w")
    assert ran.code == 2
    assert "NanoBEIR is thirteen sets: `structformer benchmark NanoBEIR` judges on all, with the mean" in ran.err
    names = [each.name for each in _sets(Path("NanoBEIR"))]
    assert len(names) == 13
    assert {"scifact", "nfcorpus", "quora"} < set(names)
