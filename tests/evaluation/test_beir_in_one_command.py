"""evaluate --beir reads, indexes and judges a folder of BEIR's form in one command."""

from __future__ import annotations

import json
import math

import pytest


@pytest.fixture
def folder(tmp_path):
    texts = {"d1": "ropes are tied with knots", "d2": "sails catch the wind", "q1": "which ropes are tied with knots"}
    corpus = [{"_id": name, "title": "", "text": text} for name, text in texts.items()]
    queries = [{"_id": "q1", "text": "ropes knots"}, {"_id": "q2", "text": "wind"}]
    made = tmp_path / "tiny"
    (made / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (made / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (made / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t2\nq2\td2\t1\n")
    return made


def test_a_beir_folder_is_judged_as_beir_does(run, folder):
    """q1's own text is a document of the same id, which is left out: d1 is first, d2, with the gain 2, is not found."""
    ran = run("evaluate", "--beir", folder, "-w", "w", "--pipeline", "lexical", "--json")
    assert ran.code == 0, ran.err
    [row] = json.loads(ran.out)["results"][0]["rows"]
    ideal = 2 + 1 / math.log2(3)
    assert row["scores"] == pytest.approx({"nDCG@10": (1 / ideal + 1) / 2, "R@100": 0.75})
    assert "documents left out since they have the query's id, as in BEIR: 1" in ran.err


def test_a_document_of_the_querys_id_stays_where_it_is_judged_relevant(run, folder):
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tq1\t1\n")
    ran = run("evaluate", "--beir", folder, "-w", "w", "--pipeline", "lexical", "--measures", "R@10", "--json")
    assert ran.json["results"][0]["rows"][0]["scores"] == {"R@10": 1.0}
    assert "left out" not in ran.err
