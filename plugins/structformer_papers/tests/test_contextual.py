"""Passages in the context of their document: where each is in its window, its vector and InSeNT's loss by hand, and the
way from training to a search."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from structformer import Retriever, train
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.models import RankerOptions
from structformer.retrieval import build_index
from structformer.sampling import Example
from structformer.training import ObjectiveOptions, training_options
from transformers import BertConfig, BertModel, BertTokenizer, RobertaConfig, RobertaModel

from conftest import PAGES, write_pages
from structformer_devkit.rankers import check_ranker
from structformer_papers.contextual import CONTEXT, IN_SEQUENCE, SCALE, ContextualEncoder, InSeNTObjective
from structformer_papers.kinds import CONTEXTUAL

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] anchor boat clean deck engine fender mast sail the wet oar rope knot".split()
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.fixture
def encoder(tmp_path: Path) -> ContextualEncoder:
    """Of random weights, with a window of 24 tokens."""
    (tmp_path / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    torch.manual_seed(1)
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = BertConfig(vocab_size=len(WORDS), initializer_range=0.3, max_position_embeddings=24, **SIZES, **none)
    return ContextualEncoder(BertModel(config).eval(), BertTokenizer(vocab=str(tmp_path / "vocab.txt")))


def said(ids: list[int]) -> str:
    return " ".join(WORDS[each] for each in ids)


def read(encoder: ContextualEncoder, text: str) -> torch.Tensor:
    """(tokens, width) of a text of words of the vocabulary, special ones among them."""
    ids = torch.tensor([[WORDS.index(word) for word in text.split()]])
    return encoder.model(input_ids=ids).last_hidden_state[0].detach()


def unit(vector: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(vector, dim=-1)


# -- late chunking -----------------------------------------------------------------------------------------------------


def test_passages_are_joined_by_separators_which_no_mean_holds_while_the_first_holds_cls(encoder):
    [window] = encoder.windows([["clean the mast", "the wet deck", "oar"]], 32)
    assert said(window.ids) == "[CLS] clean the mast [SEP] the wet deck [SEP] oar [SEP]"
    assert [said(window.ids[first:last]) for first, last in window.spans] == [
        "[CLS] clean the mast",
        "the wet deck",
        "oar",
    ]


def test_a_passages_vector_is_the_mean_of_its_own_tokens_in_the_documents_reading(encoder):
    [first, second] = encoder.encode_in_context([["clean the mast", "the wet deck"], ["the wet deck"]])
    hidden = read(encoder, "[CLS] clean the mast [SEP] the wet deck [SEP]")
    torch.testing.assert_close(torch.from_numpy(first), unit(torch.stack([hidden[:4].mean(0), hidden[5:8].mean(0)])))
    alone = read(encoder, "[CLS] the wet deck [SEP]")
    torch.testing.assert_close(torch.from_numpy(second), unit(alone[:4].mean(0))[None])
    assert np.abs(first[1] - second[0]).max() > 0.01  # the same words in another context


def test_the_tokens_that_a_passage_is_the_mean_of_are_shown_to_who_asks(encoder):
    seen: dict[int, np.ndarray] = {}
    texts = [*encoder.in_context(["oar", "the wet deck"], [7, 7]), "clean the mast"]
    vectors = encoder.encode_documents_with_tokens(texts, lambda number, tokens: seen.update({number: tokens}))
    assert [len(seen[number]) for number in range(3)] == [2, 3, 4]
    for number, tokens in seen.items():
        torch.testing.assert_close(unit(torch.from_numpy(tokens).mean(0)), torch.from_numpy(vectors[number]))


def test_a_long_document_is_read_in_windows_that_begin_with_what_was_before(encoder):
    passages = [
        "anchor boat clean deck engine",
        "fender",
        "mast sail the wet oar rope knot",
        "oar rope",
        "the wet knot deck",
    ]
    windows = [text.partition("\x1f")[::2] for text in encoder.in_context(passages, [0] * 5)]
    assert [(int(place), window.split("\x1e")) for place, window in windows] == [
        (0, passages[:4]),
        (1, passages[:4]),
        (2, passages[:4]),
        (3, passages[:4]),
        (1, passages[3:]),
    ]
    assert CONTEXT * 23 > 3  # so that the fourth, of two words and a separator, is context of the fifth
    [vectors] = encoder.encode_in_context([passages])
    hidden = read(encoder, "[CLS] oar rope [SEP] the wet knot deck [SEP]")
    torch.testing.assert_close(torch.from_numpy(vectors[4]), unit(hidden[4:8].mean(0)))


def test_what_is_longer_than_a_window_is_cut_and_an_empty_passage_has_a_vector(encoder):
    [vectors] = encoder.encode_in_context([[" ".join(["mast"] * 90), "", "\x1e\x1f"]])
    assert vectors.shape == (3, 16)
    assert np.isfinite(vectors).all()
    hidden = read(encoder, " ".join(["[CLS]", *["mast"] * 22, "[SEP]"]))
    torch.testing.assert_close(torch.from_numpy(vectors[0]), unit(hidden[:23].mean(0)))


def test_vectors_are_the_same_in_any_company(encoder):
    documents = [["oar rope", "knot"], ["mast sail the wet", "deck", "engine fender"], ["knot"]]
    together = encoder.encode_in_context(documents)
    for document, vectors in zip(documents, together, strict=True):
        torch.testing.assert_close(vectors, encoder.encode_in_context([document])[0], atol=1e-6, rtol=0)


def test_robertas_window_leaves_out_the_places_up_to_its_padding(encoder):
    encoder.model = RobertaModel(RobertaConfig(vocab_size=20, pad_token_id=1, max_position_embeddings=40, **SIZES))
    assert encoder.window == 38


# -- InSeNT ------------------------------------------------------------------------------------------------------------

EXAMPLES = [
    Example("srr", ("wet deck",) * 3, ("the wet deck", "clean the mast", "oar rope"), "boat", (2, 1, 3)),
    Example("srr", ("knot",) * 3, ("rope knot", "oar rope", "engine"), "ropes", (4, 2, -1)),
    Example("srr", ("mast",), ("clean the mast",), "boat", (1,)),
]


def test_insents_losses_are_those_that_are_computed_passage_by_passage(encoder):
    objective = InSeNTObjective(encoder, ObjectiveOptions("insent", document_tokens=32))
    with torch.no_grad():
        losses, masked = objective(objective.prepare(EXAMPLES, Random(1)))
    assert masked is None
    boat = read(encoder, "[CLS] clean the mast [SEP] the wet deck [SEP] oar rope [SEP]")
    ropes = read(encoder, "[CLS] oar rope [SEP] rope knot [SEP]")
    vectors = {
        "mast": boat[:4].mean(0),
        "deck": boat[5:8].mean(0),
        "oar": boat[9:11].mean(0),
        "oar of ropes": ropes[:3].mean(0),
        "knot": ropes[4:6].mean(0),
        "engine": read(encoder, "[CLS] engine [SEP]")[:2].mean(0),
        "mast alone": read(encoder, "[CLS] clean the mast [SEP]")[:4].mean(0),
    }

    def loss(query: str, right: str, *wrong: str) -> float:
        asked = unit(read(encoder, f"[CLS] {query} [SEP]").mean(0))
        scores = torch.stack([asked @ unit(vectors[each]) for each in (right, *wrong)]) * SCALE
        return -torch.log_softmax(scores, 0)[0].item()

    expected = [
        (loss("wet deck", "deck", "mast", "oar"), loss("wet deck", "deck", "oar of ropes", "knot", "engine")),
        # A passage of the page "boat" that is also in "ropes" is a negative of its other passages.
        (loss("knot", "knot", "oar of ropes"), loss("knot", "knot", "mast", "deck", "oar", "engine", "mast alone")),
        # Nothing of its own document, whoever has drawn it, is a negative of the batch.
        (loss("mast", "mast alone"), loss("mast", "mast alone", "oar of ropes", "knot", "engine")),
    ]
    by_hand = [IN_SEQUENCE * own + (1 - IN_SEQUENCE) * others for own, others in expected]
    torch.testing.assert_close(losses, torch.tensor(by_hand), atol=1e-5, rtol=0)


def test_what_does_not_fit_into_the_window_beside_the_positive_is_left_out(encoder):
    sections = (5, 1, 2, 3)
    documents = (
        "oar rope",
        "anchor boat clean deck engine",
        "fender mast sail the wet",
        "knot oar rope wet deck boat mast sail",
    )
    example = Example("srr", ("oar",) * 4, documents, "page", sections)
    objective = InSeNTObjective(encoder, ObjectiveOptions("insent", document_tokens=32))
    prepared = objective.prepare([example], Random(1))
    rows = [ids for batch in prepared.batches["texts"] for ids in batch.features["input_ids"].tolist()]
    [row] = [ids for ids in rows if WORDS.index("anchor") in ids]
    assert said(row) == ("[CLS] anchor boat clean deck engine [SEP] fender mast sail the wet [SEP] oar rope [SEP]")
    assert prepared.places["positives"].tolist() == [2]


def test_every_weight_learns(encoder):
    objective = InSeNTObjective(encoder, ObjectiveOptions("insent", document_tokens=32))
    losses, _ = objective(objective.prepare(EXAMPLES, Random(3)))
    losses.sum().backward()
    assert [name for name, each in objective.named_parameters() if each.requires_grad and each.grad is None] == []


def test_the_kind_keeps_the_rules_of_rankers_and_pools_by_means_alone(encoder, tmp_path):
    assert check_ranker(CONTEXTUAL) == []
    with pytest.raises(UsageError, match="a contextual passage is the mean of its tokens: leave out --pooling cls"):
        CONTEXTUAL.start(str(tmp_path), RankerOptions(48, pooling="cls"))


# -- from pages to a search --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contextual")
    ingest(write_pages(folder / "pages", PAGES), folder / "w", workers=1)
    small = {"base_model": "scratch", "size": "tiny", "max_steps": 2, "groups": 4, "precision": "no"}
    result = train(folder / "w", training_options("insent", small))
    assert result.steps == 2
    assert {"ict", "srr"} <= set(result.plan.examples)
    build_index(folder / "w", encoders=["contextual"])
    return folder / "w"


def test_a_search_finds_passages_by_their_vectors_in_context(trained):
    retriever = Retriever.open(trained)
    _, index, _ = retriever.opened.encoder("contextual")
    pages: dict[int, list[str]] = {}
    for unit_ in retriever.units:
        pages.setdefault(unit_.document, []).append(unit_.ranker_text)
    expected = np.concatenate(
        ContextualEncoder.load(str(trained / "models" / "contextual")).encode_in_context(list(pages.values()))
    )
    torch.testing.assert_close(np.asarray(index.vectors), expected, atol=0.02, rtol=0)  # an index may be of 16 bits
    assert retriever.search("reefing", pipeline="dense:contextual", k=3)


def test_a_page_that_changes_costs_its_own_passages_alone(trained):
    pages = {**PAGES, "knots.md": PAGES["knots.md"].replace("It is quick to tie", "It is quickly tied")}
    before = np.array(Retriever.open(trained).opened.encoder("contextual")[1].vectors)
    ingest(write_pages(trained.parent / "pages", pages), trained, workers=1)
    build_index(trained, encoders=["contextual"])
    after = Retriever.open(trained)
    changed = np.abs(after.opened.encoder("contextual")[1].vectors - before).max(1) > 1e-6
    assert {unit.document_id for unit, moved in zip(after.units, changed, strict=True) if moved} == {"knots.md"}
    assert changed.sum() > 1  # the passages beside the one that has other words


def test_an_index_made_in_parts_has_the_same_vectors(trained, run):
    whole = np.array(Retriever.open(trained).opened.encoder("contextual")[1].vectors)
    for part in ("1/2", "2/2"):
        assert run("index", "-w", trained, "--encoder", "contextual", "--part", part).code == 0
    assert run("merge", "-w", trained).code == 0
    np.testing.assert_array_equal(Retriever.open(trained).opened.encoder("contextual")[1].vectors, whole)
