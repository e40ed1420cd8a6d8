"""Evaluation: files, measures, significance, comparisons."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import bootstrap, permutation_test
from scipy.stats import t as student
from structformer import Retriever
from structformer.errors import ModelError, UsageError
from structformer.evaluation.comparison import average_ranks, evaluate
from structformer.evaluation.judgements import (
    Judgements,
    beir_dataset,
    dataset_judgements,
    read_judgements,
    read_queries,
    write_judgements,
)
from structformer.evaluation.measures import (
    Evaluator,
    bootstrap_intervals,
    holm,
    parse_measure,
    randomisation_test,
    t_test,
)
from structformer.evaluation.page import difference, write_page
from structformer.models.registry import read_record
from structformer.retrieval.indexing import build_index
from structformer.retrieval.pipeline import parse_pipeline
from structformer.retrieval.rankings.run_files import read_qrels, read_run, write_run
from structformer.training import Listener, TrainingOptions, train_ranker, training_options

from boats import boats
from structformer_lab.experiment import RowTraining, experiment_names, files_of, filled, read_experiment
from structformer_lab.running import NEGATIVES, run_experiment, some_queries, split_queries

JUDGED = Judgements(
    {"q1": "make a loop that does not slip", "q2": "smaller sail in strong wind", "q3": "boats"},
    {"q1": {"knots.md": 1}, "q2": {"parts/sails.md": 1}, "q3": {"index.md": 1, "knots.md": 0}},
    {},
)


@pytest.fixture(scope="module")
def indexed_boats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The boats' workspace, searched by words; nothing here changes it."""
    folder = boats(tmp_path_factory.mktemp("boats"))
    build_index(folder, encoders=[])
    return folder


@pytest.fixture
def harbour(indexed_boats: Path, tmp_path: Path) -> Path:
    """A copy of that workspace."""
    return shutil.copytree(indexed_boats, tmp_path / "w")


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
    result = evaluate(
        workspace, JUDGED, pipelines=["lexical"], measures=["Success@1", "RR@10"], output=tmp_path / "out"
    )
    assert result.rows[0].scores == {"Success@1": 1.0, "RR@10": 1.0}
    assert result.queries == 3
    run = (tmp_path / "out" / "runs" / "01-bm25.run").read_text().splitlines()
    query, _, document, rank, score, tag = run[0].split()
    assert (query, document, rank, tag) == ("q1", "knots.md", "1", "bm25")
    assert float(score) > 0
    assert json.loads((tmp_path / "out" / "report.json").read_text())["per_query"]["BM25"]["RR@10"] == {
        "q1": 1.0,
        "q2": 1.0,
        "q3": 1.0,
    }
    assert "| BM25 | 1.0000 |" in (tmp_path / "out" / "report.md").read_text()


def test_unknown_documents_and_queries_are_counted_and_cost_score(workspace):
    build_index(workspace, encoders=[])
    judged = Judgements(
        {**JUDGED.queries, "q4": "never judged"}, {**JUDGED.qrels, "q2": {"gone.md": 1}, "q9": {"knots.md": 1}}, {}
    )
    result = evaluate(workspace, judged, pipelines=["lexical"], measures=["Success@1"])
    assert result.unknown_documents == ["gone.md"]
    assert (result.queries, result.unjudged_queries, result.unasked_queries) == (3, ["q4"], ["q9"])
    assert result.rows[0].scores["Success@1"] == pytest.approx(2 / 3)


def test_sections_are_judged_by_their_anchors_and_their_documents_beside_them(workspace, run, tmp_path):
    build_index(workspace, encoders=[])
    (tmp_path / "q.jsonl").write_text('{"_id": "1", "text": "a loop at the end of a rope that does not slip"}\n')
    (tmp_path / "sections.tsv").write_text("query-id\tsection-id\tscore\n1\tknots.md#bowline\t2\n")
    options = ("--queries", tmp_path / "q.jsonl", "--qrels", tmp_path / "sections.tsv", "--pipeline", "lexical")
    done = run("evaluate", *options, "--json", "-w", workspace)
    assert done.code == 0, done.err
    sections, documents = done.json["results"]
    assert documents["title"] == f"{sections['title']}, documents"
    assert documents["rows"][0]["scores"]["Success@1"] == sections["rows"][0]["scores"]["Success@1"] == 1.0
    judged = Judgements({"1": "loop"}, {"1": {"knots.md#bowline": 1, "knots.md#nowhere": 1}})
    assert evaluate(workspace, judged, pipelines=["lexical"]).unknown_documents == ["knots.md#nowhere"]
    assert judged.of_documents().qrels == {"1": {"knots.md": 1}}


