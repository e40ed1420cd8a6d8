"""Addresses of pages on the site that is built from them: by rule, by what a page says, by a generator's settings."""

from __future__ import annotations

import json

import pytest
from structformer import Corpus, Retriever
from structformer.cli.main import main
from structformer.corpus.site import Site
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index

from conftest import write_pages

PAGES = {
    "index.md": "# Home\n\nThe harbour.\n",
    "guide/start.md": "# Start\n\nCast off the lines.\n\n## Head lines\n\nKeep them dry.\n",
    "guide/README.md": "# Guide\n\nAll of it.\n",
    "own.md": "---\npermalink: /elsewhere/\n---\n# Own\n\nIts own address.\n",
    "built.html": "<html><body><h1>Built</h1><p>A built page.</p></body></html>",
    "said.html": "<html><head><link rel=canonical href='https://other.org/x'></head><body><h1>Said</h1><p>It says.</p></body></html>",
}


@pytest.mark.parametrize(
    ("rule", "start"),
    [("folder", "guide/start/"), ("bare", "guide/start"), ("html", "guide/start.html"), ("file", "guide/start.md")],
)
def test_pages_have_the_addresses_of_their_site(rule, start, tmp_path):
    write_pages(tmp_path / "pages", PAGES)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1, site=Site("https://e.org/docs", rule))
    corpus = Corpus.open(tmp_path / "w")
    found = {document.id: corpus.site.address(document) for document in corpus.documents()}
    assert found["guide/start.md"] == f"https://e.org/docs/{start}"
    assert found["own.md"] == "https://e.org/docs/elsewhere/"
    assert found["built.html"] == ("https://e.org/docs/built" if rule == "bare" else "https://e.org/docs/built.html")
    assert found["said.html"] == "https://other.org/x"
    if rule != "file":
        assert found["index.md"] == "https://e.org/docs/"
        assert found["guide/README.md"] == "https://e.org/docs/guide/"


@pytest.mark.parametrize(
    ("name", "settings", "address"),
    [
        (
            "mkdocs.yml",
            "site_name: x\nsite_url: https://e.org/d/\nnav: !!python/name:x\n",
            "https://e.org/d/guide/start/",
        ),
        ("mkdocs.yml", "site_url: https://e.org/\nuse_directory_urls: false\n", "https://e.org/guide/start.html"),
        ("_config.yml", "url: https://e.org\nbaseurl: /b\n", "https://e.org/b/guide/start.html"),
        (
            "docusaurus.config.js",
            "const c = { url: 'https://e.org', baseUrl: '/x/' };\n",
            "https://e.org/x/guide/start",
        ),
        ("conf.py", "html_baseurl = 'https://e.org/s/'\n", "https://e.org/s/guide/start.html"),
        (
            "sitemap.xml",
            "<urlset><url><loc>https://e.org/m/</loc></url><url><loc>https://e.org/m/a/b/</loc></url></urlset>",
            "https://e.org/m/guide/start/",
        ),
        (
            "sitemap.xml",
            "<urlset><url><loc>https://a.org/</loc></url><url><loc>https://b.org/</loc></url></urlset>",
            "",
        ),
        (
            "docfx.json",
            '{"build": {"content": [{"files": ["**/*.md"]}], "sitemap": {"baseUrl": "https://e.org/f"}}}',
            "https://e.org/f/guide/start.html",
        ),
        (
            "docfx.json",
            '{"build": {"content": [{"src": "guide", "dest": "how"}], "globalMetadata": {"breadcrumb_path": "/boats/bread/toc.json"}}}',
            "https://learn.microsoft.com/boats/how/start",
        ),
        ("docfx.json", '{"build": [', ""),
        ("_config.yml", "- [unfinished\n", ""),
        ("mkdocs.yml", "site_url: nonsense\n", ""),
    ],
)
def test_the_settings_of_site_generators_say_where(name, settings, address, tmp_path):
    write_pages(tmp_path / "pages", {**PAGES, name: settings})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    assert corpus.site.address(corpus.document("guide/start.md")) == address


