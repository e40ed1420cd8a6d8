"""The papers' tables at a small scale: measured and estimated without a GPU, trained and tested where that is asked for."""

from __future__ import annotations

import importlib.util
import json
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest
from structformer.models.base import packaged_minilm
from structformer.models.registry import read_record

from boats import LINKED, linked_pages
from conftest import write_pages
from structformer_demo.command import installed_pages
from structformer_lab.experiment import read_experiment

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "papers_small.py"
TINY = "base_model=scratch size=tiny document_tokens=48 groups=2 max_steps=1 precision=no sample.min_words=5".split()
SETTINGS = [part for each in TINY for part in ("--set", each)]
pytestmark = pytest.mark.skipif(packaged_minilm() is None, reason="structformer[offline] is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tests share: both workspaces are made once."""
    return tmp_path_factory.mktemp("papers")


@pytest.fixture
def papers(folder, given, monkeypatch, run) -> ModuleType:
    """The script, with its commands run in this process and three rows in each table."""
    spec = importlib.util.spec_from_file_location("papers_small", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", folder)
    monkeypatch.setattr(module, "call", lambda *words: run(*words).out)
    monkeypatch.setattr(module, "has_gpu", lambda: False)
    monkeypatch.setattr(module, "ROWS", dict.fromkeys(module.TABLES, "BM25,QL,Wikiformer"))
    if (folder / "judged" / "index").exists():
        prepared = module.prepared
        monkeypatch.setattr(
            module,
            "prepared",
            lambda options: (folder / "wiki", given[-1]) if options.wiki == given[1] else prepared(options),
        )
    return module


@pytest.fixture(scope="module")
def given(folder: Path) -> list[object]:
    """An encyclopedia, and a judged collection of BEIR's form."""
    write_pages(folder / "pages", linked_pages())
    corpus = [
        {"_id": f"D{n}", "title": topic, "text": f"How the {topic} is cleaned and oiled before the winter."}
        for n, topic in enumerate(LINKED)
    ]
    queries = [{"_id": str(n), "text": f"clean the {topic}"} for n, topic in enumerate(LINKED)]
    qrels = ["query-id\tcorpus-id\tscore\n", *(f"{n}\tD{n}\t1\n" for n in range(12))]
    write_pages(
        folder / "beir",
        {
            **{
                f"{name}.jsonl": "".join(json.dumps(row) + "\n" for row in rows)
                for name, rows in (("corpus", corpus), ("queries", queries))
            },
            "qrels/train.tsv": "".join(qrels[:7]),
            "qrels/test.tsv": "".join(qrels[:1] + qrels[7:]),
        },
    )
    return ["--wiki", folder / "pages", "--judged", folder / "beir"]


def test_without_a_gpu_it_measures_and_says_how_long_the_work_would_take(papers, given, capsys):
    models = papers.FOLDER / "judged" / "models"
    there = set(models.glob("*"))
    assert papers.main([*map(str, given), "--hours", "2", *SETTINGS]) == 0
    said = capsys.readouterr().out
    assert "pairs of query and document a second on this machine, measured over a few steps" in said
    assert "which train for 2 h there, would take" in said
    assert "Nothing was trained: this machine has no GPU. --run" in said
    assert set(models.glob("*")) == there
    assert "would take 14 h here for as many pairs; in 1 h here every ranker learns from 7.25%" in papers.estimate(
        1, 100.0, False
    )


def test_two_seeds_are_trained_compared_and_tested(papers, given, capsys, monkeypatch):
    monkeypatch.setattr(papers, "measured", lambda *_: 100.0)
    arguments = [*map(str, given), "--run", "--seeds", "2", "--base-model", "minilm", *SETTINGS]
    assert papers.main(arguments) == 0
    for table in papers.TABLES:
        lines = (papers.FOLDER / "tables" / f"{table}.md").read_text().splitlines()
        assert lines[0] == f"{table}, 2 seeds"
        assert [line.split("|")[1].strip() for line in lines[4:]] == ["BM25", "QL", "Wikiformer"]
        reports = [json.loads((papers.FOLDER / "tables" / seed / table / "report.json").read_text()) for seed in "01"]
        means = [sum(each["per_query"]["Wikiformer"]["nDCG@10"].values()) / each["queries"] for each in reports]
        assert lines[-1].split("|")[2].strip().startswith(f"{sum(means) / 2:.4f} ± ")
    said = capsys.readouterr().out
    assert all(f"{table}, 2 seeds\n" in said for table in papers.TABLES)
    speeds = [
        line.split("|")[1:-1] for line in (papers.FOLDER / "tables" / "trainings.md").read_text().splitlines()[2:]
    ]
    assert [cells[0].strip() for cells in speeds] == ["Wikiformer", "Wikiformer, fine-tuned"]
    assert all(float(cells[1].replace(",", "")) > 0 and float(cells[3]) > 0 for cells in speeds)
    assert {cells[2].strip() for cells in speeds} == {"not known"}, "what a CPU can do at most is in no data sheet"

    row = next(row for row in read_experiment("finetuned").rows if row.label == "Wikiformer")
    tuned = read_record(papers.FOLDER / "judged", f"{row.model}-finetuned")
    assert tuned.base_location == str(papers.FOLDER / "judged" / "models" / row.model)


def test_rows_that_are_missing_are_named_with_the_reason(papers):
    scores = {"BM25": {"RR": {"1": 1.0, "2": 0.5}}}
    report = {"measures": ["RR"], "per_query": scores, "caveat": "a remark\n\nQL left out: it needs words"}
    (papers.FOLDER / "tables").mkdir(exist_ok=True)
    lines = papers.as_table("zero-shot", [report]).splitlines()
    assert lines[4].startswith("| BM25 | 0.7500 ± 0.0000 |")
    assert lines[5:] == ["| QL | left out: it needs words |", "| Wikiformer | left out: its report does not say why |"]


def test_without_a_network_it_measures_on_the_demos_pages(papers, monkeypatch):
    def unreachable(*_: object) -> None:
        raise OSError("no route")

    lines: list[str] = []
    monkeypatch.setattr(papers.urllib.request, "urlretrieve", unreachable)
    monkeypatch.setattr(papers, "installed_pages", lambda count: islice(installed_pages(count), 40))
    monkeypatch.setattr(papers, "print", lambda text, **_: lines.append(text), raising=False)
    assert papers.main(SETTINGS) == 0
    said = "\n".join(lines)
    assert "could not be fetched (no route): measuring on pages of installed packages" in said
    assert "pairs of query and document a second on this machine" in said
    assert "Nothing was trained: these pages are neither an encyclopedia nor judged." in said