def test_a_section_may_be_judged_by_any_of_its_anchors(tmp_path):
    from structformer.ingestion import ingest

    page = "<h1 id=rig>Rig</h1><p>All of it.</p><h2 id=sails>Sails</h2><dl><dt id=jib>jib<dd>The sail in front.</dl>"
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "rig.html").write_text(f"<html><body>{page}</body></html>")
    ingest(tmp_path / "p", tmp_path / "w")
    build_index(tmp_path / "w", encoders=[])
    found = evaluate(
        tmp_path / "w", Judgements({"1": "sail in front"}, {"1": {"rig.html#jib": 1}}), pipelines=["lexical"]
    )
    assert (found.rows[0].scores["Success@1"], found.unknown_documents) == (1.0, [])


def test_an_excluded_document_is_left_out_of_the_ranking(workspace):
    build_index(workspace, encoders=[])
    judged = Judgements({"q": "clove hitch rope post"}, {"q": {"index.md": 1}}, {"q": "knots.md"})
    assert evaluate(workspace, judged, pipelines=["lexical"], measures=["Success@1"]).rows[0].scores["Success@1"] in (
        0.0,
        1.0,
    )
    included = evaluate(
        workspace, Judgements(judged.queries, judged.qrels, {}), pipelines=["lexical"], measures=["RR@10"]
    ).rows[0]
    excluded = evaluate(workspace, judged, pipelines=["lexical"], measures=["RR@10"]).rows[0]
    assert excluded.scores["RR@10"] >= included.scores["RR@10"]


def test_a_query_whose_judgements_are_all_0_counts_as_trec_eval_has_it(workspace):
    build_index(workspace, encoders=[])
    judged = Judgements({"1": "bowline", "2": "mast"}, {"1": {"knots.md": 1}, "2": {"knots.md": 0}})
    result = evaluate(workspace, judged, pipelines=["lexical"], measures=["Success@1"])
    assert (result.queries, result.unjudged_queries, result.rows[0].scores["Success@1"]) == (2, [], 0.5)


def test_run_files_have_the_scores_that_ranked_and_no_two_are_equal(workspace, tmp_path):
    build_index(workspace, encoders=[])
    judged = Judgements({"1": "rope"}, {"1": {"knots.md": 1}})
    evaluate(workspace, judged, pipelines=["lexical"], output=tmp_path / "out")
    [path] = (tmp_path / "out" / "runs").iterdir()
    written = read_run(path)[1]["1"]
    [ranked] = Retriever.open(workspace).rank_documents(["rope"], "lexical")
    assert [name for name, _ in written] == [name for name, _ in ranked]
    assert [score for _, score in written] == pytest.approx([score for _, score in ranked], rel=1e-6)
    assert len({np.float32(score) for _, score in written}) == len(written)


def test_mistakes_are_named(workspace):
    build_index(workspace, encoders=[])
    with pytest.raises(UsageError, match="no measure 'nDGC'"):
        evaluate(workspace, JUDGED, measures=["nDGC"])
    for measure, said in (
        ("nDCG@0", "cutoff must be between 1 and"),
        ("P@99999999999999999999", "cutoff must be between 1 and"),
        ("AP(rel=0)", "rel must be between 1 and"),
        ("RR@1e3", "invalid param cutoff=1000.0"),
        ("INSQ", "INSQ"),
    ):
        with pytest.raises(UsageError, match=said):
            evaluate(workspace, JUDGED, measures=[measure])
    with pytest.raises(UsageError, match="do their query ids belong together"):
        evaluate(workspace, Judgements({"a": "b"}, {"c": {"knots.md": 1}}, {}))


def test_the_randomisation_test_agrees_with_scipys():
    generator = np.random.default_rng(4)
    for size, shift in ((10, 0.3), (60, 0.1), (200, 0.05)):
        first = generator.random(size)
        second = first - shift * generator.random(size) + 0.1 * generator.standard_normal(size)
        expected = permutation_test(
            (first, second),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=20_000,
        ).pvalue
        assert randomisation_test(first, second) == pytest.approx(expected, abs=0.012)
    assert randomisation_test([1, 2], [1, 2]) == 1.0
    with pytest.raises(ValueError, match="same length"):
        randomisation_test([1.0], [])


