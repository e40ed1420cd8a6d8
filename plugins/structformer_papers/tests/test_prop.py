"""PROP's word sets on three documents small enough to count by hand, and masked words of the document alone."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest
from structformer import TrainingOptions, sample, train
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.sampling import Ground, SamplingOptions
from structformer.sampling.collection import CollectionCounts, ShardCounts, counted_words, write_collection
from structformer.sampling.word_sets import DocumentModel
from structformer.training.objectives.masked import IGNORED, Masker

from conftest import write_pages
from structformer_papers.released_prop import Stems, write_stems

PAGES = {
    "knots.md": "# Knots\n\nKnots join ropes.",
    "ropes.md": "# Ropes\n\nRopes hold sails and ropes.",
    "sails.md": "# Sails\n\nSails catch wind.",
}
KNOTS = ["knots", "knots", "join", "ropes"]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of the three documents."""
    folder = tmp_path_factory.mktemp("three")
    write_pages(folder / "pages", PAGES)
    ingest(folder / "pages", folder / "w", workers=1)
    return folder / "w"


def counted(folder: Path, *documents: list[str]) -> CollectionCounts:
    """The counts of a collection that two shards hold."""
    for number in range(2):
        shard = ShardCounts()
        for words in documents[number::2]:
            shard.add(words)
        (folder / str(number)).mkdir()
        shard.write(folder / str(number))
    write_collection([folder / "0", folder / "1"], folder / "collection.json")
    return CollectionCounts(folder / "collection.json")


@pytest.fixture
def collection(tmp_path: Path) -> CollectionCounts:
    return counted(tmp_path, KNOTS, ["ropes", "ropes", "hold", "sails", "ropes"], ["sails", "sails", "catch", "wind"])


def test_words_are_runs_of_letters_and_digits_without_stop_words():
    assert counted_words("The x86_64 Ropes' and-ends", frozenset({"the", "and"})) == ["x86", "64", "ropes", "ends"]


def test_the_background_counts_documents_and_mu_is_their_mean_length(collection):
    """13 words in 3 documents; ropes and sails stand in two of them, five words in one: 9 in all."""
    assert collection.mean_length == pytest.approx(13 / 3)
    assert [collection.probability(word) for word in ("ropes", "wind")] == pytest.approx([2 / 9, 1 / 9])
    model = DocumentModel(KNOTS, collection, 1, Random(0))
    # (tf + 13/3 x df/9) / (4 + 13/3), by 225ths.
    by_hand = {"knots": 67 / 225, "join": 40 / 225, "ropes": 53 / 225, "sails": 26 / 225, "wind": 13 / 225}
    assert {word: model.probability(word) for word in by_hand} == pytest.approx(by_hand)
    assert model.log_likelihood(["ropes", "wind", "wind"]) == pytest.approx(math.log(53 / 225 * (13 / 225) ** 2))


def test_words_are_drawn_by_their_probability_also_those_that_the_document_lacks(collection):
    model, rng = DocumentModel(KNOTS, collection, 1, Random(0)), Random(1)
    assert set(model.vocabulary) == {"knots", "join", "ropes", "sails", "wind", "catch", "hold"}
    drawn = [word for _ in range(6000) for word in model.draw(1, rng)]
    # The seven words' 225ths add up to 225: 67 + 40 + 53 + 26 + 13 + 13 + 13.
    assert drawn.count("knots") / 6000 == pytest.approx(67 / 225, abs=0.02)
    assert drawn.count("wind") / 6000 == pytest.approx(13 / 225, abs=0.02)


def test_rare_words_are_not_drawn_where_that_is_asked_for(collection):
    """Only ropes (4) and sails (3) stand three times."""
    assert set(DocumentModel(KNOTS, collection, 3, Random(0)).vocabulary) == {"ropes", "sails"}
    assert DocumentModel(["knots"], collection, 3, Random(0)).vocabulary == []


def test_frequent_words_are_often_drawn_again(tmp_path):
    """A tenth of 10,000 words: sqrt(0.0001 / 0.1) + 0.0001 / 0.1. Words seen under 100 times are always kept."""
    found = counted(tmp_path, ["often"] * 1000 + ["seldom"] * 99 + ["rest"] * 8901)
    assert [found.kept(word) for word in ("often", "seldom", "never")] == pytest.approx([0.0326228, 1, 1], abs=1e-6)


@pytest.mark.parametrize(("own", "at_most"), [(3, 500), (499, 500), (500, 1100), (600, 1300)])
def test_the_sampling_vocabulary_is_filled_up_from_the_collection(tmp_path, own, at_most):
    words = [f"w{number}" for number in range(own)]
    found = counted(tmp_path, words, [f"c{number}" for number in range(5000)])
    vocabulary = DocumentModel(words, found, 1, Random(0)).vocabulary
    assert vocabulary[:own] == sorted(words)
    assert len(set(vocabulary)) == len(vocabulary) <= at_most
    assert len(vocabulary) > 0.8 * at_most or own == 499


