"""Late interaction: its scores by hand and as sentence-transformers', what it learns, and the search over its token vectors."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from structformer import Retriever, train
from structformer.retrieval.indexing import build_index
from structformer.sampling import Example
from structformer.workspace import Workspace

from boats import TINY, boats
from structformer_colbert import token_index
from structformer_colbert.kind import LATE_INTERACTION
from structformer_colbert.objective import _with_negative_query, target_mse
from structformer_colbert.ranker import LateInteraction, LateInteractionOptions, TokenVectors
from structformer_devkit.rankers import check_ranker


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty pages with a tiny model, their words indexed."""
    folder = boats(tmp_path_factory.mktemp("harbour"))
    train(folder, replace(TINY, max_steps=3, ranker="late-interaction", mix={"ict": 1.0, "srr": 1.0}))
    build_index(folder, encoders=[])
    return folder


def test_conformance():
    assert check_ranker(LATE_INTERACTION) == []


def late(similarity: str, mean: bool) -> LateInteraction:
    ranker = LateInteraction.__new__(LateInteraction)
    ranker.options = LateInteractionOptions(similarity=similarity, mean=mean)
    return ranker


@pytest.mark.parametrize(
    ("similarity", "mean", "expected"),
    [
        ("cosine", False, 0.6 + 1.0),  # the best match of each query vector, summed
        ("cosine", True, 0.8),
        ("l2_normalised", False, -(2 - 2 * 0.6) - 0.0),  # the squared distance of unit vectors is 2 - 2 cos
        ("l2", True, (-((1 - 0.6) ** 2) - 0.8**2) / 2),
    ],
)
def test_max_sim_by_hand(similarity, mean, expected):
    queries = TokenVectors(torch.tensor([[[1.0, 0.0], [0.6, 0.8]]]), torch.tensor([[True, True]]))
    documents = TokenVectors(
        torch.tensor([[[0.6, 0.8], [1.0, 0.0], [-1.0, 0.0]]]), torch.tensor([[True, False, True]])
    )  # the second is padding
    model = late(similarity, mean)
    assert model.similarity(queries, documents).item() == pytest.approx(expected, abs=1e-6)
    assert model.pair_similarity(queries, documents).item() == pytest.approx(expected, abs=1e-6)


def test_a_negative_query_is_another_documents():
    def example(query: str, owner: str) -> Example:
        return Example("srr", (query, query), ("a", "b"), owner, (0, 1))

    several = [
        example("one", "a"),
        example("two", "a"),
        example("three", "b"),
        Example("rwi", ("four", "five"), ("a", "a"), "c", (0, 0)),
    ]
    assert [_with_negative_query(several, number) for number in range(4)] == [
        ["one", "three"],
        ["two", "three"],
        ["three", "four"],
        ["four", "five"],
    ]


def test_target_mse_wants_one_for_the_positive_and_zero_for_the_rest():
    assert target_mse(torch.tensor([2.0, 1.5, -1.0, 0.5, 1.0]), [3, 2]).tolist() == pytest.approx(
        [(1.0 + 2.25 + 1.0) / 3, (0.25 + 1.0) / 2]
    )


@pytest.mark.parametrize("mean", [False, True])
def test_late_interaction_loads_in_sentence_transformers_with_the_same_scores(harbour, mean):
    from sentence_transformers import MultiVectorEncoder

    for loss in ("infonce", "softmax", "negative-query", "mse"):
        folder = train(
            harbour, replace(TINY, ranker="late-interaction", loss=loss, mean_max_sim=mean, dimensions=32, name="late")
        ).folder
    queries = [
        "Clean the mast",
        "a much longer query than the other: how do I stow a wet oar in the dark harbour after rain",
        "oar",
    ]
    documents = [
        "To clean the mast first look at the mast closely, then take a cloth.",
        "Never stow a wet oar in the dark.",
        "Rain.",
    ]
    ours = LateInteraction.load(str(folder))
    theirs = MultiVectorEncoder(str(folder), device="cpu")
    expected = theirs.similarity(theirs.encode_query(queries), theirs.encode_document(documents)).numpy()
    assert np.abs(ours.score_all(queries, documents) - expected).max() < 1e-5 * (1 if mean else 32)
    assert np.abs(ours.score(queries, documents) - expected.diagonal()).max() < 1e-5 * (1 if mean else 32)


def test_late_interaction_searches_all_token_vectors(harbour):
    retriever = Retriever.open(harbour)
    [ranking] = retriever.rank(["stow the keel"], "late[k=2000]")
    ranker = LateInteraction.load(str(harbour / "models" / "late-interaction"))
    expected = ranker.score_all(["stow the keel"], retriever.units.ranker_texts(range(len(retriever.units))))[0]
    assert len(ranking.ranked) == len(retriever.units)
    for unit, score in ranking.ranked:
        assert score == pytest.approx(expected[unit], abs=0.02)  # vectors are stored in 16 bits
    [few] = retriever.rank(["stow the keel"], "late[k=4]")
    exact = dict(ranking.ranked)  # with fewer candidates some units are missed, but those found score the same
    assert len(few.ranked) == 4
    assert all(score == pytest.approx(exact[unit], abs=1e-4) for unit, score in few.ranked)


def test_late_interaction_over_very_many_vectors_asks_an_index_of_them(harbour, tmp_path, monkeypatch):
    pytest.importorskip("faiss")
    shutil.copytree(harbour, tmp_path / "w")
    build_index(tmp_path / "w", encoders=[])
    monkeypatch.setattr(token_index, "APPROXIMATE_FROM", 1000)
    exact, approximate = Retriever.open(harbour), Retriever.open(tmp_path / "w")
    shares = []
    for query in ("stow the keel", "mend the mast", "a sail in the rain", "rope"):
        [wanted], [found] = (each.rank([query], "late[k=20]") for each in (exact, approximate))
        scores = dict(exact.rank([query], "late[k=2000]")[0].ranked)
        assert all(score == pytest.approx(scores[unit], abs=0.02) for unit, score in found.ranked)
        shares.append(len({u for u, _ in wanted.ranked[:10]} & {u for u, _ in found.ranked[:10]}) / 10)
    folder = Workspace(tmp_path / "w").folder("index") / "late"
    assert len(list(folder.glob("*.faiss"))) == 1
    assert np.mean(shares) > 0.7  # of a model that has learned for three steps, all vectors are much alike
