"""Sets of Examples side by side: what was drawn before decides nothing; drawing under torchrun; attention in several
processes.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from structformer import sample, train
from structformer.corpus import Corpus
from structformer.errors import UsageError, WorkspaceError
from structformer.ingestion import ingest
from structformer.models.attention import AttentionWeights
from structformer.models.base import packaged_minilm
from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.scratch import make_scratch_model
from structformer.sampling import Samples, SamplingOptions, SetOptions
from structformer.sampling.sets import MOST_SETS, published, set_digest
from structformer.training import Listener, RunMode, TrainingOptions, train_ranker, training_options
from structformer.workspace import Workspace

from boats import TINY, linked_pages
from conftest import write_pages
from processes import torchrun

ONE_STEP = replace(TINY, max_steps=1, mix={"srr": 1.0})


def notes_of(workspace: Path, options: TrainingOptions) -> list[str]:
    """What a training says; its model is replaced by the next."""
    notes: list[str] = []
    train_ranker(workspace, options, RunMode(force=True, listener=Listener(note=notes.append)))
    return notes


def learned(workspace: Path, options: TrainingOptions) -> bytes:
    """The weights that a training gives."""
    return (train(workspace, options, force=True).folder / "model.safetensors").read_bytes()


def test_a_plain_training_takes_the_defaults_whatever_was_drawn_before(workspace):
    flags = "--set sample.min_words=5 --set sample.held_out=0.5"
    recipe = sample(workspace, ["srr"], options=SamplingOptions(min_words=5), held_out=0.5)
    notes = notes_of(workspace, ONE_STEP)
    assert f"drawing Examples with the default options, beside those with {flags}" in notes
    assert Samples.open(workspace).manifest["options"]["min_words"] == 20
    assert f"the Examples are those drawn with the default options, not those with {flags}" in notes_of(
        workspace, ONE_STEP
    )
    asked = training_options(None, {}, ["sample.min_words=5", "sample.held_out=0.5"]).sampling
    before = Workspace(workspace).beside("samples")
    assert any(flags in note for note in notes_of(workspace, replace(ONE_STEP, sampling=asked)))
    assert Workspace(workspace).beside("samples") == before  # nothing was drawn
    assert len(recipe) > 0
    with pytest.raises(UsageError, match="held_out must be between 0 and"):
        training_options(None, {}, ["sample.held_out=1.5"])


def test_the_order_of_trainings_decides_nothing(workspace, tmp_path):
    other = shutil.copytree(workspace, tmp_path / "other")
    plain = replace(TINY, max_steps=1, mix={"srr": 1.0, "ict": 1.0}, name="plain")
    recipe = replace(plain, sampling={"negatives": 2, "every_child": False, "draws": 2}, name="recipe")
    one = {options.name: learned(workspace, options) for options in (plain, recipe)}
    two = {options.name: learned(other, options) for options in (recipe, plain)}
    assert one == two
    assert one["plain"] != one["recipe"]


def test_a_run_goes_on_although_its_set_has_more_tasks_by_now(workspace):
    sample(workspace, ["srr"])
    before = Samples.open(workspace)
    notes = notes_of(workspace, replace(ONE_STEP, mix={"bfs": 1.0, "srr": 1.0}))
    after = Samples.open(workspace)
    assert "drawing Examples of bfs too" in notes
    assert after.manifest["tasks"] == ["srr", "bfs"]
    assert after.fingerprint == before.fingerprint  # what a resumed run compares
    assert [after.example("srr", number) for number in range(after.counts["srr"])] == list(before)
    whole = sample(workspace, ["srr", "bfs"])
    assert list(whole) == list(after)


def test_unnamed_options_are_the_defaults_in_a_digest(workspace, tmp_path):
    corpus = Corpus.open(workspace)
    assert set_digest(corpus, {"min_words": 20, "seed": 0}) == set_digest(corpus, {})
    words = tmp_path / "words.txt"
    words.write_text("rope\n")
    drawn_with = {"stop_words": str(words)}
    digests = {set_digest(corpus, chosen) for chosen in ({}, {"seed": 1}, {"held_out": 0.3}, drawn_with)}
    words.write_text("rope\nsail\n")
    digests.add(set_digest(corpus, drawn_with))  # another list in the same file
    assert len(digests) == 5
    assert SetOptions().held_out is None


def test_sets_of_an_earlier_corpus_go_and_others_do_not_pile_up(workspace, pages):
    for words in range(3, 3 + MOST_SETS + 1):
        sample(workspace, ["ovs"], options=SamplingOptions(min_words=words))
    found = [each.manifest["options"]["min_words"] for each in published(Workspace(workspace))]
    assert found == list(range(4, 4 + MOST_SETS))
    assert len([path for path in (workspace / "samples").iterdir() if path.name.isdigit()]) == MOST_SETS
    write_pages(pages, {"more.md": "# More\n\nAnother page about boats that nobody has read before today.\n"})
    ingest(pages, workspace, workers=1)
    assert "the Examples are of an earlier corpus: drawing them again" in notes_of(workspace, ONE_STEP)
    (left,) = published(Workspace(workspace))
    assert left.manifest["corpus"] == Corpus.open(workspace).fingerprint


def test_sample_says_how_to_train_on_what_it_drew(workspace, run):
    run("sample", "-w", workspace)
    shown = run("sample", "-w", workspace, "--min-words", 5, "--negatives", "all", "--tasks", "srr")
    flags = "--set sample.min_words=5 --set sample.negatives=all"
    assert f"structformer train -w {workspace} --task-mix srr {flags}" in shown.out
    assert "beside these are those drawn with the default options" in shown.out
    assert run("check", "-w", workspace).code == 0
    plain = run("export", "--datasets", "plain", "-w", workspace)
    assert "those drawn with the default options, not those with --set sample.min_words=5" in plain.err
    asked = run("export", "--datasets", "asked", "-w", workspace, *"--set sample.min_words=5".split())
    assert "no Examples drawn with --set sample.min_words=5 in" in asked.err  # negatives were others
    assert run("export", "--datasets", "asked", "-w", workspace, *flags.split()).code == 0
    assert [path.name for path in Path("asked/data").iterdir()] == ["srr.parquet"]


SLOW = """
import sys, time
from datetime import timedelta
import torch.distributed as distributed
from structformer.training.data import example_order as drawing
from structformer.training.run import option_defaults

