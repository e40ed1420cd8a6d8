"""HARP's tasks and the classics, each on pages small enough to check by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from structformer import Document, Section, sample
from structformer.document import Source
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.models.attention import AttentionWeights
from structformer.models.base import packaged_minilm
from structformer.sampling import Census, DocumentView, Example, Neighbourhood, Reference, SamplingOptions

from boats import linked_pages
from conftest import write_pages
from structformer_tasks.classic import (
    body_first_selection,
    wiki_link_prediction,
)
from structformer_tasks.harp import (
    anchor_cooccurrence_modeling,
    draw_words,
    draw_words_as_released,
    query_disambiguation_modeling,
    representative_document_prediction,
    representative_query_prediction,
)

# Page 0 is the boat's; it links to 1 (knots) and 2 (sails) in one sentence and to 3 (rain) in another.
TEXT = "Tie reef knots to make sails smaller. Look at the rain before."
PAGES = [
    "boats float well",
    "knots join ropes firmly",
    "sails catch strong wind",
    "rain falls from clouds",
    "trains run on rails",
]
REFERENCES = [Reference(0, 4, 14, "reef knots", 1), Reference(0, 23, 28, "sails", 2), Reference(0, 50, 54, "rain", 3)]


class Pages:
    count = len(PAGES)

    def head(self, number: int) -> str:
        return PAGES[number]

    abstract = title = head


class Weights:
    """Attention to one word only: the last of a span's sentence or page, or, from [CLS], the words given."""

    def __init__(self, from_cls: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self.from_cls = from_cls or {}

    def weights(self, text: str, start: int = 0, end: int = 0) -> Mapping[str, float]:
        if end > start:
            return {"smaller": 0.9, text[start:end].split()[-1].lower(): 0.1} if "smaller" in text else {"look": 1.0}
        return self.from_cls.get(text, {text.split()[-1].rstrip(".").lower(): 1.0})

    def span_weights(self, text: str, spans) -> list[float]:
        words = self.from_cls.get(text, {})
        return [sum(words.get(word.lower(), 0.0) for word in text[start:end].split()) for start, end in spans]


def here(**options) -> Neighbourhood:
    document = Document("boats", "Boats", Section("Boats", 0, TEXT), Source("boats.md", "markdown"))
    view = DocumentView(document, SamplingOptions(min_words=1, **options))
    return Neighbourhood(
        view,
        0,
        Pages(),
        references=REFERENCES,
        weights=Weights(),
        anchor_targets=lambda text: [1, 4] if text == "reef knots" else [],
    )


def test_rqp_prefers_the_anchor_with_its_sentences_words_to_words_of_the_page():
    found = list(representative_query_prediction(here(), Random(1), Census()))
    assert [example.documents for example in found] == [(PAGES[1],) * 2, (PAGES[2],) * 2, (PAGES[3],) * 2]
    assert [example.queries for example in found] == [
        ("reef knots smaller", "firmly"),
        ("sails smaller", "wind"),
        ("rain look", "clouds"),
    ]


def test_qdm_prefers_the_true_destination_of_an_ambiguous_anchor():
    census = Census()
    [example] = query_disambiguation_modeling(here(), Random(0), census)
    assert example == Example("qdm", ("reef knots smaller",) * 2, (PAGES[1], PAGES[4]), "boats", (0, -1))
    assert census.dropped["qdm", "anchor text of one page only"] == 2


def test_rdp_prefers_the_page_of_the_anchor_that_the_sentence_is_about():
    sentence = "Tie reef knots to make sails smaller."
    place = here()
    place.weights = Weights({sentence: {"sails": 0.5, "reef": 0.1, "knots": 0.2}})
    [example] = representative_document_prediction(place, Random(0), Census())
    assert example == Example("rdp", (sentence,) * 2, (PAGES[2], PAGES[1]), "boats", (0, 0))
    place.weights = Weights({sentence: {"sails": 0.2, "reef": 0.1, "knots": 0.2}})
    [example] = representative_document_prediction(place, Random(0), Census())
    assert example.documents == (PAGES[1], PAGES[2])


def test_rdp_draws_its_pair_by_the_importance_of_the_anchors():
    place = here()
    place.references = [
        Reference(0, 4, 14, "reef knots", 1),
        Reference(0, 23, 28, "sails", 2),
        Reference(0, 15, 17, "to", 4),
    ]
    place.weights = Weights({"Tie reef knots to make sails smaller.": {"sails": 0.6, "reef": 0.3, "to": 0.1}})
    pairs = Counter()
    for seed in range(2000):
        [example] = representative_document_prediction(place, Random(seed), Census())
        pairs[example.documents] += 1
    # Drawing by weight without replacement: P(a, b) = p_a p_b / (1 - p_a) + p_b p_a / (1 - p_b).
    expected = {
        (PAGES[2], PAGES[1]): 0.6 * 0.3 / 0.4 + 0.3 * 0.6 / 0.7,
        (PAGES[2], PAGES[4]): 0.6 * 0.1 / 0.4 + 0.1 * 0.6 / 0.9,
        (PAGES[1], PAGES[4]): 0.3 * 0.1 / 0.7 + 0.1 * 0.3 / 0.9,
    }
    assert {pair: count / 2000 for pair, count in pairs.items()} == pytest.approx(expected, abs=0.03)


def test_acm_asks_with_one_anchor_for_the_page_of_its_neighbour():
    seen = set()
    for seed in range(20):
        [example] = anchor_cooccurrence_modeling(here(), Random(seed), Census())
        assert example.documents[1] == PAGES[4]  # every other page is linked to
        seen.add((example.queries[0], example.documents[0]))
    assert seen == {("reef knots firmly", PAGES[2]), ("sails wind", PAGES[1])}


def test_the_released_code_takes_all_pairs_of_a_sentence():
    many = [Reference(0, 4, 14, "reef knots", 1), Reference(0, 23, 28, "sails", 2), Reference(0, 15, 17, "to", 4)]
    place = here(compat="released-code")
    place.references = many
    place.weights = Weights({"Tie reef knots to make sails smaller.": {"sails": 0.5, "reef": 0.2, "to": 0.1}})
    assert len(list(representative_document_prediction(place, Random(0), Census()))) == 3


def test_words_are_drawn_by_weight_without_stop_words():
    rng, stop_words = Random(0), frozenset({"the"})
    drawn = Counter(draw_words({"the": 5.0, "mast": 0.8, "oar": 0.2}, rng, stop_words)[0] for _ in range(2000))
    assert set(drawn) == {"mast", "oar"}
    assert 0.77 < drawn["mast"] / 2000 < 0.83


def test_the_released_code_draws_with_replacement_by_the_softmax_of_the_weights():
    rng, stop_words = Random(0), frozenset({"the"})
    drawn = [draw_words_as_released({"the": 5.0, "mast": 1.0, "oar": 0.0}, rng, stop_words) for _ in range(4000)]
    sizes = Counter(map(len, drawn))
    # A normal number of mean 3 and deviation 1, cut to an integer, drawn again below 1.
    for size, share in ((1, 0.140), (2, 0.349), (3, 0.349), (4, 0.139), (5, 0.022)):
        assert sizes[size] / 4000 == pytest.approx(share, abs=0.025)
    words = Counter(word for each in drawn for word in each)
    assert set(words) == {"mast", "oar"}
    assert words["mast"] / words["oar"] == pytest.approx(math.e, rel=0.1)
    assert ["mast", "mast"] in drawn
    assert draw_words_as_released({"the": 5.0}, rng, stop_words) == []


def test_the_released_code_may_draw_words_of_the_anchor():
    def drawn(compat: str) -> set[str]:
        examples = (
            example
            for seed in range(20)
            for example in representative_query_prediction(here(compat=compat), Random(seed), Census())
        )
        return {word for example in examples for word in example.queries[0].split()[2:] if "reef" in example.queries[0]}

    assert drawn("paper") == {"smaller"}
    assert drawn("released-code") == {"smaller", "knots"}


def test_bfs_asks_with_the_abstract_for_the_body():
    document = Document(
        "d",
        "D",
        Section("D", 0, "A sentence of the abstract.", children=[Section("Body", 1, "What the body says.")]),
        Source("d", "markdown"),
    )
    place = Neighbourhood(DocumentView(document, SamplingOptions(min_words=1)), 0, Pages())
    [example] = body_first_selection(place, Random(0), Census())
    assert example.queries[0] == "A sentence of the abstract."
    assert example.documents[0] == "D Body\nWhat the body says."
    assert {text.partition("\n")[2] for text in example.documents[1:]} == set(PAGES[1:])


def test_wlp_asks_with_a_linked_pages_abstract_for_the_linking_passage():
    found = list(wiki_link_prediction(here(), Random(0), Census()))
    assert [example.queries[0] for example in found] == PAGES[1:4]
    for example in found:
        assert example.documents[0] == f"Boats\n{TEXT}"
        assert example.documents[1:] == (f"{PAGES[4]}\n{PAGES[4]}",)  # the only page without a link


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pages that link to their neighbours in sentences, and to one page under one name."""
    folder = tmp_path_factory.mktemp("linked")
    write_pages(folder / "pages", linked_pages())
    ingest(folder / "pages", folder / "w")
    return folder / "w"


def test_harp_needs_a_models_attention(corpus):
    with pytest.raises(UsageError, match="rqp draw words by a model's attention"):
        sample(corpus, ["rqp"])


@pytest.mark.skipif(packaged_minilm() is None, reason="structformer[offline] is not installed")
def test_harps_tasks_draw_by_real_attention_which_is_computed_once(corpus):
    def weights() -> AttentionWeights:
        return AttentionWeights(str(packaged_minilm()), corpus / "cache")

    first = weights()
    samples = sample(corpus, ["rqp", "qdm", "rdp", "acm"], weights=first, workers=1)
    assert first.computed > 20
    assert samples.counts == {"rqp": 24, "qdm": 12, "rdp": 12, "acm": 12}  # "other" names twelve pages
    drawn = list(samples)
    again = weights()
    assert list(sample(corpus, ["rqp", "qdm", "rdp", "acm"], weights=again, workers=1)) == drawn
    assert again.computed == 0
    example = samples.example("rqp", 0)
    assert example.queries[0].startswith(("ladder part ", "other "))
    assert not set(example.queries[1].split()) & {"ladder", "part"}


def test_words_that_are_not_drawn_come_from_a_file(tmp_path):
    (tmp_path / "stop.txt").write_text("# a list\nsmaller\nFirmly\n")
    place = here(stop_words=str(tmp_path / "stop.txt"))
    queries = [example.queries for example in representative_query_prediction(place, Random(1), Census())]
    assert not any("smaller" in query.split()[1:] or "firmly" in query for pair in queries for query in pair)
    with pytest.raises(UsageError, match="cannot be read"):
        list(representative_query_prediction(here(stop_words=str(tmp_path / "none.txt")), Random(1), Census()))
