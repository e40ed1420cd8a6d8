"""`structformer graph`, the ingest page, mappings on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lxml import etree


@pytest.fixture
def run(tmp_path: Path):
    def call(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "structformer", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def workspace(run, pages: Path, tmp_path: Path) -> Path:
    (pages / "index.md").write_text(
        (pages / "index.md").read_text()
        + "- [Gone](gone.md)\n- [No place](knots.md#nowhere)\n- [Site](https://e.org)\n"
    )
    run("ingest", pages, "-w", tmp_path / "w")
    return tmp_path / "w"


def test_stats(run, workspace):
    shown = run("graph", "stats", "-w", workspace).stdout
    assert "unresolved: index.md -> gone.md" in shown
    assert "see-also edges from 2 documents" in shown
    found = json.loads(run("graph", "stats", "-w", workspace, "--json").stdout)
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
    shown = run("graph", "check", "-w", workspace, code=1).stdout
    assert "index.md: Boats > See also: see_also 'Gone' -> gone.md: not found" in shown
    assert "-> knots.md#nowhere: no such anchor" in shown


def test_check_of_a_whole_corpus_is_content(run, pages, tmp_path):
    run("ingest", pages, "-w", tmp_path / "whole")
    assert "every link within the corpus leads somewhere" in run("graph", "check", "-w", tmp_path / "whole").stdout


def test_check_says_which_rule_found_a_link(run, tmp_path):
    (tmp_path / "vault" / "de").mkdir(parents=True)
    (tmp_path / "vault" / "a.md").write_text("# A\n\n## Reef it!\n\n[x](<#Reef it>)\n")
    (tmp_path / "vault" / "de" / "b.md").write_text("# B\n\n[y](a.md)\n")
    run("ingest", "vault", "-w", "w")
    shown = run("graph", "check", "-w", "w").stdout
    assert "1 link found by its letters and digits" in shown
    assert "1 link found in the language without translation" in shown
    assert "'x' -> #Reef it: found by its letters and digits" in run("graph", "check", "-w", "w", "-v").stdout
    found = json.loads(run("graph", "check", "-w", "w", "--json").stdout)
    assert found == {"dead_links": 0, "found_by_rule": {"by_letters": 1, "untranslated": 1}, "shown": []}


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
    assert "write to a file that ends in" in run("graph", "export", tmp_path / "x.csv", "-w", workspace, code=2).stderr
    assert (
        "no kind of link"
        in run("graph", "export", tmp_path / "x.parquet", "--kind", "nothing", "-w", workspace, code=2).stderr
    )


def test_the_ingest_page_is_self_contained_and_escapes_what_it_shows(run, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.md").write_text('# <script>alert(1)</script>\n\n[x](<gone"><script>alert(2)</script>.md>)\n')
    (tmp_path / "p" / "<script>alert(3)<script>.xml").write_text("<a>")
    run("ingest", "p", "-w", tmp_path / "w")
    page = (tmp_path / "w" / "corpus" / "report.html").read_text()
    assert "<script" not in page
    assert "alert(3)" in page
    assert "default-src 'none'" in page
    assert "http-equiv" in page
    assert "not well-formed" in page
    assert not [part for part in ("src=", "href=", "@import", "url(") if part in page]


def test_a_mapping_from_suggestion_to_corpus(run, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "h.xml").write_text(
        "<buch><kapitel><ueberschrift>Eins</ueberschrift><absatz>Ein Absatz mit genug Worten, um als Text zu gelten, wirklich und "
        "wahrhaftig.</absatz></kapitel><kapitel><ueberschrift>Zwei</ueberschrift><absatz>Noch einer.</absatz></kapitel></buch>"
    )
    (tmp_path / "own.toml").write_text(run("inspect", "p/h.xml", "--suggest-mapping").stdout)
    assert "h1 Eins" in run("inspect", "p/h.xml", "--mapping", "own.toml").stdout
    run("ingest", "p", "--mapping", "own.toml", "-w", "w")
    assert "h1 Zwei" in run("inspect", "h.xml", "-w", "w").stdout
    (tmp_path / "bad.toml").write_text("nothing = 1")
    assert "no key 'nothing'" in run("inspect", "p/h.xml", "--mapping", "bad.toml", code=2).stderr
    assert "cannot be read" in run("ingest", "p", "--mapping", "none.toml", "-w", "w", code=2).stderr
