"""KNRM, Conv-KNRM, DRMM and DUET: they score as their papers say, start from word pieces or word vectors, and order what was found."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from structformer import Retriever, TrainingOptions, train
from structformer.errors import ModelError
from structformer.retrieval.indexing import build_index
from structformer.retrieval.pipeline import lexical, rerank

from boats import TINY, boats
from structformer_devkit.rankers import check_ranker
from structformer_exports.dataset_files import export_word_vectors
from structformer_exports.word_vectors import read_word_vectors
from structformer_kernels.kinds import KINDS
from structformer_kernels.ranker import KernelRanker


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty pages with a tiny model of each kind, their words indexed."""
    folder = boats(tmp_path_factory.mktemp("harbour"))
    for kind in KINDS:
        train(folder, replace(TINY, max_steps=3, ranker=kind.name, mix={"ict": 1.0, "srr": 1.0}))
    build_index(folder, encoders=[])
    return folder


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_conformance(kind):
    assert check_ranker(kind) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_ranker_reranks_by_its_own_scores(harbour, kind):
    model = kind.name
    retriever = Retriever.open(harbour)
    [ranking] = retriever.rank(["mend the mast"], lexical(k=9) >> rerank(model, k=9))
    texts = retriever.units.ranker_texts([unit for unit, _ in ranking.ranked])
    scores = kind.load(str(harbour / "models" / model)).score(["mend the mast"] * len(texts), texts)
    assert [score for _, score in ranking.ranked] == pytest.approx(scores.tolist(), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_its_card_says_how_it_is_loaded(harbour, kind):
    card = (harbour / "models" / kind.name / "README.md").read_text()
    assert f"from {kind.card.module} import {kind.card.loader}" in card
    assert "pipeline_tag: text-ranking" in card


def test_kernel_pooling_by_hand(harbour):
    ranker = KernelRanker.load(str(harbour / "models" / "knrm"))
    assert ranker.kind == "knrm"
    same, other = ranker.score(["mast", "mast"], ["mast", "mast mast mast"])
    assert same != other
    assert ranker.score(["mast"], ["mast"])[0] == pytest.approx(same, abs=1e-5)  # padding of the batch plays no part


VECTORS = "mast 1 0\nsail 0.8 0.6\nkeel 0 1\n. 0.6 0.8\n"


def test_drmm_counts_cosines_as_its_paper_has_them(tmp_path):
    (tmp_path / "vectors.txt").write_text(VECTORS)
    ranker = KernelRanker.load(str(tmp_path / "vectors.txt"), architecture="drmm")
    score = float(ranker.score(["Mast sails keel"], ["mast, sail. Sail"])[0])
    vectors = {"mast": (1, 0), "sail": (0.8, 0.6), "keel": (0, 1), ".": (0.6, 0.8)}
    query, document = ["mast", "keel"], ["mast", "sail", ".", "sail"]  # "sails" and "," have no vector
    model = ranker.model
    gates, matched = [], []
    for asked in query:
        counts = [0.0] * 30
        for read in document:
            cosine = sum(a * b for a, b in zip(vectors[asked], vectors[read], strict=True))
            counts[29 if asked == read else min(28, int((cosine + 1) / 2 * 29))] += 1
        with torch.no_grad():
            matched.append(float(model.matching(torch.tensor([math.log1p(count) for count in counts]))))
            gates.append(math.exp(float(model.gate(torch.tensor(vectors[asked], dtype=torch.float32)))))
    mixed = sum(gate / sum(gates) * value for gate, value in zip(gates, matched, strict=True))
    assert score == pytest.approx(model.dense.weight.item() * mixed + model.dense.bias.item(), abs=1e-5)
    ranker.save(tmp_path / "saved")
    again = KernelRanker.load(str(tmp_path / "saved"))
    assert again.kind == "drmm"
    assert float(again.score(["Mast sails keel"], ["mast, sail. Sail"])[0]) == pytest.approx(score, abs=1e-6)
    for damaged in ("model.safetensors", "kernel.json"):
        (tmp_path / "saved" / damaged).write_text("{}")
        with pytest.raises(ModelError, match="holds no kernel ranker"):
            KernelRanker.load(str(tmp_path / "saved"))


def test_knrm_starts_from_a_file_of_word_vectors(tmp_path):
    pytest.importorskip("gensim")
    folder = boats(tmp_path)
    assert export_word_vectors(folder, tmp_path / "own.txt") > 50
    options = replace(TINY, base_model=str(tmp_path / "own.txt"), size=TrainingOptions().size)
    train(folder, replace(options, ranker="knrm", mix={"ict": 1.0}))
    words = read_word_vectors(tmp_path / "own.txt")
    ranker = KernelRanker.load(str(folder / "models" / "knrm"))
    assert ranker.model.embedding.weight.shape == (len(words.numbers) + 4, words.matrix.shape[1])
    first = (tmp_path / "own.txt").read_bytes()
    (tmp_path / "own.txt").unlink()
    export_word_vectors(folder, tmp_path / "own.txt")
    assert (tmp_path / "own.txt").read_bytes() == first
    with pytest.raises(ModelError, match="a cross-encoder starts from a folder"):
        train(folder, replace(options, ranker="cross-encoder"))
