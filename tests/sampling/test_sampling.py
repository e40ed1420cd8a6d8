"""What tasks share: views of documents, random pages, negatives, drawing in the order of the documents."""

from __future__ import annotations

import inspect
import math
import shutil
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from structformer import Corpus, Section, sample
from structformer.errors import UsageError, WorkspaceError
from structformer.ingestion import ingest
from structformer.sampling import Samples, SamplingOptions, document_examples, is_held_out, positive_poisson
from structformer.sampling.neighbourhood import Neighbourhood, sentence_spans
from structformer.sampling.sets import SampleRequest
from structformer.sampling.view import DocumentView, document_text

from boats import linked_pages, tree
from conftest import write_pages


def test_the_text_of_a_document_has_no_see_also_list():
    document = tree()
    document.root.children.append(Section("See also", 1, "Knots and Ropes", children=[Section("More", 2, "Anchors")]))
    text = document_text(document, 1000)
    assert "Bowline" in text
    assert not any(word in text for word in ("Ropes", "Anchors", "See also", "More"))


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


def test_short_texts_take_no_part_and_an_inner_node_lends_its_subtree():
    document = tree()
    document.root.children[0].text = ""
    view = DocumentView(document, SamplingOptions(min_words=4))
    assert view.content(1) == "Reefing\n\nsmaller sail in strong wind\n\nTrimming\n\nease the sheet until it flutters"
    assert DocumentView(document, SamplingOptions(inner="own")).content(1) == ""
    assert not view.long_enough(4) or view.content(4).startswith("ropes")
    assert view.path(2) == ["Boats", "Sails", "Reefing"]


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


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pages that link to their neighbours in sentences, and to one page under one name."""
    folder = tmp_path_factory.mktemp("linked")
    write_pages(folder / "pages", linked_pages())
    ingest(folder / "pages", folder / "w")
    return folder / "w"


def test_random_pages_are_long_enough_and_neither_copies_nor_holders_of_the_query():
    place = Neighbourhood(DocumentView(tree(), SamplingOptions(min_words=1)), 0, SimpleNamespace(count=7))
    texts = [
        "",
        "sails catch wind",
        "Sails  catch a wind",
        "sails CATCH wind!",
        "rain falls",
        "rain falls",
        "trains run on",
    ]
    drawn = {
        tuple(sorted(place.random_pages(Random(seed), {6}, texts.__getitem__, 7, "wind sails catch", query).values()))
        for seed in range(30)
        for query in ("run on", "catch a wind")
    }
    assert drawn == {("Sails  catch a wind", "rain falls"), ("rain falls",)}


def test_sentence_spans_are_where_the_sentences_stand():
    text = "One. Two two!\n\n* Three\n"
    assert [text[start:end] for start, end in sentence_spans(text)] == ["One.", "Two two!", "* Three"]


def test_a_poisson_number_of_words_is_drawn_again_while_it_is_zero():
    rng = Random(0)
    drawn = Counter(positive_poisson(rng, 3.0) for _ in range(20_000))
    assert min(drawn) == 1
    assert drawn[1] / 20_000 == pytest.approx(3 * math.exp(-3) / (1 - math.exp(-3)), abs=0.01)  # .157


@pytest.mark.parametrize("how", ["lexical", "random"])
def test_negatives_of_other_documents_are_never_false_ones(corpus, how):
    options = SamplingOptions(min_words=5, negatives=3, negatives_from=how)
    samples = sample(corpus, ["srr", "ict", "rwi"], options=options, held_out=0.0)
    replaced = 0
    for example in samples:
        if example.task == "rwi":
            assert len(set(example.queries)) > 1
            continue
        if -1 not in example.sections:
            continue  # every other document's passage was too like the positive, so it keeps its own
        replaced += 1
        topic = example.document_id.removesuffix(".md")
        assert example.sections[1:] == (-1,) * (len(example.sections) - 1)
        for document in example.documents[1:]:
            assert f"The {topic} is a part" not in document
            assert f"Clean the {topic} twice" not in document
            assert f"Use the {topic} together" not in document
            # Passages have their paths in front where the positives have them, and only there.
            assert ("." in document.split("\n")[0]) == (example.task == "srr")
    assert replaced > 30
    if how == "lexical":
        by_query = {example.queries[0]: example for example in samples if example.task == "srr"}
        found = by_query["The keel Use"].documents[1:]
        assert all("keel" in document or "Use" in document for document in found)
