"""A user's own theme, as TOML."""

from __future__ import annotations

import json

import pytest
from structformer import Corpus
from structformer.cli.main import main
from structformer.errors import UsageError
from structformer.ingestion import ingest

from conftest import write_pages

THEME = """
name = "Acme"
order = "nav.acme-rail a"
address = "https://docs.acme.org/"
"""
PAGES = {
    "index.html": "<html><body><nav class=acme-rail><a href=b.html>Bowline</a> <a href='a/'>Anchor</a></nav>"
    "<main><h1>Acme</h1><p>Start here.</p></main></body></html>",
    "a/index.html": "<html><body><main><h1>Anchor</h1><p>Hold.</p></main></body></html>",
    "b.html": "<html><body><main><p>Tie a loop.</p></main></body></html>",
}


def run(*words: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code == 0


def test_a_theme_says_order_titles_and_addresses(tmp_path):
    write_pages(tmp_path / "site", PAGES)
    write_pages(tmp_path, {"acme.toml": THEME})
    run("ingest", tmp_path / "site", "-w", tmp_path / "w", "--theme", tmp_path / "acme.toml")
    corpus = Corpus.open(tmp_path / "w")
    assert list(corpus.navigation.ranks) == ["b.html", "a/index.html"]
    assert corpus.document("b.html").title == "Bowline"
    assert corpus.site.address(corpus.document("b.html")) == "https://docs.acme.org/b.html"
    assert (corpus.site.name, corpus.site.generator) == ("Acme", "theme")


def test_a_configuration_file_may_hold_the_theme(tmp_path, monkeypatch):
    write_pages(
        tmp_path, {"structformer.toml": f"[theme]{THEME}", **{f"site/{name}": text for name, text in PAGES.items()}}
    )
    monkeypatch.chdir(tmp_path)
    run("ingest", "site", "-w", "w")
    assert json.loads((Corpus.open(tmp_path / "w").folder / "site.json").read_text())["name"] == "Acme"


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        ("contnt = 'x'", "no key 'contnt'; did you mean content?"),
        ("content = '['", "content = '\\[' is not a CSS selector"),
        ("content = 1", "it must be a text or a list of texts"),
        ("content = [", "not valid TOML"),
        ("see_also_titles = 'More'", "it must be a list of texts"),
        ("roles = {a = 1}", "it must be a table of names"),
        ("address = 'https://'", "is not an address"),
    ],
)
def test_a_faulty_theme_is_refused_before_anything_is_read(theme, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        ingest(tmp_path, tmp_path / "w", options={"theme": theme})


OWN_WORDS = """
see_also_titles = ["Mehr bei Acme"]
[roles]
"acme-func acme-call" = "func"
[shortcodes]
acme-key = "kbd"
"""


def test_a_theme_says_what_roles_and_shortcodes_are_like_and_which_titles_list_related_pages(tmp_path):
    pages = {
        "knots.rst": "Knots\n=====\n\n.. function:: tie(rope)\n\n   Ties it.\n",
        "sails.rst": "Sails\n=====\n\nCall :acme-func:`tie`.\n\nMehr bei Acme\n-------------\n\n- `Knots <knots.rst>`_\n",
        "masts.md": 'Call {acme-call}`tie`.\n\nPress {{< acme-key "halyard" >}}.\n\n## Mehr bei Acme\n\n- [Knots](knots.rst)\n',
    }
    write_pages(tmp_path / "site", pages)
    write_pages(tmp_path, {"acme.toml": OWN_WORDS})
    run("ingest", tmp_path / "site", "-w", tmp_path / "w", "--theme", tmp_path / "acme.toml")
    corpus = Corpus.open(tmp_path / "w")
    assert "Press halyard." in corpus.document("masts.md").root.text
    for page in ("sails.rst", "masts.md"):
        links = [(link.kind.value, link.text) for link in corpus.document(page).links()]
        assert ("see_also", "Knots") in links
        [call] = [link for link in corpus.document(page).links() if link.kind.value == "xref"]
        assert call.target.startswith(":func:")
    run("ingest", tmp_path / "site", "-w", tmp_path / "plain")
    plain = Corpus.open(tmp_path / "plain")
    links = [link for page in pages for link in plain.document(page).links()]
    assert not any(link.target.startswith(":func:") or link.kind.value == "see_also" for link in links)
