"""Sentence encoders of others: their pooling, layers, prompts and limits are what sentence-transformers makes of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from structformer import Retriever, train
from structformer.errors import ModelError
from structformer.ingestion import ingest
from structformer.models.base import packaged_minilm
from structformer.models.bi_encoder import BiEncoder
from structformer.models.kinds import ranker_kind
from structformer.models.known_encoders import KNOWN
from structformer.models.onnx_encoder import OnnxEncoder
from structformer.models.scratch import train_wordpiece
from structformer.models.sentence_modules import PLAIN, modules_mark, read_modules
from structformer.retrieval.index import Index
from structformer.retrieval.loading import load_query_encoder
from structformer.retrieval.vectors.encoder_places import encoder_place
from structformer.sampling import Example
from structformer.training import TrainingOptions
from structformer.training.objectives.objectives import SCALE, BiEncoderObjective, ObjectiveOptions
from structformer.workspace import Workspace

from boats import boats
from conftest import write_pages
from structformer_exports.onnx_models import export_model, export_onnx

models = pytest.importorskip("sentence_transformers", reason="these tests compare with sentence-transformers")

TEXTS = [
    "Strong wind breaks the mast",
    "A Bowline holds",
    "knots",
    "Pass the end of the rope through the eye, around the mast, and back through the eye; then pull the knot tight.",
]
QUERIES = ["how do I tie a bowline", "Mast", "what breaks in a strong wind"]
LONG = " ".join(TEXTS * 9)  # longer than what any of these is read to
PROMPTS = {"query": "find passages for this question: ", "document": "passage of a manual: "}
CLOSE = 1e-4


# -- folders, with tiny random models ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """What a folder's model is made of. dense: (numbers, activation, other options) of its layers."""

    body: str
    pooling: str | tuple[str, ...] = "mean"
    dense: tuple[tuple[int, Any, dict[str, Any]], ...] = ()
    normalize: bool = False
    prompts: dict[str, str] = field(default_factory=dict)
    include_prompt: bool = True
    left: bool = False
    options: dict[str, Any] = field(default_factory=dict)


SHAPES = {
    "bert, mean, normalized": Shape("bert", normalize=True),
    "bert, cls, query prompt": Shape("bert", "cls", prompts={"query": PROMPTS["query"]}, normalize=True),
    "bert, max": Shape("bert", "max"),
    "bert, mean without its prompts": Shape("bert", prompts=PROMPTS, include_prompt=False),
    "bert, cls and mean, two layers": Shape(
        "bert", ("cls", "mean"), ((48, torch.nn.Tanh(), {}), (24, torch.nn.GELU(), {"bias": False}))
    ),
    "bert, mean before cls": Shape("bert", ("mean", "cls")),
    "bert, weighted mean, residual layer": Shape(
        "bert", "weightedmean", ((32, torch.nn.ReLU(), {"use_residual": True}),), prompts=PROMPTS, include_prompt=False
    ),
    "bert, mean by the root, residual layer of another size": Shape(
        "bert", "mean_sqrt_len_tokens", ((20, torch.nn.Sigmoid(), {"use_residual": True}),)
    ),
    "xlm-roberta, mean, both prompts": Shape("xlm-roberta", prompts=PROMPTS, normalize=True),
    "xlm-roberta, last token, a layer": Shape("xlm-roberta", "lasttoken", ((16, torch.nn.Identity(), {}),), True),
    "modernbert, cls, query prompt": Shape("modernbert", "cls", prompts={"query": PROMPTS["query"]}),
    "modernbert, last token, padded on the left": Shape("modernbert", "lasttoken", left=True, normalize=True),
    "modernbert, cls without its prompt, padded on the left": Shape(
        "modernbert", ("max", "cls"), prompts=PROMPTS, include_prompt=False, left=True
    ),
    "bert, few tokens in lower case": Shape("bert cased", options={"max_seq_length": 12, "do_lower_case": True}),
}