def test_holms_correction_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_bootstrap_intervals_agree_with_scipys():
    values = np.random.default_rng(1).beta(2, 3, 150)
    expected = bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, random_state=3
    ).confidence_interval
    assert bootstrap_intervals([values])[0] == pytest.approx((expected.low, expected.high), abs=0.004)
    with pytest.raises(ValueError, match="no values"):
        bootstrap_intervals([[]])


def test_judgements_go_out_and_come_back_in_both_forms(tmp_path):
    judged = Judgements({"q1": "what is\ta sail?", "q2": "knots"}, {"q1": {"a b.md": 2, "c.md": 0}, "q2": {"c.md": 1}})
    write_judgements(tmp_path, judged)
    beir = read_judgements(tmp_path / "queries.jsonl", tmp_path / "qrels" / "test.tsv")
    assert beir == judged
    trec = read_judgements(tmp_path / "topics.tsv", tmp_path / "qrels.txt")
    assert trec.qrels == judged.qrels
    assert trec.queries == {"q1": "what is a sail?", "q2": "knots"}


def test_trec_topics_are_read(tmp_path):
    (tmp_path / "topics").write_text(
        "<top>\n<num> Number: 301\n<title> International Organized Crime\n\n<desc> Description:\nIdentify ...\n</top>\n\n"
        "<top>\n<num>302</num>\n<title>polio and\npost-polio</title>\n</top>\n"
    )
    assert read_queries(tmp_path / "topics") == {"301": "International Organized Crime", "302": "polio and post-polio"}
    (tmp_path / "broken").write_text("<top>\n<num> 1\n</top>\n")
    with pytest.raises(UsageError, match="topic 1: no <num> or no <title>"):
        read_queries(tmp_path / "broken")


def test_topics_are_asked_by_the_parts_that_are_chosen(tmp_path):
    topic = "<top>\n<num> Number: 301\n<title> quit smoking\n\n<desc> Description:\nWays to\nstop.\n\n<narr> Narrative:\nRelevant are all.\n</top>\n"
    (tmp_path / "topics.txt").write_text(topic)
    assert read_queries(tmp_path / "topics.txt") == {"301": "quit smoking"}
    assert read_queries(tmp_path / "topics.txt", ("title", "desc")) == {"301": "quit smoking Ways to stop."}
    assert read_queries(tmp_path / "topics.txt", ("narr",)) == {"301": "Relevant are all."}
    with pytest.raises(UsageError, match="no part 'body'"):
        read_queries(tmp_path / "topics.txt", ("body",))


def test_runs_go_out_and_come_back(tmp_path):
    run = {"q1": [("a b.md", 3.0), ("c.md", 2.0)], "q2": [("c.md", 1.0)]}
    write_run(tmp_path / "x.run", run, "mine")
    assert read_run(tmp_path / "x.run") == ("mine", run)
    (tmp_path / "y.run").write_text("q1 Q0 d 1\n")
    with pytest.raises(UsageError, match="line 1: not TREC's"):
        read_run(tmp_path / "y.run")


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("scifact", "beir/scifact/test"),
        ("ArguAna", "beir/arguana"),  # without splits
        ("TREC-COVID", "beir/trec-covid"),
        ("MSMARCO", "beir/msmarco/dev"),
        ("Touche2020", "beir/webis-touche2020"),
        ("NanoFiQA2018", "nano-beir/fiqa"),
        ("NanoQuoraRetrieval", "nano-beir/quora"),
        ("NanoDBPedia", "nano-beir/dbpedia-entity"),
        ("beir/fiqa/dev", "beir/fiqa/dev"),
    ],
)
def test_sets_of_beir_are_called_as_people_call_them(name, dataset):
    assert beir_dataset(Path(name)) == dataset


def test_a_wrong_set_of_beir_names_the_nearest():
    with pytest.raises(UsageError, match=r"BEIR has no set 'NanoSciFct'; did you mean nanoscifact\?"):
        beir_dataset(Path("NanoSciFct"))


def test_an_ir_datasets_id_gives_queries_and_qrels(tmp_path):
    import ir_datasets
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels, TsvQueries
    from ir_datasets.util import LocalDownload

    (tmp_path / "q.tsv").write_text("q1\tmake a loop\n")
    (tmp_path / "r.txt").write_text("q1 0 knots.md 1\n")
    parts = TsvQueries(LocalDownload(tmp_path / "q.tsv")), TrecQrels(LocalDownload(tmp_path / "r.txt"), {1: "relevant"})
    ir_datasets.registry.register("boats/test", Dataset(*parts))
    assert dataset_judgements("boats/test") == Judgements({"q1": "make a loop"}, {"q1": {"knots.md": 1}})
    with pytest.raises(UsageError, match="no data set 'boats/none'"):
        dataset_judgements("boats/none")


