"""Checkpoints as their authors published them: pickled or in safetensors, under old names, with heads of other forms."""

from __future__ import annotations

import json
import logging
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from structformer.corpus import Corpus
from structformer.corpus.site import whole_text
from structformer.errors import ModelError
from structformer.ingestion import ingest
from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import MAX_TOKENS, CrossEncoder
from structformer.models.kinds import RankerOptions
from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.registry import model_kind
from structformer.retrieval.indexing import build_index
from structformer.retrieval.loading import has_ranking_head, untrained_scorer
from structformer.retrieval.rankings.run_files import read_run
from structformer.sampling import Example
from structformer.training.objectives.masked import MaskedHead
from structformer.training.objectives.objectives import CrossEncoderObjective, ObjectiveOptions
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    BertTokenizer,
    ElectraConfig,
    ElectraForPreTraining,
    ElectraForSequenceClassification,
)

from conftest import PAGES, write_pages
from structformer_colbert.ranker import LateInteraction

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] anchor boat clean deck engine fender mast sail the wet ##s".split()
SIZES = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.5,  # scores far apart
}
PAIRS = (["clean the mast", "wet sails"], ["the mast boat deck", "the engine"])
HARP = {"architectures": ["PairWiseBertForPreTraining"]}
Weights = dict[str, torch.Tensor]
Scores = Callable[..., torch.Tensor]


def prop() -> tuple[Weights, Scores]:
    """PROP, ARES: a linear layer on the pooled [CLS], beside a head for masked words."""
    bert, head, words = BertModel(BertConfig(**SIZES)), torch.nn.Linear(16, 1), BertForMaskedLM(BertConfig(**SIZES)).cls
    weights = {f"bert.{name}": value for name, value in bert.state_dict().items()}
    weights |= {f"cls.{name}": value for name, value in {**head.state_dict(), **words.state_dict()}.items()}
    return weights, lambda **features: head(bert.eval()(**features).pooler_output)[:, 0]


def next_sentence() -> tuple[Weights, Scores]:
    """BertForPreTraining, whose output 0 says that the second text follows the first."""
    model = BertForPreTraining(BertConfig(**SIZES)).eval()

    def scores(**features: torch.Tensor) -> torch.Tensor:
        found = model(**features).seq_relationship_logits
        return found[:, 0] - found[:, 1]

    return model.state_dict(), scores


def harp() -> tuple[Weights, Scores]:
    """PairWiseBertForPreTraining, whose output 1 is the score."""
    model = BertForPreTraining(BertConfig(**SIZES)).eval()
    return model.state_dict(), lambda **features: model(**features).seq_relationship_logits[:, 1]


def one_label() -> tuple[Weights, Scores]:
    model = BertForSequenceClassification(BertConfig(**SIZES, num_labels=1)).eval()
    return model.state_dict(), lambda **features: model(**features).logits[:, 0]


def two_labels() -> tuple[Weights, Scores]:
    """MonoBERT, whose output 1 says "relevant"."""
    model = BertForSequenceClassification(BertConfig(**SIZES, num_labels=2)).eval()
    return model.state_dict(), lambda **features: model(**features).logits @ torch.tensor([-1.0, 1.0])


def electra() -> tuple[Weights, Scores]:
    """Two labels again, behind a layer of the head's own."""
    model = ElectraForSequenceClassification(ElectraConfig(**SIZES, embedding_size=16, num_labels=2)).eval()
    return model.state_dict(), lambda **features: model(**features).logits @ torch.tensor([-1.0, 1.0])


def old_names() -> tuple[Weights, Scores]:
    """As DataParallel and the first versions for PyTorch wrote them."""
    weights, scores = prop()

    def old(name: str) -> str:
        return "module." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        )

    return {old(name): value for name, value in weights.items()}, scores


def unprefixed() -> tuple[Weights, Scores]:
    """The encoder's names without "bert."."""
    weights, scores = prop()
    return {name.removeprefix("bert."): value for name, value in weights.items()}, scores


def in_safetensors(weights: Weights, folder: Path) -> None:
    save_file({name: value.clone().contiguous() for name, value in weights.items()}, folder / "model.safetensors")


def pickled(weights: Weights, folder: Path) -> None:
    torch.save(weights, folder / "pytorch_model.bin")


def pickled_before_1_6(weights: Weights, folder: Path) -> None:
    torch.save(weights, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)


