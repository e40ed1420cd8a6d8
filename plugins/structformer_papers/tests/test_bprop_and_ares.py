"""B-PROP's contrasts and ARES's axioms on values that can be computed by hand; both tasks drawn and trained on."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from structformer import sample, train
from structformer.models.attention import AttentionWeights
from structformer.models.scratch import make_scratch_model
from structformer.sampling import SamplingOptions
from structformer.sampling.tasks import Ground
from structformer.sampling.word_sets import DocumentModel
from structformer.training.recipes import training_options
from structformer.training.report.logs import read_log

from boats import TOPICS, boats
from structformer_exports.word_vectors import WordVectors, write_word_vectors
from structformer_papers.ares import (
    AXIOMS,
    Places,
    ScoredDocument,
    fitted_weights,
    hard,
    signs,
    strict,
    weighted,
    write_places,
)
from structformer_papers.bprop import Attended, ContrastModel, contrasts, saturated, write_attended

TEXTS = ["join ropes with knots", "ropes hold sails, old ropes too", "sails catch wind"]
DIGEST = "ae2709f0442bf459ea33d2738993b13da8a2887b84bbd8c1fe98aa5194f7f996"  # of ARES's Examples of the boats
NO_WORDS: frozenset[str] = frozenset()


class Pages:
    """Three documents, the last of which is held out."""

    count = 4

    def head(self, number: int) -> str:
        return [*TEXTS, ""][number]

    abstract = head

    def title(self, number: int) -> str:
        return ["Knots", "Ropes", "Sails", ""][number]


class Weights:
    """Attention of .01 and .03 to two words of the first document, of .01 to one of the others."""

    def first_pieces(self, texts):
        assert texts == [f"{title}. {text}" for title, text in zip(("Knots", "Ropes", "Sails"), TEXTS, strict=True)]
        return [(9, {"knots": 0.01, "ropes": 0.03}), (9, {"ropes": 0.01}), (9, {"ropes": 0.01})]


class Collection:
    """Four documents of two words on average; ropes stand in two of them, every other word in one."""

    documents = 4
    mean_length = 2.0

    def probability(self, word: str) -> float:
        return 0.25

    def probabilities(self, words: list[str]) -> list[float]:
        return [0.25] * len(words)

    def frequency(self, word: str) -> int:
        return 1

    def document_frequency(self, word: str) -> int:
        return 2 if word == "ropes" else 1

    def kept(self, word: str) -> float:
        return 1.0

    def drawn(self, rng: Random, count: int, min_frequency: int) -> list[str]:
        return ["wind"]


def test_the_corpus_distribution_is_the_mean_of_saturated_attention(tmp_path):
    """.01 saturates to a half, .03 to three quarters: ropes get 1.75 in all, knots .5."""
    assert saturated({"a": 0.01, "b": 0.03, "c": 0.0}) == {"a": 0.5, "b": 0.75, "c": 0.0}
    write_attended(Ground(Pages(), SamplingOptions(), 0, weights=Weights()), tmp_path)
    attended = Attended(tmp_path)
    assert attended.corpus == pytest.approx({"ropes": 7 / 9, "knots": 2 / 9})
    assert attended.document(0) == (9, {"knots": 0.5, "ropes": 0.75})


def test_a_contrast_is_cross_entropy_with_the_corpus():
    """P is (1/2, 3/10, 1/5); -log2 R is (2, 1, 2) and for the last word 400, which is capped."""
    values = {"knot": 0.5, "rope": 0.3, "the": 0.1, "x1": 0.1}
    corpus = {"knot": 0.25, "rope": 0.5, "the": 0.25, "x1": 0.25}
    assert contrasts(values, corpus, frozenset({"the"})) == pytest.approx({"knot": 1.0, "rope": 0.3})
    assert contrasts({"a": 1.0}, {"a": 2.0**-400}, NO_WORDS) == {"a": 100.0}


def test_words_are_drawn_by_the_softmax_of_contrasts_without_replacement():
    model = ContrastModel({"a": math.log(6), "b": math.log(3), "c": 0.0}, Random(0))
    pairs = Counter(tuple(model.draw(2)) for _ in range(6000))
    assert all(first != second for first, second in pairs)
    # 6 : 3 : 1. P(a, b) = 6/10 x 3/4, P(c, a) = 1/10 x 6/9.
    assert pairs["a", "b"] / 6000 == pytest.approx(0.45, abs=0.02)
    assert pairs["c", "a"] / 6000 == pytest.approx(1 / 15, abs=0.02)
    assert len(model.draw(5)) == 5  # more than there are: with replacement
    assert model.score(["a", "b", "b"]) == pytest.approx(math.log(54))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An untrained model whose words are of several tokens."""
    folder = tmp_path_factory.mktemp("scratch") / "model"
    make_scratch_model(lambda: TEXTS, folder, size="tiny", seed=0, vocabulary=60)
    return str(folder)


