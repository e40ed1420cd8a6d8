"""`hybrid` with no model behind it is the default search, whatever encoders the index has."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structformer import Retriever, train
from structformer.ingestion import ingest
from structformer.models.sentence_encoder import SentenceEncoder
from structformer.retrieval import vector_making
from structformer.retrieval.indexing import build_index
from structformer.retrieval.vectors.encoder_checks import UNLEARNED, reading_share
from structformer.workspace import Workspace
from test_query_side import QUERY_SIDE

from boats import TINY, boats, linked_pages
from conftest import write_pages
from structformer_serve.generation import Generation
from test_serving import JUDGED, judged

DOCS = Path(__file__).resolve().parents[2] / "docs"
QUESTIONS = ("how do I train on my documents", "where are the vectors kept", "what does the static encoder learn from")


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of this project's own documentation, with what it teaches of meaning by itself."""
    folder = tmp_path_factory.mktemp("docs") / "w"
    ingest(DOCS, folder, workers=1)
    build_index(folder, encoders=["structure"])
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny encoder."""
    return train(boats(tmp_path_factory.mktemp("base")), replace(TINY, mix={"ict": 1.0})).folder


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation with that encoder, whose queries' side was trained a little."""
    folder = tmp_path_factory.mktemp("trained") / "w"
    ingest(DOCS, folder, workers=1)
    build_index(folder, encoders=["structure"])
    train(folder, replace(QUERY_SIDE, base_model=str(base), max_steps=2, learning_rate=1e-2, questions=40))
    return folder


def same_as_default(workspace: Path, encoder: str) -> None:
    """`hybrid` finds what the default search finds, which compares by that encoder."""
    retriever = Retriever.open(workspace)
    for question in QUESTIONS:
        default, named = retriever.search(question), retriever.search(question, pipeline="hybrid")
        assert named == default != []
        assert named.pipeline == default.pipeline == f"hybrid:{encoder}"
        assert named.confident == default.confident
        assert [hit.scores for hit in named] == [hit.scores for hit in default]


def test_where_nothing_was_trained_it_compares_by_what_the_corpus_taught(untrained):
    same_as_default(untrained, "structure")


def test_where_training_was_a_gain_it_compares_by_the_trained_encoder(trained, tmp_path):
    same_as_default(judged(trained, tmp_path / "gain"), "bi-encoder")


def test_where_training_was_no_gain_it_compares_by_the_untrained_one(trained, tmp_path):
    same_as_default(judged(trained, tmp_path / "loss", trained=JUDGED["untrained"] - 0.01), "base")


def test_other_stages_without_a_model_compare_by_the_same_encoder(untrained):
    retriever = Retriever.open(untrained)
    for written, meant in (
        ("dense", "dense:structure"),
        ("hybrid[weights=rrf]", "hybrid:structure[weights=rrf]"),
        ("lexical[k=50] >> dense-fusion", "lexical[k=50] >> dense-fusion:structure"),
    ):
        found = retriever.search(QUESTIONS[0], pipeline=written)
        assert (found, found.pipeline) == (retriever.search(QUESTIONS[0], pipeline=meant), meant)


def test_every_command_knows_it(untrained, run, tmp_path):
    asked = ("search", QUESTIONS[0], "-w", untrained, "--json")
    assert run(*asked, "--pipeline", "hybrid").json == run(*asked).json
    (tmp_path / "queries.tsv").write_text("".join(f"q{number}\t{text}\n" for number, text in enumerate(QUESTIONS)))
    (tmp_path / "qrels.tsv").write_text("q0\ttraining.md\t1\nq1\tscale.md\t1\nq2\tsearch.md\t1\n")
    compared = run(
        *("evaluate", "--queries", tmp_path / "queries.tsv", "--qrels", tmp_path / "qrels.tsv", "-w", untrained),
        *(
            "--pipeline",
            "hybrid",
            "--pipeline",
            "hybrid:structure",
            "--against",
            "lexical",
            "--diff",
            "lexical",
            "hybrid",
        ),
        *("--json", "--measures", "nDCG@10"),
    ).json
    assert [row["pipeline"] for row in compared["results"][0]["rows"]] == ["hybrid:structure", "lexical"]
    assert compared["differences"][0]["second"] == "structure and words"
    served = Generation(Workspace(untrained), {"mine": "hybrid"})
    assert served.pipelines["mine"] == served.pipelines["best"]