def test_metrics_are_trec_evals_on_a_real_run(shared, npm, tmp_path):
    """nDCG@10, MRR and MAP of the npm manual's run, by pytrec_eval on the written files, which is trec_eval itself."""
    import pytrec_eval
    from structformer.ingestion import ingest

    ingest(npm, tmp_path / "w", format="markdown")
    build_index(tmp_path / "w", encoders=[])
    judged = read_judgements(shared / "eval" / "npm" / "queries.jsonl", shared / "eval" / "npm" / "qrels.tsv")
    result = evaluate(
        tmp_path / "w", judged, pipelines=["lexical"], measures=["nDCG@10", "RR", "AP"], output=tmp_path / "out"
    )
    _, run = read_run(next((tmp_path / "out" / "runs").glob("*.run")))
    evaluator = pytrec_eval.RelevanceEvaluator(judged.qrels, {"ndcg_cut.10", "recip_rank", "map"})
    theirs = evaluator.evaluate({query: dict(ranked) for query, ranked in run.items()})
    for ours, name in (("nDCG@10", "ndcg_cut_10"), ("RR", "recip_rank"), ("AP", "map")):
        for query, value in result.rows[0].per_query[ours].items():
            assert value == pytest.approx(theirs[query][name] if query in theirs else 0.0, abs=1e-6)


def test_run_files_are_compared_and_differences_have_texts(workspace, tmp_path):
    build_index(workspace, encoders=[])
    write_run(
        tmp_path / "other.run",
        {"q1": [("index.md", 2.0), ("knots.md", 1.0)], "q2": [("parts/sails.md", 1.0)]},
        "theirs",
    )
    result = evaluate(
        workspace,
        JUDGED,
        pipelines=["lexical"],
        runs=[tmp_path / "other.run"],
        measures=["RR@10"],
        output=tmp_path / "out",
    )
    assert [row.label for row in result.rows] == ["BM25", "theirs (other.run)"]
    found = difference(result, "theirs (other.run)", "BM25")
    assert [(each.query, each.change) for each in found.wins] == [("q3", 1.0), ("q1", 0.5)]
    assert (found.losses, found.ties) == ([], 1)
    assert found.wins[1].relevant == (("knots.md", 2, 1),)
    write_page(tmp_path / "page.html", [result], [(found, {"knots.md": "A <b>knot</b>"})])
    page = (tmp_path / "page.html").read_text()
    assert "A &lt;b&gt;knot&lt;/b&gt;" in page
    assert "<script" not in page
    with pytest.raises(UsageError, match="no row 'dense'; choose from: BM25, theirs"):
        difference(result, "dense", "BM25")


def test_a_run_of_a_long_name_is_written_under_a_shorter_one(workspace, tmp_path):
    build_index(workspace, encoders=[])
    write_run(tmp_path / "long.run", {"q1": [("knots.md", 1.0)]}, "帆" * 300)
    evaluate(workspace, JUDGED, pipelines=["lexical"], runs=[tmp_path / "long.run"], output=tmp_path / "out")
    assert [len(path.name) < 80 for path in (tmp_path / "out" / "runs").iterdir()] == [True, True]


def test_candidates_of_a_run_file_are_put_in_another_order(workspace, tmp_path):
    build_index(workspace, encoders=[])
    given = {"q1": [("parts/sails.md", 9.0), ("knots.md", 8.0), ("nowhere.md", 7.0)]}
    write_run(tmp_path / "given.run", given, "given")
    judged = Judgements({"q1": "bowline loop"}, {"q1": {"knots.md": 1}})
    stages = [f"run:{tmp_path}/given.run", f"run:{tmp_path}/given.run >> bm25[of=documents]"]
    found = evaluate(workspace, judged, pipelines=stages, standard=False)
    first, second = ([document for document, _ in row.run["q1"]] for row in found.rows)
    assert first == ["parts/sails.md", "knots.md"]
    assert second == ["knots.md", "parts/sails.md"]
    with pytest.raises(UsageError, match="needs queries with ids"):
        Retriever.open(workspace).search("bowline", pipeline=stages[0])
    with pytest.raises(UsageError, match="needs a run file"):
        Retriever.open(workspace).search("bowline", pipeline="run >> bm25")
    with pytest.raises(UsageError, match="cannot be read"):
        evaluate(workspace, judged, pipelines=["run:none.run"], standard=False)