def test_attention_is_that_of_cls_to_the_first_token_of_each_word(scratch):
    from structformer.models.loading import load_encoder, load_tokenizer

    text = "ropes hold Ropes-sails"
    tokenizer, model = load_tokenizer(scratch), load_encoder(scratch, attention="eager").eval()
    ids = tokenizer(text)["input_ids"]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    with torch.no_grad():
        heads = model(torch.tensor([ids]), output_attentions=True).attentions[-1][0]
    received = [sum(float(head[0, place]) for head in heads) / len(heads) for place in range(len(ids))]
    begins = [place for place, token in enumerate(tokens) if token[0] not in "#[-"]
    assert len(begins) == 4 < len(ids) - 3  # some words are of several tokens
    expected = {
        "ropes": received[begins[0]] + received[begins[2]],
        "hold": received[begins[1]],
        "sails": received[begins[3]],
    }
    weights = AttentionWeights(scratch, Path(scratch))
    [(_, alone)] = weights.first_pieces([text])
    [_, (count, found)] = weights.first_pieces([" ".join(TEXTS), text])
    assert count == len(ids)
    assert found == pytest.approx(expected, abs=1e-6)
    assert alone == pytest.approx(expected, abs=1e-6)


def test_nine_scores_by_hand():
    """knots 1, join 2, ropes 3 and 5, hold 6; their vectors are (1, 0), (.6, .8), (0, 1), and none."""
    matrix = np.array([[1, 0], [3, 4], [0, 2]], np.float32)
    vectors = WordVectors({"knots": 0, "join": 1, "ropes": 2}, matrix)
    stop_words = frozenset({"and"})
    words = ["knots", "join", "ropes", "ropes", "hold"]
    model = DocumentModel(words, Collection(), 1, Random(0))
    document = ScoredDocument("Knots join ropes and ropes hold", stop_words, model, Collection(), vectors)
    scores = dict(zip(AXIOMS, document.scores(["knots", "ropes"], 2), strict=True))
    assert scores == pytest.approx(
        {
            "PROX-1": 1 / 3,  # |1 - 3| and |1 - 5|
            "PROX-2": 1 / 2,  # 1 and 3
            "REP-QL": math.log((1 + 0.5) / 7 * (2 + 0.5) / 7),
            "REP-TFIDF": math.log(4) + 2 * math.log(2),
            "REG": 0.0,
            "STM-1": (1 + 0.6 + 0 + 0 + 0.8 + 1) / 6,
            "STM-2": 1.0,
            "STM-3": 3.4 / math.sqrt(2 * 5.8),  # (1, 1) and (1.6, 1.8)
            "RANK": 1 / 2,
        },
        abs=1e-6,
    )
    alone = document.scores(["wind"], None)
    assert alone == pytest.approx((0, 0, math.log(0.5 / 7), 0, 0, 0, 0, 0, 0), abs=1e-6)
    assert signs(tuple(scores.values()), alone) == (1, 1, 1, 1, 0, 1, 1, 1, 1)


def test_the_place_of_a_document_for_a_query(tmp_path):
    write_places(Pages(), tmp_path / "index")
    places = Places(tmp_path / "index")
    assert [places.of(["ropes"], number) for number in range(4)] == [2, 1, None, None]
    assert places.of([], 0) is None
    assert places.of(["catch"], 0) is None, "a document that the query does not find"


def test_documents_of_one_score_stand_in_their_order(tmp_path):
    class Alike(Pages):
        def head(self, number: int) -> str:
            return "join ropes"

        def title(self, number: int) -> str:
            return "Ropes" if number == 2 else "Knots"

    write_places(Alike(), tmp_path / "index")
    places = Places(tmp_path / "index")
    assert [places.of(["ropes"], number) for number in (3, 2, 1, 0)] == [4, 1, 3, 2]


def test_preferences():
    tie = (1, 0, 0, 0, 0, 0, 0, 0, -1)
    assert (hard((1, 1, 0, 0, 0, 0, 0, 0, -1)), hard(tie), hard((0,) * 9)) == (1, -1, 0)
    assert (strict((0, 0, -1, -1, 0, 0, 0, 0, 0)), strict(tie), strict((0,) * 9)) == (-1, 0, 0)
    assert (weighted((1, -1), (2, 1)), weighted((1, -1), (1, 2)), weighted((1, -1), (1, 1))) == (1, -1, 0)