def in_two_parts(weights: Weights, folder: Path) -> None:
    names = list(weights)
    parts = {"pytorch_model-1-of-2.bin": names[::2], "pytorch_model-2-of-2.bin": names[1::2]}
    for part, its in parts.items():
        torch.save({name: weights[name] for name in its}, folder / part)
    where = {name: part for part, its in parts.items() for name in its}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": where}))


def checkpoint(
    folder: Path, weights: Weights, write: Callable[[Weights, Path], None] = pickled, **config: object
) -> str:
    """A checkpoint's folder, with its tokenizer and the settings of a BERT."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {"model_type": "bert", "architectures": ["BertModel"], **SIZES, **config}
    (folder / "config.json").write_text(json.dumps(said))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    write(weights, folder)
    return str(folder)


FORMS = [prop, next_sentence, harp, one_label, two_labels, old_names, unprefixed]
FILES = [in_safetensors, pickled, pickled_before_1_6, in_two_parts]


@pytest.mark.parametrize("write", FILES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("form", [*FORMS, electra], ids=lambda each: each.__name__)
def test_a_checkpoint_scores_as_its_own_module_does(tmp_path, form, write, caplog):
    torch.manual_seed(1)
    weights, scores = form()
    said = {electra: {"model_type": "electra", "embedding_size": 16}, harp: HARP}
    location = checkpoint(tmp_path, weights, write, **said.get(form, {}))
    ranker = CrossEncoder.load(location)
    with torch.inference_mode():
        expected = scores(**ranker.tokenizer(*PAIRS, padding=True, return_tensors="pt")).numpy()
    assert abs(expected[0] - expected[1]) > 0.01
    np.testing.assert_allclose(ranker.score(*PAIRS), expected, atol=1e-6)
    np.testing.assert_allclose(CrossEncoder.load(location).score(*PAIRS), expected, atol=1e-6)
    assert not caplog.records  # every weight was in the file
    assert model_kind(tmp_path, location) == "cross-encoder"


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("form", FORMS, ids=lambda each: each.__name__)
def test_weights_stored_in_half_precision_are_read_in_full(tmp_path, form, stored):
    torch.manual_seed(1)
    weights = {name: value.to(stored) if value.is_floating_point() else value for name, value in form()[0].items()}
    in_full = {name: value.float() if value.is_floating_point() else value for name, value in weights.items()}
    half, whole = (
        CrossEncoder.load(checkpoint(tmp_path / name, each, in_safetensors, **{harp: HARP}.get(form, {})))
        for name, each in (("half", weights), ("whole", in_full))
    )
    np.testing.assert_allclose(half.score(*PAIRS), whole.score(*PAIRS), atol=1e-6)  # rounding, by machine
    assert {parameter.dtype for parameter in half.model.parameters()} == {torch.float32}


@pytest.mark.parametrize("ranker", [CrossEncoder, BiEncoder, LateInteraction], ids=lambda each: each.__name__)
def test_a_base_stored_in_half_precision_is_learned_from_in_full(tmp_path, ranker):
    weights = {name: value.half() if value.is_floating_point() else value for name, value in without_head().items()}
    begun = ranker.start(checkpoint(tmp_path, weights, in_safetensors), "learned", RankerOptions(MAX_TOKENS))
    assert {parameter.dtype for parameter in begun.model.parameters()} == {torch.float32}


def test_a_head_whose_sign_nobody_knows_is_refused_with_the_way_to_say_it(tmp_path):
    location = checkpoint(tmp_path / "other", harp()[0], architectures=["OtherBertForPreTraining"])
    for load in (CrossEncoder.load, lambda at: CrossEncoder.start(at, "cross-encoder", RankerOptions(MAX_TOKENS))):
        with pytest.raises(ModelError, match=r'means "relevant": it is a OtherBert.* "architectures": \["BertFor'):
            load(location)


def test_training_keeps_the_head_that_harp_learned_and_not_the_one_of_bert(tmp_path):
    for form, said in ((harp, HARP), (next_sentence, {"architectures": ["BertForPreTraining"]})):
        weights, _ = form()
        begun = CrossEncoder.start(
            checkpoint(tmp_path / form.__name__, weights, **said), "cross-encoder", RankerOptions(MAX_TOKENS)
        )
        learned = weights["cls.seq_relationship.weight"][1:]
        assert torch.equal(begun.model.classifier.weight, learned) == (form is harp)
        assert ("starts with a fresh one" in begun.note) == (form is next_sentence)


def test_settings_of_a_time_before_other_models_are_those_of_a_bert(tmp_path):
    weights, scores = prop()
    location = checkpoint(tmp_path / "PROP_step400K", weights)
    config = json.loads(Path(location, "config.json").read_text())
    Path(location, "config.json").write_text(
        json.dumps({name: config[name] for name in SIZES} | {"type_vocab_size": 2})
    )
    ranker = CrossEncoder.load(location)
    assert isinstance(ranker.tokenizer, BertTokenizer)
    with torch.inference_mode():
        expected = scores(**ranker.tokenizer(*PAIRS, padding=True, return_tensors="pt")).numpy()
    np.testing.assert_allclose(ranker.score(*PAIRS), expected, atol=1e-6)


def test_a_cross_encoder_of_sentence_transformers_is_one_here(tmp_path):
    from sentence_transformers import CrossEncoder as Theirs

    weights, _ = one_label()
    plain = checkpoint(
        tmp_path / "plain", weights, in_safetensors, architectures=["BertForSequenceClassification"], num_labels=1
    )
    theirs = Theirs(plain, device="cpu", activation_fn=torch.nn.Identity())
    theirs.save_pretrained(str(tmp_path / "theirs"))
    assert model_kind(tmp_path, str(tmp_path / "theirs")) == "cross-encoder"
    found = CrossEncoder.load(str(tmp_path / "theirs")).score(*PAIRS)
    np.testing.assert_allclose(found, theirs.predict(list(zip(*PAIRS, strict=True))), atol=1e-6)


# -- what has no head ------------------------------------------------------------------------------------------------


def without_head() -> Weights:
    return BertModel(BertConfig(**SIZES)).state_dict()


def three_labels() -> Weights:
    return BertForSequenceClassification(BertConfig(**SIZES, num_labels=3)).state_dict()


def masked_words_alone() -> Weights:
    return BertForMaskedLM(BertConfig(**SIZES)).state_dict() | {
        f"bert.pooler.{name}": value for name, value in BertModel(BertConfig(**SIZES)).pooler.state_dict().items()
    }


@pytest.mark.parametrize("write", [in_safetensors, pickled], ids=lambda each: each.__name__)
@pytest.mark.parametrize("weights", [without_head, three_labels, masked_words_alone], ids=lambda each: each.__name__)
def test_what_has_no_ranking_head_is_refused_by_name_and_may_be_trained(tmp_path, weights, write, caplog):
    location = checkpoint(tmp_path / "condenser", weights(), write)
    with pytest.raises(ModelError, match=r"condenser has no ranking head: train or finetune it first$"):
        CrossEncoder.load(location)
    begun = CrossEncoder.start(location, "cross-encoder", RankerOptions(MAX_TOKENS))
    assert begun.note == f"{location} has no ranking head: training starts with a fresh one"
    assert begun.score(*PAIRS).shape == (2,)
    assert not caplog.records


def test_two_labels_of_tokens_are_no_ranking_head(tmp_path):
    weights = BertForTokenClassification(BertConfig(**SIZES, num_labels=2)).state_dict()
    with pytest.raises(ModelError, match="has no ranking head"):
        CrossEncoder.load(checkpoint(tmp_path, weights, architectures=["BertForTokenClassification"]))


def test_a_search_refuses_what_has_no_ranking_head_and_training_says_that_it_starts_fresh(tmp_path, run):
    workspace = tmp_path / "w"
    ingest(write_pages(tmp_path / "pages", PAGES), workspace, workers=1)
    assert run("index", "-w", workspace).code == 0
    headless = checkpoint(tmp_path / "headless", without_head())
    search = ("search", "tie a rope", "-w", workspace, "--pipeline")
    refused = run(*search, f'lexical >> rerank("{headless}")')
    assert refused.code != 0
    assert f"error: {headless} has no ranking head: train or finetune it first\n" in refused.err
    ranked = run(*search, f'lexical >> rerank("{checkpoint(tmp_path / "prop", prop()[0])}")')
    assert (ranked.code, ranked.err) == (0, "")
    assert " 1. " in ranked.out
    chosen = ("--ranker", "cross-encoder", "--max-steps", 1, "--batch", 2, "--max-tokens", 32, "--dry-run")
    begun = run("train", "-w", workspace, *chosen, "--base-model", headless)
    assert begun.code == 0
    assert (begun.out + begun.err).count(f"{headless} has no ranking head: training starts with a fresh one") == 1


# -- other rankers -----------------------------------------------------------------------------------------------------


def colbert(folder: Path, **said: object) -> tuple[str, BertModel, torch.Tensor]:
    """Stanford's form: `bert.*` with `linear.weight`, and its settings beside them."""
    bert, linear = BertModel(BertConfig(**SIZES)).eval(), torch.randn(4, 16)
    weights = {f"bert.{name}": value for name, value in bert.state_dict().items()} | {"linear.weight": linear}
    location = checkpoint(folder, weights, in_safetensors, architectures=["HF_ColBERT"])
    (folder / "vocab.txt").write_text("\n".join([*WORDS[:-3], ",", "[unused0]", "[unused1]"]) + "\n")
    (folder / "artifact.metadata").write_text(json.dumps({"query_maxlen": 8, "doc_maxlen": 12, **said}))
    return location, bert, linear


