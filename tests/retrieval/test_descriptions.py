"""Sentences that describe documents, searched beside their passages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import Retriever
from structformer.cli.main import main
from structformer.corpus import Corpus
from structformer.errors import WorkspaceError
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest
from structformer.models.base import packaged_minilm
from structformer.retrieval.hits import Filter, Witness
from structformer.retrieval.index import Index
from structformer.retrieval.indexing import build_index
from structformer.retrieval.questions.pseudo_queries import PseudoQuery
from structformer.retrieval.vectors.descriptions import (
    Descriptions,
    drawn_descriptions,
    write_descriptions,
)
from structformer.workspace import Workspace

from conftest import write_pages
from structformer_serve.http.access import EVERYTHING, Access
from structformer_serve.schemas import FoundDocument, SearchRequest
from structformer_serve.service import SearchService

minilm = pytest.mark.skipif(packaged_minilm() is None, reason="structformer[offline] is not installed")
JOBS = "Mend Clean Carry Stow Paint Fold".split()
THINGS = "sail anchor rope oar".split()
PAGES = {
    f"{job}-{thing}.md": f"# {job} {thing}\n\n{job} the {thing} of a small boat.\n\n## Care\n\nOil it in spring.\n"
    for job in JOBS
    for thing in THINGS
} | {
    "pump.md": "# Bilger\n\nTurn the red handle twice. Close the cover.\n\n## Parts\n\nA ring, a cover and a hose.\n",
    "index.md": "# Everything\n\nGet water out of a leaking hull with the [bilger](pump.md).\n\nSee also the mast.\n",
}


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    write_pages(tmp_path / "pages", PAGES)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    return tmp_path / "w"


def kept(
    folder: Path,
    owners: list[int],
    vectors: np.ndarray,
    texts: list[str] | None = None,
    sources: list[str] | None = None,
) -> Descriptions:
    path = folder / "some.npy"
    texts = texts or [f"text {number}" for number in range(len(owners))]
    sources = sources or ["opening"] * len(owners)
    drawn = [PseudoQuery(*each) for each in zip(texts, owners, sources, strict=True)]
    write_descriptions(path.with_name("some.descriptions.arrow"), drawn)
    np.save(path.with_stem(f"{path.stem}.descriptions"), vectors.astype(np.float32))
    return Descriptions(path)


@minilm
def test_a_page_is_found_by_what_others_say_where_they_link_to_it(harbour, capsys):
    build_index(harbour, encoders=["base"])
    retriever = Retriever.open(harbour)
    query = "bail a leaking hull"
    pipeline = retriever.pipeline("hybrid:base")
    scores = {hit.document_id: hit.scores for hit in retriever.search(query, k=60)}
    assert scores["pump.md"]["described"] > scores["Mend-sail.md"]["described"] + 0.2
    assert scores["pump.md"]["dense"] < scores["pump.md"]["described"] - 0.2  # its own passages do not say it
    sentence = "Get water out of a leaking hull with the bilger."
    assert retriever.witnesses(query, pipeline)("pump.md") == Witness(sentence, "index.md")
    assert retriever.witnesses(query, pipeline)("Mend-sail.md") == Witness("Mend the sail of a small boat.")
    assert retriever.witnesses(query, pipeline)("nowhere.md") is None
    assert retriever.witnesses(query, retriever.pipeline("lexical"))("pump.md") is None
    with pytest.raises(SystemExit):
        main(["search", query, "-w", str(harbour), "-k", "30", "--explain"])
    shown = capsys.readouterr().out
    assert f"described by index.md: {sentence}" in shown
    assert "described: Mend the" in shown
    assert " described + 0.1 present + 0.1 called, each in standard deviations" in shown
    index = retriever.opened.encoder("base")
    retriever.opened.use_encoder("base", *index[:2], replace(index[2], described=0.0))
    without = [hit.document_id for hit in retriever.search(query, k=60)]
    assert list(scores).index("pump.md") < without.index("pump.md")


@minilm
def test_what_a_page_says_that_somebody_may_not_see_neither_finds_others_for_them_nor_is_shown(harbour):
    build_index(harbour, encoders=["base"])
    service = SearchService(harbour)

    def pump(access: Access, **asked: Any) -> FoundDocument:
        request = SearchRequest(q="bail a leaking hull", k=30, explain=True, **asked)
        return next(hit for hit in service.seen_by(access).search(request).hits if hit.document == "pump.md")

    def told(hit: FoundDocument) -> tuple[str, str, str]:
        assert hit.why is not None
        return hit.why.described_by, hit.why.described_in, hit.why.described_at

    def described(hit: FoundDocument) -> float:
        assert hit.why is not None
        return next(part.value for part in hit.why.parts if part.name == "described")

    everything = pump(EVERYTHING)
    by_another = "Get water out of a leaking hull with the bilger.", "index.md", "/read/index.md"
    assert told(everything) == by_another
    # Who asks for one page alone may still be told by another.
    assert told(pump(EVERYTHING, path=["pump.md"])) == by_another
    assert told(pump(Access(where=Filter(paths=("pump.md", "index.md"))), path=["pump.md"])) == by_another
    hidden = pump(Access(where=Filter(paths=("pump.md", "Mend*"))))
    assert "leaking" not in hidden.model_dump_json()
    assert "index.md" not in hidden.model_dump_json()
    assert described(hidden) < described(everything) - 0.2


@minilm
def test_a_filter_keeps_out_what_is_described_well(harbour):
    build_index(harbour, encoders=["base"])
    found = Retriever.open(harbour).search("bail a leaking hull", k=10, where=Filter(paths=("Mend*",)))
    assert {hit.document_id for hit in found} == {f"Mend-{thing}.md" for thing in THINGS}


@minilm
def test_descriptions_are_in_the_order_of_their_documents_and_read_with_the_index(harbour):
    build_index(harbour, encoders=["base"])
    index = Index(Workspace(harbour))
    corpus = Corpus.open(Workspace(harbour))
    opened = Retriever.open(harbour).opened
    drawn = drawn_descriptions(corpus, ReferenceGraph.open(Workspace(harbour), corpus), opened.units)
    descriptions = opened.encoder("base")[1].descriptions
    assert descriptions is not None
    assert [descriptions.text(number) for number in range(len(descriptions))] == [each.text for each in drawn]
    assert descriptions.owners.tolist() == sorted(descriptions.owners.tolist())
    name = next(index.folder.glob("dense/*.descriptions.arrow"))
    name.write_bytes(name.read_bytes()[:-20])
    with pytest.raises(WorkspaceError):
        Retriever.open(harbour).search("water")


@minilm
def test_the_static_encoder_was_taught_by_them_and_keeps_none(harbour):
    build_index(harbour, encoders=["structure"])
    retriever = Retriever.open(harbour)
    assert retriever.opened.encoder("structure")[1].descriptions is None
    assert retriever.opened.encoder("structure")[2].described == 0.0


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 7), st.integers(-9, 9)), min_size=1, max_size=12),
    st.sets(st.integers(0, 11)),
    st.integers(0, 9),
)
def test_a_documents_value_is_its_best_description_or_its_best_unit(tmp_path_factory, owners, units, without, seed):
    owners.sort()
    vectors = np.random.default_rng(seed).integers(-3, 4, (len(owners), 2))
    query = np.array([1.0, 0.5], np.float32)
    descriptions = kept(tmp_path_factory.mktemp("kept"), owners, vectors)
    left_out = [number for number in without if number < len(owners)]
    best, numbers = descriptions.best(query, left_out)
    for document, value, number in zip(descriptions.documents, best, numbers, strict=True):
        its = [vectors[n] @ query for n, owner in enumerate(owners) if owner == document and n not in left_out]
        assert value == (max(its) if its else -np.inf)
        assert owners[number] == document
        assert not its or vectors[number] @ query == value
    cosines = np.array([float(value) for _, value in units])
    found = descriptions.scores(best, [owner for owner, _ in units], cosines)
    for (owner, _), value in zip(units, found, strict=True):
        its = [vectors[n] @ query for n, each in enumerate(owners) if each == owner and n not in left_out]
        assert value == (max(its) if its else max(cosine for each, cosine in units if each == owner))


def test_a_question_is_not_answered_by_what_says_the_same_nor_an_opening_by_openings(tmp_path):
    texts = ["Mend the sail", "Stow it", "mend the SAIL", "Oil it in spring", "Fold it"]
    sources = ["opening", "opening", "link", "sentence", "sentence"]
    descriptions = kept(tmp_path, [0, 1, 1, 2, 2], np.eye(5), texts, sources)
    assert descriptions.saying(PseudoQuery("Mend the sail", 0, "opening")).tolist() == [0, 1, 2]
    assert descriptions.saying(PseudoQuery("oil it in  spring", 2, "sentence")).tolist() == [3]
    assert descriptions.saying(PseudoQuery("Mend a sail", 0, "opening")).tolist() == []


def test_without_descriptions_a_document_has_its_best_unit(tmp_path):
    descriptions = kept(tmp_path, [], np.empty((0, 2)))
    best, numbers = descriptions.best(np.ones(2, np.float32))
    assert len(best) == len(numbers) == 0
    assert descriptions.scores(best, [4, 4, 1], np.array([0.1, 0.3, 0.2])).tolist() == [0.3, 0.3, 0.2]


def test_descriptions_of_another_index_are_refused(tmp_path):
    kept(tmp_path, [0, 1], np.eye(2))
    np.save(tmp_path / "some.descriptions.npy", np.eye(3))
    with pytest.raises(WorkspaceError, match="not of this index"):
        Descriptions(tmp_path / "some.npy")
