"""A chunk is learned from in the memory of one batch, its texts are tokenized once and no further than needed, and no step is empty."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain, combinations, pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer import train
from structformer.errors import ModelError
from structformer.models.base import packaged_minilm
from structformer.models.first_tokens import Frame, first_tokens, length_buckets
from structformer.models.loading import load_tokenizer
from structformer.sampling import Example, Samples
from structformer.training import RunMode, train_ranker
from structformer.training.data.batching import Loader, Prepared
from structformer.training.data.example_order import ExampleOrder
from structformer.training.objectives.objectives import CrossEncoderObjective, Objective
from structformer.training.options import TrainingOptions
from structformer.training.report.logs import read_log
from structformer.training.report.reporting import ModelArithmetic, peak_of
from structformer.training.run import loop
from structformer.training.run.memory import Learning, fitted, learn, read_twice, tried
from structformer.training.run.option_defaults import load_ranker, make_objective, resolve
from structformer.training.run.planning import measure, measured_enough, steps_of_pairs

from boats import TINY, boats


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty little pages with the untrained model of them."""
    folder = boats(tmp_path_factory.mktemp("corpus"))
    train(folder, replace(TINY, max_steps=1, name="any"))
    return folder


def objective_of(corpus: Path, ranker: str, loss: str, *, mlm: float = 0.0) -> Objective:
    options = replace(TINY, ranker=ranker, loss=loss, mlm=mlm, batch_tokens=256, hard_negatives=1)
    settings = resolve(options, "cpu")
    location = str(next((corpus / "cache").glob("scratch-*-tiny-0")))
    torch.manual_seed(0)
    return make_objective(load_ranker(options, location, settings), options, settings, location, "cpu").train()


def examples_of(corpus: Path, number: int) -> list[Example]:
    samples = Samples.open(corpus)
    return [samples.example(task, each) for task in ("ict", "srr", "rwi") for each in range(number)]


def total(losses: torch.Tensor, masked: torch.Tensor | None) -> torch.Tensor:
    weights = torch.arange(1.0, len(losses) + 1)
    return (losses * weights).sum() + (0.0 if masked is None else 0.5 * (masked * weights).sum())


def learned(objective: Objective, prepared: Prepared, kept_tokens: int | None) -> tuple[list, dict[str, torch.Tensor]]:
    """(losses, gradients by weight) of a chunk of which so many tokens are kept at once."""
    objective.batching = replace(objective.batching, kept_tokens=kept_tokens)
    objective.zero_grad(set_to_none=True)
    torch.manual_seed(1)
    learning = Learning(objective, objective, total, nullcontext, torch.autograd.backward, nullcontext)
    losses = [each for each in learn(learning, prepared, nullcontext) if each is not None]
    return losses, {name: value.grad for name, value in objective.named_parameters() if value.grad is not None}


@pytest.mark.parametrize(
    ("ranker", "loss", "mlm"),
    [
        ("cross-encoder", "softmax", 0.5),
        ("cross-encoder", "hinge", 0.0),
        ("bi-encoder", "infonce", 0.5),
        ("bi-encoder", "softmax", 0.0),
        ("late-interaction", "infonce", 0.0),
        ("late-interaction", "negative-query", 0.0),
    ],
)
def test_reading_batches_twice_gives_the_same_gradients_dropout_included(corpus, ranker, loss, mlm):
    objective = objective_of(corpus, ranker, loss, mlm=mlm)
    assert any(module.p for module in objective.modules() if isinstance(module, torch.nn.Dropout))
    prepared = objective.prepare(examples_of(corpus, 5), Random(0))
    assert len(prepared.all_batches) >= 3
    whole, wanted = learned(objective, prepared, None)
    for kept in (256, 600):
        losses, found = learned(objective, prepared, kept)
        for one, other in zip(whole, losses, strict=True):
            assert torch.allclose(one, other, atol=1e-6)
        assert found.keys() == wanted.keys()
        largest = max(float(value.abs().max()) for value in wanted.values())
        assert all(torch.allclose(found[name], wanted[name], atol=1e-5 * max(1.0, largest)) for name in wanted)


