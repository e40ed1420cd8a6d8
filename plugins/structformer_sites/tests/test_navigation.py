"""The order of a site's pages and the titles of its navigation, as each generator writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer import Corpus, Retriever, read
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index

from conftest import write_pages

SIDEBAR = "{text: 'Guide', items: [{text: 'TLS/SSL', link: '/guide/tls'}, {text: 'Authentication', link: '/auth'}]}"
# Each the same site: tls before auth, under these titles.
GENERATORS = {
    "mkdocs.yml": "nav:\n  - index.md\n  - Guide:\n      - TLS/SSL: guide/tls.md\n      - Authentication: auth.md\n",
    "SUMMARY.md": "# Summary\n\n- [Home](index.md)\n  - [TLS/SSL](guide/tls.md)\n  - [Authentication](./auth.md)\n",
    "_sidebar.md": "* [Home](/)\n* [TLS/SSL](/guide/tls)\n* [Authentication](auth.md)\n",
    ".vitepress/config.mts": f"export default defineConfig({{themeConfig: {{sidebar: [{SIDEBAR}]}}}})\n",
    "docfx.json": '{"build": {"content": [{"files": ["**/*.md"]}]}}',
    "astro.config.mjs": "export default defineConfig({integrations: [starlight({title: 'Boats', sidebar: [\n"
    "  {label: 'TLS/SSL', link: '/guide/tls/'}, {label: 'Authentication', slug: 'auth'}]})]});\n",
    "_quarto.yml": "website:\n  sidebar:\n    contents:\n      - {text: TLS/SSL, href: guide/tls.md}\n"
    "      - section: More\n        contents:\n          - {text: Authentication, href: auth.md}\n",
    "_toc.yml": "format: jb-book\nroot: index\nparts:\n  - caption: Guide\n    chapters:\n      - file: guide/tls\n"
    "        title: TLS/SSL\n        sections:\n          - {file: auth.md, title: Authentication}\n",
    "docusaurus.config.js": "module.exports = {title: 'Boats'};",
    "conf.py": "extensions = ['myst_parser']\n",
}
BESIDE = {
    "docfx.json": {"toc.yml": "- name: TLS/SSL\n  href: guide/tls.md\n- name: Authentication\n  href: auth.md\n"},
    "docusaurus.config.js": {
        "sidebars.js": "module.exports = {a: [{type: 'doc', id: 'guide/tls', label: 'TLS/SSL'}, 'auth']};",
        "auth.md": "---\nsidebar_label: Authentication\n---\nHow to log in.\n",
    },
    "conf.py": {
        "index.md": "# Home\n\n```{toctree}\n:maxdepth: 2\n\nTLS/SSL <guide/tls>\nAuthentication <auth>\n```\n"
    },
}
PAGES = {"index.md": "# Home\n\nWelcome.\n", "auth.md": "How to log in.\n", "guide/tls.md": "Keys and certificates.\n"}


def corpus(folder: Path, pages: dict[str, str]) -> Corpus:
    write_pages(folder / "site", pages)
    ingest(folder / "site", folder / "w", workers=1)
    return Corpus.open(folder / "w")


@pytest.mark.parametrize("settings", GENERATORS)
def test_pages_called_after_their_file_have_the_title_of_the_navigation(settings, tmp_path):
    made = corpus(tmp_path, {**PAGES, settings: GENERATORS[settings], **BESIDE.get(settings, {})})
    titles = {document.id: document.title for document in made.documents()}
    assert (titles["auth.md"], titles["guide/tls.md"]) == ("Authentication", "TLS/SSL")
    ranks = made.navigation.ranks
    assert ranks["guide/tls.md"] < ranks["auth.md"]
    assert made.site.generator


def test_pages_read_without_a_corpus_have_the_titles_of_the_navigation(tmp_path):
    nav = "site_name: Boats\nnav:\n  - index.md\n  - Logging in: auth.md\n  - Guide:\n      - Keys: guide/tls.md\n"
    write_pages(tmp_path, {"mkdocs.yml": nav, **{f"docs/{name}": text for name, text in PAGES.items()}})
    titles = {document.id: document.title for document in read(tmp_path / "docs")}
    assert titles == {"index.md": "Home", "auth.md": "Logging in", "guide/tls.md": "Keys"}


def test_pages_read_without_a_corpus_have_the_titles_of_their_front_matter(tmp_path):
    for settings, text, page, key in (
        ("docusaurus.config.js", "module.exports = {title: 'Boats'};", "docs/a.md", "sidebar_label"),
        ("hugo.toml", "title = 'Boats'\nbaseURL = 'https://e.org/'\n", "content/a.md", "linkTitle"),
    ):
        write_pages(tmp_path / key, {settings: text, page: f"---\n{key}: Logging in\n---\nText.\n"})
        assert [document.title for document in read((tmp_path / key / page).parent)] == ["Logging in"]


@pytest.mark.parametrize(
    "contents",
    [
        "format: jb-book\nroot: index\nchapters:\n- file: sails\n  title: Sails 🚢\n  sections:\n  - file: ropes/hemp\n",
        "- file: index\n- part: Deck\n  chapters:\n  - {file: sails, title: Sails 🚢}\n  - file: ropes/hemp\n",  # before 2021
    ],
)
def test_a_jupyter_book_has_its_contents_and_the_address_of_its_settings(contents, tmp_path):
    settings = "title: Boats\nhtml:\n  baseurl: https://boats.example/manual\n"
    pages = {"index.md": "# Home\n", "ropes/hemp.md": "# Hemp\n\nA rope.\n", "sails.md": "Canvas.\n"}
    made = corpus(tmp_path, {"_toc.yml": contents, "_config.yml": settings, **pages})
    assert [*made.navigation.ranks] == ["index.md", "sails.md", "ropes/hemp.md"]
    assert {document.id: document.title for document in made.documents()}["sails.md"] == "Sails 🚢"
    assert (made.site.generator, made.site.name) == ("jupyter", "Boats")
    assert made.site.address_of("ropes/hemp.md", "ropes/hemp.md", {}) == "https://boats.example/manual/ropes/hemp.html"


def test_all_titles_of_a_navigation_are_shown_and_found(tmp_path):
    names = [f"page{number:02}" for number in range(40)]
    nav = "".join(f"  - Harbour {name.title()} (v{number}.x): {name}.md\n" for number, name in enumerate(names))
    pages = {f"docs/{name}.md": f"Text of {name}.\n" for name in names}
    made = corpus(tmp_path, {"mkdocs.yml": f"site_name: Boats\nnav:\n{nav}", **pages})
    build_index(tmp_path / "w", encoders=[])
    retriever = Retriever.open(tmp_path / "w")
    for number, document in enumerate(made.documents()):
        assert document.title == f"Harbour Page{number:02} (v{number}.x)"
        assert document.root.title == document.title
        assert retriever.search(document.title, k=1)[0].document_id == document.id


def test_a_page_with_a_heading_keeps_it_and_is_found_by_the_title_of_the_navigation(tmp_path):
    nav = "nav:\n  - Berths: docs/places.md\n"
    made = corpus(
        tmp_path, {"mkdocs.yml": f"docs_dir: .\n{nav}", "docs/places.md": "# Where to moor\n\nAt the quay.\n"}
    )
    assert [document.title for document in made.documents()] == ["Where to moor"]
    build_index(tmp_path / "w", encoders=[])
    assert [hit.document_id for hit in Retriever.open(tmp_path / "w").search("berths")] == ["docs/places.md"]


def test_the_weight_of_a_folder_is_that_of_its_index_page(tmp_path):
    pages = {
        "hugo.toml": "title = 'Boats'\n",
        "content/_index.md": "# Boats\n",
        "content/core/_index.md": "---\nweight: 10\n---\n# Core\n",
        "content/core/a/_index.md": "---\nweight: 1\n---\n# A\n",
        "content/start/_index.md": "---\nweight: 1\n---\n# Start\n",
        "content/start/b.md": "---\nweight: 20\nlinkTitle: Bee\n---\n# B\n",
        "content/start/c.md": "---\nweight: 3\n---\n# C\n",
    }
    made = corpus(tmp_path, pages)
    order = [id.removeprefix("content/").removesuffix(".md") for id in made.navigation.ranks]
    assert order == ["_index", "start/_index", "start/c", "start/b", "core/_index", "core/a/_index"]
    assert (made.site.generator, made.navigation.titles["content/start/b.md"]) == ("hugo", "Bee")


def test_antora_s_lists_order_the_pages_of_its_modules(tmp_path):
    pages = {
        "antora.yml": "name: boats\ntitle: Boats\nnav:\n- modules/ROOT/nav.adoc\n",
        "modules/ROOT/nav.adoc": "* xref:sails.adoc[Sails]\n** xref:deck:rope.adoc[]\n",
        "modules/ROOT/pages/sails.adoc": "= All sails\n\nCanvas.\n",
        "modules/deck/pages/rope.adoc": "= Rope\n\nHemp.\n",
    }
    made = corpus(tmp_path, pages)
    assert list(made.navigation.ranks) == ["modules/ROOT/pages/sails.adoc", "modules/deck/pages/rope.adoc"]


def test_jekyll_s_pages_follow_their_parents(tmp_path):
    pages = {
        "_config.yml": "title: Boats\n",
        "b.md": "---\ntitle: B\nnav_order: 1\n---\nText.\n",
        "c.md": "---\ntitle: C\nparent: B\nnav_order: 9\n---\nText.\n",
        "a.md": "---\ntitle: A\nnav_order: 2\n---\nText.\n",
    }
    assert list(corpus(tmp_path, pages).navigation.ranks) == ["b.md", "c.md", "a.md"]


def test_the_order_stays_when_the_sources_are_gone(tmp_path):
    made = corpus(tmp_path, {**PAGES, "mkdocs.yml": GENERATORS["mkdocs.yml"]})
    (tmp_path / "site").rename(tmp_path / "away")
    assert list(Corpus.open(tmp_path / "w").navigation.ranks) == list(made.navigation.ranks) != []


def test_a_changed_title_is_read_by_the_next_ingest_and_asks_for_a_new_index(tmp_path):
    made = corpus(tmp_path, {**PAGES, "mkdocs.yml": GENERATORS["mkdocs.yml"]})
    write_pages(tmp_path / "site", {"mkdocs.yml": "nav:\n  - Logging in: auth.md\n"})
    ingest(workspace=tmp_path / "w", workers=1)
    again = Corpus.open(tmp_path / "w")
    assert again.document("auth.md").title == "Logging in"
    assert again.fingerprint != made.fingerprint


def test_pages_files_order_the_pages_of_mkdocs_and_name_them(tmp_path):
    pages = {
        "mkdocs.yml": "site_name: Boats\nplugins: [awesome-pages]\n",
        "docs/.pages": "nav:\n  - index.md\n  - guide\n  - ...\n  - Last words: zulu.md\n",
        "docs/index.md": "Welcome.\n",
        "docs/alpha.md": "# Alpha\n\nText.\n",
        "docs/zulu.md": "Text.\n",
        "docs/guide/.pages": "title: The guide\norder: desc\n",
        "docs/guide/index.md": "Start here.\n",
        "docs/guide/a.md": "# A\n\nText.\n",
        "docs/guide/b/c.md": "# C\n\nText.\n",
    }
    made = corpus(tmp_path, pages)
    ranks = made.navigation.ranks
    order = ["index.md", "guide/index.md", "guide/b/c.md", "guide/a.md", "alpha.md", "zulu.md"]
    assert sorted(ranks, key=ranks.get) == [f"docs/{name}" for name in order]
    titles = {document.id: document.title for document in made.documents()}
    assert (titles["docs/zulu.md"], titles["docs/guide/index.md"]) == ("Last words", "The guide")


@pytest.mark.parametrize("base", ["base.yml", "shared/base.yml", "../base.yml"])
def test_settings_of_mkdocs_inherit(base, tmp_path):
    (tmp_path / ".git").mkdir()
    own = f"INHERIT: {base}\nsite_name: Boats\ntheme: plain\n"
    shared = "theme: {name: other}\nsite_name: Fleet\nsite_url: https://e.org/\nnav:\n  - Logging in: auth.md\n  - index.md\n"
    pages = {"mkdocs.yml": own, base: shared, "docs/index.md": "Welcome.\n", "docs/auth.md": "How to log in.\n"}
    made = corpus(tmp_path, pages)
    assert (made.site.name, made.site.base_url) == ("Boats", "https://e.org/")
    assert {document.id: document.title for document in made.documents()}["docs/auth.md"] == "Logging in"
    assert made.navigation.ranks == {"docs/auth.md": 0, "docs/index.md": 1}


def test_settings_inherit_nothing_from_elsewhere_and_not_for_ever(tmp_path):
    (tmp_path / "secret.yml").write_text("site_url: https://secret.org/\n")
    (tmp_path / "site" / ".git").mkdir(parents=True)
    made = corpus(tmp_path, {"mkdocs.yml": "INHERIT: ../secret.yml\n", "docs/index.md": "# A\n\nText.\n"})
    assert made.site.base_url == ""
    made = corpus(
        tmp_path / "again", {"mkdocs.yml": "INHERIT: mkdocs.yml\nsite_name: A\n", "docs/a.md": "# A\n\nText.\n"}
    )
    assert made.site.name == "A"