begin, draw = distributed.init_process_group, drawing.draw_samples

def begin_impatiently(*arguments, **named):
    begin(*arguments, **{**named, "timeout": timedelta(seconds=6)})

def draw_slowly(*arguments, **named):
    time.sleep(8)
    return draw(*arguments, **named)

def stop(*arguments):
    print("its Examples are there", flush=True)
    sys.exit(0)

distributed.init_process_group, drawing.draw_samples = begin_impatiently, draw_slowly
option_defaults.load_ranker = stop
from structformer.cli.main import main
main(["train", *sys.argv[1:]])
"""


def test_processes_wait_for_a_draw_that_takes_longer_than_their_time_limit(workspace, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    flags = "--base-model scratch --set size=tiny --ranker cross-encoder --task-mix srr"
    both = torchrun(2, tmp_path / "slow.py", "-w", workspace, *flags.split())
    assert both.returncode == 0, both.stderr[-2000:]
    assert "no Examples yet: drawing them" in both.stderr
    assert both.stdout.count("its Examples are there") == 2


def test_a_training_waits_for_a_command_that_writes_where_its_examples_are_to_be_drawn(workspace, tmp_path):
    """As trainings side by side do, which learn from one encyclopedia and have a workspace each."""
    shutil.copytree(workspace, tmp_path / "own")
    writing, drawing = threading.Event(), threading.Event()

    def write() -> None:
        with Workspace(workspace).writing("structformer sample"):
            writing.set()
            drawing.wait(60)
            time.sleep(0.5)

    other = threading.Thread(target=write)
    other.start()
    writing.wait()
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        if "drawing them" in text:
            drawing.set()

    options = replace(ONE_STEP, train_from=str(workspace))
    train_ranker(tmp_path / "own", options, RunMode(listener=Listener(note=note)))
    other.join()
    assert "no Examples yet: drawing them (structformer sample)" in notes
    assert Samples.open(workspace).counts["srr"] > 0


def damaged_part(workspace: Path) -> Path:
    """A part of the workspace's Examples in which a letter is another one since."""
    part = next(iter(sorted((workspace / "samples").glob("*/*/texts.arrow"))))
    content = part.read_bytes()
    assert content.count(b"bowline makes a loop") > 0
    part.write_bytes(content.replace(b"bowline makes a loop", b"bowline makes a soup"))
    return part