@cache
def words() -> tuple[str, ...]:
    return tuple(train_wordpiece(lambda: [*TEXTS, *QUERIES, *PROMPTS.values()] * 9, 400))


def body(folder: Path, kind: str) -> str:
    """A Transformer of random weights with its tokenizer."""
    from transformers import AutoModel, BertConfig, BertTokenizer, ModernBertConfig, XLMRobertaConfig

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words()))
    tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case="cased" not in kind, model_max_length=100)
    special = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    sizes["vocab_size"] = len(tokenizer)
    if kind == "xlm-roberta":
        config: Any = XLMRobertaConfig(max_position_embeddings=302, type_vocab_size=1, **sizes, **special)
    elif kind == "modernbert":
        config = ModernBertConfig(max_position_embeddings=300, **sizes, **special)
    else:
        config = BertConfig(max_position_embeddings=300, **sizes, **special)
    torch.manual_seed(len(kind))
    model = AutoModel.from_config(config)
    for value in model.parameters():  # large enough that each token tells on the others
        if value.dim() == 2:
            torch.nn.init.normal_(value, std=0.4)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def made(folder: Path, shape: Shape) -> Path:
    """A folder of that shape as sentence-transformers saves it."""
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(7)
    transformer = Transformer(body(folder / "body", shape.body), **shape.options)
    if shape.left:
        transformer.tokenizer.padding_side = "left"
    pooling = Pooling(32, shape.pooling, include_prompt=shape.include_prompt)
    parts: list[Any] = [transformer, pooling]
    for numbers, activation, options in shape.dense:
        parts.append(Dense(parts[-1].get_embedding_dimension(), numbers, activation_function=activation, **options))
    if shape.normalize:
        parts.append(Normalize())
    whole = models.SentenceTransformer(modules=parts, prompts=shape.prompts or None, device="cpu")
    whole.save_pretrained(str(folder / "saved"))
    return folder / "saved"


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("encoders")
    return cache(lambda name: made(root / str(len(list(root.iterdir()))), SHAPES[name]))


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def theirs(folder: Path) -> tuple[Callable[[list[str]], Any], Callable[[list[str]], Any]]:
    """sentence-transformers' vectors of queries and of documents, a text at a time, at unit length."""
    whole = models.SentenceTransformer(str(folder), device="cpu")

    def each(encode: Callable[[list[str]], Any], texts: list[str]) -> Any:
        return unit(np.concatenate([encode([text]) for text in texts]))

    return partial(each, whole.encode_query), partial(each, whole.encode_document)


def furthest(one: Any, other: Any) -> float:
    return float(np.abs(one - other).max())


def test_the_plainest_encoder_is_the_mean_of_its_tokens(tmp_path):
    folder = tmp_path / "body"
    body(folder, "bert")
    queries, documents = theirs(folder)
    ours = BiEncoder.load(str(folder))
    assert ours.modules == replace(PLAIN, longest=100)
    assert furthest(ours.encode_queries(QUERIES), queries(QUERIES)) < CLOSE
    assert furthest(ours.encode_documents([*TEXTS, LONG]), documents([*TEXTS, LONG])) < CLOSE


@pytest.mark.parametrize("name", SHAPES)
def test_vectors_are_those_of_sentence_transformers(folder_of, name):
    queries, documents = theirs(folder_of(name))
    ours = BiEncoder.load(str(folder_of(name)))
    found = ours.encode_documents(TEXTS)
    assert found.shape == (len(TEXTS), ours.dimensions)
    assert (found @ found.T - np.eye(len(TEXTS))).max() < 0.99  # of different texts the vectors differ too
    assert (furthest(ours.encode(TEXTS), found) > 0.01) == bool(ours.prompts["document"].text)
    assert (furthest(ours.encode(TEXTS), ours.encode_queries(TEXTS)) > 0.01) == bool(ours.prompts["query"].text)
    assert furthest(ours.encode_queries(QUERIES), queries(QUERIES)) < CLOSE
    assert furthest(ours.encode_documents([*TEXTS, LONG]), documents([*TEXTS, LONG])) < CLOSE