def test_docfx_calls_a_site_by_its_title_or_else_by_its_name(tmp_path):
    for number, metadata in enumerate(('{"_appTitle": "Boats", "_appName": "b"}', '{"_appName": "Boats"}')):
        settings = f'{{"build": {{"content": [{{"files": ["**/*.md"]}}], "globalMetadata": {metadata}}}}}'
        write_pages(tmp_path / f"pages{number}", {**PAGES, "docfx.json": settings})
        ingest(tmp_path / f"pages{number}", tmp_path / f"w{number}", workers=1)
        assert Corpus.open(tmp_path / f"w{number}").site.name == "Boats"


def test_hits_carry_addresses_and_a_later_ingest_keeps_the_site(tmp_path, capsys):
    write_pages(tmp_path / "pages", PAGES)
    with pytest.raises(SystemExit):
        main(["ingest", str(tmp_path / "pages"), "--base-url", "https://e.org/docs/", "-w", str(tmp_path / "w")])
    ingest((), tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    hit = Retriever.open(tmp_path / "w").search("head lines dry", 1, "lexical")[0]
    assert hit.url == "https://e.org/docs/guide/start/#head-lines"
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["search", "head lines dry", "--json", "-w", str(tmp_path / "w")])
    assert json.loads(capsys.readouterr().out)["hits"][0]["url"] == hit.url


@pytest.mark.parametrize("text", ["ftp://e.org", "http://[x", "https://e.org:99999", "https://e org/", "https://"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UsageError, match="write https"):
        Site(text)
    with pytest.raises(UsageError, match="write https"):
        Site().moved("", "a.md", text)


def test_a_rule_that_there_is_not_is_refused():
    with pytest.raises(UsageError, match="choose from: folder"):
        Site("https://e.org", "odd")


def test_pages_above_whose_folder_the_settings_stand_have_addresses_below_it(tmp_path):
    write_pages(
        tmp_path / "repository",
        {
            "mkdocs.yml": "site_url: https://e.org/\n",
            "docs/start.md": "# Start\n\nOff.\n",
            "README.md": "# Read\n\nme.\n",
        },
    )
    ingest(tmp_path / "repository", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    found = {document.id: corpus.site.address(document) for document in corpus.documents()}
    assert found == {"docs/start.md": "https://e.org/start/", "README.md": ""}


def test_links_with_the_site_s_own_address_lead_to_its_pages(tmp_path):
    pages = {**PAGES, "links.md": "# L\n\n[a](https://e.org/docs/guide/start/#head-lines) [b](https://other.net/)\n"}
    write_pages(tmp_path / "pages", pages)
    report = ingest(tmp_path / "pages", tmp_path / "w", workers=1, site=Site("https://e.org/docs"))
    assert (report.links["hyperlink"]["resolved"], report.links["hyperlink"]["external"]) == (1, 1)


def test_a_link_beside_the_folder_of_the_site_leads_outside_unless_the_corpus_has_such_a_folder(tmp_path):
    pages = {**PAGES, "links.md": "# L\n\n[a](/other/product/) [b](/guide/gone/) [c](/docs/gone/)\n"}
    write_pages(tmp_path / "pages", pages)
    report = ingest(tmp_path / "pages", tmp_path / "w", workers=1, site=Site("https://e.org/docs"))
    assert (report.links["hyperlink"]["external"], report.links["hyperlink"]["unresolved"]) == (1, 2)


@pytest.mark.parametrize("above", [True, False])
def test_a_mirror_is_read_as_the_site_that_it_is(above, tmp_path):
    pages = {
        "docs.e.org/robots.txt": "User-agent: *\n",
        "docs.e.org/index.html": "<h1>Home</h1><p><a href='https://docs.e.org/a/b.html#x'>b</a> <a href='/a/b.html'>c</a></p>",
        "docs.e.org/a/b.html": "<h1>B</h1><p>text <a href='https://e.net/'>out</a></p>",
    }
    write_pages(tmp_path / "mirror", pages)
    report = ingest(tmp_path / "mirror" if above else tmp_path / "mirror" / "docs.e.org", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    found = {document.title: corpus.site.address(document) for document in corpus.documents()}
    assert found == {"Home": "https://docs.e.org/", "B": "https://docs.e.org/a/b.html"}
    assert (report.links["hyperlink"]["resolved"], report.links["hyperlink"]["external"]) == (2, 1)


def test_a_folder_that_is_called_like_a_file_is_no_mirror(tmp_path):
    write_pages(tmp_path / "pages", {"manual.html/robots.txt": "x", "manual.html/index.html": "<h1>M</h1><p>text</p>"})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    assert not corpus.site.is_known
