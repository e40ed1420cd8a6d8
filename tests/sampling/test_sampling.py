"""Samplers: checked by hand on trees small enough, and by property on any."""

from __future__ import annotations

import inspect
import shutil
from dataclasses import fields, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer import Corpus, Document, Section, sample
from structformer.document import Source
from structformer.errors import UsageError, WorkspaceError
from structformer.sampling import Census, Samples, SamplingOptions, document_examples, is_held_out
from structformer.sampling.neighbourhood import Neighbourhood
from structformer.sampling.request import SampleRequest
from structformer.sampling.tasks.wikiformer import long_texts_matching
from structformer.sampling.view import DocumentView, document_text, nearly_equal, word_set
from structformer.training import training_options

FREE = SamplingOptions(min_words=1)


def tree() -> Document:
    """Boats: Sails (Reefing, Trimming), Knots (Bowline), every section with a text of its own."""
    return Document(
        id="boats",
        title="Boats",
        source=Source("boats.md", "markdown"),
        root=Section(
            "Boats",
            0,
            "all about boats",
            children=[
                Section(
                    "Sails.",
                    1,
                    "cloth that catches wind",
                    children=[
                        Section("Reefing", 2, "smaller sail in strong wind"),
                        Section("Trimming", 2, "ease the sheet until it flutters"),
                    ],
                ),
                Section("Knots", 1, "ropes and posts", children=[Section("Bowline", 2, "a loop that holds")]),
            ],
        ),
    )


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
    found = list(long_texts_matching(here, Random(0), census))
    [example] = found
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


def test_the_text_of_a_document_has_no_see_also_list():
    document = tree()
    document.root.children.append(Section("See also", 1, "Knots and Ropes", children=[Section("More", 2, "Anchors")]))
    text = document_text(document, 1000)
    assert "Bowline" in text
    assert not any(word in text for word in ("Ropes", "Anchors", "See also", "More"))


def test_the_recipe_takes_all_siblings_and_nothing_else():
    options = replace(SamplingOptions(), **{**training_options("wikiformer", {}).sampling, "min_words": 1})
    document = tree()
    document.root.children += [Section(f"Part {number}", 1, f"text of part {number} alone") for number in range(12)]
    view = DocumentView(document, options)
    found = examples("srr", document, options)
    for example in found:
        positive, *negatives = example.sections
        siblings = {number for number in view.children(view.parents[positive]) if number != positive}
        assert set(negatives) == siblings, "all of them"
    assert len(found) == 2  # one child of Boats and of Sails: Knots has one child only, without siblings


def test_drawing_several_times_is_drawing_in_several_epochs(workspace, tmp_path):
    shutil.copytree(workspace, tmp_path / "w")
    options = SamplingOptions(min_words=1, every_child=False)
    single = [set(sample(tmp_path / "w", ["rwi"], options=options, epoch=epoch)) for epoch in range(3)]
    several = list(sample(tmp_path / "w", ["rwi"], options=replace(options, draws=3)))
    assert set(several) == set().union(*single)
    assert len(several) == len(set(several)) > len(single[0])