def test_rop_puts_the_likelier_of_two_sets_first(three, collection):
    options = SamplingOptions(min_words=1, draws=20)
    samples = sample(three, ["rop"], options=options, held_out=0)
    found = [example for example in samples if example.document_id == "knots.md"]
    model = DocumentModel(KNOTS, collection, 1, Random(0))
    assert len(found) > 40
    for example in found:
        assert example.documents == ("Knots. Knots join ropes.",) * 2
        better, worse = (query.split() for query in example.queries)
        assert len(better) == len(worse) > 0
        assert model.log_likelihood(better) > model.log_likelihood(worse)
    lacking = [
        query for example in found for query in example.queries if set(query.split()) & {"wind", "catch", "hold"}
    ]
    assert lacking


def test_short_documents_take_part_as_often_as_is_asked_for(three):
    options = SamplingOptions(min_words=1, keep_short=0.0)
    census = sample(three, ["rop"], options=options, held_out=0).manifest["census"]
    assert census == {"examples": {"rop": 0}, "dropped": {"rop": {"one of the short documents that are left out": 3}}}
    with pytest.raises(UsageError, match="keep_short"):
        SamplingOptions(keep_short=2.0)


class Words:
    """A tokenizer of seven tokens: [CLS] 0, [SEP] 1, [MASK] 2, rope 3, ##s 4, sail 5, wind 6."""

    mask_token_id, sep_token_id = 2, 1
    all_special_ids = (0, 1, 2)

    def __len__(self) -> int:
        return 7

    def get_vocab(self) -> dict[str, int]:
        return {"[CLS]": 0, "[SEP]": 1, "[MASK]": 2, "rope": 3, "##s": 4, "sail": 5, "wind": 6}


def test_masks_are_on_the_document_alone_and_cover_whole_words():
    """Forty words of the document, 20 of two tokens: 15 % are six tokens."""
    ids = [0, 3, 4, 5, 4, 1, *[5, 4, 6] * 20, 1]
    masker, rng = Masker(Words(), whole_words=True, document_alone=True), Random(0)
    places = set()
    for _ in range(300):
        _, labels = masker.masked(ids, rng)
        chosen = {place for place, label in enumerate(labels) if label != IGNORED}
        assert len(chosen) == 6
        assert all(labels[place] == ids[place] for place in chosen)
        for place in chosen:
            assert ids[place] != 5 or place + 1 in chosen
            assert ids[place] != 4 or place - 1 in chosen
        places |= chosen
    assert places == set(range(6, 66))


def test_at_most_sixty_tokens_are_masked_and_at_least_one_word():
    masker = Masker(Words(), whole_words=True)
    _, many = masker.masked([0, *[3] * 480, 1], Random(0))
    _, one = masker.masked([0, 3, 1], Random(0))
    assert (sum(label != IGNORED for label in many), sum(label != IGNORED for label in one)) == (60, 1)


def test_a_side_to_mask_goes_with_masked_words_of_pairs(three):
    for options in (
        {"mask_side": "document"},
        {"mask_side": "document", "mlm": 1.0, "ranker": "bi-encoder", "side": "both"},
    ):
        with pytest.raises(UsageError, match="mask_side means nothing"):
            train(three, TrainingOptions(**{"ranker": "cross-encoder", "base_model": "scratch", **options}))


class Titles:
    """What a survey asks of the pages; the third document is held out."""

    def title(self, number: int) -> str:
        return ["Ropes", "Sails", ""][number]


def test_released_prop_draws_stems_and_shows_their_words(tmp_path):
    """The language model is of stems of words of letters; which of its words a stem shows goes by log(count + 1)."""
    pages = {
        "ropes.md": "# Ropes\n\nA rope of 12 mm: ropes hold, held is holding. Ropes.",
        "sails.md": "# Sails\n\nSails hold x86 winds, and the sailing wind.",
        "wood.md": "# Wood\n\nWood of boats.",
    }
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    write_stems(Ground(Titles(), SamplingOptions(), 0, workspace=str(tmp_path / "w")), tmp_path)
    stems, rng = Stems(tmp_path), Random(1)
    counts = stems.collection
    assert [counts.frequency(word) for word in ("rope", "hold", "x", "12", "x86", "wood")] == [4, 3, 1, 0, 0, 0]
    assert counts.document_frequency("hold") == 2
    drawn = [stems.word("rope", rng) for _ in range(2000)]
    assert drawn.count("ropes") / 2000 == pytest.approx(2 / 3, abs=0.04), "three of them against one"
    examples = list(sample(tmp_path / "w", ["rop-released"], options=SamplingOptions(min_words=1), held_out=0.0))
    shown = {word for example in examples for query in example.queries for word in query.split()}
    assert shown <= set("rope ropes hold held holding mm sails sailing winds wind x wood boats".split())
    assert {"ropes", "sailing", "winds", "holding"} & shown, "words, not stems"
