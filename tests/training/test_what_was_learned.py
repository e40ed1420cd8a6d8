"""What a run says of itself: whether it learned anything, which weights did best, and a reranker's worth beside the order it changes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from structformer import sample, train
from structformer.cli.training_view import _best
from structformer.ingestion import ingest
from structformer.models.kinds import ranker_kind
from structformer.models.registry import read_record
from structformer.sampling import DevelopmentSet, SamplingOptions
from structformer.training import TrainingOptions, TrainingPlan, TrainingResult
from structformer.training.judged.judging import given_ranks, order_by_words, ranks_on
from structformer.training.report.logs import ended_with, last_losses, read_log

from boats import TINY, boats
from conftest import write_pages
from structformer_lab.run_page import write_report


def log(losses: list[float], chance: float | None = 1.386) -> list[dict]:
    lines = [{"step": step, "losses": {"srr": loss}} for step, loss in enumerate(losses, 1)]
    return [line if chance is None else {**line, "chance": {"srr": chance}} for line in lines]


def test_last_losses_at_chance_are_nothing_learned():
    noise = [1.386 + (0.03 if step % 2 else -0.03) for step in range(50)]
    assert ended_with(log(noise)) == "learned nothing in 50 steps; losses at the end: srr 1.386 (chance 1.386)"
    assert ended_with(log([*noise, *[0.9] * 50])) == "losses at the end: srr 0.900 (chance 1.386)"
    assert ended_with(log([1.4, 1.39])).startswith("learned nothing in 2 steps")
    assert ended_with(log([1.4, 1.39], None)) == "losses at the end: srr 1.390"
    assert ended_with([]) == ""
    several = [
        {**line, "losses": {**line["losses"], "rwi": 0.5}, "chance": {"srr": 1.386, "rwi": 2.0}} for line in log(noise)
    ]
    assert ended_with(several).endswith("srr 1.386 (chance 1.386); nothing learned of srr")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return boats(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize(
    ("ranker", "loss", "chance"),
    [
        ("cross-encoder", "softmax", math.log(3)),  # three sections of a page
        ("cross-encoder", "hinge", 1.0),  # the margin
        ("bi-encoder", "softmax", math.log(3)),
    ],
)
def test_a_run_that_learned_nothing_says_so(corpus, ranker, loss, chance):
    options = replace(TINY, ranker=ranker, loss=loss, mix={"srr": 1.0}, learning_rate=1e-9, name=f"{ranker}-{loss}")
    result = train(corpus, options)
    steps = read_log(result.folder / "training.jsonl")
    assert [step["chance"]["srr"] for step in steps] == pytest.approx([chance] * 4, rel=0.08)
    [last] = last_losses(steps)
    if "cross" in ranker:  # the others begin with vectors of words, which tell a little
        assert last.is_chance
        said = "earned nothing in 4 steps"
        assert said in ended_with(steps)
        assert said in (result.folder / "README.md").read_text()
        assert said in write_report(corpus, options.name, force=True).read_text()


def made(development: dict[float, float], kept: float) -> TrainingResult:
    plan = TrainingPlan("bi-encoder", "minilm", "", {}, [], 1, 1.0, 1.0, 1, 1.0, 1.0, "", "cpu")
    return TrainingResult(Path("m"), plan, 1, 1.0, development=development, kept=kept)


def test_the_best_weights_may_be_the_bases():
    assert _best(made({0.0: 0.747, 0.5: 0.74, 1.0: 0.735}, 0.5)) == (
        "the base did best (0.747); saved: 50% of the way to the trained weights (0.740), the best of what was trained"
    )
    assert (
        _best(made({0.0: 0.7, 0.5: 0.74}, 0.5))
        == "saved: 50% of the way to the trained weights, which did best (0.740)"
    )


def test_bm25s_order_by_hand():
    texts = ["the mast of the boat", "oars and more oars", "an oar", "the sail"]
    order = order_by_words(["oars of a boat", "zebra"], texts)
    assert order[0].tolist()[:2] in ([1, 2], [0, 1], [2, 1], [1, 0], [0, 2], [2, 0])
    assert order[0].tolist()[-1] == 3
    assert order[1].tolist() == [0, 1, 2, 3]


class Reversing:
    """A reranker that turns the order around."""

    kind = "cross-encoder"

    def score(self, queries, documents):
        return np.arange(len(documents), dtype=np.float32)


def test_a_reranker_is_judged_on_the_order_that_it_is_given():
    """BM25 has the right passage first; the reranker puts it last."""
    passages = [f"the {topic} needs care" for topic in ("mast", "oar", "sail")] + [
        f"page {number}" for number in range(40)
    ]
    task = DevelopmentSet(["care of the oar", "nothing of this"], passages, [frozenset({1}), frozenset({42})])
    assert given_ranks(task).tolist() == [1, 20]  # what BM25 does not find takes the last place
    assert ranks_on(Reversing(), task).tolist() == [20, 1]


def test_rerankers_are_judged_by_openings_against_the_order_that_they_change(tmp_path):
    rng = Random(0)
    words = [
        f"{a}{b}"
        for a in ("ba", "de", "fi", "go", "lu", "mo", "ne", "pa")
        for b in ("rak", "tol", "sim", "dun", "vel", "kor")
    ]

    def sentence() -> str:
        return " ".join(rng.sample(words, 9)).capitalize() + "."

    pages = {
        f"p{number}.md": f"# {words[number % 48]} {number}\n\n{sentence()} {sentence()}\n\n## One\n\n{sentence()}\n\n## Two\n\n{sentence()}\n"
        for number in range(240)
    }
    ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w", workers=1)
    options = replace(TINY, ranker="cross-encoder", mix={"srr": 1.0}, max_steps=1, sampling={"min_words": 5})
    train(tmp_path / "w", options)
    verdict = read_record(tmp_path / "w", "cross-encoder").verdict
    assert "openings of held-out documents" in verdict
    assert "where the order that it changes, BM25's or a given run's, has" in verdict


KEYS = "anchor ballast compass deck".split()
VALUES = "red oak salt iron".split()
FILLERS = "often never here there every morning evening again slowly quickly before after".split()


def translated(folder: Path, count: int, seed: int) -> Path:
    """A workspace of pages of four sections: the text has another word for its heading, which no heading has."""
    rng = Random(seed)

    def section(number: int) -> str:
        words = [VALUES[number]] * 3 + rng.sample(FILLERS, 3)
        return f"## {KEYS[number]}\n\n{' '.join(rng.sample(words, len(words)))}.\n\n"

    pages = {
        f"p{number}.md": f"# Notes {rng.choice(FILLERS)}\n\n" + "".join(map(section, rng.sample(range(4), 4)))
        for number in range(count)
    }
    ingest(write_pages(folder / "pages", pages), folder / "w", workers=1)
    return folder / "w"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker", "groups", "steps", "rate"), [("bi-encoder", 8, 40, 2e-3), ("cross-encoder", 16, 300, 5e-4)]
)
def test_a_ranker_learns_what_words_do_not_tell(ranker, groups, steps, rate, tmp_path):
    options = TrainingOptions(
        ranker=ranker, side="both", loss="softmax", base_model="scratch", size="tiny", mix={"srr": 1.0}, group_size=4, groups=groups,
        max_steps=steps, max_seconds=None, document_tokens=24, learning_rate=rate, precision="no", sampling={"min_words": 5},
    )  # fmt: skip
    result = train(translated(tmp_path / "taught", 120, seed=0), options)
    [last] = last_losses(read_log(result.folder / "training.jsonl"))
    assert last.chance == pytest.approx(math.log(4), abs=0.01)
    assert last.loss < 0.3
    model = ranker_kind(ranker).load(str(result.folder))
    asked = sample(
        translated(tmp_path / "other", 25, seed=1), ["srr"], options=SamplingOptions(min_words=5), held_out=0, workers=1
    )
    groups = [(list(example.queries), list(example.documents)) for example in asked]
    right = sum(int(model.score(queries, documents).argmax() == 0) for queries, documents in groups)
    by_words = sum(
        int(order_by_words(queries[:1], documents[::-1])[0][0] == len(documents) - 1) for queries, documents in groups
    )
    assert len(groups) == 100
    assert by_words < 50
    assert right > 90
