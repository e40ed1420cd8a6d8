"""What a reader loses is told."""

from __future__ import annotations

import re

import pytest
from structformer.ingestion import find_losses, text_of
from structformer.ingestion.losses import lost_words
from structformer.plugins import load_plugins

from reading import one

WORDS = "iron copper steel kettle handle copperware skillet saucepan griddle roaster".split()


def prose(topic: str, count: int = 120) -> str:
    """Sentences of which each word ends with its topic, so that no other part has it."""
    return " ".join(f"{WORDS[number % 10]}{topic}{chr(97 + number % 26)}" for number in range(count)) + "."


PAGES = {
    "markdown": "# Pans\n\n{}\n\n## Lids\n\n{}\n",
    "html": "<html><head><style>a {{ color: red }}</style></head><body><h1>Pans</h1><p>{}</p><h2>Lids</h2><p>{}</p></body></html>",
    "latex": "\\documentclass{{article}}\\begin{{document}}\\section{{Pans}}{}\n\n\\section{{Lids}}{}\\end{{document}}",
    "wikitext": "= Pans =\n{}\n== Lids ==\n{}\n",
    "xml": "<article><title>Pans</title><para>{}</para><section><title>Lids</title><para>{}</para></section></article>",
    "rst": "Pans\n====\n\n{}\n\nLids\n----\n\n{}\n",
    "asciidoc": "= Pans\n\n{}\n\n== Lids\n\n{}\n",
    "org": "* Pans\n{}\n** Lids\n{}\n",
}


@pytest.mark.parametrize("format", PAGES)
def test_a_page_that_is_read_whole_has_lost_nothing(format):
    page = PAGES[format].format(prose("one"), prose("two"))
    assert find_losses(page.encode(), [text_of(one(page, format))], load_plugins().format(format)) == []


@pytest.mark.parametrize("format", PAGES)
def test_a_region_that_is_in_no_document_is_told_with_its_line(format):
    first, second = prose("one"), prose("two")
    page = PAGES[format].format(first, second)
    read = text_of(one(page, format)).replace(second, "")
    [loss] = find_losses(page.encode(), [read], load_plugins().format(format))
    assert loss.line in {number for number, line in enumerate(page.split("\n"), 1) if "two" in line}
    assert 100 <= loss.words <= 125
    assert 0.4 < loss.share < 0.6
    assert lost_words(str(loss)) == loss.words


def test_what_is_no_text_is_not_lost():
    page = f"<html><body><nav>{prose('nav')}</nav><script>{prose('script')}</script><!-- {prose('remark')} --><p>{prose('one')}</p></body></html>"
    assert find_losses(page.encode(), [text_of(one(page, "html"))], load_plugins().format("html")) == []


def test_ingest_counts_files_that_lost_words_and_inspect_shows_them(tmp_path, run):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/pans.html").write_text(
        f"<html><body><main><h1>Pans</h1><p>{prose('one')}</p><div class='navbox'>{prose('two')}</div></main></body></html>"
    )
    made = run("ingest", tmp_path / "docs", "-w", tmp_path / "w")
    assert re.search(r"1 file may have been read in part; most of all pans.html: line 1: about 1\d\d words", made.err)
    assert "Files that may have been read in part" in next((tmp_path / "w").rglob("report.html")).read_text()
    shown = run("inspect", tmp_path / "docs/pans.html", "--losses")
    assert shown.out.startswith("line 1: about 1")
