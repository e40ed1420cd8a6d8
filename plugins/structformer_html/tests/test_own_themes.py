"""Pages of a theme that nobody knows: read clean by six lines of TOML, or by six lines of a plugin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from structformer import read
from structformer.cli.main import main
from structformer.document import Document
from structformer.errors import ReadError
from structformer.plugins import hookimpl, load_plugins

import structformer_html
from conftest import write_pages
from reading import outline

PAGE = """<html><head><title>Knots</title></head><body><div class="acme-top"><b class="acme-name">Bowline knot</b> Sign in</div>
<div class="acme-rail"><h2>Contents</h2><p><a href="b.html">Bowline</a> <a href="c.html">Clove</a></p></div>
<div class="acme-doc"><h1>Bowline</h1><p>Tie a loop.</p><div class="acme-tip"><p class="acme-label">Tip</p>Wet it.</div>
<h2>Uses</h2><p>Hold a boat.</p><div><p>Was this page helpful?</p>Yes No</div></div></body></html>"""
THEME = """
content = "div.acme-doc"
drop = ["div:-soup-contains('Was this page helpful?'):not(.acme-doc)"]
title = ".acme-name"
notes = ["acme-tip"]
note_titles = ["acme-label"]
"""


def test_the_reader_names_no_generator_and_none_of_their_words():
    generators = load_plugins().site_generators
    rules = [generator.html for generator in generators.values()]
    lists = (
        value for each in rules for field in fields(each) if isinstance(value := getattr(each, field.name), frozenset)
    )
    words = {word for value in lists for word in value if re.search(r"[-_]\w{4}", word)} | set(generators) - {"github"}
    for path in Path(structformer_html.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8").lower()
        assert [word for word in sorted(words) if re.search(rf"\b{re.escape(word)}\b", text)] == [], path


def changed_by(change: Any) -> Iterator[None]:
    """Have a plugin change pages."""
    plugin = SimpleNamespace(structformer_html_page=hookimpl(change))
    load_plugins().manager.register(plugin)
    yield
    load_plugins().manager.unregister(plugin)


def clean(document: Document) -> None:
    """The content of PAGE and nothing else."""
    assert outline(document) == [(0, "Bowline"), (1, "Uses")]
    assert [section.text for section in document.sections()] == ["Tie a loop.\n\nTip\n\nWet it.", "Hold a boat."]


def test_without_a_rule_the_rail_is_read():
    [document] = read(PAGE.encode(), format="html")
    assert "Was this page helpful?" in [*document.sections()][-1].text


def test_a_theme_of_six_lines_says_what_is_content():
    [document] = read(PAGE.encode(), format="html", theme=THEME)
    clean(document)
    assert (document.title, document.metadata["content"]) == ("Bowline knot", "theme")
    assert [mark.kind.value for mark in document.root.marks] == ["note", "title"]


def test_a_theme_whose_selectors_lexbor_knows_builds_no_soup(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bs4", None)
    theme = THEME.replace("div:-soup-contains('Was this page helpful?'):not(.acme-doc)", ".acme-doc > div:last-child")
    [document] = read(PAGE.encode(), format="html", theme=theme)
    clean(document)


def test_a_plugin_of_six_lines_changes_pages_as_soups():
    def structformer_html_page(soup, source):
        for rail in soup.select(".acme-top, .acme-rail"):
            rail.decompose()
        soup.find(string="Was this page helpful?").find_parent("div").decompose()

    for _ in changed_by(structformer_html_page):
        [document] = read(PAGE.encode(), format="html")
        clean(document)


def test_a_plugin_that_fails_costs_its_page_a_line():
    def structformer_html_page(soup, source):
        raise KeyError(source.path)

    for _ in changed_by(structformer_html_page):
        with pytest.raises(ReadError, match="a plugin's structformer_html_page failed"):
            list(read(PAGE.encode(), format="html"))


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        ("contnt = 'x'", "no key 'contnt'; did you mean content?"),
        ("drop = '[['", "drop = '[[' is not a CSS selector"),
        ("drop = [", "not valid TOML"),
    ],
)
def test_a_fault_in_a_theme_is_one_line_with_file_and_key(theme, message, tmp_path, capsys):
    write_pages(tmp_path, {"a.html": PAGE, "acme.toml": theme})
    with pytest.raises(SystemExit):
        main(["ingest", str(tmp_path / "a.html"), "-w", str(tmp_path / "w"), "--theme", str(tmp_path / "acme.toml")])
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {tmp_path / 'acme.toml'}: ")
    assert message in line
