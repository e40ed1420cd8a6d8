"""RetroMAE, DupMAE and CoT-MAE: their masks and losses place by place, and the recipes from end to end."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file
from structformer import train
from structformer.document import Document, Section, Source
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.models import BiEncoder, RankerOptions, make_scratch_model
from structformer.sampling import Census, Example, document_examples
from structformer.training import (
    IGNORED,
    CondenserObjective,
    MaskedHead,
    ObjectiveOptions,
    TokenBatch,
    training_options,
)
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    ElectraConfig,
    ElectraModel,
    ModernBertConfig,
    ModernBertModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaModel,
)

from conftest import PAGES, write_pages
from structformer_devkit.rankers import check_ranker
from structformer_papers.kinds import MASKED_AUTOENCODER
from structformer_papers.masked_autoencoders import (
    CoTMAEObjective,
    DecoderObjective,
    MaskedAutoencoder,
    RetroMAEObjective,
    original,
    seen,
)

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] anchor boat clean deck engine fender mast sail the wet oar rope knot".split()
EXAMPLES = [
    Example("spans", ("clean the mast and the sail",), ("the wet deck of the boat",), "boat", (1,)),
    Example("spans", ("the engine",), ("oar rope knot anchor fender mast sail the wet oar rope",), "engine", (2,)),
]
MADE = {"retromae": RetroMAEObjective, "dupmae": RetroMAEObjective, "cotmae": CoTMAEObjective}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def encoder(base: str, words: int) -> PreTrainedModel:
    """Random weights. ModernBERT's has no embeddings of places: its layers turn vectors by them."""
    if base == "bert":
        return BertModel(BertConfig(vocab_size=words, initializer_range=0.3, **SIZES))
    if base == "electra":
        return ElectraModel(ElectraConfig(vocab_size=words, embedding_size=8, **SIZES))
    special = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    return ModernBertModel(ModernBertConfig(vocab_size=words, local_attention=8, **SIZES, **special))


def tokenizer(folder: Path) -> BertTokenizer:
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in (*WORDS, "##s")))
    return BertTokenizer(vocab=str(folder / "vocab.txt"))


def objective(
    folder: Path, loss: str, base: str = "bert", *, whole_words: bool = False
) -> RetroMAEObjective | CoTMAEObjective:
    """Of a bi-encoder of random weights, without dropout."""
    torch.manual_seed(1)
    ranker = BiEncoder(encoder(base, len(WORDS) + 1), tokenizer(folder))
    head = MaskedHead(ranker.model.get_input_embeddings(), 16)
    torch.nn.init.normal_(head.bias)
    made = MADE[loss](ranker, ObjectiveOptions(loss, document_tokens=48, whole_words=whole_words), head=head)
    return made.eval()


def text_of(batch: TokenBatch, row: int) -> dict[str, list]:
    """A text of a batch without its padding."""
    length = int(batch.features["attention_mask"][row].sum())
    assert batch.labels is not None
    return {
        "ids": batch.features["input_ids"][row, :length].tolist(),
        "labels": batch.labels[row, :length].tolist(),
        "original": original(batch)[row, :length].tolist(),
    }


def logits(made: CondenserObjective, hidden: torch.Tensor) -> torch.Tensor:
    """(tokens, words) from (tokens, width)."""
    assert made.head is not None
    dense = torch.nn.functional.gelu(made.head.dense(hidden))
    return made.head.norm(dense) @ made.model.get_input_embeddings().weight.T + made.head.bias


def mean_loss(made: CondenserObjective, hidden: torch.Tensor, labels: list[int]) -> float:
    scores = logits(made, hidden)
    losses = [
        -torch.log_softmax(score, 0)[label].item()
        for score, label in zip(scores, labels, strict=True)
        if label != IGNORED
    ]
    return sum(losses) / len(losses) if losses else 0.0


