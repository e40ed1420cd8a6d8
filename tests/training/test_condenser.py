"""Condenser and coCondenser: their losses by hand, one step of BERT-base's shape, and the recipes from end to end."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from structformer import train
from structformer.document import Document, Section, Source
from structformer.errors import ModelError, UsageError
from structformer.ingestion import ingest
from structformer.models.bi_encoder import BiEncoder
from structformer.models.known_encoders import pooling_of
from structformer.sampling import Census, Example, SamplingOptions, document_examples
from structformer.training.data.batching import Batching, Prepared
from structformer.training.objectives.condenser import CondenserObjective, span_contrast
from structformer.training.objectives.masked import IGNORED, MaskedHead
from structformer.training.objectives.objectives import ObjectiveOptions
from structformer.training.recipes import training_options
from structformer.training.run.memory import Learning, learn
from structformer.training.run.option_defaults import load_ranker, make_objective, resolve
from transformers import BertConfig, BertModel, BertTokenizer

from conftest import PAGES, write_pages
from processes import begin

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] anchor boat clean deck engine fender mast sail the wet oar rope knot".split()
EXAMPLES = [
    Example("spans", ("clean the mast and the sail",), ("the wet deck of the boat",), "boat", (1,)),
    Example("spans", ("the engine",), ("oar rope knot anchor fender mast sail the wet oar rope",), "engine", (2,)),
    Example("spans", ("anchor the boat with the rope",), ("a knot of wet rope",), "boat", (3,)),
]


def encoder(folder: Path, **sizes: int) -> BiEncoder:
    """A bi-encoder of random weights, without dropout."""
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in (*WORDS, "##s")))
    chosen = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32, **sizes}
    config = BertConfig(
        vocab_size=len(WORDS) + 1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
        **chosen,
    )
    torch.manual_seed(1)
    return BiEncoder(BertModel(config), BertTokenizer(vocab=str(folder / "vocab.txt")))


def objective(ranker: BiEncoder, loss: str, **options: Any) -> CondenserObjective:
    head = MaskedHead(ranker.model.get_input_embeddings(), int(ranker.model.config.hidden_size))
    return CondenserObjective(ranker, ObjectiveOptions(loss, **{"document_tokens": 32, **options}), head=head)


def read_by_hand(made: CondenserObjective, ids: list[int], labels: list[int]) -> tuple[float, float, torch.Tensor]:
    """A text alone, layer by layer: the masked words' mean loss behind the fresh layers, and behind the encoder's, and
    its [CLS].
    """
    model, head = made.model, made.head
    assert head is not None
    hidden = model.embeddings(input_ids=torch.tensor([ids]))
    states = []
    for layer in model.encoder.layer:
        hidden = layer(hidden)
        states.append(hidden)
    middle, last = states[len(states) // 2 - 1], states[-1]
    condensed = torch.stack([last[0, 0], *middle[0, 1:]])[None]
    for layer in made.layers:
        condensed = layer(condensed)

    def loss(hidden: torch.Tensor) -> float:
        guesses = head.norm(torch.nn.functional.gelu(head.dense(hidden[0]))) @ model.embeddings.word_embeddings.weight.T
        chosen = [
            -torch.log_softmax(guess + head.bias, 0)[label].item()
            for guess, label in zip(guesses, labels, strict=True)
            if label != IGNORED
        ]
        return sum(chosen) / len(chosen) if chosen else 0.0

    return loss(condensed), loss(last), last[0, 0]


@pytest.mark.parametrize("loss", ["condenser", "cocondenser"])
def test_the_losses_are_those_that_are_computed_text_by_text(tmp_path, loss):
    made = objective(encoder(tmp_path), loss)
    prepared = made.prepare(EXAMPLES, Random(3))
    texts: dict[int, tuple[list[int], list[int]]] = {}
    for batch in prepared.batches["texts"]:
        for row, number in enumerate(batch.numbers):
            length = int(batch.features["attention_mask"][row].sum())
            assert batch.labels is not None
            texts[number] = batch.features["input_ids"][row, :length].tolist(), batch.labels[row, :length].tolist()
    pairs = list(zip(prepared.places["queries"].tolist(), prepared.places["documents"].tolist(), strict=True))
    assert len(texts) == 6
    assert max(len(ids) for ids, _ in texts.values()) > min(len(ids) for ids, _ in texts.values())  # some are padded
    with torch.no_grad():
        read = {number: read_by_hand(made, *text) for number, text in texts.items()}
        losses, masked = made(prepared)
    expected = [(read[one][0] + read[two][0]) / 2 for one, two in pairs]
    if loss == "cocondenser":
        for number, (one, two) in enumerate(pairs):
            strangers = [
                text
                for each, example in zip(pairs, EXAMPLES, strict=True)
                if example.document_id != EXAMPLES[number].document_id
                for text in each
            ]
            for own, other in ((one, two), (two, one)):
                products = [(read[own][2] @ read[each][2]).item() for each in (other, *strangers)]
                expected[number] += (math.log(sum(math.exp(each) for each in products)) - products[0]) / 2
    assert losses.tolist() == pytest.approx(expected, rel=1e-4)
    assert masked is not None
    assert masked.tolist() == pytest.approx([(read[one][1] + read[two][1]) / 2 for one, two in pairs], rel=1e-4)
    assert any(each > 0 for each in masked.tolist())


def test_a_share_of_the_tokens_is_masked_not_of_the_words(tmp_path):
    """Of a text of twenty words, each of two tokens, three words."""
    made = objective(encoder(tmp_path), "condenser", document_tokens=48, whole_words=True)
    texts = [" ".join(f"{word}s" for word in Random(number).choices(WORDS[5:], k=20)) for number in (1, 2)]
    [batch] = made.prepare([Example("spans", (texts[0],), (texts[1],), "boat", (1,))], Random(1)).batches["texts"]
    assert batch.labels is not None
    assert (batch.labels != IGNORED).sum(1).tolist() == [6, 6]


def test_what_is_learned_batch_by_batch_is_what_is_learned_at_once(tmp_path):
    made = objective(encoder(tmp_path), "cocondenser")
    made.batching = Batching("cpu", batch_tokens=16)
    prepared = made.prepare(EXAMPLES, Random(3))
    assert len(prepared.batches["texts"]) > 2
    whole, in_parts = (_gradients(made, prepared, kept_tokens) for kept_tokens in (None, 16))
    torch.testing.assert_close(in_parts, whole)


def _gradients(made: CondenserObjective, prepared: Prepared, kept_tokens: int | None) -> dict[str, torch.Tensor]:
    made.batching = replace(made.batching, kept_tokens=kept_tokens)
    made.zero_grad()

    def total(losses: torch.Tensor, masked: torch.Tensor | None) -> torch.Tensor:
        assert masked is not None
        return (losses + masked).sum()

    learn(Learning(made, made, total, nullcontext, torch.autograd.backward, nullcontext), prepared, nullcontext)
    return {name: value.grad.clone() for name, value in made.named_parameters() if value.grad is not None}


def test_a_step_of_bert_bases_shape_reaches_every_weight(tmp_path):
    sizes = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
    made = objective(encoder(tmp_path, **sizes), "cocondenser")
    losses, masked = made(made.prepare(EXAMPLES[:2], Random(3)))
    assert masked is not None
    (losses + masked).sum().backward()
    trained = {name: value for name, value in made.named_parameters() if value.requires_grad}
    assert torch.isfinite(losses).all()
    assert [name for name, value in trained.items() if value.grad is None] == []
    assert trained["layers.1.output.dense.weight"].grad.abs().max() > 0
    assert not any(name.startswith("model.pooler") for name in trained)


def test_spans_of_one_document_are_no_negatives_of_each_other():
    vectors = torch.eye(3).unbind()
    first, second = torch.stack([vectors[0], vectors[1]]), torch.stack([vectors[0], vectors[2]])
    one = span_contrast(first, second, torch.tensor([7, 7]))
    assert one.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)  # nothing to tell them from
    two = span_contrast(first, second, torch.tensor([7, 8]))
    assert two.tolist() == pytest.approx([math.log(math.e + 2) - 1, math.log(3)], abs=1e-6)


SECOND = """
import sys, torch
from structformer.training.objectives.condenser import span_contrast
torch.distributed.init_process_group("gloo", init_method=sys.argv[1], world_size=2, rank=1)
own = torch.load(sys.argv[2])[2:].requires_grad_()
losses = span_contrast(own[:, 0], own[:, 1], torch.tensor([3]), together=True)
losses.sum().backward()
torch.save([losses.detach(), own.grad], sys.argv[3])
torch.distributed.destroy_process_group()
"""


def test_two_processes_contrast_with_the_spans_of_both(tmp_path):
    spans = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(5))
    torch.save(spans, tmp_path / "spans.pt")
    meeting, found = f"file://{tmp_path}/meeting", tmp_path / "found.pt"
    second = begin("-c", SECOND, meeting, tmp_path / "spans.pt", found)
    torch.distributed.init_process_group("gloo", init_method=meeting, world_size=2, rank=0)
    try:
        own = spans[:2].clone().requires_grad_()  # the other process has one pair
        losses = span_contrast(own[:, 0], own[:, 1], torch.tensor([1, 2]), together=True)
        losses.sum().backward()
        assert second.wait(60) == 0  # who leaves first may fell the other
    finally:
        second.kill()
        torch.distributed.destroy_process_group()
    others, gradient = torch.load(found)
    spans.requires_grad_()
    expected = span_contrast(spans[:, 0], spans[:, 1], torch.tensor([1, 2, 3]))
    expected.sum().backward()
    torch.testing.assert_close(torch.cat([losses, others]).detach(), expected.detach())
    torch.testing.assert_close(torch.cat([own.grad, gradient]), spans.grad)


def test_it_is_for_masked_words_and_encoders_of_berts_form(tmp_path):
    ranker = encoder(tmp_path)
    with pytest.raises(UsageError, match=r"needs --mlm 1"):
        CondenserObjective(ranker, ObjectiveOptions("condenser"))
    with pytest.raises(UsageError, match=r"of at least two layers"):
        objective(encoder(tmp_path, num_hidden_layers=1), "condenser")


# -- spans -------------------------------------------------------------------------------------------------------------


def page(*texts: str) -> Document:
    sections = [Section(f"S{number}", text=text) for number, text in enumerate(texts)]
    return Document("page", "Page", Section("Page", children=sections), Source("page.md", "markdown"))


def test_two_passages_of_a_document_are_its_spans():
    long = [" ".join(f"{letter}{number}" for number in range(30)) for letter in "abc"]
    drawn = {
        (example.queries, example.documents, example.sections)
        for epoch in range(40)
        for example in document_examples(page(*long, "too short"), ["spans"], epoch=epoch)
    }
    assert drawn == {((one,), (two,), (long.index(two) + 1,)) for one in long for two in long if one != two}


def test_a_document_of_one_passage_gives_no_spans_and_is_counted():
    census = Census()
    assert not list(
        document_examples(page("one two three"), ["spans"], options=SamplingOptions(min_words=1), census=census)
    )
    assert census.dropped == {("spans", "fewer than two passages"): 1}


# -- the recipes -------------------------------------------------------------------------------------------------------


def test_a_recipe_leaves_an_encoder_that_pools_its_cls(tmp_path):
    small = {"base_model": "scratch", "size": "tiny", "max_steps": 2, "groups": 4, "precision": "no"}
    options = training_options("cocondenser", small, ["sample.draws=1", "document_tokens=48"])
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    result = train(tmp_path / "w", options)
    assert list(result.plan.examples) == ["spans"]
    saved = BiEncoder.load(str(result.folder))
    assert saved.modules.pooling == ("cls",)
    assert not [name for name, _ in saved.model.named_parameters() if name.startswith(("layers", "head"))]
    text = "To clean the mast take a cloth"
    first = saved.model(**saved.tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0]
    expected = torch.nn.functional.normalize(first, dim=0)
    torch.testing.assert_close(torch.from_numpy(saved.encode([text])[0]), expected.detach(), atol=1e-5, rtol=0)


SCRATCH = {"base_model": "scratch", "size": "tiny"}


def test_cocondenser_goes_on_with_the_head_of_condenser(tmp_path):
    small = {"max_steps": 1, "groups": 4, "precision": "no"}
    settings = ["sample.draws=1", "document_tokens=48", "learning_rate=1e-2"]
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    first = train(tmp_path / "w", training_options("condenser", {**small, **SCRATCH}, settings)).folder
    saved = {f"model.{name}": value for name, value in load_file(first / "model.safetensors").items()}
    saved |= load_file(first / "condenser_head.safetensors")

    def started(base: Path) -> dict[str, torch.Tensor]:
        options = training_options("cocondenser", {**small, "base_model": str(base)}, settings)
        chosen = resolve(options, "cpu")
        made = make_objective(load_ranker(options, str(base), chosen), options, chosen, str(base), "cpu")
        return made.state_dict()

    torch.testing.assert_close(started(first), saved, rtol=0, atol=0)
    assert {name.split(".")[0] for name in saved} == {"model", "layers", "head"}
    again = train(tmp_path / "w", training_options("cocondenser", {**small, "base_model": str(first)}, settings)).folder
    assert (
        load_file(again / "condenser_head.safetensors").keys() == load_file(first / "condenser_head.safetensors").keys()
    )
    for damaged in (
        {"layers.0.x": torch.zeros(1)},
        {**load_file(first / "condenser_head.safetensors"), "head.bias": torch.zeros(3)},
    ):
        save_file(damaged, first / "condenser_head.safetensors")
        with pytest.raises(ModelError, match=r"condenser_head\.safetensors is not the head of this encoder"):
            started(first)
    (first / "condenser_head.safetensors").write_bytes(b"half a file")
    with pytest.raises(ModelError, match=r"condenser_head\.safetensors is not the head of this encoder"):
        started(first)


def test_condensers_recipe_is_cocondensers_without_the_contrast():
    one, two = (training_options(recipe, {}) for recipe in ("condenser", "cocondenser"))
    assert replace(one, loss="cocondenser", recipe="cocondenser", name="cocondenser") == two
    assert (one.loss, one.pooling, one.mix, one.sampling) == ("condenser", "cls", {"spans": 1}, {"draws": 8})


def test_the_published_condensers_pool_their_cls():
    assert [pooling_of(name) for name in ("Luyu/co-condenser-marco", "google-bert/bert-base-uncased")] == ["cls", None]