@pytest.mark.parametrize(("place", "compares"), [(None, True), ("0", True), ("1", False), ("7", False)])
def test_of_a_machines_processes_the_first_alone_compares_examples_with_their_digests(
    workspace, monkeypatch, place, compares
):
    """Where eight processes read the same 130 GB, seven need not digest them."""
    sample(workspace, ["srr"], workers=1)
    part = damaged_part(workspace)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if place is not None:
        monkeypatch.setenv("LOCAL_RANK", place)
    if compares:
        with pytest.raises(
            WorkspaceError, match=rf"{part} has changed since it was written: run `structformer sample` again"
        ):
            list(Samples.open(workspace))
    else:
        assert any("bowline makes a soup" in text for each in Samples.open(workspace) for text in each.documents)


def test_processes_that_train_together_end_at_a_damaged_part(workspace):
    sample(workspace, ["srr"], workers=1)
    part = damaged_part(workspace)
    flags = "--base-model scratch --set size=tiny --ranker cross-encoder --task-mix srr --max-steps 2 --batch 2"
    both = torchrun(2, "-m", "structformer", "train", "-w", workspace, *flags.split())
    assert both.returncode == 1
    assert f"{part} has changed since it was written: run `structformer sample` again" in both.stderr
    assert not (workspace / "models").exists()


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pages in folders of their own that link to each other, and a small model of their words."""
    folder = tmp_path_factory.mktemp("linked")
    pages = {f"{name[0]}/{name}": re.sub(r"\]\((\w)", r"](../\1/\1", text) for name, text in linked_pages().items()}
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w")
    make_scratch_model(lambda: pages.values(), folder / "model", size="tiny", seed=0)
    return folder


HARP = ("rqp", "qdm", "rdp", "acm")


@pytest.mark.parametrize("tasks", [("srr",), HARP])
def test_of_few_sections_this_process_draws(linked, tasks, monkeypatch):
    assert len(Corpus.open(linked / "w").shards) > 1
    begun: list[object] = []
    monkeypatch.setattr("structformer.engines.local.Crew", begun.append)
    sample(linked / "w", tasks, weights=AttentionWeights(str(linked / "model"), linked / "few"))
    assert begun == [], "no process is begun, which takes longer than the drawing"


def test_several_processes_draw_by_attention_what_one_draws_and_resume_from_what_is_kept(linked):
    assert len(Corpus.open(linked / "w").shards) > 1

    def drawn(cache: str, workers: int) -> tuple[AttentionWeights, Samples]:
        weights = AttentionWeights(str(linked / "model"), linked / cache)
        return weights, sample(linked / "w", HARP, weights=weights, workers=workers)

    one, alone = drawn("one", 1)
    two, shared = drawn("two", 2)
    assert list(alone) == list(shared)
    assert alone.counts == {"rqp": 24, "qdm": 12, "rdp": 12, "acm": 12}
    assert one.computed == two.computed > 20
    kept = sorted(path for path in (linked / "one").rglob("*") if path.is_file())
    assert {path.name: path.read_bytes() for path in kept} == {
        path.name: path.read_bytes() for path in (linked / "two").rglob("*") if path.is_file()
    }
    assert sum(path.stat().st_size for path in kept) < 120 * one.computed  # two bytes a word, and no word
    kept[0].unlink()  # as a drawing that was stopped leaves it
    again, same = drawn("one", 1)
    assert 0 < again.computed < one.computed
    assert list(same) == list(alone)


@pytest.mark.parametrize("tied", [False, True])
def test_kept_attention_is_what_the_model_gives(linked, tied):
    """tied: of a kind of encoder whose last layer is not taken off."""
    from structformer.models import attention

    texts = ["Clean the anchor twice a year.", "The anchor of the boat, the anchor!"]
    weights = AttentionWeights(str(linked / "model"), linked / "direct")
    model = load_encoder(str(linked / "model"), attention="eager").eval()
    with pytest.MonkeyPatch.context() as patch:
        if tied:
            patch.setattr(attention, "_BERT_LIKE", frozenset())
        attention._loaded.cache_clear()
        found = weights.compute([(texts[0], 0, 0), (texts[1], 4, 10), (texts[1], ~4, ~10)])
        attention._loaded.cache_clear()
    for text, rows in ((texts[0], found[:1]), (texts[1], found[1:])):
        encoded = load_tokenizer(str(linked / "model"))(text, return_tensors="pt", return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")[0].tolist()
        with torch.inference_mode():
            given = model(**encoded, output_attentions=True).attentions[-1][0].mean(0).numpy()
        spans = [(first, last) for first, last in offsets]
        asking = [place for place, (first, last) in enumerate(spans) if 4 <= first < last <= 10]
        received = given[asking].mean(0) if text == texts[1] else given[0]
        words = dict.fromkeys(re.findall(r"\w+", text.lower()), 0.0)
        for word in re.finditer(r"\w+", text):
            inside = [place for place, (first, last) in enumerate(spans) if word.start() <= first < last <= word.end()]
            words[word.group().lower()] += float(received[inside].sum())
        expected = np.array(list(words.values())) / sum(words.values())
        assert rows[0] == pytest.approx(expected, abs=1e-3)
        if len(rows) > 1:
            share = given[0][asking].sum() / sum(given[0][place] for place, (a, b) in enumerate(spans) if b > a)
            assert rows[1] == pytest.approx([share], abs=1e-3)


@pytest.mark.skipif(packaged_minilm() is None, reason="structformer[offline] is not installed")
def test_attention_weights_are_of_words_and_sum_to_one(tmp_path):
    weights = AttentionWeights(str(packaged_minilm()), tmp_path)
    text = "Unfurling the unfurling jib."
    of_all, of_jib = weights.weights(text), weights.weights(text, 23, 26)
    assert set(of_all) == set(of_jib) == {"unfurling", "the", "jib"}
    assert sum(of_all.values()) == pytest.approx(1, abs=1e-3)
    assert of_all != of_jib


@pytest.mark.skipif(packaged_minilm() is None, reason="structformer[offline] is not installed")
def test_an_anchors_importance_is_what_its_own_tokens_get(tmp_path):
    text = "The deck of the Bank of the West, the deck."
    tokenizer = load_tokenizer(str(packaged_minilm()))
    encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        attention = load_encoder(str(packaged_minilm()), attention="eager").eval()(**encoded, output_attentions=True)
    received = attention.attentions[-1][0].mean(0)[0]
    total = sum(float(received[place]) for place, (first, last) in enumerate(offsets) if last > first)
    expected = sum(float(received[place]) for place, (first, last) in enumerate(offsets) if 16 <= first < last <= 32)
    weights = AttentionWeights(str(packaged_minilm()), tmp_path)
    assert weights.span_weights(text, [(16, 32), (0, 3)])[0] == pytest.approx(expected / total, abs=5e-4)