def test_the_regression_of_one_pair_by_hand():
    """The ridge's minimum is where w = 1 / (1 + e^w). A second axiom that says nothing keeps no weight."""
    [weight, nothing] = fitted_weights(np.array([[1.0, 0.0]]))
    assert weight == pytest.approx(1 / (1 + math.exp(weight)), abs=1e-5)
    assert (weight, nothing) == pytest.approx((0.4011, 0.0), abs=1e-4)


def vectors_of(words: Sequence[str], folder: Path) -> str:
    """The file of a random vector for each word."""
    path = folder / "vectors.txt"
    matrix = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    write_word_vectors(path, WordVectors({word: number for number, word in enumerate(words)}, matrix))
    return str(path)


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return boats(tmp_path_factory.mktemp("harbour"))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A vector for each part of a boat."""
    return vectors_of(TOPICS, tmp_path_factory.mktemp("vectors"))


def test_the_number_of_workers_changes_nothing(harbour, scratch, vectors):
    tasks = ["bprop", "ares-hard", "ares-strict", "ares-titles"]
    weights = AttentionWeights(scratch, harbour / "cache")
    options = SamplingOptions(word_vectors=vectors)
    one, two = (sample(harbour, tasks, options=options, weights=weights, workers=count) for count in (1, 2))
    assert list(one) == list(two)
    assert one.counts["bprop"] == 4 * len(TOPICS)
    assert 0 < one.counts["ares-strict"] < one.counts["ares-hard"] <= 2 * len(TOPICS)
    assert one.counts["ares-titles"]
    for example in one:
        assert example.documents[0] == example.documents[1]
        assert example.queries[0] != example.queries[1]


def test_released_bprop_draws_stop_words_too(harbour, scratch):
    weights = AttentionWeights(scratch, harbour / "cache")
    drawn = {}
    for compat in ("paper", "released-code"):
        found = sample(harbour, ["bprop"], options=SamplingOptions(compat=compat), weights=weights, workers=1)
        drawn[compat] = {word for each in found for query in each.queries for word in query.split()}
    assert "the" in drawn["released-code"] - drawn["paper"]


def test_the_examples_of_ares_are_those_of_the_first_version(harbour, vectors):
    """What makes the drawing faster changes no byte."""
    tasks = ["ares-hard", "ares-strict", "ares-titles"]
    drawn = sample(harbour, tasks, options=SamplingOptions(word_vectors=vectors), workers=1)
    texts = "\n".join(f"{each.task} {each.document_id} {each.queries} {each.documents}" for each in drawn)
    assert hashlib.sha256(texts.encode()).hexdigest() == DIGEST


RECIPES = [("prop", "rop"), ("bprop", "bprop"), ("ares", "ares-hard")]


@pytest.mark.parametrize(("recipe", "task"), RECIPES)
def test_each_recipe_takes_its_steps(harbour, vectors, recipe, task):
    chosen = {"base_model": "scratch", "size": "tiny", "max_steps": 2, "groups": 4, "accumulation": 1, "name": recipe}
    small = [
        f"sample.word_vectors='{vectors}'",
        "document_tokens=64",
        "precision=no",
        "eval_steps=none",
        "save_steps=none",
    ]
    options = training_options(recipe, chosen, small)
    assert (options.mlm, options.mask_side, options.whole_words) == (1.0, "document", True)
    result = train(harbour, options)
    assert (result.steps, list(result.plan.examples)) == (2, [task])


@pytest.mark.slow
def test_a_recipe_takes_a_step_at_the_shape_of_bert_base(harbour, vectors):
    """The recipes train one model by one objective, on Examples of their own."""
    # A time that is soon over ends the measuring before; one step is done all the same.
    chosen = {
        "base_model": "scratch",
        "size": "base",
        "max_steps": 1,
        "max_seconds": 10,
        "groups": 1,
        "accumulation": 1,
    }
    small = [f"sample.word_vectors='{vectors}'", "document_tokens=64", "precision=no", "eval_steps=none", "warmup=0"]
    options = training_options("ares", {**chosen, "name": "base"}, small)
    folder = train(harbour, options).folder
    shape = json.loads((folder / "config.json").read_text())
    assert (shape["num_hidden_layers"], shape["hidden_size"]) == (12, 768)
    [step] = read_log(folder / "training.jsonl")
    assert step["losses"].keys() == {"ares-hard", "mlm"}
    assert all(math.isfinite(value) and value > 0 for value in step["losses"].values())
    [scratch] = harbour.glob("cache/scratch-*-base-0")
    before, after = (load_file(each / "model.safetensors") for each in (scratch, folder))
    for layer in range(12):
        name = f"encoder.layer.{layer}.attention.self.query.weight"
        assert not torch.equal(before[name], after[f"bert.{name}"]), name
