"""search, evaluate, experiment, export and check on the command line."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index
from structformer.workspace import Workspace

from boats import boats
from conftest import write_pages


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = boats(tmp_path_factory.mktemp("boats"))
    build_index(folder, encoders=["base"])
    return folder


@pytest.fixture
def harbour(made, tmp_path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "w"))


@pytest.fixture
def judged(tmp_path) -> tuple[str, ...]:
    (tmp_path / "q.tsv").write_text("1\tmend the mast\n2\tstow a keel away\n3\tclean oars\n")
    (tmp_path / "r.txt").write_text("1 0 mast.md 1\n2 0 keel.md 1\n3 0 oar.md 1\n")
    return ("--queries", str(tmp_path / "q.tsv"), "--qrels", str(tmp_path / "r.txt"))


def test_index_takes_as_many_cores_as_it_is_given(harbour):
    code = (
        "from structformer.cli.main import main\n"
        f"try:\n    main(['index', '--threads', '1', '-w', {str(harbour)!r}])\n"
        "finally:\n    import torch; print(torch.get_num_threads(), 'thread')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1 thread\n")


def test_a_query_may_come_from_standard_input(run, harbour, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"mend the\nmast\n")))
    assert run("search", "-", "-w", harbour, "--pipeline", "lexical", "--json").json["query"] == "mend the mast"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert "standard input has no query" in run("search", "-", "-w", harbour).err


def test_search_explains_groups_and_filters(run, harbour):
    found = run("search", "mend the mast", "-w", harbour, "--explain", "--group", "--path", "m*.md", "-k", 2)
    assert found.code == 0
    lines = found.out.splitlines()
    assert lines[0] == " 1. The mast > Mend the mast"
    assert "also The mast >" in found.out
    assert not any(line.startswith(" 2.") for line in lines)  # the filter leaves one document
    assert "score = 1 dense + " in found.out
    assert all(stage in found.out for stage in ("lexical ", "overview ", "document ", "hybrid "))
    as_json = run("search", "mend the mast", "-w", harbour, "--json", "-k", 1).json
    parts = {"lexical", "dense", "overview", "document", "described", "present", "called", "look"}
    assert set(as_json["hits"][0]["scores"]) == {*parts, "hybrid"}
    assert set(as_json["weights"]) == parts  # the index has no static encoder
    assert as_json["hits"][0]["highlights"]


def test_what_the_corpus_taught_is_explained_beside_a_pretrained_encoder(run, harbour):
    assert (
        "vectors of: structure, base" in run("index", "--encoder", "base", "--encoder", "structure", "-w", harbour).out
    )
    found = run("search", "mend the mast", "-w", harbour, "--json", "-k", 1).json
    assert found["pipeline"] == "hybrid:base"
    assert {"structure", "structure_overview"} < set(found["hits"][0]["scores"])
    assert {"structure", "structure_overview", "present"} < set(found["weights"])
    alone = run("search", "mend the mast", "-w", harbour, "--pipeline", "hybrid:structure", "--explain", "-k", 1).out
    assert "The mast > Mend the mast" in alone
    assert "structure_overview" not in alone  # its own cosines are the dense ones there


def test_every_command_on_models_knows_what_a_static_encoder_is(run, harbour, judged):
    run("train", "--ranker", "static-encoder", "-w", harbour)
    assert "learned from the corpus alone" in Path(run("report", "structure", "-w", harbour).out.strip()).read_text()
    for command, message in (
        (["export", "structure", "--onnx"], "which runs without torch as it is"),
        (["finetune", "--model", "structure", *judged], "it cannot be fine-tuned"),
        (["distill", "--teacher", "structure", "--base-model", "scratch", "--size", "tiny"], "only a cross-encoder"),
        (["search", "mast", "--pipeline", "late:structure"], "structure is not a late-interaction model"),
    ):
        done = run(*command, "-w", harbour)
        assert (done.code, done.err.count("\n")) in ((1, 1), (2, 1)), done.err
        assert message in done.err
    rows = run("evaluate", *judged, "-w", harbour, "--json").json["results"][0]["rows"]
    assert {"dense:structure", "hybrid:structure"} <= {row["pipeline"] for row in rows}


def test_a_model_that_a_static_encoder_replaces_is_kept_unless_forced(run, harbour):
    earlier = Workspace(harbour).earlier_models
    for flags, kept in (([], 0), ([], 1), (["--force"], 1)):
        assert run("train", "--ranker", "static-encoder", *flags, "-w", harbour).code == 0
        assert len(list(earlier.glob("structure.*"))) == kept


def test_a_pipeline_file_is_a_pipeline(run, harbour, tmp_path):
    (tmp_path / "p.toml").write_text('[[stages]]\nstage = "lexical"\n[[stages]]\nstage = "ql"\nmu = 500\n')
    assert (
        run("search", "mast", "-w", harbour, "--pipeline", tmp_path / "p.toml", "--json").json["pipeline"]
        == "lexical >> ql[mu=500]"
    )
    wrong = run("search", "mast", "-w", harbour, "--pipeline", "lexical >> rerang")
    assert (wrong.code, wrong.err) == (2, "error: no stage 'rerang'; did you mean rerank?\n")


def test_an_index_older_than_the_corpus_answers_is_refused_or_rebuilt(run, harbour, made, tmp_path):
    waits = "a newer corpus waits: run `structformer index` to search it too"
    assert waits not in run("search", "mast", "-w", harbour).err
    (made.parent / "pages" / "new.md").write_text("# Sextant\n\nA sextant measures angles between stars.\n")
    ingest(made.parent / "pages", harbour)
    answered = run("search", "sextant", "-w", harbour)
    assert (answered.code, "new.md" in answered.out) == (0, False)
    exported = run("export", "--site", tmp_path / "site", "-w", harbour)
    assert exported.code == 0
    assert waits in answered.err
    assert waits in exported.err
    refused = run("search", "sextant", "-w", harbour, "--if-stale", "refuse")
    assert (refused.code, "of an earlier corpus: run `structformer index` again" in refused.err) == (1, True)
    rebuilt = run("search", "sextant", "-w", harbour, "--if-stale", "rebuild", "-k", 1)
    assert rebuilt.code == 0
    assert "indexing again" in rebuilt.err
    assert "new.md" in rebuilt.out


@pytest.mark.parametrize(("query", "code"), [("", 2), ("?!", 0), ("mast " * 100_000, 0)])
def test_empty_and_endless_queries(run, harbour, query, code):
    found = run("search", query, "-w", harbour, "-k", 1)
    assert found.code == code
    assert "Traceback" not in found.err


def test_evaluate_writes_a_page_and_shows_what_was_won_and_lost(run, harbour, judged):
    found = run("evaluate", *judged, "-w", harbour, "--diff", "BM25", "hybrid untrained", "--measures", "RR@10")
    assert found.code == 0
    assert "hybrid untrained against BM25 (RR@10)" in found.out
    assert "The best of BM25 (of sections, of documents), dense untrained and RRF" in found.out
    [folder] = (harbour / "evaluation").iterdir()
    assert {path.name for path in folder.iterdir()} >= {"runs", "report.json", "report.md", "report.html"}
    page = (folder / "report.html").read_text()
    assert page.count("<svg") >= 1
    assert "http" not in page.replace("http-equiv", "")  # nothing is fetched
    again = run(
        "evaluate", *judged, "-w", harbour, "--run", folder / "runs" / "01-bm25.run", "--pipeline", "lexical", "--json"
    ).json
    first, second = again["results"][0]["rows"]
    assert first["scores"] == second["scores"]


def test_judged_queries_that_are_not_there_are_listed_and_cost_the_exit_code(run, harbour, judged):
    Path(judged[3]).write_text("1 0 mast.md 1\n9 0 keel.md 1\n8 0 keel.md 1\n")
    found = run("evaluate", *judged, "-w", harbour, "--pipeline", "lexical")
    assert found.code == 1
    assert "2 judged queries are not among the queries: 8, 9" in found.err


def test_an_experiment_from_a_file(run, harbour, judged, tmp_path):
    (tmp_path / "e.toml").write_text(
        'title = "Two"\nbaseline = "BM25"\n[[rows]]\nlabel = "BM25"\npipeline = "lexical >> bm25"\n'
        '[[rows]]\nlabel = "QL"\npipeline = "lexical >> ql"\n'
    )
    found = run("experiment", tmp_path / "e.toml", *judged, "-w", harbour)
    assert found.code == 0
    assert "vs BM25" in found.out
    assert (harbour / "experiments" / "e" / "report.html").exists()
    assert run("experiment", "gone", *judged, "-w", harbour).err.startswith("error: no experiment 'gone'")


def test_exports(run, harbour, judged, tmp_path):
    found = run(
        "export",
        "--write-beir",
        tmp_path / "b",
        "--docsearch",
        tmp_path / "d.jsonl",
        "--base-url",
        "https://x.org/",
        "-w",
        harbour,
    )
    assert found.code == 0
    assert "20 documents" in found.out
    assert json.loads((tmp_path / "d.jsonl").read_text().splitlines()[0])["url"].startswith("https://x.org/")
    assert run("export", "-w", harbour).code == 2
    judged_too = run("export", "--write-beir", tmp_path / "both", *judged, "-w", harbour)
    assert "3 queries" in judged_too.out
    assert run("evaluate", "--beir", tmp_path / "both", "-w", harbour, "--pipeline", "lexical").code == 0
    assert (tmp_path / "both" / "qrels.txt").read_text().startswith("1 0 mast.md 1")
    assert run("export", "bi-encoder", "-w", harbour).code == 2


def test_check_names_a_changed_file_of_the_index(run, harbour):
    assert run("check", "-w", harbour).code == 0
    path = Workspace(harbour).folder("index") / "units.arrow"
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    found = run("check", "-w", harbour)
    assert found.code == 1
    assert f"{path}: content differs" in found.out


def test_a_query_that_begins_with_a_dash_is_told_how_to_be_asked(run, harbour):
    refused = run("search", "--detach-keys", "-w", harbour)
    assert refused.code == 2
    assert "structformer search -- --detach-keys" in refused.err
    assert "begins with a dash" not in run("search", "--explian", "-w", harbour).err
    assert run("search", "-w", harbour, "--", "--mast").code == 0


def test_a_search_by_words_alone_is_in_doubt_too(run, tmp_path):
    """Of scripts without spaces it cannot tell: their pairs of characters are often of two words."""
    pages = {"knots.md": "# Bowline\n\nTie the bowline around the mast.\n", "keel.md": "# Keel\n\nOil the keel.\n"}
    write_pages(tmp_path / "pages", {**pages, "zh.md": "# 龙骨\n\n每年检查一次龙骨。\n"})
    ingest(tmp_path / "pages", tmp_path / "w")
    build_index(tmp_path / "w", encoders=[])

    def said(query: str, *options: str) -> tuple[bool, bool]:
        """Whether the command is sure, in words and as JSON."""
        found = run("search", query, "-w", tmp_path / "w", *options)
        as_json = run("search", query, "-w", tmp_path / "w", "--json", *options).json
        assert as_json["hits"]
        return "no sure match" not in found.out, as_json["confident"]

    assert said("how do I tie the bowline") == said("keel") == (True, True)
    assert said("bake a chocolate cake with the keel") == (False, False)
    assert run("search", "龙骨保险费", "-w", tmp_path / "w", "--json").json["likely"] is None


def test_a_search_that_finds_nothing_says_why(run, tmp_path):
    pages = {
        "soups/en.md": "---\nlang: en\n---\n# Soup\n\nCook the soup slowly.\n",
        "stews/fr.md": "---\nlang: fr\nlevel: 2\n---\n# Stew\n\nStir it.\n",
    }
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w")
    build_index(tmp_path / "w", encoders=[])

    def said(*query: str) -> str:
        found = run("search", *query, "-w", tmp_path / "w")
        assert found.code == 0
        return found.out

    assert said("soop") == "no hits\nno page has: soop\ndid you mean soup?\n"
    assert said("zqxvwk") == "no hits\nno page has: zqxvwk\n"
    lost = run("search", "zqxvwk", "--json", "-w", tmp_path / "w")
    assert (lost.json["missing"], lost.json["hits"]) == (["zqxvwk"], [])
    assert "what helps: synonyms in search.toml" in run("search", "zqxvwk", "-w", tmp_path / "w").err
    assert "what helps" not in run("search", "soup", "-w", tmp_path / "w").err
    none = "no hits: no document matches the filter"
    assert said("soup", "--where", "lang=de") == f"{none}; values of lang: en, fr\n"
    assert said("soup", "--where", "level=3") == f"{none}; values of level: 2\n"
    assert said("soup", "--where", "lagn=en") == f"{none}; no document has 'lagn': did you mean lang?\n"
    assert said("soup", "--where", "zzzz=en") == f"{none}; no document has 'zzzz': keys: lang, language, level\n"
    assert said("soup", "--path", "nothing/*") == f"{none}; folders: soups, stews\n"
    assert said("soup", "--path", "soups/*", "--where", "lang=fr").startswith(f"{none}: each part of it")
    assert said("soop", "--path", "stews/*") == "no hits\nno page within the filter has: soop\n"  # soup is not in these
    assert "did you mean" not in said("soup")
    assert run("search", "soop", "--json", "-w", tmp_path / "w").json["did_you_mean"] == "soup"


def test_an_index_of_words_alone_says_so_where_vectors_are_compared(run, tmp_path):
    write_pages(tmp_path / "pages", {"soup.md": "# Soup\n\nCook it.\n"})
    ingest(tmp_path / "pages", tmp_path / "w")
    build_index(tmp_path / "w", encoders=[])
    found = run("evaluate", "-w", tmp_path / "w")
    assert found.code == 2
    assert found.err.startswith("error: this index has words alone: ")
    assert "`structformer index --encoder base` adds them" in found.err
    assert run("train", "--resume", "-w", tmp_path / "none").err.startswith("error: no unfinished run in ")
