"""The pretrained encoder that a workspace's search starts from: any that its user names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from structformer import Retriever
from structformer.errors import WorkspaceError
from structformer.models.base import BaseModel, base_for, chosen_base, keep_base, packaged_minilm
from structformer.retrieval.vectors.encoder_places import encoder_place
from structformer.workspace import Workspace


@pytest.fixture
def own(tmp_path):
    """MiniLM's weights in a folder of the user's own, read by their first token."""
    packaged = packaged_minilm()
    if packaged is None:
        pytest.skip("needs the weights of structformer[offline]")
    folder = shutil.copytree(packaged, tmp_path / "own-encoder")
    pooling = folder / "1_Pooling" / "config.json"
    settings = json.loads(pooling.read_text())
    pooling.write_text(json.dumps({**settings, "pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}))
    return folder


def test_an_index_is_made_with_the_encoder_that_was_named_and_stays_so(run, pages, own):
    run("ingest", pages)
    made = run("index", "--encoder", "base", "--base-model", own)
    assert made.code == 0
    workspace = Workspace(".structformer")
    base = chosen_base(workspace)
    assert base is not None
    assert (base.name, base.location) == ("own-encoder", str(own))
    own_vectors = encoder_place(workspace, "base").vectors
    assert "own-encoder" in own_vectors
    assert run("index", "--encoder", "base").code == 0
    assert (workspace.folder("index") / "dense" / f"{own_vectors}.npy").exists()
    assert Retriever.open(workspace).search("how do I tie a knot", 3, "dense:base")
    assert base_for(workspace, "auto", "bi-encoder") == base
    assert run("index", "--encoder", "base", "--base-model", "auto").code == 0
    assert chosen_base(workspace) is None
    assert encoder_place(workspace, "base").vectors != own_vectors


def test_an_index_says_by_which_base_and_revision_its_vectors_are_and_keeps_them_whatever_it_says(run, pages, own):
    run("ingest", pages)
    run("index", "--encoder", "base", "--encoder", "structure", "--base-model", own)
    assert "the index has vectors by own-encoder\n" in run("check").out
    workspace = Workspace(".structformer")
    keep_base(workspace, BaseModel("org/name", str(own), revision="0123456789abcdef" * 2))
    run("index", "--encoder", "base")
    vectors = encoder_place(workspace, "base").vectors
    assert vectors.startswith("base-org--name--0123456789ab")
    assert run("check", "--json").json["vectors"] == {vectors: f"org/name@{'0123456789abcdef' * 2}"}


def test_a_base_that_is_not_there_is_said_and_changes_nothing(run, pages):
    run("ingest", pages)
    for name, why in (("./nowhere", "is not a folder"), ("scratch", "random weights find nothing")):
        ran = run("index", "--base-model", name)
        assert ran.code == 1
        assert why in ran.err
    assert chosen_base(Workspace(".structformer")) is None


def test_a_damaged_choice_is_said(run, pages):
    run("ingest", pages)
    workspace = Workspace(".structformer")
    (workspace.path / "base.json").write_text('{"name": 1}')
    with pytest.raises(WorkspaceError, match=r"base\.json"):
        chosen_base(workspace)


def test_encoders_that_serve_well_are_listed(run):
    listed = run("models", "--json").json
    assert {each["languages"] for each in listed} == {"en", "many"}
    shown = run("models").out
    assert "intfloat/multilingual-e5-small" in shown
    assert 'before queries "query: ", passages "passage: "' in shown
    assert "BAAI/bge-small-en-v1.5 " in shown
    assert "51.68 [" in shown
    assert all(f"] {each['source']}" in shown for each in listed if each.get("retrieval") is not None)


def test_a_choice_or_a_model_that_is_gone_is_said_and_no_other_searches_in_its_place(run, pages, own):
    run("ingest", pages)
    assert run("index", "--encoder", "base", "--encoder", "structure", "--base-model", own).code == 0
    again = "name the base again with `structformer index --base-model NAME`"
    for name, searched in (("seal.json", 0), ("base.json", 1)):
        kept = Path(".structformer", name).read_bytes()
        Path(".structformer", name).unlink()
        checked, found = run("check"), run("search", "how do I tie a knot")
        assert (checked.code, found.code) == (1, searched)
        assert f"{name}: missing" in checked.out or f"{name} is missing" in checked.out
        assert again in checked.err
        assert not searched or f"base.json is missing: {again}" in found.err
        Path(".structformer", name).write_bytes(kept)
    shutil.rmtree(".structformer/models/structure")
    assert "models/structure is missing: run `structformer index` again" in run("search", "a knot").err
    assert run("index", "--base-model", "auto").code == 0
    assert (run("search", "a knot").code, run("check").code) == (0, 0)
