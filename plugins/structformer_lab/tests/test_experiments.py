"""Every experiment of the package runs to its end on two small corpora of the papers' shape: all rows trained for a step
with a tiny model on an encyclopedia with links, and judged on passages without headings or links.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from structformer.engines import Work
from structformer.errors import UsageError
from structformer.evaluation.judgements import Judgements, read_judgements, write_judgements
from structformer.extras import install_command
from structformer.ingestion import ingest
from structformer.models.base import packaged_minilm
from structformer.models.registry import read_record
from structformer.retrieval.indexing import build_index
from structformer.workspace import Workspace

from boats import LINKED, boats, linked_pages
from conftest import write_pages
from structformer_lab.experiment import Experiment, ExperimentRow, RowTraining, experiment_names, read_experiment
from structformer_lab.running import run_experiment

TINY = [
    *("base_model=scratch", "size=tiny", "max_steps=1", "max_seconds=none", "document_tokens=48", "groups=2"),
    *("sample.min_words=5", "sample.min_document_words=5", "sample.min_frequency=1", "sample.keep_short=1.0"),
    "precision=no",
]
ROW = '[[rows]]\nlabel = "a"\npipeline = "lexical"\n'
ON_A_WIKI = ("agent", "fandom")  # their papers ask the wiki itself
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(packaged_minilm() is None, reason="structformer[offline] is not installed"),
]


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pages with sections, links in sentences, and see-also lists."""
    folder = tmp_path_factory.mktemp("wiki")
    pages = {
        f"{topic}.md": f"{linked_pages()[f'{topic}.md']}\n## See also\n\n- [{before}]({before}.md)\n"
        for before, topic in zip((LINKED[-1], *LINKED), LINKED, strict=False)
    }
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w")
    build_index(folder / "w", encoders=["base"])
    return folder / "w"


@pytest.fixture(scope="module")
def marco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A passage for each topic in MS MARCO's own TSV."""
    folder = tmp_path_factory.mktemp("marco")
    lines = [
        f"D{number}\thttps://boats.example/{topic}\tAll about the {topic}\tClean the {topic} twice a year with fresh water and "
        f"oil it before the winter. A {topic} that nobody oils will rust and break.\n"
        for number, topic in enumerate(LINKED)
    ]
    write_pages(folder, {"docs/msmarco-docs.tsv": "".join(lines)})
    ingest(folder / "docs", folder / "w")
    build_index(folder / "w", encoders=["base"])
    return folder / "w"


@pytest.fixture
def topics(marco, tmp_path) -> Judgements:
    """TREC's topics and judgements of the passages."""
    asked = "".join(
        f"<top>\n<num> Number: {number}\n<title> clean the {topic}\n<desc> Description:\nHow is the {topic} cleaned?\n</top>\n"
        for number, topic in enumerate(LINKED)
    )
    write_pages(
        tmp_path, {"topics.txt": asked, "qrels.txt": "".join(f"{number} 0 D{number} 1\n" for number in range(12))}
    )
    return read_judgements(tmp_path / "topics.txt", tmp_path / "qrels.txt")


def here(work: Work, tasks: Iterable[Any], engine: object) -> Iterator[Any]:
    """Draws Examples without the processes, which take longer to begin than these corpora to be drawn from."""
    module, _, function = work.function.partition(":")
    return (getattr(import_module(module), function)(task, lambda item: None) for task in tasks)


@pytest.mark.parametrize("name", experiment_names())
def test_an_experiment_of_the_package_runs_to_its_end(name, wiki, marco, topics, tmp_path, monkeypatch):
    monkeypatch.setattr("structformer.models.base.hub_in_reach", lambda: False)
    monkeypatch.setattr("structformer.sampling.shard_drawing.mapped", here)
    whole = read_experiment(name)
    numbered = {
        family: [row for row in whole.rows if row.family == family] for family in {row.family for row in whole.rows}
    }
    # Of rows that differ in a number alone the first and the last.
    rows = [row for row in whole.rows if not row.family or row in (numbered[row.family][0], numbered[row.family][-1])]
    experiment = replace(whole, rows=rows)
    said: list[str] = []
    # A row that names its own base takes another one by its label alone.
    named = [row for row in experiment.rows if "base_model" in {**(row.train or {}), **(row.finetune or {})}]
    settings = [*TINY, *(f"{row.label}.base_model=scratch" for row in named)]
    on, judged, how, files = marco, topics, RowTraining(settings, train_from=wiki), {"webformer": "its folder"}
    if name in ON_A_WIKI:
        judged = Judgements({t: f"clean the {t}" for t in LINKED}, {t: {f"{t}.md": 1, "jib.md": 0} for t in LINKED})
        on, how = wiki, RowTraining(TINY)
        write_judgements(tmp_path, judged)
        files = {"judged": str(tmp_path / "qrels.txt"), "titles": str(tmp_path / "titles.tsv")}
        (tmp_path / "titles.tsv").write_text("".join(f"{topic}\tCare of the {topic}\n" for topic in LINKED))
    result = run_experiment(on, judged, experiment, how, files=files, output=tmp_path / "out", say=said.append)
    # No pages of both of PHP's groups, and no model that writes questions (the plugin's own test has one).
    without = {row.label for row in experiment.rows if row.checkpoint or row.label.startswith(("PHP", "written"))}
    assert {line.partition(" left out: ")[0] for line in said if " left out: " in line} == without
    assert [row.label for row in result.rows] == [row.label for row in experiment.rows if row.label not in without]
    for row in experiment.rows:
        if row.train is not None and row.finetune is not None:
            tuned = read_record(on, f"{row.model}-finetuned")
            assert tuned.base_location == str(Workspace(on).model(row.learned)), "what was learned before is kept"
    assert set(result.measures) == {measure for row in result.rows for measure in row.scores}
    for row in result.rows:
        compared = {f"vs {label}" for label in experiment.baselines if label != row.label}
        assert set(row.tests) == compared
        assert all(set(by_measure) == set(result.measures) for by_measure in row.tests.values())
        assert all(low <= row.scores[measure] <= high for measure, (low, high) in row.intervals.items())
    assert (tmp_path / "out" / "report.md").exists()


