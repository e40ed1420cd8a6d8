"""Training: order of Examples, losses, the loop, what is saved."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from structformer import sample, train
from structformer.errors import ModelError, UsageError
from structformer.ingestion import ingest
from structformer.models.base import THREE_WAYS, packaged_minilm, resolve_base_model
from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import CrossEncoder
from structformer.models.first_tokens import longest_input
from structformer.models.kinds import ranker_kinds
from structformer.models.losses import LOSSES
from structformer.models.registry import read_record
from structformer.sampling import DevelopmentSet, Example, Samples
from structformer.sampling.sets import parse_mix
from structformer.sampling.view import nearly_equal, word_set
from structformer.training import Listener, RunMode, TrainingOptions, train_ranker, training_options
from structformer.training.data.example_order import BLOCK, STRETCH, ExampleOrder, permuted, shuffled
from structformer.training.objectives.losses import batch_documents, group_softmax, info_nce, negatives_allowed
from structformer.training.run.option_rules import CONDITIONS

from boats import TINY, boats
from conftest import write_pages


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return boats(tmp_path_factory.mktemp("corpus"))


def test_group_softmax_is_the_papers_loss():
    scores = torch.tensor([2.0, 0.0, 1.0, 0.5, 0.5])
    first = -math.log(math.exp(2) / (math.exp(2) + math.exp(0) + math.exp(1)))
    second = -math.log(1 / 2)
    assert group_softmax(scores, [3, 2]).tolist() == pytest.approx([first, second], rel=1e-6)
    with pytest.raises(ValueError, match="at least one"):
        group_softmax(scores, [5, 0])


def test_info_nce_leaves_forbidden_documents_out():
    scores = torch.tensor([[1.0, 5.0], [0.0, 1.0]])
    allowed = torch.tensor([[True, False], [True, True]])
    assert info_nce(scores, allowed).tolist() == pytest.approx([0, math.log(1 + math.exp(-1))], rel=1e-6)


def test_false_negatives_are_not_allowed():
    def example(query: str, document: str, owner: str) -> Example:
        return Example("ict", (query, query), (document, f"{document} sibling words"), owner, (0, 1))

    examples = [
        example("list files", "one text here", "a"),
        example("q", "another text", "a"),
        example("r", "how to List  files now", "b"),
        example("s", "here one text", "c"),
        example("t", "quite different", "d"),
        example("\u5217\u51fa\u6587\u4ef6", "\u5982\u4f55", "e"),
        example("u", "\u5982\u4f55\u5217\u51fa\u6587\u4ef6", "f"),
    ]
    documents = [each.documents[0] for each in examples] + [each.documents[1] for each in examples]
    owners = [each.document_id for each in examples] * 2
    allowed = negatives_allowed(examples, documents, owners, own=1)
    assert allowed[5].tolist() == [*[True] * 5, False, False, *[True] * 6, False]
    # Own positive and its twin, the same document, a text that holds the query: none may count; its own negative may.
    twins = [True, False, False, True, True, True, True]
    assert allowed[0].tolist() == [False, False, False, False, True, True, True, *twins]


TEXTS = st.lists(st.sampled_from(["how", "to", "List", "files", "in", "a", "folder", ","]), max_size=12).map(" ".join)


@given(
    drawn=st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from("abc")), min_size=1),
    own=st.integers(0, 2),
)
def test_a_negative_is_of_another_document_and_says_something_else(drawn, own):
    examples = [
        Example("ict", (query,) * len(texts), tuple(texts), owner, tuple(range(len(texts))))
        for query, texts, owner in drawn
    ]
    documents, owners = batch_documents(examples, own)
    found = negatives_allowed(examples, documents, owners, own=own)
    plain = [" ".join(text.lower().split()) for text in documents]
    start = len(examples)
    for number, example in enumerate(examples):
        end = start + len(example.documents[1 : 1 + own])
        query = " ".join(example.queries[0].lower().split())
        for other, text in enumerate(documents):
            held = " " in query and query in plain[other]
            alike = nearly_equal(word_set(documents[number]), word_set(text))
            of_document = owners[other] == example.document_id and not start <= other < end
            assert bool(found[number, other]) == (not held and not alike and not of_document)
        start = end


@given(st.integers(1, 400), st.text(max_size=5))
def test_permuted_is_a_permutation(size, key):
    assert sorted(permuted(index, size, key) for index in range(size)) == list(range(size))


@pytest.mark.parametrize("size", [5, BLOCK, BLOCK + 1, 2 * BLOCK + 3 * STRETCH + 7])
def test_of_many_examples_a_block_is_read_from_few_places_of_the_disk(size):
    order = [shuffled(place, size, "1/srr/0") for place in range(size)]
    assert sorted(order) == list(range(size))
    for begin in range(0, size, BLOCK):
        read = sorted(order[begin : begin + BLOCK])
        gaps = sum(after - before > 1 for before, after in pairwise(read))
        assert gaps <= BLOCK // STRETCH
    assert order[: min(size, BLOCK)] != sorted(order[: min(size, BLOCK)])
    assert order != [shuffled(place, size, "1/srr/1") for place in range(size)]


def test_every_example_comes_once_an_epoch_in_the_shares_of_the_mix(corpus):
    samples = Samples.open(corpus)
    order = ExampleOrder(samples, {"srr": 1.0, "ict": 3.0, "ati": 0.0001}, 8, seed=3)
    places = [place for step in range(samples.counts["srr"] // 2) for place in order.places(step)]
    drawn = [number for task, number in places if task == "srr"]
    assert len(set(drawn)) == len(drawn) == samples.counts["srr"] // 2 * 2 - (0 if len(drawn) % 2 == 0 else 1)
    assert 2.9 < sum(task == "ict" for task, _ in places) / len(drawn) < 3.1
    assert order.places(7) == ExampleOrder(samples, {"srr": 1.0, "ict": 3.0, "ati": 0.0001}, 8, seed=3).places(7)
    assert order.places(7) != ExampleOrder(samples, {"srr": 1.0, "ict": 3.0, "ati": 0.0001}, 8, seed=4).places(7)


def test_mixes_are_written_as_tasks_with_weights():
    assert parse_mix("srr, ict=2.5") == {"srr": 1.0, "ict": 2.5}
    for wrong in ("srr=x", "=1", "srr=0"):
        with pytest.raises(UsageError, match="task mix"):
            parse_mix(wrong)


@pytest.mark.parametrize("ranker", ["bi-encoder", "cross-encoder"])
def test_the_same_steps_and_seed_give_the_same_weights(corpus, ranker):
    options = replace(TINY, ranker=ranker)
    weights = []
    for name in ("first", "second"):
        result = train(corpus, replace(options, name=name))
        assert result.steps == 4
        weights.append((result.folder / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]
    record = read_record(corpus, "first")
    assert (record.kind, record.base) == (ranker, "scratch")
    log = [json.loads(line) for line in (result.folder / "training.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log] == [1, 2, 3, 4]
    assert all(math.isfinite(value) for line in log for value in line["losses"].values())
    if ranker == "cross-encoder":
        assert set(log[0]["losses"]) == {
            "srr",
            "rwi",
        }  # the abstracts are too short for ati, the pages too alike for ltm


def test_training_learns(corpus):
    result = train(corpus, replace(TINY, max_steps=30, groups=8, learning_rate=2e-3, name="learnt"))
    losses = [json.loads(line)["losses"]["ict"] for line in (result.folder / "training.jsonl").read_text().splitlines()]
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])


def test_runs_of_different_precision_follow_each_other_in_one_process(corpus):
    for precision in ("bf16", "no", "bf16"):
        assert train(corpus, replace(TINY, max_steps=1, precision=precision, name="precision")).steps == 1


def test_the_held_out_questions_are_cut_where_the_time_ends_a_run_that_may_take_many_steps(tmp_path, monkeypatch):
    """A recipe's 100,000 steps in ten minutes of a CPU, most of which would go to the judge."""
    pages = {
        f"{number}.md": f"# Page {number}\n\n"
        + "\n\n".join(f"## Part {part}\n\nThis is what part {part} of page {number} says." for part in range(3))
        for number in range(40)
    }
    ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w", workers=1)
    cut: list[float] = []
    whole = DevelopmentSet.reduced
    monkeypatch.setattr(DevelopmentSet, "reduced", lambda self, share: (cut.append(share), whole(self, share))[1])
    options = replace(TINY, sampling={"min_words": 5})
    assert train(tmp_path / "w", replace(options, max_steps=1, max_seconds=1e6)).development
    assert cut == []
    assert train(tmp_path / "w", replace(options, max_steps=100_000, max_seconds=0.1)).steps == 1
    assert len(cut) == 2  # as many as show how long one takes, and as many as the time allows