def embedded_by_hand(made: DecoderObjective, ids: list[int]) -> list[torch.Tensor]:
    """Each word's vector with those of its place and its kind, of which there is one."""
    words, (places, kinds) = (
        made.model.get_input_embeddings().weight,
        (getattr(made.embeddings, f"{each}_embeddings").weight for each in ("position", "token_type")),
    )
    return [made.embeddings.LayerNorm(words[one] + places[at] + kinds[0]) for at, one in enumerate(ids)]


def decoded_by_hand(made: RetroMAEObjective, cls: torch.Tensor, ids: list[int], visible: list[list[bool]]):
    """(tokens, width), one place and one head after another."""
    embeddings, layer = made.embeddings, made.layers[0]
    places, kinds = (getattr(embeddings, f"{each}_embeddings").weight for each in ("position", "token_type"))
    context = [cls, *embedded_by_hand(made, ids)[1:]]
    found = []
    for place in range(len(ids)):
        asks = cls + places[place]
        if made.loss == "dupmae":
            asks = embeddings.LayerNorm(asks + kinds[0])
        attention = layer.attention.self
        query, sees = attention.query(asks), [each for at, each in enumerate(context) if visible[place][at]]
        parts = []
        for head in (slice(0, 8), slice(8, 16)):
            scores = torch.stack([query[head] @ attention.key(each)[head] / math.sqrt(8) for each in sees])
            values = torch.stack([attention.value(each)[head] for each in sees])
            parts.append(torch.softmax(scores, 0) @ values)
        output = layer.attention.output
        attended = output.LayerNorm(output.dense(torch.cat(parts)) + asks)
        inner = torch.nn.functional.gelu(layer.intermediate.dense(attended))
        found.append(layer.output.LayerNorm(layer.output.dense(inner) + attended))
    return torch.stack(found)


@pytest.mark.parametrize("base", ["bert", "modernbert"])
@pytest.mark.parametrize("loss", ["retromae", "dupmae"])
def test_retromaes_losses_are_those_that_are_computed_place_by_place(tmp_path, loss, base):
    made = objective(tmp_path, loss, base)
    prepared = made.prepare(EXAMPLES, Random(3))
    read: dict[int, tuple[float, float]] = {}
    with torch.no_grad():
        for batch in prepared.batches["texts"]:
            for row, number in enumerate(batch.numbers):
                text = text_of(batch, row)
                last = made.model(input_ids=torch.tensor([text["ids"]])).last_hidden_state[0]
                visible = batch.features["seen"][row].tolist()
                decoder = decoded_by_hand(made, last[0], text["original"], visible)
                words = text["original"][1:-1]
                total = mean_loss(made, decoder, [IGNORED, *words, IGNORED])
                if loss == "dupmae":
                    highest = torch.log_softmax(logits(made, last[1:]).max(0).values, 0)
                    total += 0.1 * sum(-highest[word].item() for word in set(words)) / len(words)
                read[number] = total, mean_loss(made, last, text["labels"])
        losses, masked = made(prepared)
    pairs = list(zip(prepared.places["queries"].tolist(), prepared.places["documents"].tolist(), strict=True))
    assert len({len(row) for batch in prepared.batches["texts"] for row in batch.features["input_ids"]}) == 1  # padded
    assert masked is not None
    for found, which in ((losses, 0), (masked, 1)):
        expected = [(read[one][which] + read[two][which]) / 2 for one, two in pairs]
        assert found.tolist() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("base", ["bert", "modernbert"])