@pytest.mark.parametrize("name", SHAPES)
def test_a_saved_model_is_the_same_in_both(folder_of, name, tmp_path):
    ours = BiEncoder.load(str(folder_of(name)))
    ours.save(tmp_path / "saved")
    queries, documents = theirs(tmp_path / "saved")
    again = BiEncoder.load(str(tmp_path / "saved"))
    assert again.modules.mark == ours.modules.mark
    for one, other, texts in (
        (ours.encode_queries, queries, QUERIES),
        (ours.encode_documents, documents, [*TEXTS, LONG]),
    ):
        assert furthest(one(texts), other(texts)) < CLOSE
    assert np.array_equal(again.encode_documents(TEXTS), ours.encode_documents(TEXTS))


@pytest.mark.parametrize("name", SHAPES)
def test_in_bfloat16_they_are_near(folder_of, name, monkeypatch):
    monkeypatch.setattr("structformer.models.bi_encoder.fast_bf16", lambda: True)
    ours = BiEncoder.load(str(folder_of(name)))
    bulk = ours.for_bulk()
    assert next(bulk.model.parameters()).dtype == torch.bfloat16
    assert (bulk.encode_documents(TEXTS) * ours.encode_documents(TEXTS)).sum(1).min() > 0.99


@pytest.mark.parametrize(
    "name",
    [
        "bert, cls, query prompt",
        "bert, mean without its prompts",
        "bert, cls and mean, two layers",
        "xlm-roberta, last token, a layer",
        "modernbert, cls without its prompt, padded on the left",
        "bert, few tokens in lower case",
    ],
)
def test_an_export_gives_the_same_without_torch(folder_of, name, tmp_path):
    pytest.importorskip("onnxscript", reason="an export needs onnxscript")
    ours = BiEncoder.load(str(folder_of(name)))
    ours.save(tmp_path)
    exported = OnnxEncoder(str(tmp_path), export_onnx(ranker_kind("bi-encoder"), str(tmp_path), tmp_path))
    asked = [*QUERIES, TEXTS[3]]
    assert furthest(exported.encode_queries(asked), BiEncoder.load(str(folder_of(name))).encode_queries(asked)) < CLOSE


# -- folders of earlier versions, and by hand --------------------------------------------------------------------------


def written(folder: Path, files: dict[str, Any]) -> None:
    for name, value in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value))


def older(folder: Path, **pooling: bool) -> Path:
    """A folder as earlier versions wrote it, the Transformer in a folder of its own."""
    body(folder / "0_Transformer", "bert")
    types = {"0_Transformer": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(types.items())
    ]
    files = {
        "modules.json": modules,
        "0_Transformer/sentence_bert_config.json": {"max_seq_length": 20, "do_lower_case": False},
        "1_Pooling/config.json": {"word_embedding_dimension": 32, **pooling},
        "config_sentence_transformers.json": {"prompts": PROMPTS, "default_prompt_name": None},
    }
    written(folder, files)
    return folder


def test_folders_of_earlier_versions_are_read(tmp_path):
    folder = older(tmp_path / "older", pooling_mode_cls_token=False, pooling_mode_max_tokens=True)
    queries, documents = theirs(folder)
    ours = BiEncoder.load(str(folder))
    assert furthest(ours.encode_queries(QUERIES), queries(QUERIES)) < CLOSE
    assert furthest(ours.encode_documents([*TEXTS, LONG]), documents([*TEXTS, LONG])) < CLOSE


