"""`evaluate` as a gate: bounds that a search must hold, and an earlier run that it may not be worse than."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from structformer.errors import UsageError
from structformer.evaluation.reports import bound, no_worse
from structformer.retrieval.indexing import build_index
from structformer.retrieval.pipeline import as_pipeline
from structformer.retrieval.rankings.run_files import write_run

QUERIES = {"q1": "make a loop that does not slip", "q2": "smaller sail in strong wind", "q3": "fasten a rope to a post"}
ANSWERS = {"q1": "knots.md", "q2": "parts/sails.md", "q3": "knots.md"}


@pytest.fixture
def evaluated(workspace: Path, tmp_path: Path, run):
    """Evaluates the small pages on three queries, each of which BM25 answers first but the last."""
    build_index(workspace, encoders=[])
    queries = tmp_path / "queries.jsonl"
    queries.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in QUERIES.items()))
    wanted = {**ANSWERS, "q3": "index.md"}  # what a person meant with the last, and words do not find
    (tmp_path / "qrels.tsv").write_text("".join(f"{name}\t0\t{page}\t1\n" for name, page in wanted.items()))
    judged = ("--queries", queries, "--qrels", tmp_path / "qrels.tsv", "-w", workspace, "--measures", "Success@1")
    return lambda *arguments: run("evaluate", *judged, *arguments)


def test_a_bound_fails_the_command_and_one_line_says_by_how_much(evaluated):
    failed = evaluated("--pipeline", "lexical", "--at-least", "0.7")
    assert failed.code == 1
    line = next(line for line in failed.out.splitlines() if line.startswith("failed"))
    assert line == (
        "failed: BM25 (the first --pipeline): Success@1 is 0.667 [0.000, 1.000] on 3 queries: 0.033 under 0.7"
    )
    bounds = ("--at-least", "0.6", "--at-least", "RR@10>=0.6")
    passed = evaluated("--pipeline", "lexical", *bounds, "--name", "again", "--json")
    assert passed.code == 0
    assert [(check["measure"], check["passed"], check["pipeline"]) for check in passed.json["checks"]] == [
        ("Success@1", True, "lexical"),
        ("RR@10", True, "lexical"),
    ]


def test_the_first_of_several_pipelines_is_checked_or_the_search_s_own(evaluated, monkeypatch):
    answer = evaluated("--pipeline", "lexical[of=documents]", "--pipeline", "lexical", "--at-least", "0")
    assert "passed: BM25 of documents (the first --pipeline): " in answer.out
    both = [as_pipeline("lexical[of=documents]"), as_pipeline("lexical")]
    monkeypatch.setattr("structformer.evaluation.comparison.default_pipelines", lambda workspace: both)
    assert "passed: BM25 (what `search` uses): " in evaluated("--at-least", "0", "--name", "again").out


def test_an_earlier_run_that_was_better_fails_the_command(evaluated, tmp_path):
    earlier = tmp_path / "earlier.run"
    write_run(earlier, {"q1": [("knots.md", 1.0)], "q2": [("parts/sails.md", 1.0)], "q3": [("index.md", 1.0)]}, "then")
    worse = evaluated("--pipeline", "lexical", "--no-worse-than", earlier)
    assert worse.code == 1
    assert "Success@1 is worse than in" in worse.out
    assert "-0.333 [-1.000, +0.000] on 3 queries, p = 1.000; more than 0.05 lower" in worse.out
    # One query of three may be chance, and that much is allowed here.
    allowed = evaluated("--pipeline", "lexical", "--no-worse-than", earlier, "--tolerance", "0.4", "--name", "allowed")
    assert (allowed.code, "no worse than in" in allowed.out) == (0, True)
    # Of a query that came after the run, the run says nothing.
    write_run(earlier, {"q1": [("knots.md", 1.0)], "q2": [("index.md", 1.0)]}, "then")
    better = evaluated("--pipeline", "lexical", "--no-worse-than", earlier, "--name", "better")
    assert better.code == 0
    assert "+0.500" in better.out
    assert "1 query not in that run left out" in better.out


def test_a_small_loss_on_many_queries_is_more_than_chance(workspace):
    from structformer.evaluation.comparison import Comparison, FoundRun, compare_runs
    from structformer.evaluation.judgements import Judgements

    names = [f"q{number}" for number in range(300)]
    judged = Judgements(dict.fromkeys(names, "a"), {name: {"right": 1} for name in names})
    right, wrong = [("right", 1.0)], [("wrong", 1.0)]
    now = {name: wrong if place < 12 else right for place, name in enumerate(names)}
    result = compare_runs([FoundRun("now", "now", now)], judged, Comparison(("Success@1",)))
    check = no_worse(result, result.rows[0], Path("then.run"), dict.fromkeys(names, right), 0.05, 0)
    assert (check.passed, check.figures["difference"]) == (False, pytest.approx(-0.04))
    assert check.figures["p"] < 0.01
    assert check.figures["interval"][1] < 0


def test_mistakes_are_named_before_anything_is_asked(evaluated, tmp_path):
    assert bound("RR@10 >= 0.25", "nDCG@10") == ("RR@10", 0.25)
    for wrong in ("high", ">=0.5", "nan", "RR@10>="):
        with pytest.raises(UsageError, match="is not a bound: write"):
            bound(wrong, "nDCG@10")
    assert evaluated("--at-least", "MRRR>=0.5").code == 2
    assert evaluated("--no-worse-than", tmp_path / "none.run").code == 2
    write_run(tmp_path / "other.run", {"another": [("knots.md", 1.0)]}, "other")
    strange = evaluated("--pipeline", "lexical", "--no-worse-than", tmp_path / "other.run")
    assert strange.code == 2
    assert "has none of the queries of" in strange.err


def test_an_earlier_run_needs_queries_that_stay_the_same(run, workspace, tmp_path):
    answer = run("evaluate", "-w", workspace, "--no-worse-than", tmp_path / "x.run")
    assert answer.code == 2
    assert "needs judged queries" in answer.err