def test_on_words_alone_one_line_says_what_to_run(run, pages):
    run("ingest", pages)
    run("index", "--encoder", "none")
    line = "error: hybrid compares vectors, and the index in .structformer has words alone: run `structformer index -w .structformer`\n"
    for command in (
        ("search", "bowline", "--pipeline", "hybrid"),
        ("serve", "--pipeline", "mine=hybrid", "--port", "0"),
    ):
        ran = run(*command)
        assert (ran.code, ran.err) == (1, line)
    assert run("search", "bowline").code == 0
    assert run("index", "--encoder", "structure").code == 0
    assert run("search", "bowline", "--pipeline", "hybrid").code == 0


def test_without_a_pretrained_encoder_words_and_structure_are_compared_on_openings(untrained, run, tmp_path):
    said = run("evaluate", "-w", untrained, "--output", tmp_path / "e", "--json")
    assert said.code == 0, said.err
    result = said.json["results"][0]
    assert result["title"] == "openings of documents, each answered by the rest of its document"
    rows = {row["label"]: row["scores"]["nDCG@10"] for row in result["rows"]}
    assert list(rows) == ["BM25", "BM25 of documents", "structure alone", "structure and words"]
    assert all(0 < score <= 1 for score in rows.values())
    assert rows["structure and words"] > rows["BM25"]
    assert "pretrained encoders are left out of this comparison: `structformer index -w" in said.err
    again = run("evaluate", "-w", untrained, "--output", tmp_path / "f", "--json").json["results"][0]
    assert again["rows"] == result["rows"]


def test_few_openings_are_not_asked(run, pages, tmp_path):
    run("ingest", pages)
    run("index", "--encoder", "structure")
    said = run("evaluate")
    assert said.code == 2
    assert "openings can be asked that the rest of their document answers; 20 are needed" in said.err
    assert "--queries and --qrels" in said.err


def test_what_others_call_a_page_counts_beside_its_own_words(tmp_path):
    pages = linked_pages()
    pages["index.md"] = "# Boats\n\nRead about [drift without wind](keel.md) first.\n"
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=["structure"])
    retriever = Retriever.open(tmp_path / "w")
    called = {hit.document_id: hit.scores["called"] for hit in retriever.search("drift without wind", k=50)}
    assert called["keel.md"] == max(called.values()) > called["jib.md"]
    lexical, owners = retriever.opened.lexical, retriever.opened.owners
    everything = range(len(retriever.documents))
    keel = [document.id for document in retriever.documents].index("keel.md")
    assert lexical.called("drift", owners, everything) == {
        keel: pytest.approx(lexical.called("drift", owners, [keel])[keel])
    }
    assert lexical.called("drift", owners, everything, lambda units: ["hidden"] * len(units)) == {}
    assert lexical.called("nothing that a page is called", owners, []) == {}


def test_a_search_is_in_doubt_where_no_page_has_the_words(tmp_path):
    ingest(write_pages(tmp_path / "pages", linked_pages()), tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=["structure"])
    retriever = Retriever.open(tmp_path / "w")
    assert retriever.search("clean the keel with fresh water").confident
    assert not retriever.search("bake a chocolate cake").confident
    by_words = retriever.search("bake a chocolate cake", pipeline="lexical")
    assert (by_words.confident, by_words.likely) == (False, 0.0)
    assert retriever.search("bake a chocolate cake", pipeline="lexical >> bm25").likely is None  # another order's first
    lexical = retriever.opened.lexical
    has_it, lacks_it = ([("keel" in unit.text.lower()) for unit in retriever.units].index(has) for has in (True, False))
    assert lexical.share("keel", lacks_it, 0.3) == pytest.approx(3 / 2 * lexical.share("keel", lacks_it, 0.2))
    assert lexical.share("keel", has_it, 0.3) == 1.0  # however little it scores, it has all words
    assert 0 < lexical.share("keel cake", has_it, 0.3) < 1  # a word that no page has is worth most
    assert lexical.share("how do I bake a cake", has_it, 3.0) == 0.0  # "how" and "do" say nothing
    assert lexical.share("how to", has_it, 3.0) == 1.0  # nothing is missing
    assert lexical.coverage("how do I clean the keel") == pytest.approx(1)
    assert 0 < lexical.coverage("clean a chocolate cake") < 0.5
    assert lexical.coverage("zzz") == 0.0
    assert lexical.coverage("how to") == lexical.coverage("->") == 1.0  # nothing is missing
    assert lexical.coverage("keel", []) == 0.0