@pytest.mark.parametrize("attends", [False, True])
@pytest.mark.parametrize("similarity", ["cosine", "l2"])
def test_a_published_colbert_scores_by_its_own_projection_and_settings(tmp_path, attends, similarity, caplog):
    location, bert, linear = colbert(tmp_path, attend_to_mask_tokens=attends, similarity=similarity)
    ranker = LateInteraction.load(location)
    tokens = {word: n for n, word in enumerate((tmp_path / "vocab.txt").read_text().split())}

    def vectors(words: str, seen: list[int]) -> torch.Tensor:
        ids = torch.tensor([[tokens[word] for word in words.split()]])
        with torch.inference_mode():
            hidden = bert(input_ids=ids, attention_mask=torch.tensor([seen])).last_hidden_state[0]
        return torch.nn.functional.normalize(hidden @ linear.T, dim=-1)

    asked = vectors("[CLS] [unused0] clean mast [SEP] [MASK] [MASK] [MASK]", [1] * 5 + [int(attends)] * 3)
    read = vectors("[CLS] [unused1] boat , deck [SEP]", [1] * 6)[[0, 1, 2, 4, 5]]  # a comma matches nothing
    alike = asked @ read.T if similarity == "cosine" else -torch.cdist(asked, read).square()
    found = ranker.score(["clean mast"], ["boat , deck"])
    np.testing.assert_allclose(found, [float(alike.amax(1).sum())], atol=1e-4)
    assert (ranker.note, caplog.records) == ("", [])
    ranker.save(tmp_path / "saved")
    again = LateInteraction.load(str(tmp_path / "saved")).score(["clean mast"], ["boat , deck"])
    np.testing.assert_allclose(again, found, atol=1e-5)