def test_short_documents_take_no_part_where_that_is_asked_for(workspace, tmp_path):
    shutil.copytree(workspace, tmp_path / "w")
    words = {
        document.id: sum(len(section.text.split()) for section in document.sections())
        for document in Corpus.open(tmp_path / "w").documents()
    }
    limit = sorted(words.values())[len(words) // 2]
    drawn = sample(
        tmp_path / "w", ["srr"], options=SamplingOptions(min_words=1, min_document_words=limit), held_out=0.0
    )
    assert {example.document_id for example in drawn} <= {name for name, count in words.items() if count >= limit}


def test_ict_asks_with_a_sentence_for_its_passage_mostly_without_it():
    text = "Reefing makes sails small. Hook the new tack first. Then tighten the reef line well."
    document = Document(
        "d",
        "D",
        Section("D", 0, "", children=[Section("Reef", 1, text), Section("Other", 1, "Nothing of that kind here.")]),
        Source("d", "markdown"),
    )
    found = examples("ict", document)
    assert [example.queries[0] for example in found] == [
        "Reefing makes sails small.",
        "Hook the new tack first.",
        "Then tighten the reef line well.",
        "Nothing of that kind here.",
    ]
    assert all(example.documents[0].startswith("D Reef\n") for example in found[:3])
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
    found = examples("ict", Document("d", "D", root, Source("d", "markdown")))
    [asked, *_] = {example.queries for example in found if example.queries[0] in said}
    assert len(asked) == 2, "the other section alone"
    assert all("Nothing" in text for each in found if each.queries[0] in said for text in each.documents[1:])
    assert any("S2" in text for each in found if each.queries[0] not in said for text in each.documents[1:])


def test_short_texts_take_no_part_and_an_inner_node_lends_its_subtree():
    document = tree()
    document.root.children[0].text = ""
    view = DocumentView(document, SamplingOptions(min_words=4))
    assert view.content(1) == "Reefing\n\nsmaller sail in strong wind\n\nTrimming\n\nease the sheet until it flutters"
    assert DocumentView(document, SamplingOptions(inner="own")).content(1) == ""
    assert not view.long_enough(4) or view.content(4).startswith("ropes")
    assert view.path(2) == ["Boats", "Sails", "Reefing"]


def test_nearly_equal_texts_are_no_negatives():
    document = tree()
    document.root.children[0].children[1].text = "Smaller sail in strong WIND!"
    for example in examples("srr", document):
        if example.queries[0] == "Boats Sails Reefing":
            assert 3 not in example.sections
    assert nearly_equal(word_set("a b c"), word_set("C b, a"))
    assert not nearly_equal(word_set("a b c"), word_set("a b d"))


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
    found = examples(task, document, options, seed)
    assert found == examples(task, document, options, seed)
    view = DocumentView(document, options)
    for example in found:
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


def test_stored_examples_are_those_of_the_documents_in_order(workspace):
    from structformer import Corpus

    options = SamplingOptions(min_words=8)
    samples = sample(workspace, ["srr", "rwi", "ltm"], options=options)
    drawn = [
        example
        for document in Corpus.open(workspace).documents()
        for example in document_examples(document, ["srr"], options=options)
    ]
    assert [samples.example("srr", number) for number in range(samples.counts["srr"])] == drawn
    assert len(samples) == len(list(samples)) == sum(samples.manifest["census"]["examples"].values())
    assert (
        samples.counts["ltm"] == 1
    )  # the index page is adjacent to all others, so only knots -> index has a document to contrast with
    assert samples.manifest["census"]["dropped"]


def test_seeds_differ_and_equal_seeds_agree(workspace, tmp_path):
    shutil.copytree(workspace, tmp_path / "copy")
    first, again = sample(workspace, seed=5), sample(tmp_path / "copy", seed=5)
    assert list(first) == list(again)
    assert files(first.folder) == files(again.folder)


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_number_of_workers_changes_nothing(workspace, tmp_path):
    shutil.copytree(workspace, tmp_path / "copy")
    tasks = ["srr", "rwi", "ati", "ltm", "ict", "bfs", "wlp", "rop"]
    one, two = sample(workspace, tasks, workers=1), sample(tmp_path / "copy", tasks, workers=2)
    assert files(one.folder) == files(two.folder)


def test_held_out_documents_give_no_examples(npm, tmp_path):
    from structformer.ingestion import ingest

    ingest(npm, tmp_path / "w", format="markdown")
    samples = sample(tmp_path / "w", held_out=0.3, seed=2)
    drawn = {example.document_id for example in samples}
    assert drawn
    assert not any(is_held_out(document, 2, 0.3) for document in drawn)


def test_mistakes_are_named(workspace, tmp_path):
    with pytest.raises(
        UsageError,
        match="no task xyz; choose from: acm, anchor-dr, ares-hard, ares-strict, ares-titles, ati, bfs, bprop, "
        "hlp-co-mention, hlp-dual-link, ict, ltm, neighbours, ovs, php, qdm, rdp, rop, rop-released, rqp",
    ):
        sample(workspace, ["srr", "xyz"])
    with pytest.raises(WorkspaceError, match=r"no corpus in .*run `structformer ingest"):
        Samples.open(tmp_path / "none")


def test_sample_takes_all_that_can_be_asked_for():
    asked = {field.name for field in fields(SampleRequest)} - {"drawn_by"}  # of a merge alone
    assert set(inspect.signature(sample).parameters) == {"workspace", "workers", "engine", "progress", *asked}
