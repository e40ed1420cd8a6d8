"""Search: units, stages, fusion, hits."""

from __future__ import annotations

import numpy as np
import pytest
from structformer import Retriever, train
from structformer.errors import CorpusError, ModelError, UsageError
from structformer.ingest import ingest
from structformer.models.bi_encoder import BiEncoder
from structformer.retrieval.fusion import reciprocal_rank_fusion
from structformer.retrieval.index import build_index
from structformer.retrieval.pipeline import Pipeline, parse_pipeline
from structformer.training import TrainingOptions

TINY = TrainingOptions(base_model="scratch", size="tiny", max_steps=2, max_seconds=None, groups=4, document_tokens=64, precision="no",
                       mix={"ict": 1.0})  # fmt: skip


@pytest.fixture
def indexed(workspace):
    """The small pages with tiny trained models, indexed."""
    train(workspace, TINY)
    build_index(workspace)
    return workspace


def test_a_lexical_search_finds_the_section_with_breadcrumb_anchor_and_snippet(workspace):
    build_index(workspace, encoders=[])
    hit = Retriever.open(workspace).search("how to make a loop that doesn't slip", k=1)[0]
    assert hit.breadcrumb == "Knots > Bowline"
    assert hit.address == "knots.md#bowline"
    assert "loop at the end of a rope" in hit.snippet
    assert hit.scores == {"lexical": hit.score}


def test_a_page_is_found_by_its_title_alone_and_by_anchor_texts_of_others(workspace):
    build_index(workspace, encoders=[])
    retriever = Retriever.open(workspace)
    assert retriever.search("boats", k=1)[0].document_id == "index.md"
    assert not any(hit.title == "Related" for hit in retriever.search("boats"))  # a list of other pages is no content
    assert "knots.md#bowline" in [hit.address for hit in retriever.search("reef knots", k=3)]


def test_dense_search_is_the_inner_product_of_the_encoder(indexed):
    retriever = Retriever.open(indexed)
    encoder = BiEncoder.load(str(indexed / "models" / "bi-encoder"))
    units = list(retriever.units)
    scores = encoder.encode_documents([unit.ranker_text for unit in units]) @ encoder.encode_queries(["strong wind"])[0]
    [(ranked, _)] = retriever.rank(["strong wind"], Pipeline("dense"))
    assert [number for number, _ in ranked] == np.argsort(-scores, kind="stable").tolist()
    assert ranked[0][1] == pytest.approx(scores.max(), abs=1e-5)


def test_the_default_is_hybrid_once_there_are_vectors(indexed):
    retriever = Retriever.open(indexed)
    assert str(retriever.default_pipeline()) == "hybrid:bi-encoder"
    hit = retriever.search("clove hitch", k=3)[0]
    assert set(hit.scores) <= {"lexical", "dense", "hybrid"}
    assert hit.score == hit.scores["hybrid"]


def test_reranking_reorders_the_top_and_keeps_the_rest_below(indexed):
    from dataclasses import replace

    train(indexed, replace(TINY, ranker="cross-encoder", mix={"srr": 1.0, "ict": 1.0}))
    retriever = Retriever.open(indexed)
    [(first, _)] = retriever.rank(["sail"], Pipeline("dense"))
    [(ranked, stages)] = retriever.rank(["sail"], Pipeline("dense", reranker="cross-encoder", depth=3))
    assert {number for number, _ in ranked[:3]} == {number for number, _ in first[:3]}
    assert [number for number, _ in ranked[3:]] == [number for number, _ in first[3:]]
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)
    assert len(stages["rerank"]) == len(first)


def test_fusion_sums_reciprocal_ranks():
    assert reciprocal_rank_fusion([[(7, 9.0), (3, 8.0)], [(3, 0.9)]], 10) == [(3, 1 / 62 + 1 / 61), (7, 1 / 61)]


def test_pipelines_are_written_and_read_back():
    for text in ("lexical", "dense:base", "hybrid:bi-encoder >> rerank:cross-encoder@20"):
        assert str(parse_pipeline(text)) == text
    assert parse_pipeline("hybrid >> rerank") == Pipeline("hybrid", reranker="cross-encoder")
    with pytest.raises(UsageError, match="FIRST one of lexical, dense, hybrid"):
        parse_pipeline("sparse")


@pytest.mark.parametrize("query", ["word " * 100_000, "a AND (b OR", '"quoted \\', "漢字 emoji 🙂", "*:* x", "title:knots"])
def test_any_query_is_just_words(workspace, query):
    build_index(workspace, encoders=[])
    assert isinstance(Retriever.open(workspace).search(query), list)


@pytest.mark.parametrize("query", ["", "   ", "?!"])
def test_a_query_without_words_is_a_usage_error(workspace, query):
    build_index(workspace, encoders=[])
    with pytest.raises(UsageError, match="no words"):
        Retriever.open(workspace).search(query)


def test_an_index_that_is_missing_old_or_broken_is_named(pages, workspace):
    with pytest.raises(CorpusError, match="run `structformer index` first"):
        Retriever.open(workspace)
    build_index(workspace, encoders=[])
    with pytest.raises(ModelError, match="no model 'bi-encoder'"):
        Retriever.open(workspace).search("x y", pipeline="dense")
    (workspace / "index" / "units.arrow").write_bytes(b"broken")
    with pytest.raises(CorpusError, match="run `structformer index` again"):
        Retriever.open(workspace)
    (workspace / "index" / "manifest.json").write_text("{")
    with pytest.raises(CorpusError, match="run `structformer index` again"):
        Retriever.open(workspace)
    build_index(workspace, encoders=[])
    (pages / "new.md").write_text("# New\n")
    ingest(pages, workspace)
    with pytest.raises(CorpusError, match="of an earlier corpus: run `structformer index` again"):
        Retriever.open(workspace)