def test_cotmaes_losses_are_those_of_each_span_from_the_others_cls(tmp_path, base):
    made = objective(tmp_path, "cotmae", base)
    prepared = made.prepare(EXAMPLES, Random(3))
    pairs = list(zip(prepared.places["queries"].tolist(), prepared.places["documents"].tolist(), strict=True))
    other = {one: two for pair in pairs for one, two in (pair, pair[::-1])}
    read: dict[int, tuple[float, float]] = {}
    texts = {
        number: text_of(batch, row)["original"]
        for batch in prepared.batches["texts"]
        for row, number in enumerate(batch.numbers)
    }
    with torch.no_grad():
        for batch in prepared.batches["texts"]:
            for row, number in enumerate(batch.numbers):
                text, length = text_of(batch, row), len(texts[other[number]])
                ids, mask, labels = (
                    batch.features[f"other_{each}"][row].tolist() for each in ("input_ids", "attention_mask", "labels")
                )
                assert mask == [1] * length + [0] * (len(mask) - length)
                whole = [one if label == IGNORED else label for one, label in zip(ids, labels, strict=True)]
                assert whole[:length] == texts[other[number]]
                last = made.model(input_ids=torch.tensor([text["ids"]])).last_hidden_state[0]
                hidden = torch.stack([last[0], *embedded_by_hand(made, ids[:length])[1:]])[None]
                for layer in made.layers:
                    hidden = layer(hidden)
                read[number] = mean_loss(made, hidden[0], labels[:length]), mean_loss(made, last, text["labels"])
        losses, masked = made(prepared)
    assert masked is not None
    assert len(made.layers) == 2
    for found, which in ((losses, 0), (masked, 1)):
        expected = [(read[one][which] + read[two][which]) / 2 for one, two in pairs]
        assert found.tolist() == pytest.approx(expected, rel=1e-4)
    assert min(losses.tolist()) > 0


def test_a_place_sees_cls_and_sep_and_half_of_the_words_but_never_itself():
    asked = torch.full((50, 12), IGNORED)
    asked[:, 1:9] = 7  # [CLS], eight words, [SEP], two of padding
    mask = torch.tensor([[1] * 10 + [0] * 2] * 50)
    visible = seen(asked, mask, torch.Generator().manual_seed(1))
    assert not visible[:, torch.arange(1, 12), torch.arange(1, 12)].any()
    assert visible[:, :, 0].all()
    assert visible[:, 1:9, 9].all()
    assert not visible[:, :, 10:].any()
    others = ~torch.eye(8, dtype=torch.bool)
    assert visible[:, 1:9, 1:9][:, others].float().mean().item() == pytest.approx(0.5, abs=0.03)
    assert (visible[:, 1] != visible[:, 2]).any()  # each place draws its own


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize(("loss", "share"), [("retromae", 0.3), ("cotmae", 0.45)])
def test_the_papers_shares_of_the_tokens_are_masked(tmp_path, loss, share, whole_words):
    """Of a text of twenty words, each of two tokens, so that a share of the words would be half of that."""
    made = objective(tmp_path, loss, whole_words=whole_words)
    words = [f"{word}s" for word in Random(5).choices(WORDS[5:], k=800)]
    examples = [
        Example("spans", (" ".join(words[at : at + 20]),), (" ".join(words[at + 20 : at + 40]),), "a", (1,))
        for at in range(0, 800, 40)
    ]
    batches = made.prepare(examples, Random(1)).batches["texts"]
    masked = [batch.labels != IGNORED for batch in batches if batch.labels is not None]
    assert sum(each.sum().item() for each in masked) / 1600 == pytest.approx(0.3, abs=0.03)
    if loss == "cotmae":
        others = [batch.features["other_labels"] != IGNORED for batch in batches]
        assert sum(each.sum().item() for each in others) / 1600 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("base", ["bert", "modernbert"])
@pytest.mark.parametrize("loss", MADE)
def test_every_weight_learns(tmp_path, loss, base):
    made = objective(tmp_path, loss, base)
    losses, masked = made(made.prepare(EXAMPLES, Random(3)))
    assert masked is not None
    (losses + masked).sum().backward()
    without = [name for name, each in made.named_parameters() if each.requires_grad and each.grad is None]
    assert without == []
    assert {name.split(".")[1] for name, _ in made.layers.named_parameters(prefix="layers")} == (
        {"0", "1"} if loss == "cotmae" else {"0"}
    )


