"""Losses, masking, schedules and batches, by hand and by property."""

from __future__ import annotations

import math
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer.models.first_tokens import length_buckets
from structformer.training.objectives.losses import (
    distilled_kl,
    margin_mse,
    pairwise_hinge,
    pointwise,
    softmax_hinge,
)
from structformer.training.objectives.masked import IGNORED, MaskedHead, Masker
from structformer.training.options import learning_rate

SCORES = torch.tensor([2.0, 1.5, -1.0, 0.5, 1.0])  # a group of three, a group of two


def test_the_hinge_counts_only_negatives_within_the_margin():
    assert pairwise_hinge(SCORES, [3, 2]).tolist() == pytest.approx([(0.5 + 0) / 2, 1.5])
    assert pairwise_hinge(SCORES, [3, 2], margin=4.0).tolist() == pytest.approx([(3.5 + 1.0) / 2, 4.5])


def test_harps_released_hinge_is_over_the_softmax_of_each_pair():
    probability = math.exp(2.0) / (math.exp(2.0) + math.exp(1.5))
    assert softmax_hinge(SCORES[:2], [2]).item() == pytest.approx(1 - probability + (1 - probability))


def test_margin_mse_compares_margins():
    teacher = torch.tensor([1.0, 0.0, 0.0, 3.0, 3.0])
    assert margin_mse(SCORES, teacher, [3, 2]).tolist() == pytest.approx(
        [((0.5 - 1) ** 2 + (3 - 1) ** 2) / 2, (-0.5 - 0) ** 2]
    )


def test_kl_is_zero_for_equal_distributions_only():
    assert distilled_kl(SCORES, SCORES + 7.0, [3, 2]).tolist() == pytest.approx([0.0, 0.0], abs=1e-6)
    student, teacher = torch.tensor([0.0, 0.0]), torch.tensor([math.log(3.0), 0.0])
    assert distilled_kl(student, teacher, [2]).item() == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_the_papers_learning_rate_has_two_levels():
    def at(step: int) -> float:
        return learning_rate(step, 100_000, 1e-5, schedule="step", warmup=0.1, step_at=50_000, step_factor=0.5)

    assert at(0) == pytest.approx(1e-9)
    assert at(9_999) == pytest.approx(1e-5)
    assert (at(49_999), at(50_000), at(99_999)) == (1e-5, 5e-6, 5e-6)


@given(st.sampled_from(["linear", "cosine", "constant", "step"]), st.integers(1, 500), st.floats(0, 0.5))
def test_learning_rates_warm_up_and_never_pass_the_peak(schedule, steps, warmup):
    rates = [
        learning_rate(step, steps, 1.0, schedule=schedule, warmup=warmup, step_at=100, step_factor=0.5)
        for step in range(steps)
    ]
    assert all(0 <= rate <= 1 for rate in rates)
    assert max(rates[: round(warmup * steps) + 2]) >= 0.5
    if schedule in ("linear", "cosine") and steps > 20:
        assert rates[-1] < 0.2


class Tokenizer:
    mask_token_id = 4
    all_special_ids = (0, 1, 2, 3, 4)

    def __len__(self) -> int:
        return 1000


def test_of_the_masked_words_eight_in_ten_are_hidden_one_is_changed_one_stays():
    ids = [2, *range(100, 900), 3] * 10
    found, labels = Masker(Tokenizer()).masked(ids, Random(0))
    asked = [place for place, label in enumerate(labels) if label != IGNORED]
    assert 0.13 < len(asked) / len(ids) < 0.17
    assert all(labels[place] == ids[place] and ids[place] > 4 for place in asked)
    assert all(found[place] == ids[place] for place in range(len(ids)) if labels[place] == IGNORED)
    hidden, kept = (
        sum(found[place] == value(place) for place in asked) / len(asked)
        for value in (lambda _: 4, lambda place: ids[place])
    )
    assert 0.76 < hidden < 0.84
    assert 0.07 < kept < 0.13


def test_the_masked_heads_loss_is_a_mean_over_each_texts_masked_words():
    torch.manual_seed(0)
    embeddings = torch.nn.Embedding(11, 8)
    head = MaskedHead(embeddings, 8)
    hidden = torch.randn(2, 3, 8)
    labels = torch.tensor([[IGNORED, 5, 7], [IGNORED, IGNORED, IGNORED]])
    one, two = (head(hidden, torch.tensor([[IGNORED, *row], [IGNORED] * 3]))[0] for row in ((5, IGNORED), (IGNORED, 7)))
    losses = head(hidden, labels)
    assert losses[0].item() == pytest.approx((one + two).item() / 2, rel=1e-5)
    assert losses[1].item() == 0.0


@settings(max_examples=60)
@given(st.lists(st.integers(1, 600), min_size=1, max_size=80), st.integers(8, 2000))
def test_buckets_hold_every_text_once_within_the_budget(lengths, budget):
    batches = length_buckets(lengths, "cpu", budget)
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[number] for number in batch) <= budget
    assert [lengths[number] for batch in batches for number in batch] == sorted(lengths)


def test_pointwise_cross_entropy_by_hand():
    scores = torch.tensor([2.0, -1.0, 0.5, 0.0])
    probability = [1 / (1 + math.exp(-score)) for score in scores.tolist()]
    first = -(math.log(probability[0]) + math.log(1 - probability[1]) + math.log(1 - probability[2])) / 3
    assert pointwise(scores, [3, 1]).tolist() == pytest.approx([first, -math.log(probability[3])], abs=1e-6)