def test_a_passage_prompt_goes_before_documents(tmp_path):
    folder = older(tmp_path / "older", pooling_mode_mean_tokens=True)
    written(folder, {"config_sentence_transformers.json": {"prompts": {"query": "q: ", "passage": "passage: "}}})
    whole = models.SentenceTransformer(str(folder), device="cpu")
    ours = BiEncoder.load(str(folder))
    wanted = unit(whole.encode(TEXTS[:1], prompt_name="passage"))
    assert furthest(ours.encode_documents(TEXTS[:1]), wanted) < CLOSE
    ours.save(tmp_path / "saved")
    assert furthest(theirs(tmp_path / "saved")[1](TEXTS[:1]), wanted) < CLOSE


@pytest.mark.parametrize(
    "prompts",
    [
        {"query": "q: ", "document": "", "passage": "passage: "},
        {"query": "q: ", "document": "d: ", "passage": ""},
        {"query": "", "document": "", "corpus": "c: "},
    ],
)
def test_an_empty_prompt_means_none(tmp_path, prompts):
    folder = older(tmp_path / "older", pooling_mode_mean_tokens=True)
    written(folder, {"config_sentence_transformers.json": {"prompts": prompts}})
    queries, documents = theirs(folder)
    ours = BiEncoder.load(str(folder))
    assert furthest(ours.encode_queries(QUERIES), queries(QUERIES)) < CLOSE
    assert furthest(ours.encode_documents(TEXTS), documents(TEXTS)) < CLOSE
    ours.save(tmp_path / "saved")
    assert furthest(theirs(tmp_path / "saved")[1](TEXTS), documents(TEXTS)) < CLOSE


def test_a_prompt_does_not_shorten_queries(tmp_path):
    folder = older(tmp_path / "older", pooling_mode_lasttoken=True)
    written(folder, {"0_Transformer/sentence_bert_config.json": {"max_seq_length": 90}})
    ours = BiEncoder.load(str(folder))
    prompt = ours.prompts["query"]
    assert prompt.tokens > 4
    [ids] = ours.encode_tokens([LONG], [64], [prompt])["input_ids"]
    assert len(ids) == 64 + prompt.tokens
    [ids] = ours.encode_tokens([LONG], [256], [prompt])["input_ids"]
    assert len(ids) == 90  # but never more than the model reads


REFUSED = {
    "modules.json": (
        [{"type": "sentence_transformers.models.Transformer", "path": ""}, {"type": "custom_st.Pooling", "path": "1"}],
        "modules.json lists the module custom_st.Pooling",
    ),
    "1_Pooling/config.json": ({"pooling_mode": "attention"}, "1_Pooling/config.json pools by 'attention'"),
    "0_Transformer/sentence_bert_config.json": ({"transformer_task": "any-to-any"}, "no encoder of plain texts"),
    "config_sentence_transformers.json": ({"prompts": {"query": 3}}, "the prompt query is not a text"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_name(tmp_path, name):
    folder = older(tmp_path / "older", pooling_mode_mean_tokens=True)
    value, said = REFUSED[name]
    written(folder, {name: value})
    with pytest.raises(ModelError, match=said):
        BiEncoder.load(str(folder))


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ("{", "modules.json cannot be read"),
        ("[" * 99_999, "modules.json cannot be read"),
        ('["Transformer"]', "is not a list of modules"),
        ('[{"type": "sentence_transformers.models.WordEmbeddings", "path": ""}]', "WordEmbeddings"),
        ('[{"type": "sentence_transformers.models.Transformer", "path": "../body"}]', "not a folder of the model's"),
        ('[{"type": "sentence_transformers.models.Router", "path": ""}]', "only in the models that it trained"),
        ('[{"type": "sentence_transformers.models.Transformer", "path": ""}]', "lists Transformer: structformer reads"),
    ],
)
def test_a_list_of_modules_that_cannot_be_read_is_an_error(tmp_path, modules, said):
    (tmp_path / "modules.json").write_text(modules)
    with pytest.raises(ModelError, match=said):
        read_modules(str(tmp_path))


