"""Distillation of the search: one encoder's vectors learn to find alone what the search finds by all its parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from structformer import Retriever, train
from structformer.retrieval.indexing import build_index
from structformer.training import TrainingOptions, read_log
from test_query_side import made

from boats import TINY, boats
from structformer_lab.search_distillation import distil_search

DISTILLED = TrainingOptions(
    max_steps=30, max_seconds=None, groups=8, document_tokens=64, learning_rate=2e-3, precision="no", name="alone"
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny bi-encoder to start from."""
    folder = boats(tmp_path_factory.mktemp("base"))
    return str(train(folder, replace(TINY, mix={"ict": 1.0, "srr": 1.0})).folder)


def test_its_vectors_come_to_agree_with_the_search(tmp_path, base):
    workspace = made(tmp_path, further=("image", "secret"))
    result = distil_search(workspace, replace(DISTILLED, base_model=base))
    means = [np.mean(list(each["losses"].values())) for each in read_log(result.folder / "training.jsonl")]
    assert np.mean(means[-10:]) < 0.7 * np.mean(means[:5])
    assert result.judged_by == "held-out questions, by vectors alone"
    assert max(result.development, key=result.development.__getitem__) > 0  # the untrained vectors do worse
    build_index(workspace, encoders=["alone"])
    assert Retriever.open(workspace).search("rename the volume", pipeline="dense:alone")


def test_it_is_a_command_that_a_query_log_adds_to(tmp_path, base, run):
    workspace = made(tmp_path)
    (tmp_path / "log.txt").write_text("remove a network\nlist every container\n")
    chosen = ["--base-model", base, "--max-steps", 2, "--set", f"query_log={tmp_path / 'log.txt'}"]
    done = run("distill", "--teacher", "search", "-w", workspace, *chosen)
    assert done.code == 0, done.err
    assert "questions drawn" in done.err
    assert (workspace / "models" / "bi-encoder-distilled").is_dir()
    for wrong in (["--student", "cross-encoder"], ["--loss", "kl"], ["--base-model", "scratch"]):
        refused = run("distill", "--teacher", "search", "-w", workspace, *wrong)
        assert (refused.code, "--teacher search teaches a bi-encoder" in refused.err) == (2, True)
