"""Search as people use it: filters, grouping, highlights, other languages, exact scorers, old and broken indexes."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from structformer import Corpus, Retriever, train
from structformer.corpus.checking import check_workspace
from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.ingestion import ingest
from structformer.retrieval.hits import Filter, parse_filter
from structformer.retrieval.indexing import build_index
from structformer.retrieval.pipeline import lexical, parse_pipeline, rerank
from structformer.retrieval.vectors.encoder_places import default_encoders, encoder_place
from structformer.text.passages import document_overview
from structformer.workspace import Workspace

from boats import TINY, boats
from conftest import write_pages
from structformer_exports.word_vectors import read_word_vectors
from structformer_lab.stages import bm25, query_likelihood, tf_idf
from structformer_lab.stages import statistics as statistics_of


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty pages with a tiny model of every kind, indexed."""
    folder = boats(tmp_path_factory.mktemp("harbour"))
    for ranker in ("bi-encoder", "cross-encoder", "late-interaction"):
        train(folder, replace(TINY, max_steps=3, ranker=ranker, mix={"ict": 1.0, "srr": 1.0}))
    build_index(folder)
    return folder


def made(folder: Path, pages: dict[str, str]) -> Path:
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    return folder / "w"


def test_hits_are_grouped_by_document(harbour):
    retriever = Retriever.open(harbour)
    hits = retriever.search("mend the mast", 3, "lexical", group=True)
    assert len({hit.document_id for hit in hits}) == 3
    assert hits[0].document_id == "mast.md"
    assert hits[0].breadcrumb == "The mast > Mend the mast"
    assert {hit.document_id for hit in hits[0].sections} == {"mast.md"}
    assert hits[0].score >= hits[0].sections[0].score


def test_highlights_mark_the_words_of_the_query_in_any_of_their_forms(harbour):
    hit = Retriever.open(harbour).search("stowing sheets", 1, "lexical")[0]
    marked = {hit.snippet[start:end].lower() for start, end in hit.highlights}
    assert marked >= {"stow", "sheet"}


@pytest.mark.parametrize(
    "pipeline", ["lexical", "dense", "late", "hybrid", "hybrid[weights=rrf]", "lexical[k=200] >> dense-fusion"]
)
def test_filters_hold_in_every_pipeline(harbour, pipeline):
    retriever = Retriever.open(harbour)
    hits = retriever.search("clean it with care", 50, pipeline, where=Filter(paths=("m*.md", "*keel.md")))
    assert {hit.document_id for hit in hits} == {"mast.md", "keel.md"}
    assert retriever.search("clean it with care", 5, pipeline, where=Filter(paths=("none/*",))) == []


def test_documents_are_filtered_by_their_metadata(tmp_path):
    pages = {
        f"{name}.md": f"---\ntags: [{name}, all]\nlang: {name}\n---\n\n# Page {name}\n\nThe same text.\n"
        for name in ("en", "de")
    }
    retriever = Retriever.open(made(tmp_path, pages))
    assert [hit.document_id for hit in retriever.search("text", where=parse_filter((), ("tags=de",)))] == ["de.md"]
    assert len(retriever.search("text", where=parse_filter((), ("tags=all",)))) == 2
    assert retriever.search("text", 1, where=parse_filter((), ("tags=de",)))[0].metadata["lang"] == "de"
    with pytest.raises(UsageError, match="write key=value"):
        parse_filter((), ("tags",))


def test_chinese_and_japanese_are_found_out_of_the_box(tmp_path):
    workspace = made(
        tmp_path,
        {
            "zh.md": "# 数据库\n\n数据库索引可以加快查询速度。\n\n## 备份\n\n每天备份一次文件系统。\n",
            "ja.md": "# 検索\n\n全文検索エンジンは文書を検索します。\n",
            "en.md": "# Index\n\nAn index makes queries fast.\n",
        },
    )
    retriever = Retriever.open(workspace)
    assert retriever.search("查询索引", 1, "lexical")[0].document_id == "zh.md"
    assert retriever.search("文件系统备份", 1, "lexical")[0].title == "备份"
    hit = retriever.search("全文検索", 1, "lexical")[0]
    assert hit.document_id == "ja.md"
    assert hit.highlights


def test_the_stemmer_is_that_of_the_documents_language(tmp_path):
    page = '<html lang="de"><title>Häuser</title><body><main><h1>Häuser</h1><p>Die Häuser stehen am Wasser.</p></main></body></html>'
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_text(page)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    assert build_index(tmp_path / "w", encoders=[])["language"] == "de"
    assert Retriever.open(tmp_path / "w").search("Haus am Wasser", 1)[0].document_id == "a.html"


def test_exact_scorers_are_those_of_the_papers(harbour):
    statistics = statistics_of(Retriever.open(harbour).opened, "sections")
    text = ["mast", "mast", "rain", "rope"]
    found, occurrences = statistics.frequencies("mast")
    assert 0 < found <= occurrences
    idf = math.log(1 + (statistics.units - found + 0.5) / (found + 0.5))
    norm = 3.8 * (1 - 0.87 + 0.87 * 4 / statistics.average_words)
    assert bm25(["mast", "mast"], text, statistics, k1=3.8, b=0.87) == pytest.approx(idf * 2 * 4.8 / (2 + norm))
    likely = math.log((2 + 1000 * occurrences / statistics.words) / (4 + 1000))
    assert query_likelihood(["mast", "nowhere"], text, statistics, mu=1000) == pytest.approx(likely)
    assert 0 < tf_idf(["mast"], text, statistics) <= math.log(statistics.units / found) * (1 + math.log(2)) * 2
    assert tf_idf(["nowhere"], text, statistics) == 0.0