def test_a_late_interaction_of_the_hub_has_its_projection_and_its_settings(tmp_path, monkeypatch):
    location, *_ = colbert(tmp_path / "here")
    LateInteraction.load(location).save(tmp_path / "pushed")

    def fetched(name: str, file: str) -> Path | None:
        path = tmp_path / "pushed" / file
        return path if path.is_file() else None

    module = "structformer_colbert.ranker"
    for place in ("structformer.models.published", "structformer.models.sentence_modules"):
        monkeypatch.setattr(f"{place}.model_file", fetched)
    monkeypatch.setattr(f"{module}.load_tokenizer", lambda name: load_tokenizer(str(tmp_path / "pushed")))
    monkeypatch.setattr(f"{module}.load_encoder", lambda name: load_encoder(str(tmp_path / "pushed")))
    of_hub = LateInteraction.load("org/name")
    assert of_hub.options == LateInteraction.load(str(tmp_path / "pushed")).options
    assert (of_hub.note, of_hub.options.query_tokens, of_hub.options.dimensions) == ("", 8, 4)


def test_a_projection_of_random_weights_is_said(tmp_path, caplog):
    location = checkpoint(tmp_path / "bare", without_head())
    said = f"{location} has no projection of token vectors: training starts with a fresh one"
    LateInteraction.load(location)
    assert lines(caplog) == [f"{said}, and before it scores mean nothing"]
    assert LateInteraction.start(location, "late-interaction", RankerOptions(MAX_TOKENS)).note == said


@pytest.mark.parametrize("side", ["question_encoder", "ctx_encoder"])
def test_a_dpr_encoder_is_the_bert_within(tmp_path, side, caplog):
    bert = BertModel(BertConfig(**SIZES), add_pooling_layer=False).eval()
    weights = {f"{side}.bert_model.{name}": value for name, value in bert.state_dict().items()}
    architecture = "DPRQuestionEncoder" if side == "question_encoder" else "DPRContextEncoder"
    location = checkpoint(tmp_path, weights, model_type="dpr", architectures=[architecture], projection_dim=0)
    encoder = BiEncoder.load(location)
    with torch.inference_mode():
        read = bert(**encoder.tokenizer(["the wet deck"], return_tensors="pt")).last_hidden_state
    expected = torch.nn.functional.normalize(read[:, 0], dim=-1)
    np.testing.assert_allclose(encoder.encode(["the wet deck"]), expected.numpy(), atol=1e-5)
    assert not caplog.records


