"""Evaluation: files, measures, significance, comparisons."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import permutation_test
from structformer.errors import UsageError
from structformer.evaluation.evaluate import evaluate
from structformer.evaluation.judgements import Judgements, read_qrels, read_queries
from structformer.evaluation.significance import holm, randomisation_test
from structformer.retrieval.index import build_index

JUDGED = Judgements(
    {"q1": "make a loop that does not slip", "q2": "smaller sail in strong wind", "q3": "boats"},
    {"q1": {"knots.md": 1}, "q2": {"parts/sails.md": 1}, "q3": {"index.md": 1, "knots.md": 0}},
    {},
)


def test_both_forms_of_queries_and_qrels_are_read(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"_id": "1", "text": "a b"}\n\n{"_id": 2, "text": "c"}\n')
    (tmp_path / "q.tsv").write_text("1\ta b\n2\tc\n")
    assert read_queries(tmp_path / "q.jsonl") == read_queries(tmp_path / "q.tsv") == {"1": "a b", "2": "c"}
    (tmp_path / "beir.tsv").write_text("query-id\tcorpus-id\tscore\n1\tx y.md\t1\n")
    (tmp_path / "trec.txt").write_text("1 0 d.md 2\n1 0 e.md 0\n")
    assert read_qrels(tmp_path / "beir.tsv") == {"1": {"x y.md": 1}}
    assert read_qrels(tmp_path / "trec.txt") == {"1": {"d.md": 2, "e.md": 0}}


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_queries, '{"_id": "1"}\n', "line 1: not a BEIR query"),
        (read_queries, "1\ta\nno tab\n", "line 2: neither JSON"),
        (read_queries, "", "has no queries"),
        (read_qrels, "1 0 d x\n", "line 1: neither"),
        (read_qrels, "query-id\tcorpus-id\tscore\n", "has no judgements"),
    ],
)
def test_broken_files_are_named_with_the_line(tmp_path, reader, text, message):
    (tmp_path / "f").write_text(text)
    with pytest.raises(UsageError, match=message):
        reader(tmp_path / "f")


def test_measures_are_those_that_can_be_worked_out_by_hand(workspace, tmp_path):
    build_index(workspace, encoders=[])
    result = evaluate(workspace, JUDGED, pipelines=["lexical"], measures=["Success@1", "RR@10"], output=tmp_path / "out")
    assert result.rows[0].scores == {"Success@1": 1.0, "RR@10": 1.0}
    assert result.queries == 3
    run = (tmp_path / "out" / "runs" / "01-bm25.run").read_text().splitlines()
    assert run[0] == "q1 Q0 knots.md 1 100 bm25"
    assert json.loads((tmp_path / "out" / "report.json").read_text())["per_query"]["BM25"]["RR@10"] == {"q1": 1.0, "q2": 1.0, "q3": 1.0}
    assert "| BM25 | 1.0000 |" in (tmp_path / "out" / "report.md").read_text()


def test_unknown_documents_and_queries_are_counted_and_cost_score(workspace):
    build_index(workspace, encoders=[])
    judged = Judgements(
        {**JUDGED.queries, "q4": "never judged"}, {**JUDGED.qrels, "q2": {"gone.md": 1}, "q9": {"knots.md": 1}}, {}
    )  # fmt: skip
    result = evaluate(workspace, judged, pipelines=["lexical"], measures=["Success@1"])
    assert result.unknown_documents == ["gone.md"]
    assert (result.queries, result.unjudged_queries, result.unasked_queries) == (3, 1, 1)
    assert result.rows[0].scores["Success@1"] == pytest.approx(2 / 3)


def test_an_excluded_document_is_left_out_of_the_ranking(workspace):
    build_index(workspace, encoders=[])
    judged = Judgements({"q": "clove hitch rope post"}, {"q": {"index.md": 1}}, {"q": "knots.md"})
    assert evaluate(workspace, judged, pipelines=["lexical"], measures=["Success@1"]).rows[0].scores["Success@1"] in (0.0, 1.0)
    included = evaluate(workspace, Judgements(judged.queries, judged.qrels, {}), pipelines=["lexical"], measures=["RR@10"]).rows[0]
    excluded = evaluate(workspace, judged, pipelines=["lexical"], measures=["RR@10"]).rows[0]
    assert excluded.scores["RR@10"] >= included.scores["RR@10"]


def test_mistakes_are_named(workspace):
    build_index(workspace, encoders=[])
    with pytest.raises(UsageError, match="no measure 'nDGC'"):
        evaluate(workspace, JUDGED, measures=["nDGC"])
    with pytest.raises(UsageError, match="do their query ids belong together"):
        evaluate(workspace, Judgements({"a": "b"}, {"c": {"knots.md": 1}}, {}))


def test_the_randomisation_test_agrees_with_scipys():
    generator = np.random.default_rng(4)
    for size, shift in ((10, 0.3), (60, 0.1), (200, 0.05)):
        first = generator.random(size)
        second = first - shift * generator.random(size) + 0.1 * generator.standard_normal(size)
        expected = permutation_test(
            (first, second), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True, n_resamples=20_000
        ).pvalue
        assert randomisation_test(first, second) == pytest.approx(expected, abs=0.012)
    assert randomisation_test([1, 2], [1, 2]) == 1.0
    with pytest.raises(ValueError, match="same length"):
        randomisation_test([1.0], [])


def test_holms_correction_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