def test_a_dry_run_plans_and_saves_nothing(corpus):
    plans = []
    result = train(
        corpus,
        replace(TINY, max_steps=None, max_seconds=30.0, name="dry"),
        dry_run=True,
        listener=Listener(plan=plans.append),
    )
    assert result.steps == 0
    assert not result.folder.exists()
    assert plans[0].steps >= 1
    assert plans[0].seconds_per_step > 0
    assert plans[0].examples["ict"] > 0
    assert plans[0].missing == ["ati"]


def test_examples_of_tasks_not_drawn_yet_are_drawn_as_the_others_were(workspace):
    from structformer.sampling import SamplingOptions

    sample(workspace, ["srr"], options=SamplingOptions(min_words=5), seed=3, held_out=0.0)
    notes: list[str] = []
    sampling = {"min_words": 5, "seed": 3}
    options = replace(TINY, max_steps=1, mix={"ict": 1.0, "srr": 1.0}, sampling=sampling)
    train(workspace, options, listener=Listener(note=notes.append))
    samples = Samples.open(workspace)
    assert "drawing Examples of ict too" in notes
    assert set(samples.counts) == {"ict", "srr"}
    assert (samples.manifest["seed"], samples.manifest["options"]["min_words"]) == (3, 5)


def test_training_stops_when_its_time_is_up(corpus):
    result = train(corpus, replace(TINY, max_steps=100_000, max_seconds=8.0, name="timed"))
    assert 1 <= result.steps < 100_000
    assert (result.folder / "model.safetensors").exists()