def test_a_layers_weights_must_be_there_and_fit(folder_of, tmp_path):
    folder = tmp_path / "encoder"
    shutil.copytree(folder_of("bert, cls and mean, two layers"), folder)
    config = json.loads((folder / "3_Dense" / "config.json").read_text())
    written(folder, {"3_Dense/config.json": {**config, "activation_function": "custom.Swish"}})
    with pytest.raises(ModelError, match=r"3_Dense/config\.json has the activation custom\.Swish"):
        BiEncoder.load(str(folder))
    written(folder, {"3_Dense/config.json": {**config, "out_features": 23}})
    with pytest.raises(ModelError, match=r"3_Dense/model\.safetensors: linear\.weight is of the size \(24, 48\)"):
        BiEncoder.load(str(folder))
    written(folder, {"3_Dense/config.json": {**config, "in_features": 47}})
    with pytest.raises(ModelError, match="3_Dense reads vectors of 47 numbers, and gets 48"):
        BiEncoder.load(str(folder))
    written(folder, {"3_Dense/config.json": config})
    (folder / "3_Dense" / "model.safetensors").rename(folder / "3_Dense" / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"no 3_Dense/model\.safetensors: structformer reads weights from safetensors"):
        BiEncoder.load(str(folder))


# -- what tells vectors apart, and encoders of the hub -----------------------------------------------------------------


def test_encoders_that_differ_in_more_than_weights_have_marks_of_their_own(folder_of):
    marks = [modules_mark(str(folder_of(name))) for name in SHAPES if name.startswith("bert")]
    assert len(set(marks)) == len(marks) == 9
    minilm = packaged_minilm()
    assert minilm is None or modules_mark(str(minilm)) == ""


def test_a_known_encoder_has_its_makers_prompts_where_its_files_have_none(tmp_path, monkeypatch):
    commit = "4" * 40
    repository = tmp_path / "models--intfloat--multilingual-e5-small"
    snapshot = repository / "snapshots" / commit
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    older(snapshot, pooling_mode_mean_tokens=True)
    (snapshot / "config_sentence_transformers.json").unlink()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found = read_modules(f"intfloat/multilingual-e5-small@{commit}")
    assert (found.prompt("query"), found.prompt("document")) == ("query: ", "passage: ")
    assert not read_modules(str(snapshot)).prompt("query")
    assert found.mark != modules_mark(str(snapshot)) != ""
    encoder = BiEncoder.load(f"intfloat/multilingual-e5-small@{commit}")
    named = BiEncoder.load(str(snapshot)).encode(["query: mast"])
    assert furthest(encoder.encode_queries(["mast"]), named) < CLOSE


def test_known_encoders_say_what_their_figures_are():
    assert all(each.source for each in KNOWN.values() if each.retrieval is not None)
    assert {each.pooling for each in KNOWN.values()} == {"mean", "cls", "lasttoken"}


# -- through training, the index and the search ------------------------------------------------------------------------

THROUGH = Shape(
    "bert", "cls", ((24, torch.nn.Tanh(), {}),), prompts={**PROMPTS, "clustering": "topic: "}, include_prompt=True
)
STEPS = TrainingOptions(max_steps=3, max_seconds=None, groups=8, precision="no", learning_rate=1e-2)


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """The folder of an encoder whose kind of vectors is nothing like MiniLM's."""
    return made(tmp_path / "base", THROUGH)


def manual(folder: Path) -> Path:
    """A workspace of little manual pages, read but not indexed."""
    pages = {
        f"{verb}-{thing}.md": (
            f"# {verb} {thing}\n\n{verb.capitalize()} the given {thing} of your boat before the journey.\n\n"
            f"## Care\n\nThe {thing} goes through {verb} when the wind is strong on the coast of the {thing}.\n"
        )
        for verb in "remove mend copy rename inspect clean store export paint attach".split()
        for thing in "anchor mast rudder".split()
    }
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    return folder / "w"


