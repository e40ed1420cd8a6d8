"""Wikiformer's tasks: checked by hand on trees small enough, and by property on any."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer import Document, Section
from structformer.document import Source
from structformer.sampling import (
    Census,
    DocumentView,
    Example,
    Neighbourhood,
    SamplingOptions,
    document_examples,
    nearly_equal,
    word_set,
)
from structformer.training import training_options

from boats import tree
from structformer_tasks.wikiformer import long_texts_matching, simulated_reranking

FREE = SamplingOptions(min_words=1)


def examples(task: str, document: Document | None = None, options: SamplingOptions = FREE, seed: int = 0):
    return list(document_examples(document or tree(), [task], options=options, seed=seed))


def test_srr_asks_by_path_for_each_child_among_its_siblings_first():
    by_query = {
        example.queries[0]: example for example in examples("srr", options=SamplingOptions(min_words=1, negatives=1))
    }
    assert set(by_query) == {
        "Boats Sails",
        "Boats Sails Reefing",
        "Boats Sails Trimming",
        "Boats Knots",
        "Boats Knots Bowline",
    }
    assert by_query["Boats Sails Reefing"].documents == (
        "smaller sail in strong wind",
        "ease the sheet until it flutters",
    )
    assert by_query["Boats Sails"].documents == ("cloth that catches wind", "ropes and posts")
    assert by_query["Boats Sails"].sections == (1, 4)


def test_srr_tops_up_from_the_rest_but_never_with_ancestors_or_descendants():
    by_query = {
        example.queries[0]: example for example in examples("srr", options=SamplingOptions(min_words=1, negatives=None))
    }
    assert set(by_query["Boats Sails Reefing"].sections) == {2, 3, 4, 5}
    assert set(by_query["Boats Sails"].sections) == {1, 4, 5}
    assert by_query["Boats Knots Bowline"].sections[0] == 5
    assert set(by_query["Boats Knots Bowline"].sections) == {5, 1, 2, 3}


def test_srr_can_take_one_random_child_of_each_parent():
    assert len(examples("srr", options=SamplingOptions(min_words=1, every_child=False))) == 3


def test_rwi_asks_with_other_titles_for_the_same_text():
    seen = set()
    for seed in range(30):
        [example] = examples("rwi", seed=seed)
        assert len(set(example.documents)) == 1
        positive, *negatives = example.queries
        assert positive in {
            "Boats Sails",
            "Boats Knots",
            "Boats Sails Reefing",
            "Boats Sails Trimming",
            "Boats Knots Bowline",
        }
        titles = sorted(positive.split())
        for negative in negatives:
            assert negative.split()[0] == "Boats"
            assert len(negative.split()) == len(titles)
            assert sorted(negative.split()) != titles
        seen.add(positive)
    assert len(seen) == 5


def test_ati_asks_with_the_title_for_the_abstract_among_the_other_sections():
    [example] = examples("ati")
    assert set(example.queries) == {"Boats"}
    assert example.documents[0] == "all about boats"
    assert set(example.sections) == {0, 1, 2, 3, 4, 5}


class Pages:
    """Pages of one text each; an empty one is held out."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    @property
    def count(self) -> int:
        return len(self._texts)

    def head(self, number: int) -> str:
        return self._texts[number]

    abstract = title = head


def test_ltm_asks_with_a_document_for_its_neighbours_among_strangers():
    texts = ["zero talks of boats", "one talks of knots", "two talks of rain", "three talks of trains", ""]
    census = Census()
    here = Neighbourhood(DocumentView(tree(), FREE), 0, Pages(texts), see_also=[1, 4])
    matching = list(long_texts_matching(here, Random(0), census))
    [example] = matching
    assert set(example.queries) == {texts[0]}
    assert example.documents[0] == texts[1]
    assert set(example.documents[1:]) == {texts[2], texts[3]}
    assert census.dropped["ltm", "neighbour too short or held out"] == 1


class Strangers:
    """Ten pages of a corpus."""

    count = 10

    def head(self, number: int) -> str:
        return f"page number {number} of the corpus {'abcdefghij'[number] * 5}"

    abstract = title = head


def test_ltm_takes_no_neighbour_in_either_direction_for_a_stranger():
    place = Neighbourhood(DocumentView(tree(), FREE), 0, Strangers(), see_also=[1, 2], named_by=[3, 4, 5])
    drawn = {
        text
        for seed in range(50)
        for example in long_texts_matching(place, Random(seed), Census())
        for text in example.documents[1:]
    }
    assert drawn == {Strangers().head(number) for number in range(6, 10)}


def test_the_recipe_takes_all_siblings_and_nothing_else():
    options = replace(SamplingOptions(), **{**training_options("wikiformer", {}).sampling, "min_words": 1})
    document = tree()
    document.root.children += [Section(f"Part {number}", 1, f"text of part {number} alone") for number in range(12)]
    view = DocumentView(document, options)
    sampled = examples("srr", document, options)
    for example in sampled:
        positive, *negatives = example.sections
        siblings = {number for number in view.children(view.parents[positive]) if number != positive}
        assert set(negatives) == siblings, "all of them"
    assert len(sampled) == 2  # one child of Boats and of Sails: Knots has one child only, without siblings