def adapter(folder: Path, base: str, own: Weights, **said: object) -> str:
    """A folder as peft writes it: no settings of a model, no tokenizer, the adapter's weights alone."""
    folder.mkdir()
    settings = {"peft_type": "LORA", "base_model_name_or_path": base, "lora_alpha": 8, **said}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    save_file({f"base_model.model.{name}": value for name, value in own.items()}, folder / "adapter_model.safetensors")
    return str(folder)


QUERIES = "encoder.layer.1.attention.self.query"


@pytest.mark.parametrize(("settings", "scale"), [({}, 4.0), ({"use_rslora": True}, 8 / 2**0.5)])
def test_an_adapter_is_merged_into_its_base(tmp_path, settings, scale):
    torch.manual_seed(1)
    model = BertForSequenceClassification(BertConfig(**SIZES, num_labels=1)).eval()
    base = checkpoint(tmp_path / "base", model.bert.state_dict(), in_safetensors)
    down, up = torch.randn(2, 16), torch.randn(16, 2)
    matrices = {f"bert.{QUERIES}.lora_A.weight": down, f"bert.{QUERIES}.lora_B.weight": up}
    head = {f"classifier.{name}": value for name, value in model.classifier.state_dict().items()}
    location = adapter(tmp_path / "lora", base, matrices | head, **settings)
    model.bert.encoder.layer[1].attention.self.query.weight.data += scale * up @ down
    ranker = CrossEncoder.load(location)
    with torch.inference_mode():
        expected = model(**ranker.tokenizer(*PAIRS, padding=True, return_tensors="pt")).logits[:, 0].numpy()
    np.testing.assert_allclose(ranker.score(*PAIRS), expected, atol=1e-5)
    assert model_kind(tmp_path, location) == "cross-encoder"
    changed, plain = (BiEncoder.load(each).encode(["the wet deck"]) for each in (location, base))
    assert abs(changed - plain).max() > 0.01