def test_a_pipeline_that_cannot_be_read_is_said_before_anything_is_trained(tmp_path):
    write_pages(tmp_path / "pages", {"a.md": "# A\n\nA knot.\n"})
    ingest(tmp_path / "pages", tmp_path / "w")
    train, judged = {"ranker": "bi-encoder"}, Judgements({"q": "knot"}, {"q": {"a.md": 1}})
    rows = [ExperimentRow("first", "dense:{model}", train), ExperimentRow("last", "dense:{model}[of=documents]", train)]
    with pytest.raises(UsageError, match="dense has no option 'of'"):
        run_experiment(tmp_path / "w", judged, Experiment("two", rows), RowTraining(TINY))
    assert not Workspace(tmp_path / "w").models.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows = 3", "own.toml: rows is 3: it must be a list of tables"),
        ('measures = "nDCG@10"\n' + ROW, "measures is 'nDCG@10': it must be a list of texts"),
        ("baseline = 3\n" + ROW, "baseline is 3: it must be a list of texts"),
        (ROW + "finetune = true\nqueries = 5", "row 1: queries is 5: it must be a list of numbers"),
        (ROW + "train = {}\nsizes = ['all']", r"row 1: sizes is \['all'\]: it must be a list of numbers"),
        (ROW + "[[rows]]\nlabel = 'b'\nensemble = [['a']]", r"no row above has the label \['a'\]"),
    ],
)
def test_what_must_be_a_list_in_an_experiments_file_is_named(tmp_path, text, message):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_experiment(str(tmp_path / "own.toml"))


def test_rows_of_several_numbers_of_queries_start_from_one_training_on_structure():
    rows = [row for row in read_experiment("few-shot").rows if row.family == "HARP"]
    assert [row.finetune["queries"] for row in rows if row.finetune] == [5, 10, 15, 20]
    assert (len({row.learned for row in rows}), len({row.model for row in rows})) == (1, 4)
    sizes = [row for row in read_experiment("sizes").rows if row.family]
    assert len({row.learned for row in sizes}) == len(sizes), "these learn from as many pairs as they say"


def test_a_damaged_note_of_what_a_model_was_made_for_makes_it_again(tmp_path):
    workspace = Workspace(boats(tmp_path))
    row = ExperimentRow("first", "dense:{model}", {"ranker": "bi-encoder"})
    judged = Judgements({"q": "anchor"}, {"q": {"anchor.md": 1}})
    build_index(workspace, encoders=[])
    for damage in ("", "[", "[1]"):
        if damage:
            (workspace.model(row.model) / "experiment.json").write_text(damage)
        result = run_experiment(workspace, judged, Experiment("one", [row]), RowTraining(TINY))
        assert [each.label for each in result.rows] == ["first"]
    assert '"digest"' in (workspace.model(row.model) / "experiment.json").read_text()


def test_a_row_that_needs_a_package_which_is_not_installed_costs_itself(marco, topics, tmp_path, monkeypatch):
    monkeypatch.setattr("structformer.models.base.hub_in_reach", lambda: False)
    monkeypatch.setattr("structformer.sampling.shard_drawing.mapped", here)
    for name in ("gensim", "gensim.models"):
        monkeypatch.setitem(sys.modules, name, None)
    whole = read_experiment("zero-shot")
    experiment = replace(whole, rows=tuple(row for row in whole.rows if row.label in ("BM25", "ARES")), baselines=())
    said: list[str] = []
    how = RowTraining([*TINY, "seed=9"], train_from=boats(tmp_path / "wiki"))
    result = run_experiment(marco, topics, experiment, how, output=tmp_path / "out", say=said.append)
    assert [row.label for row in result.rows] == ["BM25"]
    assert f"ARES left out: learning word vectors needs gensim: {install_command('vectors')}" in said
