"""`structformer graph`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lxml import etree

from conftest import write_pages


@pytest.fixture
def workspace(run, pages: Path, tmp_path: Path) -> Path:
    (pages / "index.md").write_text(
        (pages / "index.md").read_text()
        + "- [Gone](gone.md)\n- [No place](knots.md#nowhere)\n- [Site](https://e.org)\n"
    )
    run("ingest", pages, "-w", tmp_path / "w")
    return tmp_path / "w"


def test_stats(run, workspace):
    shown = run("graph", "stats", "-w", workspace).out
    assert "unresolved: index.md -> gone.md" in shown
    assert "see-also edges from 2 documents" in shown
    found = json.loads(run("graph", "stats", "-w", workspace, "--json").out)
    assert found["links"]["see_also"] == {
        "resolved": 4,
        "external": 1,
        "file": 0,
        "unresolved": 1,
        "ambiguous": 0,
        "dead_anchor": 1,
    }
    assert found["see_also"]["out_degrees"] == {"0": 1, "1": 1, "2": 1}


def test_check_names_page_section_and_target(run, workspace):
    checked = run("graph", "check", "-w", workspace)
    shown = checked.out
    assert checked.code == 1
    assert "index.md: Boats > See also: see_also 'Gone' -> gone.md: not found" in shown
    assert "-> knots.md#nowhere: no such anchor" in shown
    assert shown.endswith("6 internal links, 2 lead nowhere\n")


def test_a_place_that_several_other_pages_have_is_ambiguous(run, tmp_path):
    pages = {f"{name}/a.Rmd": "# Boat\n\n## Sail {#sail}\n" for name in "ab"}
    write_pages(tmp_path / "book", {**pages, "index.Rmd": "# Start\n\n[the sail](#sail) [the mast](#mast)\n"})
    ingested = run("ingest", tmp_path / "book", "-w", "w")
    assert "2 internal links, 2 lead nowhere; 0 lead outside" in ingested.out
    shown = run("graph", "check", "-w", "w").out
    assert "-> #sail: more than one page of this name" in shown
    assert "-> #mast: no such anchor" in shown
    assert shown.endswith("2 internal links, 2 lead nowhere\n")


def test_check_of_a_whole_corpus_is_content(run, pages, tmp_path):
    run("ingest", pages, "-w", tmp_path / "whole")
    assert "4 internal links, 0 lead nowhere" in run("graph", "check", "-w", tmp_path / "whole").out


@pytest.mark.parametrize("suffix", ["bits", "sqlite"])
def test_a_damaged_table_of_names_is_named_and_no_link_is_called_dead(run, workspace, suffix):
    table = next(workspace.glob(f"graph/*/names/*.{suffix}"))
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])
    checked = run("graph", "check", "-w", workspace)
    assert (checked.code, checked.out) == (1, "")
    assert f"{table.name} has changed since it was written: run `structformer ingest` again" in checked.err


def test_check_says_which_rule_found_a_link(run, tmp_path):
    (tmp_path / "vault" / "de").mkdir(parents=True)
    (tmp_path / "vault" / "a.md").write_text("# A\n\n## Reef it!\n\n[x](<#Reef it>)\n")
    (tmp_path / "vault" / "de" / "b.md").write_text("# B\n\n[y](a.md)\n")
    run("ingest", tmp_path / "vault", "-w", "w")
    shown = run("graph", "check", "-w", "w").out
    assert "1 link matched without punctuation" in shown
    assert "1 link found in the language without translation" in shown
    assert "'x' -> #Reef it: matched without punctuation" in run("graph", "check", "-w", "w", "-v").out
    found = json.loads(run("graph", "check", "-w", "w", "--json").out)
    assert found == {
        "internal_links": 2,
        "dead_links": 0,
        "found_by_rule": {"by_letters": 1, "untranslated": 1},
        "shown": [],
    }


def test_exports(run, workspace, tmp_path):
    run("graph", "export", tmp_path / "edges.parquet", "-w", workspace)
    rows = pq.read_table(tmp_path / "edges.parquet").to_pylist()
    assert {
        "source": "index.md",
        "source_section": "Boats > See also",
        "target": "parts/sails.md",
        "target_section": "Sails > Reefing",
        "kind": "see_also",
        "text": "Sails",
    } in rows
    run("graph", "export", tmp_path / "graph.graphml", "--kind", "see_also", "-w", workspace)
    graph = etree.parse(str(tmp_path / "graph.graphml"))
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    assert graph.xpath("count(//g:node)", namespaces=space) == 3
    assert graph.xpath("//g:edge/g:data[@key='d2']/text()", namespaces=space) == ["see_also"] * 4
    assert graph.xpath("//g:node/g:data[@key='d1']/text()", namespaces=space)[0] == "index.md"
    wrong = run("graph", "export", tmp_path / "x.csv", "-w", workspace)
    assert (wrong.code, "write to a file that ends in" in wrong.err) == (2, True)
    wrong = run("graph", "export", tmp_path / "x.parquet", "--kind", "nothing", "-w", workspace)
    assert (wrong.code, "no kind of link" in wrong.err) == (2, True)


def test_graphml_is_well_formed_whatever_titles_hold(run, tmp_path):
    write_pages(tmp_path / "odd", {"a.md": "# A & \uffff \u202e\n\n[x & y](b.md)\n", "b.md": "# B\n"})
    run("ingest", tmp_path / "odd", "-w", "w")
    run("graph", "export", tmp_path / "odd.graphml", "-w", "w")
    texts = etree.parse(str(tmp_path / "odd.graphml")).xpath("//*[@key='d0' or @key='d3']/text()")
    assert "x & y" in texts
    assert any(text.startswith("A & ") and "\\u202e" in text for text in texts)


def test_the_picture_shows_links_dead_links_and_islands(run, workspace, pages, tmp_path):
    (pages / "alone.md").write_text("# Alone\n\nNobody links here.\n")
    run("ingest", pages, "-w", tmp_path / "w")
    shown = run("graph", "export", tmp_path / "graph.html", "-w", tmp_path / "w")
    assert shown.out == f"5 edges in {tmp_path / 'graph.html'}\n"
    page = (tmp_path / "graph.html").read_text()
    assert "<title>index.md → knots.md: 2</title>" in page
    assert "<title>index.md: 2 dead</title>" in page
    assert re.search(r'<circle class="lone"[^>]*><title>alone.md</title>', page)
    assert re.search(r'<circle class="page"[^>]*><title>index.md</title>', page)
    assert "<td><code>gone.md</code></td>" in page
    assert "<script" not in page


def test_the_picture_of_many_pages_is_of_their_folders(run, tmp_path):
    write_pages(
        tmp_path / "many", {f"{n % 9}/{n}.md": f"# {n}\n\n[next](../{(n + 1) % 9}/{n + 1}.md)\n" for n in range(370)}
    )
    run("ingest", tmp_path / "many", "-w", "w")
    run("graph", "export", tmp_path / "graph.html", "-w", "w")
    page = (tmp_path / "graph.html").read_text()
    assert page.count("<circle") == 9
    assert "<title>0 → 1: 41</title>" in page
