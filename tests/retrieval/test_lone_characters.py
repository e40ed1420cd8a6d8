"""Queries of one character, or with one, in scripts without spaces: the index has pairs of characters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import Retriever
from structformer.ingestion import ingest
from structformer.retrieval import Filter
from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.indexing import build_index
from structformer.retrieval.search_suggestions import help_with
from structformer.retrieval.snippet import Matches, snippet
from structformer.retrieval.words.lexical import Begun, document_text
from structformer.text.lexical_analysis import lone_characters, neighbours

from conftest import write_pages
from structformer_serve.as_you_type import complete, completed

PAGES = {
    "zh/tables.md": "# 数据表\n\n建立一个表以后，可以向表中加入记录。每个表有自己的名字，删除表时要小心。\n",
    "zh/lists.md": "# 列表\n\n命令的输出是一份很长的名单，其中的每一行都写着文件的名字和它的大小。\n",
    "zh/report.md": "# 报告\n\n年底的报告里面有一张图和一张统计表，请在星期五以前交给办公室的同事。\n",
    "zh/lock.md": "# 同时写入\n\n写入之前先给文件上锁，写完以后解锁。另一个程序要等到锁被放开才能写入。\n",
    "zh/files.md": "# 文件\n\n文件保存在磁盘上，每个文件有名字、大小和日期，文件可以复制和移动到别处。\n",
    "zh/index.md": "# 首页\n\n请看[统计表](sums.md)，或者去看别的页。\n",
    "zh/sums.md": "# 数字\n\n这里有很多数字，每一行都是一个月的总和。\n",
    "zh/alone.md": "# 记号\n\n在图里用 表 来表示记号，其他的字母没有意思。\n",
    "ja/moon.md": "# 月の満ち欠け\n\n新月から満月まで、月は毎日少しずつ形を変える。月が出ない夜もある。\n",
    "ja/tide.md": "# 潮\n\n潮の高さは一日に二回変わる。港では毎月一回、水の深さを測る。\n",
    "th/tea.md": "# ชา\n\nชาร้อนดื่มตอนเช้า ชาเย็นดื่มตอนบ่าย\n",
    "th/rain.md": "# ฝน\n\nฝนตกตอนเย็น ลมแรงมาก\n",
    "ko/price.md": "# 가격\n\n값을 먼저 묻고, 값이 맞으면 산다.\n",
    "en/boat.md": "# Boats\n\nA boat lies at the quay. The x marks its berth.\n",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_pages(folder / "pages", PAGES)
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    return folder / "w"


def found(run, workspace: Path, query: str, *options: object) -> list[str]:
    done = run("search", query, "--pipeline", "lexical", "-w", workspace, "--json", *options)
    return [hit["document_id"] for hit in done.json["hits"]]


@pytest.mark.parametrize("query", ["表", "月", "ช", "값", "锁"])
def test_every_page_with_the_character_is_found(run, written, query):
    linked = {"zh/sums.md"} if query == "表" else set()
    assert set(found(run, written, query)) == {name for name, text in PAGES.items() if query in text} | linked


def test_pages_that_have_it_more_often_come_first(run, written):
    assert found(run, written, "表")[0] == "zh/tables.md"
    assert found(run, written, "月")[0] == "ja/moon.md"
    assert found(run, written, "表", "--group")[0] == "zh/tables.md"


def test_a_character_within_a_longer_query_counts(run, written):
    assert found(run, written, "锁 文件")[0] == "zh/lock.md"
    assert found(run, written, "文件")[0] == "zh/files.md"


def test_filters_and_whole_documents_know_it(run, written):
    assert found(run, written, "表", "--path", "zh/re*") == ["zh/report.md"]
    assert found(run, written, "表", "--path", "en/*") == []
    [(document, _), *_] = Retriever.open(written).rank_documents(["锁"], "lexical[of=documents]")[0]
    assert document == "zh/lock.md"


def test_the_snippet_sets_the_character_off(run, written):
    done = run("search", "锁", "--pipeline", "lexical", "-w", written, "--json")
    [hit] = done.json["hits"]
    assert {hit["snippet"][start:end] for start, end in hit["highlights"]} == {"锁"}
    assert len(hit["highlights"]) == hit["snippet"].count("锁") == 3


def test_what_helps_and_what_completes_know_that_a_page_has_it(written):
    opened = Retriever.open(written).opened
    assert help_with(opened, "表").missing == []
    assert help_with(opened, "鱼").missing == ["鱼"]
    within = opened.allowed(Filter(paths=("th/*",)))
    assert help_with(opened, "表", within).missing == ["表"]
    assert completed(opened, "表") == "表"
    assert opened.documents[int(opened.owners[complete(opened, "年底 表", 3)[0][0]])].id == "zh/report.md"


def test_a_text_that_has_it_says_every_word_of_the_query(written):
    lexical = Retriever.open(written).opened.lexical
    assert {"表", "统计"} <= lexical.held("表 统计", PAGES["zh/report.md"])
    assert "锁" not in lexical.held("锁", PAGES["zh/report.md"])


def test_a_text_scores_as_if_it_were_indexed(written):
    opened = Retriever.open(written).opened
    searcher = opened.lexical._documents
    for query in ("表", "锁 文件", "ช", "月 表"):
        for number, score in opened.lexical.search_documents(query, 20):
            units = [opened.units[unit] for unit in range(*opened.units_of(number))]
            text = document_text(opened.documents[number].title, units)
            # Apart from how the index rounds the lengths of texts.
            assert searcher.score(query, {"text": text, "exact": text}) == pytest.approx(score, rel=2e-2)


def test_of_many_characters_the_first_ones_ask_for_pairs():
    assert lone_characters("表 a 数据表 ก,锁x表 값") == ["表", "ก", "锁", "값"]
    assert len(lone_characters(" ".join(map(chr, range(0x4E00, 0x4F00))))) == 12
    assert lone_characters("plain words") == []


def test_a_character_has_the_neighbours_of_its_script():
    assert {"数", "の", "々"} <= set(neighbours("表"))
    assert "ก" in neighbours("ช")
    assert "ກ" not in neighbours("ช")
    assert set(neighbours("값")) == set(map(chr, range(0xAC00, 0xD7A4)))


characters = st.text("表数据月のกช값a b。x", max_size=30)


@given(characters, st.sampled_from("表の"))
def test_whatever_stands_around_it_every_occurrence_is_set_off(text, character):
    shown = snippet(text, Matches([character], lambda word: [word], [character]))
    marked = [place for start, end in shown.highlights for place in range(start, end)]
    assert marked == [place for place, each in enumerate(shown.text) if each == character]


@given(characters)
def test_without_such_a_character_nothing_is_set_off_otherwise(text):
    terms = ["数据", "据表", "a"]
    assert snippet(text, Matches(terms, lambda word: [word])) == snippet(text, Matches(terms, lambda word: [word], []))


def test_texts_of_links_count_as_far_as_the_asker_sees_them(written):
    opened = Retriever.open(written).opened
    number = opened.document_number("zh/sums.md")
    units = set(range(*opened.units_of(number)))

    def found_with(name: str) -> set[int]:
        seen = Allowed(np.ones(len(opened.documents), bool), opened.owners, lambda units: [name] * len(units))
        return {unit for unit, _ in opened.lexical.search("表", 20, seen)}

    assert units <= {unit for unit, _ in opened.lexical.search("表", 20)}
    assert units <= found_with("统计表")
    assert not units & found_with("统计")
    typed = Allowed(np.ones(len(opened.documents), bool), opened.owners, lambda units: ["统计表"] * len(units))
    assert units <= {unit for unit, _ in opened.lexical.beginnings([Begun("表", 0, True)], 20, typed)}
