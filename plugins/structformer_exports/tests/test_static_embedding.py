"""A static encoder in a folder of its own: the same vectors without the workspace, and what sentence-transformers reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from structformer import Retriever
from structformer.errors import ModelError, UsageError
from structformer.retrieval.indexing import build_index
from structformer.static_encoder import StaticEncoder
from structformer.static_encoder.encoder import words_of

from structformer_devkit.example_corpus import example_workspace
from structformer_exports.static_embedding import export_static


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = example_workspace(tmp_path_factory.mktemp("static"))
    build_index(workspace, encoders=["structure"])
    return workspace.path


@pytest.fixture(scope="module")
def folder(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "encoder"
    assert export_static(workspace, "structure", folder) > 50
    return folder


def test_it_gives_the_same_vectors_without_the_workspace(workspace, folder):
    ours, _, _ = Retriever.open(workspace).opened.encoder("structure")
    queries = ["mend the rudder", "mending rudders", "xyzzy"]
    assert StaticEncoder.load(folder).encode_queries(queries) == pytest.approx(ours.encode_queries(queries), abs=1e-6)


def test_a_text_is_the_sum_of_its_tokens_vectors(folder):
    tokenizers, safetensors = pytest.importorskip("tokenizers"), pytest.importorskip("safetensors.numpy")
    place = folder / "0_StaticEmbedding"
    tokenizer = tokenizers.Tokenizer.from_file(str(place / "tokenizer.json"))
    table = safetensors.load_file(place / "model.safetensors")["embedding.weight"]
    assert len(table) == tokenizer.get_vocab_size()
    encoder = StaticEncoder.load(folder)
    for text in ("Mend THE rudder, with glue!", "a crack in the keel"):
        read = tokenizer.encode(text, add_special_tokens=False)
        assert read.tokens == words_of(text)
        mean = table[read.ids].mean(0)
        assert mean / np.linalg.norm(mean) == pytest.approx(encoder.encode_queries([text])[0], abs=1e-4)
    assert not table[tokenizer.encode("xyzzy").ids].any()
    assert tokenizer.encode("帆xyzzyを_y").tokens == ["[UNK]"] * 4


def test_sentence_transformers_encodes_alike(folder):
    models = pytest.importorskip("sentence_transformers")
    text = "a crack in the keel"
    found = models.SentenceTransformer(str(folder), device="cpu").encode([text])
    assert found == pytest.approx(StaticEncoder.load(folder).encode_queries([text]), abs=1e-4)


def test_the_folders_files_are_those_that_its_parts_are_looked_for_in(folder):
    modules = json.loads((folder / "modules.json").read_text())
    assert [each["type"].rpartition(".")[2] for each in modules] == ["StaticEmbedding", "Normalize"]
    assert all((folder / each["path"]).is_dir() for each in modules)
    card = (folder / "README.md").read_text()
    assert "StaticEncoder.load" in card
    assert "SentenceTransformer(" in card
    assert "2.5 c / (c + 1.5)" in card


def test_from_the_command_line(run, workspace, folder, tmp_path):
    target = tmp_path / "out"
    done = run("export", "structure", "--static", target, "-w", workspace)
    assert (done.code, "words" in done.out) == (0, True)
    for path in (each for each in folder.rglob("*") if each.is_file()):
        assert (target / path.relative_to(folder)).read_bytes() == path.read_bytes(), path
    assert "is there already" in run("export", "structure", "--static", target, "-w", workspace).err
    assert run("export", "structure", "--static", target, "--force", "-w", workspace).code == 0
    assert run("export", "structure", "-w", workspace).code == 2
    assert run("export", "--static", target, "-w", workspace).code == 2
    with pytest.raises(UsageError, match="is in the workspace"):
        export_static(workspace, "structure", workspace / "x")
    with pytest.raises(ModelError, match="no model 'gone'"):
        export_static(workspace, "gone", tmp_path / "y")
