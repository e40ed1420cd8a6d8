"""BERT and XLM-R by onnxruntime from their own files: the vectors and scores that torch gives, and refusals."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from structformer.errors import ModelError
from structformer.models.bert_graph import bert_graph
from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import CrossEncoder
from structformer.models.onnx_encoder import OnnxCrossEncoder, OnnxEncoder, why_not
from structformer.models.onnx_wire import FLOAT, model, node, outer_tensor
from structformer.models.scratch import make_scratch_model
from structformer.retrieval.indexing import build_index

from conftest import write_pages
from structformer_exports.onnx_models import export_encoder

TEXTS = ["a loop that does not slip", "", "Rope, " * 300, "the knot [PAD] of a sailor", "oar"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    make_scratch_model(
        lambda: ["ropes and knots of a sailor slip", *TEXTS], folder, size="tiny", seed=0, vocabulary=300
    )
    return folder


@pytest.fixture
def xlmr(bert: Path, tmp_path: Path) -> Path:
    from transformers import AutoTokenizer, XLMRobertaConfig, XLMRobertaModel

    tokenizer = AutoTokenizer.from_pretrained(bert)
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = XLMRobertaConfig(vocab_size=len(tokenizer), type_vocab_size=2, max_position_embeddings=600, **sizes)
    config.pad_token_id = tokenizer.pad_token_id
    XLMRobertaModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    settings["pad_token_id"] = tokenizer.pad_token_id
    (tmp_path / "config.json").write_text(json.dumps(settings))
    return tmp_path


def compared(folder: Path) -> None:
    ours, theirs = OnnxEncoder(str(folder)), BiEncoder.load(str(folder))
    seen: tuple[dict, dict] = ({}, {})
    for encoder, tokens in zip((ours, theirs), seen, strict=True):
        vectors = encoder.encode_documents_with_tokens(TEXTS, tokens.__setitem__)
        assert vectors.shape == (len(TEXTS), ours.dimensions)
    for place in range(len(TEXTS)):
        np.testing.assert_allclose(seen[0][place], seen[1][place], atol=1e-4)
    np.testing.assert_allclose(ours.encode_documents(TEXTS), theirs.encode_documents(TEXTS), atol=1e-5)
    np.testing.assert_allclose(ours.encode_queries(TEXTS), theirs.encode_queries(TEXTS), atol=1e-5)


def test_bert_gives_the_vectors_that_torch_gives(bert):
    compared(bert)


def test_weights_of_16_bits_are_read(bert, tmp_path):
    from transformers import AutoModel

    shutil.copytree(bert, tmp_path / "half")
    AutoModel.from_pretrained(bert).to(torch.bfloat16).save_pretrained(tmp_path / "half")
    compared(tmp_path / "half")


def test_xlm_r_counts_positions_from_its_padding_token_on(xlmr):
    compared(xlmr)


def test_prompts_layers_and_pooling_are_read_as_by_torch(bert, tmp_path):
    from dataclasses import replace

    from structformer.models.pooling import SentenceHead
    from structformer.models.sentence_modules import PLAIN

    encoder = BiEncoder.load(str(bert))
    modules = replace(
        PLAIN, pooling=("cls", "mean"), include_prompt=False, prompts={"query": "ask: ", "document": "p: "}
    )
    encoder.head = SentenceHead(modules, (), torch)
    encoder.save(tmp_path)
    assert OnnxEncoder(str(tmp_path)).dimensions == 2 * encoder.model.config.hidden_size
    compared(tmp_path)


@pytest.mark.parametrize("form", ["bert", "roberta"])
def test_a_published_cross_encoder_scores_as_by_torch(form, bert, xlmr, tmp_path):
    from transformers import AutoModelForSequenceClassification

    source, target = bert if form == "bert" else xlmr, tmp_path / "ranker"
    torch.manual_seed(2)
    AutoModelForSequenceClassification.from_pretrained(source, num_labels=1).save_pretrained(target)
    shutil.copy(source / "tokenizer.json", target)
    shutil.copy(source / "tokenizer_config.json", target)
    asked, texts = ["does a loop slip"] * len(TEXTS), TEXTS
    expected = CrossEncoder.load(str(target)).score(asked, texts)
    np.testing.assert_allclose(OnnxCrossEncoder(str(target)).score(asked, texts), expected, atol=1e-5)


def test_a_cross_encoder_on_the_hub_reranks_by_its_name_without_torch(bert, workspace, tmp_path):
    from transformers import AutoModelForSequenceClassification

    commit, cached = "0" * 40, tmp_path / "hub" / "models--harbour--ranker"
    snapshot = cached / "snapshots" / commit
    AutoModelForSequenceClassification.from_pretrained(bert, num_labels=1).save_pretrained(snapshot)
    shutil.copy(bert / "tokenizer.json", snapshot)
    write_pages(cached, {"refs/main": commit})
    build_index(workspace, encoders=[])
    asked = ["search", "rope", "--json", "--pipeline", "lexical >> rerank:harbour/ranker", "-w", str(workspace)]
    code = f"import sys\nsys.modules['torch'] = None\nfrom structformer.cli.main import main\nmain({asked!r})"
    hub = {**os.environ, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=hub)
    assert done.returncode == 0, done.stderr
    hits = json.loads(done.stdout)["hits"]
    scores = [hit["score"] for hit in hits]
    assert len({*scores}) > 1
    assert scores == sorted(scores, reverse=True)


def test_8_bits_move_vectors_a_little(bert):
    import onnxruntime

    small = bert_graph(str(bert), int8=True)
    session = onnxruntime.InferenceSession(small.data, providers=["CPUExecutionProvider"])
    ids = np.arange(5, 25, dtype=np.int64)[None]
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    [found] = session.run(None, given)
    own = BiEncoder.load(str(bert)).model(torch.from_numpy(ids)).last_hidden_state.detach().numpy()
    cosines = (found * own).sum(-1) / np.linalg.norm(found, axis=-1) / np.linalg.norm(own, axis=-1)
    assert 0.995 < cosines.min() < 0.999999


def test_an_export_of_one_file_gives_the_same(bert, tmp_path):
    path = export_encoder(str(bert), tmp_path)
    assert path == tmp_path / "onnx" / "model.onnx"
    exported = OnnxEncoder(str(tmp_path), path)
    np.testing.assert_allclose(
        exported.encode_documents(TEXTS), OnnxEncoder(str(bert)).encode_documents(TEXTS), atol=1e-6
    )
    small = export_encoder(str(bert), tmp_path, int8=True)
    assert small.stat().st_size < 1_000_000
    assert [each.name for each in small.parent.iterdir()] == ["model_int8.onnx"]


def adapter(folder: Path, base: Path, changed: str, **said: object) -> Path:
    """A LoRA adapter of one layer, as peft writes it."""
    folder.mkdir()
    weights = load_file(base / "model.safetensors")
    outputs, inputs = next(value.shape for name, value in weights.items() if name.endswith(f"{changed}.weight"))
    torch.manual_seed(2)
    own = {"lora_A": torch.randn(2, inputs), "lora_B": torch.randn(outputs, 2)}
    settings = {"peft_type": "LORA", "base_model_name_or_path": str(base), "lora_alpha": 8, **said}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    named = {f"base_model.model.{changed}.{name}.weight": value for name, value in own.items()}
    save_file(named, folder / "adapter_model.safetensors")
    return folder


@pytest.mark.parametrize("said", [{}, {"use_rslora": True}])
def test_an_adapter_gives_the_vectors_that_torch_gives(bert, tmp_path, said):
    lora = adapter(tmp_path / "lora", bert, "encoder.layer.1.attention.self.query", **said)
    compared(lora)
    moved = abs(OnnxEncoder(str(lora)).encode_queries(TEXTS) - OnnxEncoder(str(bert)).encode_queries(TEXTS))
    assert moved.max() > 1e-3
    (tmp_path / "exported").mkdir()
    path = export_encoder(str(lora), tmp_path / "exported")
    exported = OnnxEncoder(str(tmp_path / "exported"), path)
    np.testing.assert_allclose(exported.encode_queries(TEXTS), OnnxEncoder(str(lora)).encode_queries(TEXTS), atol=1e-6)


def test_an_adapter_of_more_than_linear_layers_is_left_to_torch(bert, tmp_path):
    words = adapter(tmp_path / "lora", bert, "embeddings.word_embeddings")
    assert "has no layers for an adapter's" in why_not(str(words))


def test_another_form_is_left_to_torch_and_says_why(bert, tmp_path):
    shutil.copytree(bert, tmp_path / "other")
    config = json.loads((bert / "config.json").read_text())
    for change in ({"model_type": "modernbert"}, {"hidden_act": "silu"}, {"position_embedding_type": "relative_key"}):
        (tmp_path / "other" / "config.json").write_text(json.dumps({**config, **change}))
        assert why_not(str(tmp_path / "other"))
    assert why_not(str(bert)) == ""


def test_damaged_weights_are_refused_in_one_line(bert, tmp_path):
    for name, size in (("cut", -100), ("head", 40), ("empty", 0)):
        folder = tmp_path / name
        shutil.copytree(bert, folder)
        whole = (bert / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(whole[:size])
        with pytest.raises(ModelError, match=r"model\.safetensors is damaged") as refused:
            OnnxEncoder(str(folder))
        assert "\n" not in str(refused.value)
    config = json.loads((bert / "config.json").read_text())
    shutil.copytree(bert, tmp_path / "wide")
    (tmp_path / "wide" / "config.json").write_text(json.dumps({**config, "hidden_size": 2 * config["hidden_size"]}))
    with pytest.raises(ModelError, match="other sizes"):
        OnnxEncoder(str(tmp_path / "wide"))


@pytest.mark.parametrize("outside", ["../secret.bin", "/etc/passwd", "a/../../secret.bin"])
def test_a_graph_that_asks_for_files_outside_its_folder_is_refused(bert, outside, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(bert, folder)
    (folder / "model.safetensors").unlink()
    (folder / "onnx").mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(400))
    made = model(
        [node("Identity", ["stolen"], "last_hidden_state")],
        [outer_tensor("stolen", FLOAT, (10, 10), outside, 0, 400)],
        [("input_ids", 7, ("texts", "tokens")), ("attention_mask", 7, ("texts", "tokens"))],
        [("last_hidden_state", FLOAT, ("texts", 10))],
    )
    (folder / "onnx" / "model.onnx").write_bytes(made)
    with pytest.raises(ModelError, match=r"cannot be read .*External data path") as refused:
        OnnxEncoder(str(folder))
    assert "\n" not in str(refused.value)
    (folder / "onnx" / "model.onnx").write_bytes(made[:50])
    with pytest.raises(ModelError, match="cannot be read"):
        OnnxEncoder(str(folder))
