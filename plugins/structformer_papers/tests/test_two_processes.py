"""From every task and with every loss of the plugin, two processes, and a run that was stopped, learn what one run does."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from structformer import Corpus, index, train
from structformer.ingestion import ingest
from structformer.models import RankerKind
from structformer.sampling import DocumentView, SamplingOptions
from structformer.training import Listener, TrainingOptions
from structformer.training.report.logs import read_log
from structformer.workspace import Workspace

from boats import LINKED, TINY, linked_pages
from conftest import write_pages
from processes import torchrun
from structformer_papers import structformer_rankers, structformer_tasks
from structformer_papers.written_by_model import JOURNAL, asked_sections
from test_bprop_and_ares import vectors_of

pytestmark = pytest.mark.slow
OF_TWO_QUERIES = {"bprop", "rop-released", "ares-hard", "ares-strict", "ares-titles"}  # which a document is asked by


def learned_with(kind: RankerKind, loss: str) -> TrainingOptions:
    mix = {"neighbours": 1.0} if loss == "cotmae" else {}  # two spans, and nothing to tell them from
    return replace(TINY, ranker=kind.name, loss=loss, mlm=1.0 if kind.masked_words else 0.0, mix={**kind.mix, **mix})


OTHERS = {task.name for task in structformer_tasks()} - OF_TWO_QUERIES - {"neighbours"}
RUNS = {
    "of two queries": replace(TINY, ranker="cross-encoder", mix=dict.fromkeys(sorted(OF_TWO_QUERIES), 1.0)),
    "of one query": replace(TINY, ranker="bi-encoder", mix=dict.fromkeys(sorted(OTHERS), 1.0)),
    **{loss: learned_with(kind, loss) for kind in structformer_rankers() for loss in kind.losses},
    "condenser": replace(TINY, loss="condenser", mlm=1.0, mix={"spans": 1.0}),
}

ON_TWO = """
import json, sys
from structformer import train
from structformer.training import TrainingOptions
for options in json.loads(sys.argv[2]):
    train(sys.argv[1], TrainingOptions(**options))
"""


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the words that ARES compares queries by."""
    return vectors_of(list(LINKED), tmp_path_factory.mktemp("vectors"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages that link to their neighbours both ways and to the one behind them one way, with a question for each
    section.
    """
    folder = tmp_path_factory.mktemp("corpus")
    pages = linked_pages()
    for number, topic in enumerate(LINKED):
        other = LINKED[(number + 2) % len(LINKED)]
        pages[f"{topic}.md"] += f"\n## Wear\n\nA {topic} that is worn may harm the [{other} of the boat]({other}.md).\n"
    ingest(write_pages(folder / "pages", pages), folder / "w", workers=1)
    workspace = Workspace(folder / "w")
    sections = [
        section
        for document in Corpus.open(workspace).documents()
        for section in asked_sections(DocumentView(document, SamplingOptions()))
    ]
    rows = [{"key": each.key, "questions": [f"what of {each.path}"]} for each in sections]
    workspace.cache.mkdir(exist_ok=True)
    (workspace.cache / JOURNAL).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    index(workspace)  # by which the questions find their documents again
    return folder / "w"


@pytest.fixture(scope="module")
def runs(vectors: str) -> dict[str, TrainingOptions]:
    sampling = {"word_vectors": vectors}
    return {name: replace(each, name=name.replace(" ", "-"), sampling=sampling) for name, each in RUNS.items()}


@pytest.fixture(scope="module")
def on_two(corpus: Path, runs: dict[str, TrainingOptions], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace in which two processes have drawn and trained all."""
    folder = tmp_path_factory.mktemp("two")
    shutil.copytree(corpus, folder / "w")
    (folder / "train.py").write_text(ON_TWO)
    chosen = json.dumps([asdict(options) for options in runs.values()])
    both = torchrun(2, folder / "train.py", folder / "w", chosen)
    assert both.returncode == 0, both.stderr[-3000:]
    return folder / "w"


class Stop(Exception):
    """What a test stops a run with."""


def losses(workspace: Path, name: str) -> list[dict[str, float]]:
    return [line["losses"] for line in read_log(workspace / "models" / name / "training.jsonl")]


def weights(workspace: Path, name: str) -> dict[str, torch.Tensor]:
    """Those of the heads beside the model too."""
    folder = workspace / "models" / name
    return {
        f"{path.name} {key}": each for path in folder.glob("*.safetensors") for key, each in load_file(path).items()
    }


@pytest.mark.parametrize("run", RUNS)
def test_two_processes_and_a_resumed_run_learn_what_one_run_does(run, corpus, runs, on_two):
    options = replace(runs[run], accumulation=2)
    name = str(options.name)
    whole = train(corpus, options)
    assert whole.steps == 4
    assert {task for step in losses(corpus, name) for task in step} >= options.mix.keys()
    for first, second in zip(losses(corpus, name), losses(on_two, name), strict=True):
        assert first == pytest.approx(second, rel=1e-5)
    one, two = weights(corpus, name), weights(on_two, name)
    assert one.keys() == two.keys()
    # A group's softmax gives the bias of the score no gradient: Adam makes a step of any rounding there.
    learned = one.keys() - {"model.safetensors classifier.bias"}
    assert [key for key in learned if not torch.allclose(one[key], two[key], atol=1e-5)] == []

    def stop(done) -> None:
        if done.step == 2:
            raise Stop

    with pytest.raises(Stop):
        train(corpus, replace(options, save_steps=1), listener=Listener(step=stop))
    resumed = train(corpus, replace(options, save_steps=1), resume=True)
    assert resumed.resumed_at == 2
    again = weights(corpus, name)
    assert [key for key in one if not torch.equal(one[key], again[key])] == []