def test_nearly_equal_texts_are_no_negatives():
    document = tree()
    document.root.children[0].children[1].text = "Smaller sail in strong WIND!"
    for example in examples("srr", document):
        if example.queries[0] == "Boats Sails Reefing":
            assert 3 not in example.sections
    assert nearly_equal(word_set("a b c"), word_set("C b, a"))
    assert not nearly_equal(word_set("a b c"), word_set("a b d"))


def released(levels: str, texts: list[str]) -> list[Example]:
    """SRR by the released code on an article with sections of these levels, a parent's text being its own."""
    root = Section("Boats", 0, "all about boats")
    above = [root]
    for number, (level, text) in enumerate(zip(levels, texts, strict=True), 1):
        section = Section(f"S{number}", int(level), text)
        above = [each for each in above if each.level < section.level] or [root]
        above[-1].children.append(section)
        above.append(section)
    view = DocumentView(
        Document("d", "Boats", root, Source("d", "markdown")), SamplingOptions(min_words=2, compat="released-code")
    )
    return list(simulated_reranking(view, Random(0), Census()))


def test_the_released_code_of_wikiformer_asks_for_the_first_long_section_of_the_two_deepest_levels():
    long = [f"section {letter}, of words" for letter in "abcdef"]
    [example] = released("223344", long)
    assert example.queries[0] == "Boats S2 S3"
    assert example.documents[0] == long[2]
    assert example.sections == (3, 1, 2, 4, 5, 6)
    assert released("223333", long)[0].queries[0] == "Boats S1", "of two levels, a section of the first"
    assert released("223344", [*long[:2], "too short", *long[3:]])[0].sections == (4, 1, 2, 5, 6)
    assert released("22334", long[:5]) == [], "more than five sections"
    assert released("223344", [*long[:3], "a, b", "no", "no"]) == [], "four of more words than the least"
    assert released("222422", long) == [], "nothing is read behind a heading that skips a level"


def test_ict_asks_with_a_sentence_for_its_passage_mostly_without_it():
    text = "Reefing makes sails small. Hook the new tack first. Then tighten the reef line well."
    document = Document(
        "d",
        "D",
        Section("D", 0, "", children=[Section("Reef", 1, text), Section("Other", 1, "Nothing of that kind here.")]),
        Source("d", "markdown"),
    )
    sampled = examples("ict", document)
    assert [example.queries[0] for example in sampled] == [
        "Reefing makes sails small.",
        "Hook the new tack first.",
        "Then tighten the reef line well.",
        "Nothing of that kind here.",
    ]
    assert all(example.documents[0].startswith("D Reef\n") for example in sampled[:3])
    kept = sum(
        example.queries[0] in example.documents[0]
        for seed in range(100)
        for example in examples("ict", document, seed=seed)[:3]
    )
    assert 10 <= kept <= 55


@pytest.mark.parametrize(
    "said", ["Not in remote clients today.", "\u8fd9\u4e2a\u9009\u9879\u4e0d\u80fd\u5728\u8fdc\u7a0b\u4f7f\u7528\u3002"]
)
def test_no_passage_that_holds_the_sentence_word_for_word_is_its_negative(said):
    """A manual says the same of many options."""
    root = Section("D", 0, "", children=[Section(f"S{n}", 1, f"{said} Use {n} {n}{n} here.") for n in range(4)])
    root.children += [Section("Other", 1, "Nothing of that kind is here.")]
    sampled = examples("ict", Document("d", "D", root, Source("d", "markdown")))
    [asked, *_] = {example.queries for example in sampled if example.queries[0] in said}
    assert len(asked) == 2, "the other section alone"
    assert all("Nothing" in text for each in sampled if each.queries[0] in said for text in each.documents[1:])
    assert any("S2" in text for each in sampled if each.queries[0] not in said for text in each.documents[1:])


SECTIONS = st.recursive(
    st.builds(
        Section,
        st.sampled_from(["", "A", "B", "C d"]),
        st.just(1),
        st.sampled_from(["", "one", "two words", "three of them", "so four it is"]),
    ),
    lambda inner: st.builds(
        lambda title, text, children: Section(title, 1, text, children=children),
        st.sampled_from(["A", "E."]),
        st.sampled_from(["", "own text"]),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(SECTIONS, st.sampled_from(["srr", "rwi", "ati", "ict"]), st.integers(0, 3), st.sampled_from([None, 1, 3]))
def test_every_example_is_sound_and_drawing_again_gives_the_same(root, task, seed, negatives):
    document = Document("d", root.title or "T", root, Source("d", "markdown"))
    options = SamplingOptions(min_words=1, negatives=negatives)
    sampled = examples(task, document, options, seed)
    assert sampled == examples(task, document, options, seed)
    view = DocumentView(document, options)
    for example in sampled:
        assert example.task == task
        assert negatives is None or len(example.queries) <= negatives + 1
        if task in ("srr", "ati"):
            assert len(set(example.sections)) == len(example.sections) > 1
            assert all(text for text in example.documents)
        if task == "srr":
            positive, *others = example.sections
            assert not any(view.kin(positive, other) for other in others)
        if task == "rwi":
            assert len(set(example.queries)) == len(example.queries) > 1