@pytest.mark.parametrize("scorer", ["bm25[k1=3.8, b=0.87]", "ql[mu=500]", "tfidf"])
def test_exact_scorers_order_candidates(harbour, scorer):
    retriever = Retriever.open(harbour)
    assert retriever.search("mend the mast", 1, f"lexical[k=20] >> {scorer}")[0].address == "mast.md#mend-the-mast"


@pytest.mark.parametrize("model", ["cross-encoder", "late-interaction", "bi-encoder"])
def test_any_ranker_reranks_by_its_own_scores(harbour, model):
    retriever = Retriever.open(harbour)
    [ranking] = retriever.rank(["mend the mast"], lexical(k=9) >> rerank(model, k=9))
    texts = retriever.units.ranker_texts([unit for unit, _ in ranking.ranked])
    scores = retriever.opened.reranker(model).score(["mend the mast"] * len(texts), texts)
    assert [score for _, score in ranking.ranked] == pytest.approx(scores.tolist(), abs=1e-4)
    by_path = retriever.rank(["mend the mast"], lexical(k=9) >> rerank(f"models/{model}", k=9))[0]
    assert by_path.ranked == ranking.ranked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no word vectors"),
        ("a 1 2\nb 1\n", "line 2: expected a word and its 2 numbers"),
        ("2 2\na 1 x\n", "line 2"),
    ],
)
def test_a_file_that_has_no_word_vectors_is_an_error(tmp_path, text, message):
    (tmp_path / "vectors.txt").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_word_vectors(tmp_path / "vectors.txt")


def test_texts_that_did_not_change_keep_their_vectors(tmp_path, monkeypatch):
    from structformer.models.onnx_encoder import OnnxEncoder

    folder = boats(tmp_path)
    train(folder, replace(TINY, max_steps=3, mix={"ict": 1.0}))
    build_index(folder)
    before = {unit.ranker_text: vector for unit, vector in zip(*vectors(folder), strict=True)}
    (tmp_path / "pages" / "mast.md").write_text("# The mast\n\nA mast carries sails.\n")
    ingest(tmp_path / "pages", folder)
    encoded: list[str] = []
    encode = OnnxEncoder.encode
    monkeypatch.setattr(
        OnnxEncoder, "encode", lambda self, texts, *of: encoded.extend(texts) or encode(self, texts, *of)
    )
    build_index(folder)
    # The unit, the page's overview, and the sentence that describes it.
    assert sorted(encoded) == sorted(["The mast\nA mast carries sails."] * 2 + ["A mast carries sails."])
    for unit, vector in zip(*vectors(folder), strict=True):
        if unit.ranker_text in before:
            assert np.array_equal(vector, before[unit.ranker_text])


def vectors(folder: Path):
    retriever = Retriever.open(folder)
    return list(retriever.units), np.array(retriever.opened.encoder("bi-encoder")[1].vectors)


def test_an_overview_has_title_opening_and_headings(harbour):
    document = Corpus.open(harbour).document("mast.md")
    title, opening, headings = document_overview(document).split("\n")
    assert title == "The mast"
    assert opening.startswith("The mast is a part of the boat. To clean the mast first look")
    assert headings == "Clean the mast, Mend the mast, Stow the mast"


@pytest.mark.parametrize("name", ["units.arrow", "documents.arrow", "lexical/units/meta.json"])
def test_a_truncated_index_file_is_named(tmp_path, name):
    workspace = made(tmp_path, {"a.md": "# A\n\nText.\n"})
    path = Workspace(workspace).folder("index") / name
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(
        WorkspaceError, match=f"{path.name} has changed since it was written: run `structformer index` again"
    ):
        Retriever.open(workspace)


def test_check_finds_a_flipped_byte_in_the_index(harbour):
    assert check_workspace(harbour) == []
    folder = Workspace(harbour).folder("index")
    [encoder] = default_encoders(Workspace(harbour))
    path = folder / "dense" / f"{encoder_place(Workspace(harbour), encoder).vectors}.npy"
    good = path.read_bytes()
    path.write_bytes(good[:-3] + bytes([good[-3] ^ 1]) + good[-2:])
    assert [problem.text for problem in check_workspace(harbour)] == [
        f"{path}: content differs from its recorded digest"
    ]
    with pytest.raises(WorkspaceError, match="has changed since it was written"):
        Retriever.open(harbour).search("clean the mast", pipeline=f"dense:{encoder}")
    path.write_bytes(good)


def test_a_pipeline_names_the_model_that_is_not_there(harbour):

    with pytest.raises(ModelError, match="no model 'gone'"):
        Retriever.open(harbour).search("x y", pipeline=parse_pipeline("lexical >> rerank:gone"))
    with pytest.raises(UsageError, match="not a late-interaction model"):
        Retriever.open(harbour).search("x y", pipeline="late:bi-encoder")


WHILE_TORCH_IS_IMPORTED = """
import sys, threading
import numpy as np
from structformer.retrieval.vectors.encoding import product

importing = threading.Thread(target=__import__, args=("torch",))
importing.start()
while importing.is_alive():
    assert product(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)).sum() == 3
assert "torch" in sys.modules
assert product(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)).sum() == 3
"""


def test_a_search_goes_on_while_another_thread_imports_torch():
    """As in `up`, where a newer index brings an encoder that needs it: both threads waited for each other for ever."""
    subprocess.run([sys.executable, "-c", WHILE_TORCH_IS_IMPORTED], check=True, timeout=300)