def test_exact_scores_of_documents_are_those_of_the_formulas(workspace):
    """BM25 and query likelihood of whole documents, computed again from the documents' words."""
    build_index(workspace, encoders=[])
    retriever = Retriever.open(workspace)
    words = retriever.opened.lexical.words
    texts = [words(retriever.opened.document_text(n, 10**6)) for n in range(len(retriever.documents))]
    query = words("reef a sail in strong wind")
    average = sum(map(len, texts)) / len(texts)

    def in_documents(term: str) -> int:
        return sum(term in text for text in texts)

    def bm25_of(text: list[str]) -> float:
        total = 0.0
        for term in dict.fromkeys(query):
            if count := text.count(term):
                rarity = math.log(1 + (len(texts) - in_documents(term) + 0.5) / (in_documents(term) + 0.5))
                total += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / average))
        return total

    def likelihood_of(text: list[str]) -> float:
        total = 0.0
        for term in query:
            if occurrences := sum(each.count(term) for each in texts):
                share = occurrences / sum(map(len, texts))
                total += math.log((text.count(term) + 1000 * share) / (len(text) + 1000))
        return total

    for stage, formula in (("bm25[k1=1.2, b=0.75, of=documents]", bm25_of), ("ql[of=documents]", likelihood_of)):
        [ranking] = retriever.rank(["reef a sail in strong wind"], f"lexical >> {stage}")
        scores = {int(retriever.opened.owners[unit]): score for unit, score in ranking.ranked}
        assert scores == pytest.approx({number: formula(texts[number]) for number in scores}, rel=1e-6)


def test_the_best_baseline_is_named_and_tested_against(workspace):
    build_index(workspace, encoders=["base"])
    result = evaluate(workspace, JUDGED, against=["hybrid:base"])
    baselines = ["BM25", "BM25 of documents", "dense untrained", "RRF untrained"]
    assert [row.label for row in result.rows] == [*baselines, "hybrid untrained"]
    assert result.baseline in baselines
    assert "vs best baseline" in result.row("hybrid untrained").against
    assert "vs hybrid untrained" in result.row("BM25").against
    low, high = result.row("BM25").interval
    assert low <= result.row("BM25").scores["nDCG@10"] <= high


EXPERIMENT = """
title = "Little"
measures = ["RR@10"]
baseline = "BM25"
[[rows]]
label = "BM25"
pipeline = "lexical >> bm25"
[[rows]]
label = "knrm"
pipeline = "lexical >> rerank:{model}[k=5]"
finetune = true
train = { ranker = "knrm", base_model = "scratch", size = "tiny", max_steps = 2, max_seconds = "none", groups = 4, mix = { ict = 1 } }
[[rows]]
label = "bi"
pipeline = "hybrid:{model}"
sizes = [4, 8]
train = { ranker = "bi-encoder", base_model = "scratch", size = "tiny", groups = 4, mix = { ict = 1 } }
[[rows]]
label = "no links"
pipeline = "lexical >> rerank:{model}[k=5]"
train = { ranker = "cross-encoder", base_model = "scratch", size = "tiny", max_steps = 1, mix = { qdm = 1 } }
"""


def test_an_experiment_trains_compares_and_goes_on_where_it_was(harbour, tmp_path):
    topics = ["mast", "keel", "anchor", "rudder", "tiller", "oar", "deck", "jib"]
    judged = Judgements({t: f"how to mend the {t}" for t in topics}, {t: {f"{t}.md": 1} for t in topics})
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    said: list[str] = []
    result = run_experiment(
        harbour, judged, read_experiment(str(tmp_path / "e.toml")), output=tmp_path / "out", say=said.append
    )
    assert [row.label for row in result.rows] == ["BM25", "knrm", "bi, 4 pairs", "bi, 8 pairs"]
    assert any("left out: no Examples of qdm" in line for line in said)
    assert said[0] == result.title
    assert said[0].endswith("; some trainings take at most 10 minutes, others all their steps, however long")
    train_on, test = split_queries(judged, 0)
    assert set(train_on.queries) | set(test.queries) == set(topics)
    assert result.queries == len(test.queries) < len(topics)
    assert set(result.rows[1].against) == {"vs BM25"}
    models = {path: path.stat().st_mtime_ns for path in (harbour / "models").glob("experiment-*/model.safetensors")}
    again = run_experiment(harbour, judged, read_experiment(str(tmp_path / "e.toml")))
    assert [row.scores for row in again.rows] == [row.scores for row in result.rows]
    assert {path: path.stat().st_mtime_ns for path in models} == models  # nothing is trained twice


