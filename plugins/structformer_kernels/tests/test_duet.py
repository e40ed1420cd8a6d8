"""DUET: scored by a table of counts it is what the sums of n-graphs' rows say, and it trains and is saved like any ranker."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from string import ascii_lowercase

import pytest
import torch
from structformer.errors import ModelError, UsageError
from structformer.models import RankerOptions, ranker_kind
from structformer.models.scratch import make_scratch_model

from conftest import write_pages
from structformer_kernels.duet import DuetModel, DuetSizes
from structformer_kernels.duet_ranker import DuetRanker
from structformer_kernels.ngraphs import commonest_ngraphs, count_ngraphs, ngraphs_of, read_ngraphs, words_of

SMALL = DuetSizes(query_words=4, document_words=7, channels=3, window=2)
NGRAPHS = "a s t m ma as st #m t# s# mas mast #mast sail# 007".split()


def dense_score(model: DuetModel, query: str, document: str) -> torch.Tensor:
    """The score as the paper draws it: a table of exact matches, and tables of counts under plain convolutions."""
    sizes, ngraphs = model.sizes, sorted(model.ngraphs, key=lambda each: int(model.known.tolist().index(code(each))))
    asked, read = words_of(query)[: sizes.query_words], words_of(document)[: sizes.document_words]
    matches = torch.zeros(sizes.query_words, sizes.document_words)
    for row, one in enumerate(asked):
        for column, other in enumerate(read):
            matches[row, column] = float(one == other)

    def convolved(filters, words, length):
        counts = torch.zeros(len(ngraphs), length)
        for place, word in enumerate(words):
            found = ngraphs_of(word)
            counts[:, place] = torch.tensor([float(found[ngraph]) for ngraph in ngraphs])
        weight = filters.bag.weight.view(len(ngraphs), 3, sizes.channels).permute(2, 0, 1)
        return torch.tanh(torch.nn.functional.conv1d(counts[None], weight, filters.bias))[0]

    def dense(layer, values):
        return torch.tanh(layer.weight @ values + layer.bias)

    def scored(layers, values):
        first, second, last = (layer for layer in layers if isinstance(layer, torch.nn.Linear))
        return dense(last, dense(second, dense(first, values)))

    first = torch.cat([dense(model.local[0], row) for row in matches])
    local = scored(model.local[1:], first)
    of_query = dense(model.query_dense[0], convolved(model.query_filters, asked, sizes.query_words).max(1).values)
    of_document = convolved(model.document_filters, read, sizes.document_words)
    windows = [of_document[:, place : place + sizes.window].max(1).values for place in range(sizes.places)]
    mixed = torch.cat([of_query * dense(model.document_dense[0], window) for window in windows])
    return local + scored(model.distributed, mixed)


def code(ngraph: str) -> int:
    return sum(("0123456789abcdefghijklmnopqrstuvwxyz#".index(c) + 1) * 38**place for place, c in enumerate(ngraph))


def small(seed: int = 0) -> DuetRanker:
    """Weights so large that every layer takes part in the score."""
    torch.manual_seed(seed)
    model = DuetModel(NGRAPHS, SMALL)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    return DuetRanker(model)


PAIRS = [
    ("Mast sail", "A mast, a SAIL; the mast-head 007 and more and more"),
    ("mast", "keel"),
    ("an-overlong-word pneumonoultramicroscopicmast", "pneumonoultramicroscopicsail"),
    ("one two three four five", ""),
    ("", "é ü"),
]


def test_sums_of_rows_are_the_papers_convolutions_over_counts():
    ranker = small()
    scores = ranker.score([query for query, _ in PAIRS], [document for _, document in PAIRS])
    model = ranker.model.eval()
    with torch.no_grad():
        by_hand = [dense_score(model, *pair).item() for pair in PAIRS[:2] + PAIRS[3:]]
    assert [scores[0], scores[1], scores[3], scores[4]] == pytest.approx(by_hand, abs=1e-5)
    assert len({round(float(score), 4) for score in scores}) == len(PAIRS)
    alone = ranker.score(["", "qqq"], ["é ü", "zzz"])  # no word, and no n-graph, in the whole batch
    assert alone[0] == alone[1] == pytest.approx(scores[4], abs=1e-6)
    # Words are cut after 23 letters, and these two are then the same.
    cut = ranker.score(["pneumonoultramicroscopi"], ["pneumonoultramicroscopi"])
    assert ranker.score([PAIRS[2][1]], [PAIRS[2][1].replace("sail", "mast")]) == pytest.approx(cut, abs=1e-6)


def test_one_step_lowers_the_loss_and_reaches_every_weight():
    ranker = small()
    model = ranker.model.eval()  # without dropout, so that two passes can be compared
    encoded = ranker.encode_pairs(["mast sail"] * 2, ["a mast and a sail", "the keel"], [10, 10])
    batch = ranker.tokenizer.pad(encoded, padding=True, return_tensors="pt")
    step = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss():
        return -torch.log_softmax(model(**batch).logits.squeeze(-1), 0)[0]

    before = loss()
    torch.autograd.backward(before)
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())
    step.step()
    assert loss() < before


def test_saved_and_loaded_it_scores_the_same(tmp_path):
    ranker = small()
    ranker.save(tmp_path)
    again = DuetRanker.load(str(tmp_path))
    assert again.model.sizes == SMALL
    queries, documents = [query for query, _ in PAIRS], [document for _, document in PAIRS]
    assert again.score(queries, documents) == pytest.approx(ranker.score(queries, documents), abs=1e-7)
    for damaged in ("model.safetensors", "duet.json"):
        (tmp_path / damaged).write_text("{}")
        with pytest.raises(ModelError, match="holds no DUET"):
            DuetRanker.load(str(tmp_path))


def test_ngraphs_are_counted_between_marks_and_read_as_published(tmp_path):
    assert ngraphs_of("aba") == Counter("a b a #a ab ba a# #ab aba ba# #aba aba# #aba#".split())
    assert commonest_ngraphs(count_ngraphs(["Aba aba", "b!"]), 3) == ["a", "b", "#a"]
    (tmp_path / "ngraphs.txt").write_text("a\t1\ns#\t2\natio\t3\n")
    assert read_ngraphs(tmp_path / "ngraphs.txt") == ["a", "s#", "atio"]
    for wrong in ("a\nstation\n", "é\n", "a#b\n", "##\n", "#\n"):
        (tmp_path / "wrong.txt").write_text(wrong)
        with pytest.raises(UsageError, match=rf"wrong\.txt, line {wrong.count(chr(10))}: .* is not an n-graph"):
            read_ngraphs(tmp_path / "wrong.txt")
    (tmp_path / "queries.tsv").write_text("1\thow do I reef\n")
    with pytest.raises(UsageError, match=r"queries\.tsv, line 1: 'how do I reef' is not the number of an n-graph"):
        read_ngraphs(tmp_path / "queries.tsv")


def test_the_corpus_gives_a_list_to_start_from(run, tmp_path):
    folder = tmp_path / "w"
    write_pages(tmp_path / "pages", {"boat.md": "# The boat\n\nThe mast and the sail.\n"})
    assert run("ingest", tmp_path / "pages", "-w", folder).code == 0
    said = run("ngraphs", tmp_path / "own.txt", "--size", 30, "-w", folder)
    assert said.code == 0
    assert "the 30 commonest n-graphs of the corpus" in said.out
    # t in "the", three times, "boat" and "mast"; a in all other words
    assert read_ngraphs(tmp_path / "own.txt")[:4] == ["t", "a", "#t", "#th"]
    ranker = ranker_kind("duet").start(str(tmp_path / "own.txt"), RankerOptions(document_tokens=64))
    assert len(ranker.model.known) == 30
    assert ranker.model.sizes == DuetSizes(document_words=64)
    assert run("ngraphs", tmp_path / "own.txt", "-w", folder).code != 0  # it is there already


def test_without_a_list_the_words_of_the_base_are_taken(tmp_path):
    texts = ["the mast and the sail"] * 3
    make_scratch_model(lambda: texts, tmp_path / "base", size="tiny", seed=0, vocabulary=60)
    ranker = DuetRanker.load(str(tmp_path / "base"))
    ngraphs = ranker.model.ngraphs
    assert ranker.note.startswith(f"n-graphs: the {len(ngraphs)} commonest of the base model's words")
    assert {"#t", "the", "mast", "sail#"} <= set(ngraphs)
    assert not [ngraph for ngraph in ngraphs if ngraph.startswith("##")]


@pytest.mark.slow
def test_it_learns_at_the_papers_sizes(tmp_path):
    letters = [*ascii_lowercase, *map("".join, product(ascii_lowercase, repeat=2))]
    ngraphs = [*letters, *map("".join, product("aeioumnrst", ascii_lowercase, ascii_lowercase))][:2000]
    (tmp_path / "ngraphs.txt").write_text("".join(f"{each}\t{number}\n" for number, each in enumerate(ngraphs, 1)))
    ranker = ranker_kind("duet").start(str(tmp_path / "ngraphs.txt"), RankerOptions(document_tokens=1000))
    model = ranker.model
    assert (model.sizes, len(model.known)) == (DuetSizes(10, 1000, 300, 100), 2000)
    assert model.distributed[1].weight.shape == (300, 899 * 300)
    long = " ".join(f"the {one} of the {other}" for one, other in product(letters[26:41], repeat=2))
    encoded = ranker.encode_pairs(["mend the mast of the old boat"] * 2, [long, "the keel"], [10, 10])
    assert len(encoded["input_ids"][0]) == 7 + 1000
    batch = ranker.tokenizer.pad(encoded, padding=True, return_tensors="pt")
    loss = -torch.log_softmax(model(**batch).logits.squeeze(-1), 0)[0]
    torch.autograd.backward(loss)
    assert math.isfinite(loss)
    sizes = {name: float(each.grad.norm()) for name, each in model.named_parameters()}
    assert [name for name, size in sizes.items() if not 0 < size < math.inf] == []