@pytest.mark.parametrize("name", ["xlm-roberta, mean, both prompts", "bert, weighted mean, residual layer"])
def test_training_sees_the_vectors_that_are_used(folder_of, name):
    ranker = BiEncoder.load(str(folder_of(name)))
    ranker.model.eval()
    objective = BiEncoderObjective(ranker, ObjectiveOptions("softmax", query_tokens=48))
    example = Example("srr", ("mast", "mast"), ("mast", "a knot"), "a", (0, 1))
    prepared = objective.prepare([example], Random(0))
    assert sum(len(batch.numbers) for batch in prepared.batches["texts"]) == 3  # one of them with two prompts
    right, wrong = ranker.score(["mast", "mast"], ["mast", "a knot"])
    losses, _ = objective(prepared)
    assert losses.tolist() == pytest.approx([np.log1p(np.exp(SCALE * (wrong - right)))], abs=CLOSE)
    losses.sum().backward()
    assert ranker.model.get_input_embeddings().weight.grad.abs().max() > 0


def test_both_sides_are_trained_with_their_prompts(started, tmp_path):
    workspace = boats(tmp_path)
    base = BiEncoder.load(str(started))
    folder = train(workspace, replace(STEPS, base_model=str(started), side="both", mix={"srr": 1.0})).folder
    ours = BiEncoder.load(str(folder))
    queries, documents = theirs(folder)
    assert (ours.dimensions, ours.prompts) == (24, base.prompts)
    assert ours.modules.mark == base.modules.mark
    assert furthest(ours.encode_queries(QUERIES), base.encode_queries(QUERIES)) > 0.01
    assert furthest(ours.encode_queries(QUERIES), queries(QUERIES)) < CLOSE
    assert furthest(ours.encode_documents(TEXTS), documents(TEXTS)) < CLOSE
    saved = models.SentenceTransformer(str(folder), device="cpu")
    assert furthest(unit(saved.encode(TEXTS, prompt_name="clustering")), base.encode(TEXTS)) > 0.01
    assert "model.encode_query(" in (folder / "README.md").read_text()


def test_queries_side_is_trained_and_searched_with_the_prompt(started, tmp_path):
    pytest.importorskip("onnxscript", reason="an export needs onnxscript")
    workspace = manual(tmp_path)
    folder = train(workspace, replace(STEPS, base_model=str(started), side="query")).folder
    ours, base = BiEncoder.load(str(folder)), BiEncoder.load(str(started))
    queries, documents = theirs(folder)
    assert furthest(ours.encode_queries(QUERIES), base.encode_queries(QUERIES)) > 0.01
    assert furthest(ours.encode_queries(QUERIES), queries(QUERIES)) < CLOSE
    assert furthest(ours.encode_documents(TEXTS), documents(TEXTS)) < CLOSE
    assert furthest(ours.encode_documents(TEXTS), base.encode_documents(TEXTS)) < CLOSE
    index = Index(Workspace(workspace))
    place = encoder_place(index.workspace, "bi-encoder")
    assert place.vectors == f"base-saved--{base.modules.mark}" == encoder_place(index.workspace, "base").vectors
    vectors = np.load(index.vectors("bi-encoder"))
    units = Retriever.open(workspace).units
    assert vectors == pytest.approx(base.encode_documents([unit.ranker_text for unit in units]), abs=0.05)
    unexported = Retriever.open(workspace).search("mend the mast", 3, "dense:bi-encoder")
    for name, encoder in (("bi-encoder", ours), ("base", base)):
        export_model(workspace, name)
        exported = load_query_encoder(index.workspace, name)
        assert isinstance(exported, OnnxEncoder)
        assert furthest(exported.encode_queries(QUERIES), encoder.encode_queries(QUERIES)) < CLOSE
    hits = Retriever.open(workspace).search("mend the mast", 3, "dense:bi-encoder")
    assert [hit.document_id for hit in hits] == [hit.document_id for hit in unexported]
