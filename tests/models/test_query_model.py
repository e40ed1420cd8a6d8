"""Queries encoded by a smaller model than passages, where both share one vector space."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from structformer import Retriever, train
from structformer.evaluation.comparison import Comparison
from structformer.evaluation.held_out_openings import evaluate_openings
from structformer.models.base import chosen_base, chosen_query_model
from structformer.models.bi_encoder import BiEncoder
from structformer.models.onnx_encoder import OnnxEncoder
from structformer.models.registry import read_record
from structformer.retrieval.index import Index
from structformer.retrieval.loading import load_query_encoder
from structformer.retrieval.vectors.encoder_places import encoder_place
from structformer.workspace import Workspace
from test_query_side import QUERY_SIDE, made

from boats import TINY, boats
from structformer_exports.onnx_models import export_model

QUERIES = ["remove the given network", "copy a volume"]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny encoder; a smaller one, which is the same without its last layer; others that have nothing to do with it."""
    folder = tmp_path_factory.mktemp("encoders")
    workspace = boats(folder)
    starts = {"large": TINY, "stranger": replace(TINY, seed=5), "wide": replace(TINY, size="mini")}
    found = {
        name: train(workspace, replace(options, name=name, max_steps=1, mix={"ict": 1.0})).folder
        for name, options in starts.items()
    }
    small = BiEncoder.load(str(found["large"]))
    small.model.encoder.layer = small.model.encoder.layer[:-1]
    small.model.config.num_hidden_layers -= 1
    small.save(folder / "small")
    return {**found, "small": folder / "small"}


def close(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.abs(one - other).max() < 1e-4)


def test_passages_are_encoded_by_the_base_and_queries_by_its_query_model(run, tmp_path, encoders):
    pytest.importorskip("onnxscript", reason="an export needs onnxscript")
    folder = made(tmp_path)
    pair = ("--base-model", encoders["large"], "--query-model", encoders["small"])
    done = run("index", "-w", folder, "--encoder", "base", *pair)
    assert (done.code, run("index", "-w", folder, "--encoder", "base").code) == (0, 0), done.err  # it stays
    workspace = Workspace(folder)
    small, large = BiEncoder.load(str(encoders["small"])), BiEncoder.load(str(encoders["large"]))
    assert not close(small.encode_queries(QUERIES), large.encode_queries(QUERIES))
    retriever = Retriever.open(folder)
    texts = [unit.ranker_text for unit in retriever.units]
    path = Index(workspace).vectors("base")
    assert np.load(path) == pytest.approx(large.encode_documents(texts), abs=0.05)
    assert close(retriever.opened.encoder("base")[0].encode_queries(QUERIES), small.encode_queries(QUERIES))
    hits = [hit.address for hit in retriever.search(QUERIES[0], 5, "dense:base")]
    assert evaluate_openings(folder, Comparison()).rows
    export_model(folder, "base")
    exported = load_query_encoder(workspace, "base")
    assert isinstance(exported, OnnxEncoder)
    assert close(exported.encode_queries(QUERIES), small.encode_queries(QUERIES))
    assert [hit.address for hit in Retriever.open(folder).search(QUERIES[0], 5, "dense:base")] == hits
    # Without its query model the base asks by itself again.
    assert run("index", "-w", folder, "--encoder", "base", "--query-model", "auto").code == 0
    assert (chosen_base(workspace).location, chosen_query_model(workspace)) == (str(encoders["large"]), None)  # type: ignore[union-attr]
    assert close(load_query_encoder(workspace, "base").encode_queries(QUERIES), large.encode_queries(QUERIES))


def test_training_of_queries_side_starts_from_the_query_model(run, tmp_path, encoders):
    folder = made(tmp_path)
    run("index", "-w", folder, "--base-model", encoders["large"], "--query-model", encoders["small"])
    before = Index(Workspace(folder)).vectors("base")
    trained = train(folder, replace(QUERY_SIDE, max_steps=2, learning_rate=1e-3)).folder
    small, large, ours = (BiEncoder.load(str(each)) for each in (encoders["small"], encoders["large"], trained))
    assert ours.model.config.num_hidden_layers == small.model.config.num_hidden_layers
    assert close(ours.encode_documents(QUERIES), large.encode_documents(QUERIES))
    assert (ours.encode_queries(QUERIES) * small.encode_queries(QUERIES)).sum(1).min() > 0.9
    record = read_record(folder, "bi-encoder")
    assert (record.base, record.documents) == ("small", encoders["large"].name)
    assert f"| base of passages | {encoders['large'].name} |" in (trained / "README.md").read_text()
    assert encoder_place(Workspace(folder), "bi-encoder").vectors == before.stem  # no passage is encoded again
    assert Retriever.open(folder).search(QUERIES[0], 3, "dense:bi-encoder")


@pytest.mark.parametrize(
    ("base", "queries", "why"),
    [
        ("large", "stranger", "stranger does not share the vector space of large: of 64 passages "),
        ("large", "wide", "wide makes vectors of "),
        ("", "small", "--query-model goes with --base-model NAME"),
        ("auto", "small", "--query-model goes with a base that is named"),
    ],
)
def test_what_shares_no_space_is_refused_in_one_line_and_changes_nothing(run, tmp_path, encoders, base, queries, why):
    folder = made(tmp_path)
    named = ("--base-model", encoders.get(base, base)) if base else ()
    refused = run("index", "-w", folder, *named, "--query-model", encoders[queries])
    assert refused.code in (1, 2)
    assert refused.err.startswith(f"error: {why}"), refused.err
    assert refused.err.count("\n") == 1
    assert chosen_base(Workspace(folder)) is None
    assert not Workspace(folder).has("index")
    if not base:
        up = run("up", tmp_path / "pages", "-w", tmp_path / "new", "--query-model", encoders[queries])
        assert (up.code, up.err) == (refused.code, refused.err)
        assert not (tmp_path / "new").exists()


def test_a_pair_that_was_made_for_each_other_is_listed(run):
    (pair,) = [each for each in run("models", "--json").json if each.get("query_model")]
    assert f"--base-model {pair['name']} --query-model {pair['query_model']}" in run("models").out