def test_saved_models_load_in_sentence_transformers_with_the_same_scores(corpus):
    from sentence_transformers import CrossEncoder as TheirCrossEncoder
    from sentence_transformers import SentenceTransformer

    texts = [
        "Clean the mast",
        "To clean the mast first look at the mast closely, then take a cloth.",
        "Never stow a wet oar in the dark.",
    ]
    folder = train(corpus, replace(TINY, name="bi")).folder
    ours = BiEncoder.load(str(folder)).encode(texts)
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts)
    assert np.abs(ours - theirs).max() < 1e-5
    folder = train(corpus, replace(TINY, ranker="cross-encoder", name="cross")).folder
    pairs = [(texts[0], texts[1]), (texts[0], texts[2])]
    ours = CrossEncoder.load(str(folder)).score([query for query, _ in pairs], [document for _, document in pairs])
    theirs = TheirCrossEncoder(str(folder), device="cpu").predict(pairs)
    assert np.abs(ours - theirs).max() < 1e-5


def test_long_queries_and_documents_fit_the_window(corpus):
    folder = train(corpus, replace(TINY, ranker="cross-encoder", name="cross")).folder
    model = CrossEncoder.load(str(folder))
    half = model.max_tokens // 2 - 1
    scores = model.score(["mast " * 1000, "mast " * half, "mast " * (half // 2)], ["oar " * 2000] * 3)
    assert np.isfinite(scores).all()
    assert scores[0] == pytest.approx(
        scores[1], abs=1e-5
    )  # a query is cut where it would leave documents less than half
    assert scores[1] != pytest.approx(scores[2], abs=1e-5)  # and nowhere before


def test_without_any_model_the_three_ways_out_are_named(monkeypatch):
    monkeypatch.setattr("structformer.models.base.packaged_minilm", lambda: None)
    monkeypatch.setattr("structformer.models.base.commit_in_reach", lambda name, revision: None)
    with pytest.raises(ModelError, match="--base-model PATH, structformer pull minilm, or use --base-model scratch"):
        resolve_base_model("auto", "cross-encoder")
    assert "no encoder found" in THREE_WAYS


def test_the_base_model_is_chosen_by_what_is_in_reach(monkeypatch):
    monkeypatch.setattr("structformer.models.base.commit_in_reach", lambda name, revision: "1" * 40)
    assert resolve_base_model("auto", "cross-encoder").location == f"google-bert/bert-base-uncased@{'1' * 40}"
    assert resolve_base_model("scratch", "bi-encoder").scratch
    with pytest.raises(ModelError, match="not a folder"):
        resolve_base_model("./nowhere", "bi-encoder")
    if packaged_minilm() is None:
        pytest.skip("structformer[offline] is not installed")
    monkeypatch.setattr("structformer.models.base.commit_in_reach", lambda name, revision: None)
    chosen = resolve_base_model("auto", "cross-encoder")
    assert chosen.name == "minilm"
    assert "hub" in chosen.note
    assert resolve_base_model("auto", "bi-encoder").name == "minilm"


def test_a_corpus_without_structure_is_no_traceback(tmp_path):
    write_pages(tmp_path / "pages", {"a.md": "one two\n"})
    ingest(tmp_path / "pages", tmp_path / "w")
    with pytest.raises(ModelError, match="no structure to learn from"):
        train(tmp_path / "w", TINY)


def test_an_unknown_ranker_is_a_usage_error():
    with pytest.raises(UsageError, match="choose from: bi-encoder, cross-encoder"):
        TrainingOptions(ranker="oracle")


def test_what_kinds_and_losses_take_are_options():
    names = {field.name for field in fields(TrainingOptions)}
    declared = {name for kind in ranker_kinds().values() for name in kind.options or ()}
    assert declared | {name for loss in LOSSES.values() for name in loss.options} <= names
    assert {other for conditions in CONDITIONS.values() for other in conditions} <= names | {"judged", "drawn"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"questions": 10}, "questions .* goes with the query side alone"),
        ({"margin": 0.5}, "margin .* goes with the losses hinge and softmax-hinge"),
        ({"base_model": "auto"}, "size .* goes with the base model scratch"),
        ({"step_at": 7}, "step_at .* goes with the schedule step"),
        ({"select_after": 7}, "select_after .* goes with eval_steps"),
        ({"save_steps": 2, "save_seconds": 9.0}, "save_seconds .* goes with checkpoints without save_steps"),
        ({"teacher": "master"}, "teacher .* goes with the losses margin-mse and kl"),
        ({"hard_negatives": 2, "loss": "softmax"}, "hard_negatives .* goes with the loss infonce"),
        ({"hard_negatives": 2, "ranker": "cross-encoder"}, "hard_negatives .* goes with the loss infonce"),
        ({"query_tokens": 8, "ranker": "cross-encoder"}, "query_tokens .* goes with the rankers bi-encoder"),
        (
            {"train_words": True, "ranker": "cross-encoder"},
            "train_words .* goes with the rankers bi-encoder and contextual",
        ),
        ({"group_size": 2, "ranker": "late-interaction"}, "group_size .* goes with .* the losses softmax, hinge"),
        ({"pooling": "cls", "ranker": "knrm"}, "pooling .* goes with the rankers bi-encoder"),
        ({"dimensions": 16}, "dimensions .* goes with the ranker late-interaction"),
        ({"dev_queries": "q", "dev_qrels": "r"}, "dev_queries .* or with `development`"),
    ],
)
def test_an_option_without_meaning_is_refused_with_what_it_goes_with(corpus, given, message):
    with pytest.raises(UsageError, match=message):
        train(corpus, replace(TINY, **given))