def test_robertas_positions_begin_behind_its_padding(tmp_path):
    made = objective(tmp_path, "retromae")
    config = RobertaConfig(vocab_size=len(WORDS), pad_token_id=1, max_position_embeddings=40, **SIZES)
    made.ranker.model = RobertaModel(config)
    other = RetroMAEObjective(made.ranker, ObjectiveOptions("retromae"), head=made.head)
    places = other._queries(torch.zeros(1, 16), 5)[0]
    torch.testing.assert_close(places, made.ranker.model.embeddings.position_embeddings.weight[2:7])


def test_they_need_masked_words_and_are_losses_of_their_own_kind(tmp_path):
    ranker = objective(tmp_path, "retromae").ranker
    with pytest.raises(UsageError, match=r"the loss dupmae learns from masked words: it needs --mlm 1"):
        RetroMAEObjective(ranker, ObjectiveOptions("dupmae"))
    with pytest.raises(UsageError, match=r"a masked-autoencoder has no loss 'infonce'"):
        RetroMAEObjective(ranker, ObjectiveOptions("infonce"))
    with pytest.raises(UsageError, match=r"a bi-encoder has no loss 'retromae'"):
        CondenserObjective(ranker, ObjectiveOptions("retromae"))


# -- spans -------------------------------------------------------------------------------------------------------------


def section(title: str, *words: str, children: tuple[Section, ...] = ()) -> Section:
    return Section(title, text="\n\n".join(words), children=list(children))


def said(letter: str, count: int = 30) -> str:
    return " ".join(f"{letter}{number}" for number in range(count))


def drawn(*sections: Section, census: Census | None = None) -> set[tuple[str, str]]:
    page = Document("page", "Page", Section("Page", children=list(sections)), Source("page.md", "markdown"))
    return {
        (example.queries[0][0], example.documents[0][0])
        for epoch in range(30)
        for example in document_examples(page, ["neighbours"], epoch=epoch, census=census)
    }


def test_neighbours_follow_each_other_under_one_heading_or_from_sibling_to_sibling():
    below = section("C", said("c"), children=(section("D", said("d")), section("E", said("e"))))
    found = drawn(
        section("A", said("a", 120), said("b", 120)), below, section("F", "too short"), section("G", said("g"))
    )
    assert found == {("a", "b"), ("b", "c"), ("d", "e")}


def test_a_document_without_neighbours_is_counted():
    census = Census()
    assert drawn(section("A", said("a")), census=census) == set()
    assert set(census.dropped) == {("neighbours", "no two neighbouring passages")}


# -- the recipes -------------------------------------------------------------------------------------------------------

SETTINGS = ["sample.draws=1", "document_tokens=48"]
SMALL = {"base_model": "scratch", "size": "tiny", "max_steps": 2, "groups": 4, "precision": "no"}


@pytest.mark.parametrize("loss", MADE)
def test_a_recipe_leaves_a_bi_encoder_that_pools_its_cls(tmp_path, loss):
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    result = train(tmp_path / "w", training_options(loss, SMALL, SETTINGS))
    assert result.steps == 2
    assert set(result.plan.examples) == ({"spans", "neighbours"} if loss == "cotmae" else {"spans"})
    saved = BiEncoder.load(str(result.folder))
    assert saved.modules.pooling == ("cls",)
    assert not [name for name, _ in saved.model.named_parameters() if name.startswith(("layers", "head"))]
    text = "To clean the mast take a cloth"
    first = saved.model(**saved.tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0]
    expected = torch.nn.functional.normalize(first, dim=0)
    torch.testing.assert_close(torch.from_numpy(saved.encode([text])[0]), expected.detach(), atol=1e-5, rtol=0)


