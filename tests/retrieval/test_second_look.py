"""A second look at the first passages, by the vectors of their tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import Retriever, train
from structformer.errors import WorkspaceError
from structformer.ingestion import ingest
from structformer.models.bi_encoder import BiEncoder
from structformer.models.registry import read_record
from structformer.retrieval import what_parts_give
from structformer.retrieval.index import Index
from structformer.retrieval.indexing import build_index
from structformer.retrieval.learning.structure import make_structure
from structformer.retrieval.rankings.hybrid_score import fusion_weights, looked_again
from structformer.retrieval.vector_making import encode_texts
from structformer.retrieval.vectors.encoding import KnownVectors, VectorJournal
from structformer.retrieval.vectors.second_look import SecondLook, TokenWriter, own_outlines, projected
from structformer.workspace import Workspace

from boats import TINY
from conftest import write_pages

TEXTS = ["reef the sail", "stow the oars", "a bowline", ""]


class Letters:
    """A token is a letter, whose vector has a one at its place in the alphabet."""

    dimensions = 27

    def __init__(self) -> None:
        self.read: list[str] = []

    def tokens(self, text: str) -> np.ndarray:
        places = [1 + ord(letter) - ord("a") if letter.isalpha() else 0 for letter in text]
        return np.eye(27, dtype=np.float32)[places]

    def encode_documents_with_tokens(self, documents: Any, see: Any) -> np.ndarray:
        self.read += documents
        for place, text in enumerate(documents):
            see(place, self.tokens(text))
        return np.stack([self.tokens(text).sum(0) for text in documents])

    encode_queries_with_tokens = encode_documents_with_tokens


def kept(folder: Path, texts: list[str], encoder: Any, earlier: Path | None = None) -> SecondLook:
    """The token vectors of texts, written beside their vectors."""
    folder.mkdir(exist_ok=True)
    path, before = folder / "own.npy", (earlier or folder / "none") / "own.npy"
    axes = np.eye(27, dtype=np.float32)
    with (
        VectorJournal(folder.parent / "journal", 27) as journal,
        TokenWriter(path, axes, before, folder.parent / "journal") as tokens,
    ):
        encode_texts(texts, len(texts), encoder, path, KnownVectors(before), journal, tokens=tokens)
    return SecondLook(path, 1.0)


def test_its_score_is_the_mean_over_the_querys_tokens_of_the_best_cosine(tmp_path):
    look, encoder = kept(tmp_path / "index", TEXTS, Letters()), Letters()
    query = projected(encoder.tokens("sax"), look.axes)
    # "s" and "a" are letters of the first text; the third has "a" alone, the last has none at all.
    assert look.scores(query, np.arange(4)).tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0.0])


def test_token_vectors_that_an_index_has_or_a_killed_run_has_made_are_not_made_again(tmp_path):
    first = kept(tmp_path / "first", TEXTS, Letters())
    (tmp_path / "first" / "own.tokens.starts.npy").rename(tmp_path / "away")
    resumed = Letters()
    kept(tmp_path / "resumed", TEXTS, resumed)  # by the journal
    assert resumed.read == []
    (tmp_path / "away").rename(tmp_path / "first" / "own.tokens.starts.npy")
    for journal in tmp_path.glob("journal*"):
        journal.unlink()
    changed = Letters()
    second = kept(tmp_path / "second", ["a new one", *TEXTS], changed, tmp_path / "first")
    assert changed.read == ["a new one"]
    assert all(np.array_equal(second.tokens(place + 1), first.tokens(place)) for place in range(4))


@given(cut=st.integers(1, 200))
def test_a_journal_that_is_cut_off_anywhere_gives_what_an_unhurt_one_gives(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("cut")
    whole = kept(folder / "whole", TEXTS, Letters())
    [journal] = folder.glob("*.tokens")
    journal.write_bytes(journal.read_bytes()[:-cut])
    after = kept(folder / "after", TEXTS, Letters())
    assert all(np.array_equal(after.tokens(place), whole.tokens(place)) for place in range(4))


def test_a_file_that_is_cut_off_is_an_error_that_says_what_to_do(tmp_path):
    kept(tmp_path / "index", TEXTS, Letters())
    path = tmp_path / "index" / "own.tokens"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(WorkspaceError, match=r"own\.tokens cannot be read .* run `structformer index` again"):
        SecondLook(tmp_path / "index" / "own.npy", 1.0)


def test_of_a_document_its_best_passage_counts_for_all_of_them_in_standard_deviations():
    weights = replace(fusion_weights(pretrained=True), look=1.0)
    totals, by_document = looked_again(
        np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.1, 0.9, 0.5, 0.5]), np.array([7, 7, 8, 9]), weights
    )
    assert by_document.tolist() == [0.9, 0.9, 0.5, 0.5]
    assert totals.tolist() == pytest.approx([4.0, 3.0, 0.0, -1.0])


def pages_of(outline: bool, count: int = 24) -> dict[str, str]:
    """Pages that all have the sections of one outline, or each its own."""
    own = [f"Rigging {number}" for number in range(count)]
    return {
        f"{number}.md": f"# Boat {number}\n\nA boat.\n\n## {'Synopsis' if outline else own[number]}\n\nHow it is rigged.\n"
        for number in range(count)
    }


def test_release_notes_of_one_outline_do_not_make_a_site_a_manual(tmp_path):
    headings = ("Added", "Changed", "Fixed")
    notes = {
        f"release-{number}.md": f"# Release {number}\n" + "".join(f"\n## {name}\n\nRopes.\n" for name in headings)
        for number in range(8)
    }
    write_pages(
        tmp_path / "pages", {**pages_of(outline=False), **notes}
    )  # half of the passages, a quarter of the pages
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    assert own_outlines(Retriever.open(tmp_path / "w").units) == 1.0


@pytest.mark.parametrize("outline", [False, True])
def test_where_all_pages_follow_one_outline_there_is_no_second_look(tmp_path, outline):
    write_pages(tmp_path / "pages", pages_of(outline))
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    own = own_outlines(Retriever.open(tmp_path / "w").units)
    assert own == (0.0 if outline else 1.0)
    # Passages that look alike need their documents to tell them apart.
    usual = fusion_weights(pretrained=True, structure=True).structure_overview
    its = fusion_weights(pretrained=True, structure=True, own_outlines=own).structure_overview
    assert its > usual if outline else its == usual
    # They are also what a static encoder needs all its epochs for, as does one beside a pretrained encoder.
    opened = Retriever.open(tmp_path / "w").opened
    for alone in (True, True, False, True):
        learned = make_structure(Workspace(tmp_path / "w"), opened.units, opened.documents, alone=alone)
        record = read_record(tmp_path / "w", "structure").training
        assert (learned, record["epochs"]) == (True, 8 if outline or not alone else 2)
    assert not (tmp_path / "w" / "models" / "earlier").exists()


@pytest.fixture
def indexed(workspace):
    """The small pages with a tiny trained encoder, indexed."""
    train(workspace, replace(TINY, max_steps=2, mix={"ict": 1.0}))
    build_index(workspace)
    return workspace


def test_the_default_search_looks_twice_and_says_what_it_saw(indexed):
    retriever = Retriever.open(indexed)
    [once] = retriever.rank(["clove hitch on a post"], "hybrid[look=none]")
    [twice] = retriever.rank(["clove hitch on a post"])
    looks = twice.scores["look"]
    assert "look" not in once.scores
    weight, mean, scale = what_parts_give(twice, retriever.weights(retriever.pipeline("hybrid")))["look"]
    assert weight > 0
    before = dict(once.ranked)
    assert dict(twice.ranked) == pytest.approx(
        {unit: before[unit] + scale * (looks[unit] - mean) for unit in looks}, abs=1e-6
    )


def test_a_second_look_is_the_same_for_one_query_and_for_many(indexed):
    queries = ["clove hitch on a post", "wind from behind", "how is a loop made"]
    together = Retriever.open(indexed).rank(queries)
    for query, its in zip(queries, together, strict=True):
        [alone] = Retriever.open(indexed).rank([query])
        assert alone.scores["look"] == pytest.approx(its.scores["look"], abs=1e-3)


def test_a_query_of_one_name_is_not_looked_at_twice(indexed):
    assert "look" not in Retriever.open(indexed).rank(["bowline"])[0].scores


def test_token_vectors_that_are_gone_are_an_error_not_another_ranking(indexed):
    index = Index(Retriever.open(indexed).workspace)
    [tokens] = (index.folder / "dense").glob("*.tokens")
    tokens.unlink()
    with pytest.raises(WorkspaceError, match=rf"{tokens.name}.*structformer index"):
        Retriever.open(indexed).search("clove hitch on a post")


def test_tokens_of_texts_are_those_of_which_their_vectors_are_made(indexed):
    encoder = BiEncoder.load(str(Path(indexed) / "models" / "bi-encoder"))
    seen: dict[int, np.ndarray] = {}
    vectors = encoder.encode_queries_with_tokens(
        ["reef", "a long query about sails"], lambda at, own: seen.update({at: own})
    )
    means = np.stack([seen[place].mean(0) for place in range(2)])
    assert vectors == pytest.approx(means / np.linalg.norm(means, axis=1, keepdims=True), abs=1e-5)