def test_what_a_packaged_recipe_says_may_lose_its_meaning_by_a_flag(corpus):
    chosen = {"base_model": "scratch", "size": "tiny", "max_steps": 1, "document_tokens": 64}
    options = training_options("wikiformer", chosen, ["eval_steps=none", "sample.min_words=5"])
    assert train(corpus, options, dry_run=True).plan.steps == 1
    with pytest.raises(UsageError, match="select_after"):
        train(corpus, replace(options, recipe=None), dry_run=True)


def test_a_run_is_resumed_whatever_it_was_begun_with(corpus):
    class Stop(Exception):
        pass

    def stop(done) -> None:
        if done.step == 2:
            raise Stop

    options = replace(TINY, margin=0.5, save_steps=1, name="begun")
    mode = RunMode(listener=Listener(step=stop), unasked={"margin": 0.5})
    with pytest.raises(Stop):
        train_ranker(corpus, options, mode)
    assert train(corpus, options, resume=True).resumed_at == 2
    with pytest.raises(UsageError, match="margin"):
        train(corpus, options, resume=True)  # nothing is left to resume


@pytest.mark.parametrize(("kind", "longest"), [("Roberta", 38), ("Bert", 40)])
def test_roberta_reads_fewer_tokens_than_it_has_positions(kind, longest):
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=20, pad_token_id=1, max_position_embeddings=40, hidden_size=8, num_hidden_layers=1,
        num_attention_heads=1, intermediate_size=8,
    )  # fmt: skip
    for head in ("Model", "ForSequenceClassification"):
        assert longest_input(getattr(transformers, f"{kind}{head}")(config)) == longest