def test_dupmae_goes_on_with_retromaes_decoder(tmp_path):
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    first = train(tmp_path / "w", training_options("retromae", {**SMALL, "max_steps": 1}, SETTINGS)).folder
    again = {**SMALL, "max_steps": 1, "base_model": str(first), "learning_rate": 1e-9}
    del again["size"]
    second = train(tmp_path / "w", training_options("dupmae", again, SETTINGS)).folder
    before, after = (load_file(each / "retromae_head.safetensors") for each in (first, second))
    assert {name.split(".")[0] for name in before} == {"layers", "head"}
    torch.testing.assert_close(after, before, atol=1e-6, rtol=0)


def saved_base(folder: Path, base: str) -> Path:
    """Save an encoder of random weights with a tokenizer of the pages' words."""
    pieces = sorted({each.strip(".,-#[]()*/") for each in " ".join(PAGES.values()).lower().split()} - {""})
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in dict.fromkeys([*WORDS, *pieces])))
    tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"))
    for saved in (encoder(base, len(tokenizer)), tokenizer):
        saved.save_pretrained(folder / base)
    return folder / base


@pytest.mark.parametrize("recipe", [*MADE, "condenser"])
def test_word_vectors_narrower_than_the_layers_train_condenser_alone(tmp_path, recipe):
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    small = {**SMALL, "base_model": str(saved_base(tmp_path, "electra"))}
    del small["size"]
    options = training_options(recipe, small, SETTINGS)
    if recipe in MADE:
        with pytest.raises(UsageError, match=f"the loss {recipe} needs words as wide as the base's layers: 16, not 8"):
            train(tmp_path / "w", options)
    else:
        head = load_file(train(tmp_path / "w", options).folder / "condenser_head.safetensors")
        assert head["head.dense.weight"].shape == (8, 16)


@pytest.mark.parametrize("recipe", [*MADE, "condenser", "cocondenser"])
def test_a_recipe_trains_a_modernbert_and_goes_on_with_its_decoder(tmp_path, recipe):
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    small = {**SMALL, "base_model": str(saved_base(tmp_path, "modernbert")), "learning_rate": 1e-9}
    del small["size"]
    first = train(tmp_path / "w", training_options(recipe, small, SETTINGS)).folder
    again = {**small, "base_model": str(first)}
    second = train(tmp_path / "w", training_options(recipe, again, SETTINGS)).folder
    [before] = (load_file(each) for each in first.glob("*_head.safetensors"))
    [after] = (load_file(each) for each in second.glob("*_head.safetensors"))
    places = set() if "condenser" in recipe else {"places"}
    assert {name.split(".")[0] for name in before} == {"layers", "head"} | places
    torch.testing.assert_close(after, before, atol=1e-6, rtol=0)
    saved_model = BiEncoder.load(str(second))
    assert saved_model.model.config.model_type == "modernbert"
    assert saved_model.modules.pooling == ("cls",)


def test_the_recipes_differ_in_loss_and_spans_alone():
    one, two, three = (training_options(recipe, {}) for recipe in MADE)
    assert replace(one, loss="dupmae", recipe="dupmae", name="dupmae") == two
    assert replace(one, loss="cotmae", recipe="cotmae", name="cotmae", mix={"neighbours": 1, "spans": 1}) == three
    assert (one.ranker, one.pooling, one.mlm, one.whole_words) == ("masked-autoencoder", "cls", 1.0, True)


def test_the_kind_keeps_the_rules_of_rankers():
    assert check_ranker(MASKED_AUTOENCODER) == []


def test_the_kind_pools_cls_unless_it_is_asked_for_another(tmp_path):
    make_scratch_model(lambda: [said("a")], tmp_path / "base", size="tiny", seed=0, vocabulary=300)
    for pooling, expected in ((None, "cls"), ("mean", "mean")):
        started = MASKED_AUTOENCODER.start(str(tmp_path / "base"), RankerOptions(48, pooling=pooling))
        assert isinstance(started, MaskedAutoencoder)
        assert started.modules.pooling == (expected,)