def test_an_experiment_goes_on_inside_the_row_that_was_interrupted(harbour, tmp_path, monkeypatch):
    judged = Judgements({"1": "how to mend the mast"}, {"1": {"mast.md": 1}})
    row = 'train = { ranker = "knrm", base_model = "scratch", size = "tiny", max_steps = 4, save_steps = 1 }\n'
    (tmp_path / "e.toml").write_text(f'[[rows]]\nlabel = "knrm"\npipeline = "lexical >> rerank:{{model}}[k=5]"\n{row}')
    experiment = read_experiment(str(tmp_path / "e.toml"))

    def stopped(workspace, options, mode, **given):
        def stop(done) -> None:
            if done.step == 2:
                raise KeyboardInterrupt

        return train_ranker(workspace, options, replace(mode, listener=Listener(step=stop)), **given)

    with monkeypatch.context() as patched:
        patched.setattr("structformer_lab.running.train_ranker", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_experiment(harbour, judged, experiment)
    said: list[str] = []
    run_experiment(harbour, judged, experiment, detail=said.append)
    assert "going on after step 2" in said
    assert not list((harbour / "checkpoints").iterdir())

    with monkeypatch.context() as patched:
        patched.setattr("structformer_lab.running.train_ranker", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_experiment(harbour, judged, experiment, RowTraining(["learning_rate=1e-4"]))
    said.clear()
    run_experiment(harbour, judged, experiment, RowTraining(["learning_rate=1e-5"]), detail=said.append)
    assert any("starting over: the checkpoints of an unfinished run (step 2) are dropped" in line for line in said)


PAPER = """
budget = 90
[[rows]]
label = "BM25"
pipeline = "lexical"
[[rows]]
label = "paper"
pipeline = "lexical >> rerank:{model}"
train = { recipe = "wikiformer", base_model = "scratch", size = "tiny", max_steps = 1, document_tokens = 48, groups = 2 }
[[rows]]
label = "tuned"
pipeline = "lexical >> rerank:{model}"
finetune = { ranker = "cross-encoder", base_model = "scratch", size = "tiny", of = "documents", max_steps = 1 }
"""


@pytest.mark.parametrize(
    ("flags", "limit", "said"),
    [
        ((), 90.0, "each training takes at most 1.5 minutes"),
        (("--max-time", "1m"), 60.0, "each training takes at most 1 minute"),
        (("--max-time", "30s"), 30.0, "each training takes at most 30 seconds"),
        (("--max-time", "none"), None, "each training takes all its steps, however long"),
        (("--set", "max_seconds=none"), None, "each training takes all its steps, however long"),
    ],
)
def test_a_training_has_the_time_that_the_first_line_and_the_heading_say(
    indexed_boats, tmp_path, run, monkeypatch, flags, limit, said
):
    asked: list[float | None] = []

    def train(workspace, options, mode, *, source=None):
        asked.append(options.max_seconds)
        raise ModelError("enough")

    monkeypatch.setattr("structformer_lab.running.train_ranker", train)
    (tmp_path / "paper.toml").write_text(PAPER)
    (tmp_path / "q.tsv").write_text("1\tmend the mast\n2\tstow the oar\n3\tlift the keel\n")
    (tmp_path / "qrels.txt").write_text("1 0 mast.md 1\n2 0 oar.md 1\n3 0 keel.md 1\n")
    judged = ("--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "qrels.txt", "-w", indexed_boats)
    done = run("experiment", tmp_path / "paper.toml", *judged, *flags)
    assert done.err.splitlines()[0] == f"paper; {said}"
    assert done.out.startswith(f"paper; {said}: ")
    assert asked == [limit, limit]


TUNED = """
budget = 60
baseline = ["BM25", "BERT, 2 queries"]
measures = ["RR@10", "nDCG@10"]
[[rows]]
label = "BM25"
pipeline = "{candidates} >> bm25[of=documents]"
[[rows]]
label = "BERT"
pipeline = "{candidates} >> rerank:{model}[of=documents]"
queries = [2, 4]
finetune = { ranker = "cross-encoder", base_model = "scratch", size = "tiny", loss = "pointwise", max_steps = 2 }
"""


def test_an_experiment_takes_candidates_and_queries_to_train_on(harbour, tmp_path):
    topics = ["mast", "keel", "anchor", "rudder", "tiller", "oar", "deck", "jib"]
    judged = Judgements({t: f"how to mend the {t}" for t in topics[:4]}, {t: {f"{t}.md": 1} for t in topics[:4]})
    others = Judgements({t: f"how to mend the {t}" for t in topics[4:]}, {t: {f"{t}.md": 1} for t in topics[4:]})
    write_run(tmp_path / "c.run", {t: [(f"{other}.md", 1.0) for other in topics] for t in topics}, "given")
    (tmp_path / "e.toml").write_text(TUNED)
    result = run_experiment(
        harbour,
        judged,
        read_experiment(str(tmp_path / "e.toml")),
        RowTraining(["document_tokens=64"]),
        train_on=others,
        candidates=tmp_path / "c.run",
        output=tmp_path / "out",
    )
    assert [row.label for row in result.rows] == ["BM25", "BERT, 2 queries", "BERT, 4 queries"]
    assert result.queries == 4, "all judged queries judge when others are there to train on"
    assert {document for row in result.rows for run in row.run.values() for document, _ in run} == {
        f"{topic}.md" for topic in topics
    }
    record = read_record(harbour, next(path.name for path in (harbour / "models").glob("experiment-bert-4*")))
    assert (record.training["options"]["loss"], record.training["options"]["max_seconds"]) == ("pointwise", 60)
    assert record.training["settings"]["document_tokens"] == 64
    tests = result.row("BM25").tests["vs BERT, 2 queries"]
    assert set(tests) == {"RR@10", "nDCG@10"}
    first, second = ([row.per_query["RR@10"][t] for t in topics[:4]] for row in result.rows[:2])
    assert tests["RR@10"].difference == pytest.approx(sum(first) / 4 - sum(second) / 4)
    few, some = some_queries(others, 2, 0), some_queries(others, 3, 0)
    assert set(few.queries) < set(some.queries) < set(others.queries)


def test_an_ensemble_averages_ranks():
    first = {"q": [("a", 9.0), ("b", 8.0), ("c", 7.0)]}
    second = {"q": [("c", 3.0), ("a", 2.0)]}
    # a: (1 + 2) / 2, c: (3 + 1) / 2, b: (2 + 3) / 2
    assert [name for name, _ in average_ranks([first, second])["q"]] == ["a", "c", "b"]


def test_a_row_may_be_an_ensemble_of_others(workspace, tmp_path):
    build_index(workspace, encoders=[])
    (tmp_path / "e.toml").write_text(
        '[[rows]]\nlabel = "BM25"\npipeline = "lexical"\n[[rows]]\nlabel = "QL"\npipeline = "lexical >> ql"\n'
        '[[rows]]\nlabel = "both"\nensemble = ["BM25", "QL"]\n'
    )
    result = run_experiment(workspace, JUDGED, read_experiment(str(tmp_path / "e.toml")))
    assert [row.label for row in result.rows] == ["BM25", "QL", "both"]
    assert result.row("both").run == average_ranks([result.row("BM25").run, result.row("QL").run])


def test_the_t_test_is_the_paired_one():
    first, second = [0.5, 0.25, 1.0, 0.0, 0.7], [0.4, 0.25, 0.5, 0.1, 0.3]
    differences = [a - b for a, b in zip(first, second, strict=True)]
    mean = sum(differences) / 5
    spread = math.sqrt(sum((each - mean) ** 2 for each in differences) / 4)
    assert t_test(first, second) == pytest.approx(2 * student.sf(mean / (spread / math.sqrt(5)), 4))
    assert t_test(first, first) == 1.0


def test_an_untrained_cross_encoder_ranks_the_same_each_time(workspace, monkeypatch):
    build_index(workspace, encoders=[])
    first, second = (
        Retriever.open(workspace).rank_documents(["bowline"], "lexical >> rerank:base[of=documents]") for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[rows]]\nlabel = "a"\npipeline = "lexical"\nfinetune = 3', "finetune is 3: it must be true, or a table"),
        ('[[rows]]\nlabel = "a"\npipeline = "lexical"\nfinetune = { foo = 1 }', "finetune: no key foo"),
        ('[[rows]]\nlabel = "a"\npipeline = "lexical"\nfinetune = { queries = 0 }', "queries is 0"),
        (
            '[[rows]]\nlabel = "a"\npipeline = "lexical"\ntrain = {}\nfinetune = { base_model = "b" }',
            "finetune: it starts from what train has made",
        ),
        ('[[rows]]\nlabel = "a"\npipeline = "lexical"\nqueries = [1]', "queries go with finetune"),
        ('budget = "soon"\n[[rows]]\nlabel = "a"\npipeline = "lexical"', "budget is 'soon'"),
        ('[[rows]]\nlabel = "a"\nensemble = ["b"]', "no row above has the label 'b'"),
        ("rows = []", "has no \\[\\[rows\\]\\]"),
        ('[[rows]]\nlabel = "a"', "row 1: a row needs a label and a pipeline, or"),
        ('[[rows]]\nlabel = "a"\npipeline = "lexical"\nx = 1', "row 1: no key x"),
        ('[[rows]]\nlabel = "a"\npipeline = "lexical"\nsizes = [1]', "sizes go with"),
        ('baseline = "b"\n[[rows]]\nlabel = "a"\npipeline = "lexical"', "is not the label of a row"),
        ("a = ", "Invalid value"),
    ],
)
def test_a_wrong_experiment_is_named(tmp_path, text, message):
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_experiment(str(tmp_path / "e.toml"))
    with pytest.raises(UsageError, match="no experiment 'gone'"):
        read_experiment("gone")


def test_the_packages_experiments_can_be_read(run):
    named = run("experiment", "--help").out.replace(",", " ").replace(".", " ").replace(":", " ").split()
    assert set(experiment_names()) <= set(named)
    for name in experiment_names():
        for row in read_experiment(name).rows:
            if not row.ensemble:
                places = dict.fromkeys(("model", *files_of([row.pipeline])), "m")
                parse_pipeline(filled(row.pipeline, {**places, "candidates": "lexical", "base": "base"}))
            if row.train is not None:
                training_options(row.train.get("recipe"), {k: v for k, v in row.train.items() if k != "recipe"})


def test_harp_learns_from_128_pairs_at_once_and_long_queries_keep_their_tokens():
    pointwise = [
        row.finetune
        for name in ("harp", "harp-ablation", "harp-ensemble", "few-shot", "many-queries")
        for row in read_experiment(name).rows
        if row.finetune and "loss" in row.finetune
    ]
    assert {each["groups"] * min(TrainingOptions().group_size, 1 + NEGATIVES) for each in pointwise} == {128}
    long = [row.finetune for name in ("long-texts", "ablation-finetuned") for row in read_experiment(name).rows]
    assert {each["pair_query_tokens"] for each in long if each is not None} == {255}


def test_a_query_may_stand_twice_but_not_with_two_texts(tmp_path):
    path = tmp_path / "queries.tsv"
    path.write_text("1\tmend the mast\n1\tmend the mast\n2\tstow a keel\n")
    assert read_queries(path) == {"1": "mend the mast", "2": "stow a keel"}
    path.write_text("1\tmend the mast\n1\tstow a keel\n")
    with pytest.raises(UsageError, match="line 2: another text for the query '1'"):
        read_queries(path)


def test_judgements_by_subtopic_give_diversity_measures(tmp_path):
    pytest.importorskip("pyndeval")
    (tmp_path / "topics.tsv").write_text("1\tbowline knot\n")
    (tmp_path / "qrels.txt").write_text("1 1 a.md 1\n1 2 b.md 1\n1 2 a.md 0\n1 1 c.md 1\n")
    judged = read_judgements(tmp_path / "topics.tsv", tmp_path / "qrels.txt")
    assert judged.qrels == {"1": {"a.md": 1, "b.md": 1, "c.md": 1}}
    measures = [parse_measure(name) for name in ("alpha_nDCG@3", "ERR_IA@3", "P@3")]
    values = {
        (number, measure): value
        for number, order in enumerate((["a.md", "b.md", "c.md"], ["a.md", "c.md", "b.md"]))
        for measure, _, value in Evaluator(measures, judged.qrels, judged.subtopics).values(
            {"1": [(name, 3.0 - place) for place, name in enumerate(order)]}
        )
    }
    # Clarke et al., SIGIR 2008, eq. 4 to 6 with alpha 1/2: gains 1, 1, 1/2 in the ideal order, 1, 1/2, 1 in the other.
    ideal, other = (
        sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains)) for gains in ((1, 1, 0.5), (1, 0.5, 1))
    )
    assert values[0, "alpha_nDCG@3"] == pytest.approx(1)
    assert values[1, "alpha_nDCG@3"] == pytest.approx(other / ideal, abs=1e-5)
    assert values[1, "ERR_IA@3"] < values[0, "ERR_IA@3"]
    assert values[1, "P@3"] == 1
    with pytest.raises(UsageError, match="needs judgements by subtopic"):
        Evaluator(measures, judged.qrels)