@pytest.mark.parametrize(
    ("own", "said", "why"),
    [
        (
            {},
            {"base_model_name_or_path": "no/where"},
            r"lora is an adapter of no/where, which is not at hand: merge it",
        ),
        ({}, {"use_dora": True}, r"lora is an adapter of a kind that only peft merges: merge it into its base"),
        ({}, {"peft_type": "IA3"}, r"lora is an adapter of a kind that only peft merges"),
        ({}, {"lora_alpha": None}, r"lora/adapter_config\.json cannot be read"),
        ({"decoder.lora_A.weight": torch.ones(2, 16)}, {}, r"has base_model.model.decoder.*base has no weights"),
    ],
)
def test_an_adapter_that_cannot_be_merged_is_refused_with_what_to_do(tmp_path, own, said, why, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    location = adapter(tmp_path / "lora", checkpoint(tmp_path / "base", without_head()), own, **said)
    for load in (BiEncoder.load, CrossEncoder.load, LateInteraction.load):
        with pytest.raises(ModelError, match=why):
            load(location)


# -- the table of forms ------------------------------------------------------------------------------------------------


def bare_bert(**config: object) -> BertModel:
    return BertModel(BertConfig(**SIZES, **config)).eval()


def inside(model: torch.nn.Module, prefix: str) -> Weights:
    return {f"{prefix}{name}": value for name, value in model.state_dict().items()}


def dpr(side: str) -> Callable[[Path], str]:
    said = {"model_type": "dpr", "architectures": [f"DPR{side}Encoder"], "projection_dim": 0}
    prefix = {"Question": "question_encoder.bert_model.", "Context": "ctx_encoder.bert_model."}[side]
    return lambda at: checkpoint(at, inside(bare_bert(), prefix), **said)


def of_sentence_transformers(*steps: str) -> Callable[[Path], str]:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    def made(at: Path) -> str:
        body = Transformer(checkpoint(at / "body", without_head(), in_safetensors))
        kinds = {"mean": lambda: Pooling(16, "mean"), "cls": lambda: Pooling(16, "cls"), "unit": Normalize}
        chosen = [kinds[step]() if step in kinds else Dense(16, 8) for step in steps]
        SentenceTransformer(modules=[body, *chosen], device="cpu").save(str(at / "whole"))
        return str(at / "whole")

    return made


def lora(base: str) -> Callable[[Path], str]:
    def made(at: Path) -> str:
        at.mkdir()
        there = checkpoint(at / "base", one_label()[0], in_safetensors)
        matrices = {
            f"bert.{QUERIES}.lora_A.weight": torch.randn(2, 16),
            f"bert.{QUERIES}.lora_B.weight": torch.randn(16, 2),
        }
        return adapter(at / "lora", base or there, matrices)

    return made


def of(form: Callable[[], tuple[Weights, Scores]], write: Callable[[Weights, Path], None], **said: object):
    return lambda at: checkpoint(at, form()[0], write, **said)


def only(name: str, content: object) -> Callable[[Path], str]:
    def written(weights: Weights, at: Path) -> None:
        torch.save(content, at / name)

    return lambda at: checkpoint(at, {}, written)


HEADLESS, FRESH = "has no ranking head: train or finetune it first", "has no projection of token vectors"
NOWHERE, NO_WEIGHTS = "is an adapter of no/where, which is not at hand", "it has neither model.safetensors nor pytorch"
NO_TABLE = "it is not a table of tensors by their names"
# (form, its folder, as a cross-encoder, as a bi-encoder, as late interaction); "" where it is right as it is.
PUBLISHED = [
    ("BERT for pre-training, old names", of(next_sentence, pickled), "", "", FRESH),
    ("BERT for pre-training", of(next_sentence, in_safetensors), "", "", FRESH),
    ("HARP", of(harp, pickled, **HARP), "", "", FRESH),
    ("PROP", of(prop, pickled), "", "", FRESH),
    ("ARES", of(prop, in_safetensors), "", "", FRESH),
    ("one label", of(one_label, pickled), "", "", FRESH),
    ("two labels, pickled", of(two_labels, pickled), "", "", FRESH),
    ("two labels", of(two_labels, in_safetensors), "", "", FRESH),
    ("three labels", lambda at: checkpoint(at, three_labels()), HEADLESS, "", FRESH),
    ("a bare BERT", lambda at: checkpoint(at, without_head()), HEADLESS, "", FRESH),
    ("masked words alone", lambda at: checkpoint(at, masked_words_alone()), HEADLESS, "", FRESH),
    ("one label without a pooler", lambda at: checkpoint(at, without_pooler()), "lack bert.pooler", "", FRESH),
    ("ELECTRA's discriminator", lambda at: discriminator(at), HEADLESS, "", FRESH),
    ("DPR, questions", dpr("Question"), HEADLESS, "", FRESH),
    ("DPR, contexts", dpr("Context"), HEADLESS, "", FRESH),
    ("sentence-transformers", of_sentence_transformers("mean"), HEADLESS, "", FRESH),
    ("with Dense and Normalize", of_sentence_transformers("cls", "dense", "unit"), HEADLESS, "", FRESH),
    ("ColBERT", lambda at: colbert(at)[0], HEADLESS, "", ""),
    ("LoRA, its base at hand", lora(""), "", "", FRESH),
    ("LoRA without its base", lora("no/where"), NOWHERE, NOWHERE, NOWHERE),
    ("ONNX alone", only("model.onnx", b""), NO_WEIGHTS, NO_WEIGHTS, NO_WEIGHTS),
    ("a trainer's own table", only("pytorch_model.bin", {"model_state_dict": {}}), NO_TABLE, NO_TABLE, NO_TABLE),
]


def discriminator(at: Path) -> str:
    weights = ElectraForPreTraining(ElectraConfig(**SIZES, embedding_size=16)).state_dict()
    return checkpoint(at, weights, model_type="electra", embedding_size=16, architectures=["ElectraForPreTraining"])


def without_pooler() -> Weights:
    return {name: value for name, value in one_label()[0].items() if "pooler" not in name}


@pytest.mark.parametrize(
    ("make", "cross", "bi", "late"), [row[1:] for row in PUBLISHED], ids=[row[0] for row in PUBLISHED]
)
def test_each_published_form_is_read_whole_or_one_line_says_why_not(
    tmp_path, make, cross, bi, late, caplog, monkeypatch
):
    """As is meant by its makers: what is right is in the tests above, and here that nothing random goes unsaid."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    location = make(tmp_path / "form")
    for load, said in ((CrossEncoder.load, cross), (BiEncoder.load, bi), (LateInteraction.load, late)):
        caplog.clear()
        if said and said != FRESH:
            with pytest.raises(ModelError) as refused:
                load(location)
            assert said in str(refused.value)
            assert "\n" not in str(refused.value)
            continue
        rankers = [load(location) for _ in range(2)]
        if said:
            assert f"{location} {said}" in lines(caplog)[0]
            continue
        assert lines(caplog) == []
        first, second = (
            each.encode(PAIRS[1]) if isinstance(each, BiEncoder) else each.score(*PAIRS) for each in rankers
        )
        np.testing.assert_array_equal(first, second)


# -- what is missing, and what nothing takes ---------------------------------------------------------------------------


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("write", [in_safetensors, pickled], ids=lambda each: each.__name__)
def test_weights_that_a_file_lacks_are_named_once(tmp_path, write, caplog):
    weights = without_head()
    cut = {name: value for name, value in weights.items() if "layer.1.output" not in name}
    location = checkpoint(tmp_path, cut | {"adapter.weight": torch.zeros(2)}, write)
    for _ in range(2):
        load_encoder(location)
    [line] = lines(caplog)
    assert line == (
        f"the weights of {location} lack encoder.layer.1.output.LayerNorm.bias, encoder.layer.1.output.LayerNorm.weight, "
        "encoder.layer.1.output.dense.bias and 1 more, which start at random and have adapter.weight, which nothing takes"
    )


def test_a_ranking_head_upon_random_weights_is_refused(tmp_path, caplog):
    weights = {name: value for name, value in prop()[0].items() if "pooler" not in name}
    location = checkpoint(tmp_path / "cut", weights)
    with pytest.raises(ModelError, match=r"cut lack bert\.pooler\.dense\.bias, bert\.pooler\.dense\.weight: train"):
        CrossEncoder.load(location)
    assert CrossEncoder.start(location, "cross-encoder", RankerOptions(MAX_TOKENS)).note == ""
    assert "bert.pooler.dense.bias" in lines(caplog)[0]


@pytest.mark.parametrize("write", [in_safetensors, pickled], ids=lambda each: each.__name__)
def test_weights_of_other_sizes_than_the_settings_say_are_refused(tmp_path, write):
    location = checkpoint(tmp_path, without_head(), write, hidden_size=32)
    with pytest.raises(ModelError, match=r"of other sizes than its config\.json says: embeddings\."):
        load_encoder(location)


def test_a_head_whose_bias_is_not_of_its_outputs_is_refused(tmp_path):
    weights = {**two_labels()[0], "classifier.bias": torch.zeros(3)}
    with pytest.raises(ModelError, match="no ranking head can be loaded from"):
        CrossEncoder.load(checkpoint(tmp_path, weights))


def test_the_head_for_masked_words_is_the_files(tmp_path):
    weights, _ = old_names()
    location = checkpoint(tmp_path, weights)
    head = MaskedHead.of(load_encoder(location), location)
    assert torch.equal(head.dense.weight, weights["module.cls.predictions.transform.dense.weight"])
    assert torch.equal(head.norm.bias, weights["module.cls.predictions.transform.LayerNorm.beta"])
    assert torch.equal(head.bias, weights["module.cls.predictions.bias"])


# -- strangers' files --------------------------------------------------------------------------------------------------


class Opens:
    """Unpickled, it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_that_would_run_code_is_refused_by_name(tmp_path, zipped):
    location = checkpoint(tmp_path / "evil", {})
    torch.save(
        {"bert.weight": Opens(tmp_path / "ran")},
        tmp_path / "evil" / "pytorch_model.bin",
        _use_new_zipfile_serialization=zipped,
    )
    for load in (CrossEncoder.load, load_encoder):
        with pytest.raises(ModelError, match=r"evil/pytorch_model\.bin is refused: it holds more than tensors"):
            load(location)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"not a pickle", pickle.dumps({"a": 1}, 2), pickle.dumps([1, 2], 2)],
    ids=["empty", "text", "number", "list"],
)
def test_a_file_without_tensors_is_refused_by_name(tmp_path, content):
    location = checkpoint(tmp_path, {})
    (tmp_path / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(ModelError, match=r"pytorch_model\.bin is refused"):
        load_encoder(location)


def test_an_index_of_parts_leads_nowhere_else(tmp_path):
    outside = checkpoint(tmp_path / "outside", without_head())
    location = checkpoint(tmp_path / "inside", without_head(), in_two_parts)
    shutil.copy(Path(outside, "pytorch_model.bin"), tmp_path / "weights.bin")
    Path(location, "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "../weights.bin"}}')
    with pytest.raises(ModelError, match=r"names \.\./weights\.bin, which is not there"):
        load_encoder(location)


# -- before any training, and as rows of experiments -------------------------------------------------------------------


def test_a_base_scores_with_the_head_of_its_files_before_any_training(tmp_path):
    weights, scores = next_sentence()
    with_head = checkpoint(tmp_path / "bert", weights)
    with torch.inference_mode():
        expected = scores(**CrossEncoder.load(with_head).tokenizer(*PAIRS, padding=True, return_tensors="pt")).numpy()
    np.testing.assert_allclose(untrained_scorer(with_head).score(*PAIRS), expected, atol=1e-6)
    bare = checkpoint(tmp_path / "bare", without_head())
    assert (has_ranking_head(with_head), has_ranking_head(bare)) == (True, False)
    np.testing.assert_array_equal(*(untrained_scorer(bare).score(*PAIRS) for _ in range(2)))


ROWS = """
measures = ["RR"]
[[rows]]
label = "published"
pipeline = "{candidates} >> rerank:{model}[k=100, of=documents]"
checkpoint = "FOLDER/prop"
[[rows]]
label = "before training"
pipeline = "{candidates} >> rerank({base})[k=100, of=documents]"
[[rows]]
label = "gone"
pipeline = "{candidates} >> rerank:{model}[k=100, of=documents]"
checkpoint = "FOLDER/gone"
[[rows]]
label = "both"
ensemble = ["published", "gone"]
"""


def test_rows_take_published_rankers_and_bases_of_folders(tmp_path, run):
    torch.manual_seed(1)
    for name, weights in (("prop", prop()[0]), ("bert", next_sentence()[0]), ("bare", without_head())):
        checkpoint(tmp_path / name, weights)
    pages = {
        f"{word}.md": f"# {word} deck\n\nClean the {word} {'wet ' * n}boat.\n" for n, word in enumerate(WORDS[5:11])
    }
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w")
    build_index(tmp_path / "w", encoders=[])
    (tmp_path / "q.tsv").write_text("1\tdeck boat\n")
    (tmp_path / "qrels.txt").write_text("1 0 mast.md 1\n1 0 boat.md 1\n")
    (tmp_path / "e.toml").write_text(ROWS.replace("FOLDER", str(tmp_path)))
    command = ["experiment", tmp_path / "e.toml", "-w", tmp_path / "w", "--queries", tmp_path / "q.tsv"]
    command += ["--qrels", tmp_path / "qrels.txt", "--output", tmp_path / "out", "--force"]

    def found(base: str) -> tuple[str, list[dict[str, float]]]:
        done = run(*command, "--set", f"base_model={tmp_path / base}")
        assert done.code == 0, done.err
        runs = [read_run(path)[1]["1"] for path in sorted((tmp_path / "out" / "e" / "runs").iterdir())]
        return done.out + done.err, [dict(each) for each in runs]

    corpus = Corpus.open(tmp_path / "w")
    texts = {document.id: whole_text(document, corpus.site) for document in corpus.documents()}
    for base in ("bert", "bare"):
        said, runs = found(base)
        assert f"gone left out: {tmp_path}/gone is not a folder\n" in said
        assert "both left out: it needs the row gone" in said
        assert ("before training: bare has no ranking head" in said) == (base == "bare")
        rankers = (CrossEncoder.load(str(tmp_path / "prop")), untrained_scorer(str(tmp_path / base)))
        for ranker, its in zip(rankers, runs, strict=True):
            scores = ranker.score(["deck boat"] * len(texts), list(texts.values()))
            expected = [name for _, name in sorted(zip(-scores, texts, strict=True))]
            assert sorted(its, key=lambda name: -its[name]) == expected


@pytest.mark.parametrize(("asked", "kept"), [(30, 30), (255, 255), (400, 255)])
def test_queries_keep_as_many_tokens_in_training_as_asked_and_as_scoring_reads(tmp_path, asked, kept):
    ranker = CrossEncoder.start(checkpoint(tmp_path, without_head()), "cross-encoder", RankerOptions(MAX_TOKENS))
    objective = CrossEncoderObjective(ranker, ObjectiveOptions("softmax", pair_query_tokens=asked))
    example = Example("judged", ("mast " * 300,) * 2, ("deck " * 600, "boat " * 600), "document", (-1, -1))
    prepared = objective.prepare([example], Random(0))
    rows = [row for batch in prepared.batches["pairs"] for row in batch.features["input_ids"].tolist()]
    separator = ranker.tokenizer.sep_token_id
    assert [(row.index(separator) - 1, len(row) - row.index(separator) - 2) for row in rows] == [
        (kept, MAX_TOKENS - 3 - kept)
    ] * 2