class _Kept:
    """Counts the bytes that are kept for a backward pass, and the most that ever were."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def pack(self, tensor: torch.Tensor) -> _Held:
        return _Held(self, tensor)


class _Held:
    def __init__(self, kept: _Kept, tensor: torch.Tensor) -> None:
        self.kept, self.tensor = kept, tensor
        kept.now += tensor.nbytes
        kept.most = max(kept.most, kept.now)

    def __del__(self) -> None:
        self.kept.now -= self.tensor.nbytes


@contextmanager
def kept_bytes() -> Iterator[_Kept]:
    gc.collect()
    kept = _Kept()
    with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda held: held.tensor):
        yield kept


def test_memory_is_that_of_one_batch_however_many_examples_are_seen_at_once(corpus):
    objective = objective_of(corpus, "cross-encoder", "softmax")
    most = {}
    for kept_tokens in (None, 256):
        for number in (1, 5):
            prepared = objective.prepare(examples_of(corpus, number), Random(0))
            with kept_bytes() as kept:
                learned(objective, prepared, kept_tokens)
            most[kept_tokens, number] = kept.most
    assert most[None, 5] > 3 * most[None, 1]
    assert most[256, 5] < 1.1 * most[256, 1]
    assert most[None, 5] > 6 * most[256, 5]


def test_a_step_reads_batches_twice_only_where_memory_is_short(corpus):
    objective = objective_of(corpus, "cross-encoder", "softmax")
    objective.batching = replace(objective.batching, batch_tokens=None)
    assert read_twice(objective.prepare(examples_of(corpus, 8), Random(0)), fitted(objective).kept_tokens) == 0
    objective.batching = replace(objective.batching, batch_tokens=256)
    prepared = objective.prepare(examples_of(corpus, 8), Random(0))
    assert read_twice(prepared, fitted(objective).kept_tokens) == len(prepared.all_batches) - 1


def test_a_system_that_does_not_say_its_memory_is_taken_to_have_eight_gigabytes(corpus, monkeypatch):
    objective = objective_of(corpus, "cross-encoder", "softmax")
    objective.batching = replace(objective.batching, batch_tokens=None)
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2 << 20}.__getitem__)
    monkeypatch.setattr("structformer.training.run.memory._CGROUP", Path("nowhere"))
    eight = fitted(objective).kept_tokens
    monkeypatch.delattr("os.sysconf")  # as on Windows
    assert fitted(objective).kept_tokens == eight > 0


def test_batches_are_made_smaller_until_the_largest_chunk_fits(corpus):
    objective = objective_of(corpus, "bi-encoder", "infonce")
    objective.batching = replace(objective.batching, batch_tokens=1024, kept_tokens=4096)
    read: list[int] = []

    def card_of_1000_tokens(module: torch.nn.Module, positional: tuple, named: dict[str, torch.Tensor]) -> None:
        read.append(named["input_ids"].numel())
        if read[-1] > 1000:
            raise torch.OutOfMemoryError("CUDA out of memory")

    objective.model.register_forward_pre_hook(card_of_1000_tokens, with_kwargs=True)
    learning = Learning(objective, objective, total, nullcontext, torch.autograd.backward, nullcontext)
    [example] = examples_of(corpus, 1)[:1]
    found = tried(objective, example, lambda largest: learn(learning, largest, nullcontext))
    assert (found.batch_tokens, found.kept_tokens) == (512, 512)
    assert 1000 < max(read) <= 1024
    refused = max(number for number, tokens in enumerate(read) if tokens > 1000)
    assert 400 < max(read[refused + 1 :]) <= 512  # what was tried last is as large as a batch may be
    objective.model.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(RuntimeError("another error")))
    with pytest.raises(RuntimeError, match="another error"):
        tried(objective, example, lambda largest: learn(learning, largest, nullcontext))


TEXTS = [
    "A mast is a tall pole. " * 200,
    "桅杆是一根高高的柱子，用来支撑帆。" * 150,  # no space anywhere
    "Η ιστιοπλοΐα είναι το άθλημα της πλεύσης, " * 120,
    "antidisestablishmentarianism" * 300,  # one word, longer than a tokenizer takes
    "ship" + " " * 9000 + "mast",
    "a\nb\tc  d\r\ne " * 500,
    "don't [MASK] it ... --no-cut=x/y/z.md; `code()`, é́́ ﬁ Å " * 100,
    "word",
    "",
]


@pytest.mark.parametrize("base", ["scratch", "minilm"])
def test_the_first_tokens_are_those_of_the_whole_text(corpus, base):
    location = packaged_minilm() if base == "minilm" else next((corpus / "cache").glob("scratch-*-tiny-0"))
    if location is None:
        pytest.skip("the package with MiniLM is not installed")
    tokenizer = load_tokenizer(str(location))
    pages = [page.read_text() for page in sorted((corpus.parent / "pages").glob("*.md"))]
    texts = [*TEXTS, *pages, *TEXTS[:3]]
    whole = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    for limit in (1, 30, 61, 254, 479):
        found = first_tokens(tokenizer, texts, [limit] * len(texts))
        assert found == [ids[:limit] for ids in whole]


def test_pairs_are_framed_as_the_tokenizer_does(corpus):
    tokenizer = load_tokenizer(str(next((corpus / "cache").glob("scratch-*-tiny-0"))))
    queries, documents = ["mend the mast", "oar"], ["Take a cloth and mend it.", "Never in the rain."]
    plain = [tokenizer(texts, add_special_tokens=False)["input_ids"] for texts in (queries, documents)]
    assert Frame.of_pairs(tokenizer).framed(*plain) == dict(tokenizer(queries, documents))
    assert Frame.of_texts(tokenizer).framed(plain[1]) == dict(tokenizer(documents))


def test_a_document_of_many_pairs_is_tokenized_once_and_no_further_than_it_is_read(corpus):
    objective = objective_of(corpus, "cross-encoder", "softmax")
    read: list[str] = []
    tokenizer = objective.ranker.tokenizer
    objective.ranker.tokenizer = Listening(tokenizer, read)
    document = "Never mend a wet mast in the rain. " * 1000
    example = Example("rwi", ("mend the mast", "clean it", "stow it"), (document,) * 3, "d", (0, 0, 0))
    objective.prepare([example], Random(0))
    longest = [text for text in read if text.startswith("Never")]
    assert len(longest) == 1
    assert len(longest[0]) < 1000


class Listening:
    """A tokenizer that notes the texts that it is given."""

    def __init__(self, tokenizer: object, read: list[str]) -> None:
        self._tokenizer, self._read = tokenizer, read

    def __call__(self, texts: str | list[str], *others: object, **options: object) -> object:
        self._read += [texts] if isinstance(texts, str) else texts
        return self._tokenizer(texts, *others, **options)

    def __getattr__(self, name: str) -> object:
        return getattr(self._tokenizer, name)


@settings(max_examples=25)
@given(lengths=st.lists(st.integers(1, 512), max_size=7), budget=st.integers(64, 2048))
def test_no_other_batches_of_a_gpu_are_read_sooner(lengths, budget):
    def cost(batches: list[list[int]]) -> int:
        """Padded tokens; to begin a batch costs as much as 8,192 tokens."""
        return sum(len(batch) * max(lengths[number] for number in batch) + 8192 for batch in batches)

    found = length_buckets(lengths, "cuda", budget)
    order = sorted(range(len(lengths)), key=lambda number: (lengths[number], number))
    assert [number for batch in found for number in batch] == order
    for ends in chain.from_iterable(combinations(range(1, len(order)), cuts) for cuts in range(len(order))):
        other = [order[begin:end] for begin, end in pairwise([0, *ends, len(order)])]
        if all(len(batch) == 1 or len(batch) * lengths[batch[-1]] <= budget for batch in other):
            assert cost(found) <= cost(other)


# Tokens of the pairs of npm's manual, by tenths of their number, and the pairs of 32 Examples.
PAIRS_OF_A_MANUAL = {
    "srr": (157, [31, 52, 71, 92, 111, 141, 174, 234, 340, 450, 495]),
    "rwi": (353, [36, 54, 73, 109, 122, 152, 161, 191, 286, 487, 509]),
    "ltm": (256, [68, 276, 330, 341, 363, 392, 476, 512, 512, 512, 512]),
}


@pytest.mark.parametrize("task", PAIRS_OF_A_MANUAL)
def test_a_gpu_reads_a_manual_s_pairs_in_few_batches(task):
    number, tenths = PAIRS_OF_A_MANUAL[task]
    for seed in range(100):
        drawn = np.interp(np.random.default_rng(seed).random(number), np.linspace(0, 1, 11), tenths)
        lengths = drawn.round().astype(int).tolist()
        batches = length_buckets(lengths, "cuda")
        padded = [len(batch) * max(lengths[number] for number in batch) for batch in batches]
        assert len(batches) <= 3
        assert max(padded) <= 65_536
        assert sum(lengths) > 0.6 * sum(padded)


@pytest.mark.parametrize("groups", [1, 2, 3, 7])
def test_small_steps_are_never_empty_and_keep_the_tasks_shares(corpus, groups):
    samples = Samples.open(corpus)
    mix = {"ict": 3.0, "ovs": 1.5, "srr": 1.0, "rwi": 0.5, "ltm": 0.4}
    order = ExampleOrder(samples, mix, groups, seed=0)
    steps = 400
    seen = Counter(task for step in range(steps) for task, _ in order.places(step))
    assert {len(order.places(step)) for step in range(steps)} == {groups}
    large = Counter(task for task, _ in ExampleOrder(samples, mix, groups * steps, seed=0).places(0))
    assert all(abs(seen[task] - large[task]) <= 1 for task in mix)


def test_every_step_of_two_examples_has_a_loss(corpus):
    mix = dict.fromkeys(("srr", "rwi", "ict", "ltm"), 1.0)
    options = replace(TINY, ranker="cross-encoder", mix=mix, groups=2, max_steps=6, name="two")
    lines = read_log(train(corpus, options).folder / "training.jsonl")
    assert all(line["losses"] and line["pairs"] >= 2 for line in lines)
    assert all("mfu" not in line for line in lines)  # which peak would be a CPU's?


def test_the_share_of_a_gpu_that_is_used_counts_the_model_s_own_arithmetic(corpus):
    objective = objective_of(corpus, "cross-encoder", "softmax")
    prepared = objective.prepare(examples_of(corpus, 1), Random(0))
    config = objective.model.config
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    weights = sum(
        value.numel() for name, value in objective.model.named_parameters() if not any(each in name for each in names)
    )
    expected = 0
    for _, batch in prepared.all_batches:
        for row in batch.features["attention_mask"].tolist():
            expected += 6 * weights * sum(row) + 12 * config.num_hidden_layers * config.hidden_size * sum(row) ** 2
    assert ModelArithmetic(objective).of(prepared) == pytest.approx(expected, rel=1e-6)
    assert peak_of("NVIDIA H100 80GB HBM3") == 989e12
    assert peak_of("NVIDIA A100-SXM4-40GB") == 312e12
    assert peak_of("NVIDIA L4") == 121e12
    assert peak_of("NVIDIA GeForce RTX 3090") == 71e12
    assert peak_of("A card of tomorrow") is None


def test_the_log_says_which_share_of_a_gpu_s_arithmetic_was_used(corpus, monkeypatch):
    peak, of_a_chunk = 1e12, 3e9
    monkeypatch.setattr(loop, "_peak", lambda accelerator, precision: peak)
    monkeypatch.setattr(ModelArithmetic, "of", lambda self, prepared: of_a_chunk)
    options = replace(TINY, ranker="cross-encoder", accumulation=2, max_steps=2, name="used")
    for step in read_log(train(corpus, options).folder / "training.jsonl"):
        assert step["mfu"] * step["seconds"] == pytest.approx(2 * of_a_chunk / peak, rel=0.05)  # of rounded seconds


def test_a_process_measures_the_part_of_a_step_that_will_be_its_own(monkeypatch):
    monkeypatch.setattr("structformer.training.run.planning.learn", lambda *_: None)
    seen: list[int] = []

    def prepare(examples, rng):
        seen.append(len(examples))
        return SimpleNamespace(pairs=3 * len(examples))

    objective = SimpleNamespace(prepare=prepare, train=lambda: None, zero_grad=lambda set_to_none: None, ranker=None)
    order = ExampleOrder(SimpleNamespace(counts={"ict": 640}, example=lambda task, number: number), {"ict": 1.0}, 64, 0)
    options = TrainingOptions(ranker="cross-encoder", accumulation=2)
    processes = SimpleNamespace(num_processes=8)
    ground = SimpleNamespace(device="cpu", settings=SimpleNamespace(precision="no"), accelerator=processes)
    found, _ = measure(ground, objective, order, options, None)
    assert set(seen) == {4}, "64 Examples in 2 chunks for each of 8 processes"
    assert found.pairs_per_second * found.seconds == pytest.approx(3 * 64)


def test_the_first_step_of_a_gpu_which_loads_its_kernels_is_no_measure_of_the_others():
    assert not measured_enough([16.0], "cuda", 30)  # 5 % of 30 seconds are taken, but nothing is known
    assert not measured_enough([16.0, 0.2, 0.2], "cuda", 30)
    assert measured_enough([16.0, 4.2], "cuda", 30)
    assert measured_enough([16.0], "cpu", 30)


def test_beside_a_gpu_other_processes_prepare_the_same_chunks(corpus):
    objective = objective_of(corpus, "cross-encoder", "softmax", mlm=0.1)
    examples = examples_of(corpus, 6)

    def prepare(step: int, chunk: int, places: Any) -> Prepared:
        if not places:
            raise ModelError("Example 0 of step 6 is damaged")
        prepared = objective.prepare([examples[number] for _, number in places], Random(step))
        prepared.places["process"] = torch.tensor(os.getpid())
        return prepared

    def all_of(device: str) -> tuple[list[Any], set[int]]:
        work = [(step, 0, [("any", number) for number in range(step, 3 * (step < 6) + step)]) for step in range(7)]
        found, processes = [], set()
        with Loader(iter(work), prepare, torch.device(device)) as loader:
            for _ in range(6):
                places, prepared = loader.next()
                processes.add(int(prepared.places["process"]))
                features = [each.tolist() for _, batch in prepared.all_batches for each in batch.features.values()]
                found.append((places, prepared.examples, features))
            with pytest.raises(ModelError, match=r"^Example 0 of step 6 is damaged$"):
                loader.next()
        return found, processes

    here, processes = all_of("cpu")
    assert processes == {os.getpid()}
    elsewhere, processes = all_of("cuda")
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert elsewhere == here


def test_no_attention_is_used_that_plans_anew_for_every_shape(corpus):
    torch.backends.cuda.enable_cudnn_sdp(True)
    objective_of(corpus, "cross-encoder", "softmax")
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_pairs_are_counted_step_by_step():
    """Of groups of 3 and 9, of 2 and 2, of 8 and 8, over and over, groups of 8 take 11, 4 and 16 pairs a step."""
    sizes = [(3, 9), (2, 2), (8, 8)]
    order: Any = SimpleNamespace(
        places=lambda step: step % 3,
        examples=lambda place: [SimpleNamespace(queries=("q",) * size) for size in sizes[place]],
    )
    wanted = {1: 1, 11: 1, 12: 2, 15: 2, 16: 3, 31: 3, 32: 4}
    assert {pairs: steps_of_pairs(pairs, order, 8) for pairs in wanted} == wanted
    assert steps_of_pairs(10, order, 2) == 3
    assert steps_of_pairs(100, order, 8, 2) == 2


def test_a_dry_run_measures_one_example_and_multiplies(corpus, monkeypatch):
    measured: list[int] = []
    prepare = CrossEncoderObjective.prepare

    def watched(self, examples, rng):
        measured.append(len(examples))
        return prepare(self, examples, rng)

    monkeypatch.setattr(CrossEncoderObjective, "prepare", watched)
    options = replace(TINY, ranker="cross-encoder", groups=8, mix={"srr": 1.0})
    plan = train_ranker(corpus, options, RunMode(dry_run=True)).plan
    assert measured == [1] * 4, "of each step that is run"
    assert plan.groups == 8
    assert plan.pairs_per_second * plan.seconds_per_step == pytest.approx(8 * 3, rel=0.05)  # three sections of a page