def test_pairs_of_characters_that_are_of_two_words_are_not_missed(tmp_path):
    pages = {
        "a.md": "# 标签\n\n标签页很多。页面有标签。\n",
        "b.md": "# 切换\n\n切换很快。切换标记。\n",
        "c.md": "# 保留\n\n保留状态，标签页，切换。\n",
    }
    ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    lexical = Retriever.open(tmp_path / "w").opened.lexical
    assert lexical.coverage("保留切换") == pytest.approx(1)  # 留切 is in no page, and in no page could be
    assert lexical.coverage("量子计算") == 0.0  # no page tells of it: nothing beside its pairs is more common
    assert 0 < lexical.coverage("切换量子") < 0.6


def test_whether_an_encoder_reads_the_documents_is_asked_as_people_ask(base, tmp_path, monkeypatch):
    """With the prompt for queries: with the one for passages E5 seemed to read English half as well as it does."""
    asked: list[str] = []
    encode = SentenceEncoder.encode_queries

    def heard(encoder: SentenceEncoder, texts: Sequence[str]) -> Any:
        asked.extend(texts)
        return encode(encoder, texts)

    monkeypatch.setattr(SentenceEncoder, "encode_queries", heard)
    ingest(DOCS / "reference", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=["base"], base_model=str(base))
    texts = [unit.text for unit in Retriever.open(tmp_path / "w").units]
    assert len(asked) >= 10
    assert all(any(sentence in text for text in texts) for sentence in asked)


@pytest.mark.parametrize(
    ("learned", "rank", "share"), [(True, 2, 1.0), (True, 5, 0.5), (False, 2, 0.6), (False, 5, 0.25)]
)
def test_a_language_that_an_encoder_has_learned_needs_less_proof(tmp_path, learned, rank, share):
    """An encoder that ranks each passage at 1 / rank for its own sentence, where words have it first."""
    pages = {
        f"{page}.md": f"# P{page}\n\n" + "".join(f"Ship{page} sails slowly from port{n}{page}. " for n in range(3))
        for page in range(12)
    }
    ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    opened = Retriever.open(tmp_path / "w").opened

    def encode(sentences: Sequence[str]) -> np.ndarray:
        own = np.eye(len(opened.units))
        return np.stack(
            [sum(np.roll(own[n], more) * (1 + more) for more in range(rank)) for n in range(len(sentences))]
        )

    got = reading_share(opened.units, np.eye(len(opened.units)), encode, opened.lexical, learned=learned)
    assert got == pytest.approx(share, abs=0.01)


@pytest.mark.filterwarnings("ignore:100 % of the documents")
@pytest.mark.parametrize(("language", "share"), [("en", 0.9), ("fr", UNLEARNED)])
def test_an_encoder_of_english_has_less_say_in_other_languages(base, tmp_path, monkeypatch, language, share):
    """However well it finds French passages by their own sentences, which have the same pieces of words."""
    monkeypatch.setattr(vector_making, "reading_share", lambda *_, learned: 0.9 if learned else UNLEARNED)
    english = shutil.copytree(base, tmp_path / "tiny-en")
    ingest(
        write_pages(tmp_path / "pages", {"a.md": f"---\nlang: {language}\n---\n# A\n\nB.\n"}), tmp_path / "w", workers=1
    )
    manifest = build_index(tmp_path / "w", encoders=["base"], base_model=str(english))
    assert manifest["reads"] == {"base": share}


@pytest.mark.parametrize("part", ["dense", "structure"])
def test_overviews_may_count_where_passages_do_not(trained, part):
    retriever = Retriever.open(trained)
    encoder, index, weights = retriever.opened.encoder("bi-encoder")
    assert min(weights.overview, weights.structure_overview) > 0
    retriever.opened.use_encoder("bi-encoder", encoder, index, replace(weights, **{part: 0.0}))
    assert len(retriever.search(QUESTIONS[0], pipeline="hybrid:bi-encoder")) == 10
