"""Search: units, stages, fusion, hits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from structformer import Retriever, train
from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.ingestion import ingest
from structformer.models.bi_encoder import BiEncoder
from structformer.retrieval.indexing import build_index
from structformer.retrieval.pipeline import dense, dense_fusion, hybrid, lexical, parse_pipeline, rerank
from structformer.retrieval.rankings.doubt import likely_right
from structformer.retrieval.rankings.hybrid_score import (
    PARTS,
    contributions,
    fusion_weights,
    reciprocal_rank_fusion,
    what_parts_give,
)
from structformer.retrieval.rankings.ranking import DOUBTED
from structformer.workspace import Workspace

from boats import TINY
from conftest import write_pages

TWO_STEPS = replace(TINY, max_steps=2, mix={"ict": 1.0})


@pytest.fixture
def indexed(workspace):
    """The small pages with tiny trained models, indexed."""
    train(workspace, TWO_STEPS)
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
    [ranking] = retriever.rank(["strong wind"], dense())
    assert len(ranking.ranked) == len(units)
    # A whole collection is encoded in bfloat16 where the CPU is quick at it.
    assert [score for _, score in ranking.ranked] == pytest.approx(
        [scores[number] for number, _ in ranking.ranked], abs=0.02
    )


def test_the_default_is_hybrid_once_there_are_vectors(indexed):
    retriever = Retriever.open(indexed)
    assert str(retriever.default_pipeline()) == "hybrid:bi-encoder"
    hit = retriever.search("clove hitch", k=3)[0]
    assert {"dense", "overview", "document", "structure", "structure_overview", "hybrid"} <= set(hit.scores)
    assert hit.score == hit.scores["hybrid"]


def test_the_hybrid_is_the_weighted_sum_of_its_eight_scores_in_standard_deviations(indexed):
    retriever = Retriever.open(indexed)
    weights = retriever.weights(retriever.pipeline("hybrid")).asked("clove hitch")
    [ranking] = retriever.rank(["clove hitch"], "hybrid[look=none]")
    units = sorted(ranking.scores["dense"])
    parts = np.array([[ranking.scores[name].get(unit, 0.0) for name in PARTS] for unit in units])
    spread = parts.std(0)
    total = ((parts - parts.mean(0)) / np.where(spread > 1e-9, spread, np.inf)) @ weights.as_array()
    assert dict(ranking.ranked) == pytest.approx(dict(zip(units, total, strict=True)), abs=1e-6)
    gives = what_parts_give(ranking, weights)
    for row in range(len(units)):
        told = [scale * (parts[row, PARTS.index(name)] - mean) for name, (_, mean, scale) in gives.items()]
        assert sum(told) == pytest.approx(total[row], abs=1e-6)
    assert 0 < ranking.likely < 1


def test_lexical_with_dense_fusion_orders_only_what_the_lexical_stage_found(indexed):
    retriever = Retriever.open(indexed)
    [first] = retriever.rank(["clove hitch"], lexical(k=2))
    [fused] = retriever.rank(["clove hitch"], lexical(k=2) >> dense_fusion())
    assert {unit for unit, _ in fused.ranked} == {unit for unit, _ in first.ranked}
    [by_rank] = retriever.rank(["clove hitch"], "lexical[k=2] >> dense-fusion[weights=rrf]")
    assert max(score for _, score in by_rank.ranked) <= 2 / 61


def test_reranking_reorders_the_top_and_keeps_the_rest_below(indexed):
    from dataclasses import replace

    train(indexed, replace(TWO_STEPS, ranker="cross-encoder", mix={"srr": 1.0, "ict": 1.0}))
    retriever = Retriever.open(indexed)
    first = retriever.rank(["sail"], dense())[0].ranked
    [ranking] = retriever.rank(["sail"], dense() >> rerank(k=3))
    ranked = ranking.ranked
    assert {number for number, _ in ranked[:3]} == {number for number, _ in first[:3]}
    assert [number for number, _ in ranked[3:]] == [number for number, _ in first[3:]]
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)
    assert len(ranking.scores["rerank"]) == len(first)


def test_fusion_sums_reciprocal_ranks():
    assert reciprocal_rank_fusion([[(7, 9.0), (3, 8.0)], [(3, 0.9)]], 10) == [(3, 1 / 62 + 1 / 61), (7, 1 / 61)]


def test_the_score_has_one_unit_whatever_the_scale_of_an_encoders_cosines():
    generator = np.random.default_rng(0)
    parts = generator.random((50, len(PARTS)))
    narrow = parts.copy()
    narrow[:, PARTS.index("dense")] = 0.84 + 0.04 * parts[:, PARTS.index("dense")]  # cosines between .84 and .88
    narrow[:, PARTS.index("lexical")] *= 30  # BM25
    weights = fusion_weights(pretrained=True, structure=True, described=True)
    assert contributions(narrow, weights) == pytest.approx(contributions(parts, weights))
    assert contributions(parts, weights).mean(0) == pytest.approx(np.zeros(len(PARTS)))
    assert contributions(parts, weights).std(0) == pytest.approx(weights.as_array())
    parts[:, 4] = 0.3  # the same for all candidates: it tells nothing
    assert not contributions(parts, weights)[:, 4].any()
    assert contributions(np.empty((0, len(PARTS))), weights).shape == (0, len(PARTS))


def test_a_page_that_crowds_out_others_is_named(run, tmp_path):
    news = "".join(f"## Version {n}\n\nThe sail of version {n} is larger.\n\n" for n in range(20))
    write_pages(
        tmp_path / "p", {"news.md": f"# News\n\n{news}", **{f"p{n}.md": f"# P{n}\n\nRope.\n" for n in range(12)}}
    )
    run("ingest", tmp_path / "p", "-w", tmp_path / "w")
    assert "news.md has 64% of them" in run("index", "--encoder", "none", "-w", tmp_path / "w").out
    run("ingest", tmp_path / "p", "--exclude", "news.md", "-w", tmp_path / "w")
    assert "of them" not in run("index", "--encoder", "none", "-w", tmp_path / "w").out


def test_a_page_comes_first_whose_title_the_query_is(tmp_path):
    said = "Form data, and again form data: a form's data, which forms send as form data. " * 3
    pages = {f"news{number}.md": f"# News of {number}\n\n## Form data and files\n\n{said}\n" for number in range(3)}
    pages["files.md"] = f"# Form data and files\n\n{said}\n"
    pages["form.md"] = "# Form Data\n\nA browser sends fields.\n\n## Limits\n\nAt most a thousand.\n"
    head = "<html><head><title>Static files - Boats</title></head><body>"
    pages["static.html"] = f"{head}<h1>Static files</h1><p>A folder that is served.</p></body></html>"
    pages["other.html"] = (
        f"{head.replace('Static', 'Other')}<h1>Other files</h1><p>Static files, static files.</p></body></html>"
    )
    ingest(write_pages(tmp_path / "p", pages), tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=["structure"])
    retriever = Retriever.open(tmp_path / "w")
    for pipeline in ("lexical", "hybrid:structure"):
        found = [hit.document_id for hit in retriever.search("form data", 10, pipeline)]
        assert found[0] == "form.md", pipeline
        assert retriever.search("Form data?", 1, pipeline)[0].document_id == "form.md"
        assert retriever.search("static files", 1, pipeline)[0].document_id == "static.html"
    [titled, asked] = retriever.rank(["form data", "form data and files of news"], "hybrid:structure")
    assert titled.likely >= 0.9
    assert retriever.documents[int(retriever.opened.owners[asked.ranked[0][0]])].id != "form.md"
    scores = [score for _, score in titled.ranked]
    assert scores == sorted(scores, reverse=True)


def test_a_sum_of_word_vectors_counts_less_for_a_long_question():
    weights = fusion_weights(pretrained=True, structure=True)
    assert weights.asked("undo a commit") == weights
    name = weights.asked("--amend")  # a name: what has it comes first, then what others call so
    assert name.present > name.called > weights.called > 0
    assert name.lexical == weights.lexical
    assert name.dense == pytest.approx(weights.dense / 5)
    assert replace(weights, called=0.0).asked("--amend").called == 0
    for version in ("release 8.0.1", "what is new in v2.10", "upgrade to 3.0"):
        assert weights.asked(version) == replace(weights, present=2.0)
    for other in ("10 files", "copy a.b", "e.g. this", "switch branches, which requires version 2.23 or later"):
        assert weights.asked(other).present == weights.present
    assert weights.asked("显示当前分支的提交").present == weights.present  # a sentence, though without blanks
    assert weights.asked(" ".join("abcdefghij")).structure == pytest.approx(weights.structure / 2)
    assert weights.asked(" ".join("abcdefghij")).dense == weights.dense
    alone = fusion_weights(pretrained=False)
    assert alone.asked(" ".join("abcdefghij")).dense == pytest.approx(alone.dense / 2)
    assert alone.asked(" ".join("abcdefghij")).lexical == alone.lexical


def test_a_first_document_that_all_parts_agree_on_is_likelier_than_one_that_barely_leads():
    weights = fusion_weights(pretrained=True, structure=True, described=True)
    owners = np.arange(30)
    generator = np.random.default_rng(0)
    mixed = generator.normal(size=(30, len(PARTS)))
    clear = mixed.copy()
    clear[3] = 5.0

    def likely(parts, present, held=1.0, query=""):
        parts[:, PARTS.index("present")] = present
        totals = contributions(parts, weights).sum(1)
        return likely_right(parts, totals, owners[: len(parts)], int(totals.argmax()), held, weights, query)

    assert 0 < likely(mixed, 0.0) < DOUBTED < likely(clear, 1.0) < 1
    assert likely(mixed, 0.0) < likely(mixed, 1.0)
    # Of a script without spaces a passage seldom has all pairs of characters, so they tell less.
    assert likely(clear, 0.2) < likely(clear, 0.2, query="保留切换") == likely(clear, 1.0)
    assert likely(clear, 0.0, held=0.0) < DOUBTED  # all parts agree on the best of pages that are about something else
    assert likely_right(mixed[:0], np.empty(0), owners[:0], 0, 0.0, weights, "") == 0.0
    assert 0 < likely(mixed[:1], 1.0) < 1


def test_pipelines_are_written_and_read_back(tmp_path):
    for text in (
        "lexical",
        "dense:base",
        "hybrid:bi-encoder >> rerank:cross-encoder[k=20]",
        "lexical[k=100] >> bm25[b=0.87, k1=3.8]",
    ):
        assert str(parse_pipeline(text)) == text
    written = parse_pipeline('lexical[k=100] >> dense-fusion >> rerank("models/ce")[k=20]')
    assert written == lexical(k=100) >> dense_fusion() >> rerank("models/ce", k=20)
    (tmp_path / "p.toml").write_text(
        '[[stages]]\nstage = "lexical"\nk = 100\n[[stages]]\nstage = "dense-fusion"\n'
        '[[stages]]\nstage = "rerank"\nmodel = "models/ce"\nk = 20\n'
    )
    assert parse_pipeline(str(tmp_path / "p.toml")) == written
    assert parse_pipeline("hybrid").stages == (hybrid(),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sparse", "no stage 'sparse'; choose from: lexical, dense"),
        (
            "rerank",
            "rerank orders what a stage before it found: begin with one that finds, for example lexical >> rerank",
        ),
        ("dense >> lexical", "lexical finds units, so it can only come first"),
        ("dense[j=3]", "dense has no option 'j'; choose from: k"),
        ("dense[k=0]", "a whole number of at least 1"),
        ("dense[k]", r"write \[option=value\]"),
        ("hybrid[weights=mine]", "choose standardised or rrf"),
        ("lexical:model", "the stage lexical takes no model"),
        ("dense >> ", "is not a stage"),
        ("lexical[k=1, k=2]", "k is there twice"),
        ("gone.toml", "gone.toml cannot be read"),
    ],
)
def test_a_wrong_pipeline_is_named(text, message):
    with pytest.raises(UsageError, match=message):
        parse_pipeline(text)


def test_a_pipeline_of_another_type_is_named(workspace):
    build_index(workspace, encoders=[])
    with pytest.raises(UsageError, match="a pipeline is a text or made of stages, not list"):
        Retriever.open(workspace).search("rope", 1, ["lexical"])


@pytest.mark.parametrize(
    "query", ["word " * 100_000, "a AND (b OR", '"quoted \\', "漢字 emoji 🙂", "*:* x", "title:knots"]
)
def test_any_query_is_just_words(workspace, query):
    build_index(workspace, encoders=[])
    assert isinstance(Retriever.open(workspace).search(query), list)


@pytest.mark.parametrize("query", ["", "   ", "\u200b"])
def test_a_query_without_words_is_a_usage_error(workspace, query):
    build_index(workspace, encoders=[])
    with pytest.raises(UsageError, match="no words"):
        Retriever.open(workspace).search(query)


def test_an_index_that_is_missing_old_or_broken_is_named(pages, workspace):
    with pytest.raises(WorkspaceError, match="run `structformer index` first"):
        Retriever.open(workspace)
    build_index(workspace, encoders=[])
    with pytest.raises(ModelError, match="no model 'bi-encoder'"):
        Retriever.open(workspace).search("x y", pipeline="dense:bi-encoder")
    folder = Workspace(workspace).folder("index")
    (folder / "units.arrow").write_bytes(b"broken")
    with pytest.raises(WorkspaceError, match="run `structformer index` again"):
        Retriever.open(workspace)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(WorkspaceError, match="run `structformer index` again"):
        Retriever.open(workspace)
    build_index(workspace, encoders=[])
    (pages / "new.md").write_text("# New\n")
    assert not Retriever.open(workspace).is_stale
    ingest(pages, workspace)
    assert Retriever.open(workspace).is_stale
