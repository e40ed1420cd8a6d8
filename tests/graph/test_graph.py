"""The reference graph: which links resolve, to which section, and what is said of the rest."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import Corpus
from structformer.corpus.site import Site
from structformer.document import Link, LinkKind
from structformer.errors import WorkspaceError
from structformer.graph import NameTables, ReferenceGraph, resolve_link
from structformer.ingestion import ingest
from structformer.text.headings import github_slug, letters_and_digits

from conftest import write_pages


def edges(tmp_path, pages: dict[str, str]) -> list[tuple[str, str, str]]:
    """(source document, target "document#section title", kind) of every edge."""
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    graph = ReferenceGraph.open(tmp_path / "w")
    documents = list(Corpus.open(tmp_path / "w").documents())
    found = []
    for edge in graph.edges():
        target = documents[edge["target_document"]]
        section = list(target.sections())[edge["target_section"]]
        found.append((documents[edge["source_document"]].id, f"{target.id}#{section.title}", edge["kind"]))
    return found


def statistics(tmp_path) -> dict:
    return ReferenceGraph.open(tmp_path / "w").statistics


def test_the_small_corpus_resolves_whole(workspace):
    graph = ReferenceGraph.open(workspace)
    links = graph.statistics["links"]
    assert links["see_also"] == {
        "resolved": 3,
        "external": 0,
        "file": 0,
        "unresolved": 0,
        "ambiguous": 0,
        "dead_anchor": 0,
    }
    assert [graph.see_also(number) for number in range(3)] == [[1, 2], [0], []]
    assert graph.incoming_texts()[1, 1] == ["reef knots"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("../b/two.md", "b/two.md#Two"),
        ("../b/two.md#part", "b/two.md#Part"),
        ("../b/two.md#PART", "b/two.md#Part"),
        ("../b/two", "b/two.md#Two"),
        ("../b/two.html", "b/two.md#Two"),
        ("../b/two/", "b/two.md#Two"),
        ("/b/two.md", "b/two.md#Two"),
        ("/b/two?x=1#part", "b/two.md#Part"),
        ("/docs/latest/b/two/", "b/two.md#Two"),
        ("../../b/two/", "b/two.md#Two"),
        ("../b/", "b/index.md#Start"),
        ("..%2Fb%2Ftwo.md", "b/two.md#Two"),
        ("../b/gr%C3%BC%C3%9Fe%20alle.md", "b/grüße alle.md#Hello"),
        ("#part", "a/one.md#Part"),
        ("../b/two.md#nowhere", "b/two.md#Two"),
    ],
)
def test_targets_as_files_and_as_site_addresses(tmp_path, target, expected):
    pages = {
        "a/one.md": f"# One\n\n[x](<{target}>)\n\n## Part\n",
        "b/two.md": "# Two\n\n## Part\n",
        "b/index.md": "# Start\n",
        "b/grüße alle.md": "# Hello\n",
    }
    assert edges(tmp_path, pages) == [("a/one.md", expected, "hyperlink")]


def test_wiki_links_find_pages_by_title_or_file_name(tmp_path):
    pages = {
        "home.md": "# Home\n\n[[Second page]] [[second-page#Part]] [[Fast cars|x]]\n",
        "second-page.md": "# S\n\n## Part\n",
        "n/x.md": "---\ntitle: Fast cars\n---\ntext\n",
    }
    assert [target for _, target, _ in edges(tmp_path, pages)] == [
        "second-page.md#S",
        "second-page.md#Part",
        "n/x.md#Fast cars",
    ]


def test_permalinks_and_aliases_are_names(tmp_path):
    pages = {
        "a.md": "[x](/guide/start/) [y](/old)\n",
        "b.md": "---\npermalink: /guide/start/\naliases: [/old]\n---\nB\n",
    }
    assert [target for _, target, _ in edges(tmp_path, pages)] == ["b.md#b", "b.md#b"]


def test_what_does_not_resolve_is_counted_with_examples(tmp_path):
    pages = {
        "a.md": "# A\n\n[x](https://x.y) [y](gone.md) [z](#dead) [[same]]\n\n## See also\n\n- [z](../out.md)\n",
        "1/same.md": "# Same\n",
        "2/same.md": "# Same\n",
    }
    edges(tmp_path, pages)
    found = statistics(tmp_path)
    assert found["links"]["hyperlink"] == {
        "resolved": 1,
        "external": 1,
        "file": 0,
        "unresolved": 1,
        "ambiguous": 1,
        "dead_anchor": 1,
    }
    assert found["links"]["see_also"]["unresolved"] == 1
    assert found["examples"]["unresolved"] == [["a.md", "gone.md"], ["a.md", "../out.md"]]
    assert found["examples"]["ambiguous"] == [["a.md", "same"]]


def test_real_manuals_resolve(docker, npm, tmp_path):
    for name, corpus, see_also in (("docker", docker, 420), ("npm", npm, 400)):
        ingest(corpus, tmp_path / name, format="markdown")
        graph = ReferenceGraph.open(tmp_path / name)
        for counts in graph.statistics["links"].values():
            inside = counts["resolved"] + counts["unresolved"] + counts["ambiguous"]
            assert counts["resolved"] >= 0.99 * inside
        assert graph.see_also_edges >= see_also


def test_a_graph_of_another_corpus_is_refused(pages, tmp_path):
    ingest(pages, tmp_path / "w")
    earlier = Corpus.open(tmp_path / "w")
    (pages / "more.md").write_text("# More\n")
    ingest(pages, tmp_path / "w")
    with pytest.raises(WorkspaceError, match="of another corpus"):
        ReferenceGraph.open(tmp_path / "w", earlier)


def test_links_to_files_that_are_no_documents_and_to_folders_are_not_dead(tmp_path):
    write_pages(
        tmp_path / "pages",
        {
            "guide/a.md": "# A\n\n![boat](boat.png) [code](../src/x.py) [folder](../src) [gone](gone.png)\n",
            "guide/boat.png": "x",
            "src/x.py": "x",
        },
    )
    report = ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    totals = {outcome: sum(counts[outcome] for counts in report.links.values()) for outcome in ("file", "unresolved")}
    assert totals == {"file": 3, "unresolved": 1}


@pytest.mark.parametrize(
    ("page", "target", "path"),
    [
        ("site/content/docs/user/a.md", "/docs/user/start/", "site/content/docs/user/start.md"),
        ("site/content/docs/a.md", "/user/start", "site/content/docs/user/start.md"),
        ("docs/guides/02-use.md", "/docs/guides/setup", "docs/guides/01-setup.md"),
        ("docs/guides/02-use.md", "setup", "docs/guides/01-setup.md"),
        ("docs/guides/02-use.md", "./01-setup.md", "docs/guides/01-setup.md"),
        ("a.md", "/docs/start", "start.md"),
        ("src/docs/text/use/a.md", "/docs/setup", "src/docs/text/setup.md"),
        ("src/docs/text/a.md", "/docs/use/setup", "src/docs/text/use/setup.md"),
        ("sources/boat/use/a.md", "/docs/boat/<BOAT_VERSION>/rig/", "sources/boat/rig.md"),
        ("sources/boat/use/a.md", "/docs/boat/<BOAT_VERSION>/", "sources/boat/_index.md"),
        ("boat/a.md", "/boat/latest/use/rig", "boat/use/rig.md"),
    ],
)
def test_links_are_found_as_a_generated_site_has_them(tmp_path, page, target, path):
    write_pages(tmp_path / "pages", {page: f"# A\n\n[there]({target})\n", path: "# There\n\nText.\n"})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    ids = list(corpus.document_ids())
    assert [ids[edge["target_document"]] for edge in ReferenceGraph.open(tmp_path / "w", corpus).edges()] == [path]


ADDRESS = "https://boats.example/"


@pytest.mark.parametrize(
    ("pages", "target", "path"),
    [
        (("rig.html", "rig.md"), "rig.html", "rig.html"),
        (("rig.html", "rig.md"), "rig.md", "rig.md"),
        (("rig.html", "rig.md"), f"{ADDRESS}rig.html", "rig.html"),
        (("rig.html", "rig.md"), f"{ADDRESS}rig.md", "rig.md"),
        (("rig.html", "rig.md"), f"{ADDRESS}rig", "rig.html"),
        (("rig.html", "rig.md"), "rig", "rig.html"),
        (("README.md", "index.md"), "/", "index.md"),
        (("README.md", "index.md"), ADDRESS, "index.md"),
        (("use/README.md", "use/index.rst"), "use/", "use/index.rst"),
        (("use/index.html", "use/index.md"), f"{ADDRESS}use/", "use/index.html"),
        (("use.md", "use/index.md"), "use", "use.md"),
    ],
)
def test_of_pages_that_share_a_name_the_one_that_a_site_shows_has_it(tmp_path, pages, target, path):
    html, text = "<h1>There</h1><p>Text.</p>", "There\n=====\n\nText.\n"
    files = {each: html if each.endswith("html") else text for each in pages}
    locations = "".join(f"<url><loc>{ADDRESS}{each}.html</loc></url>" for each in ("a", "rig"))
    write_pages(tmp_path / "pages", files | {"a.md": f"# A\n\n[there]({target})\n", "sitemap.xml": locations})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    ids = list(corpus.document_ids())
    assert [ids[edge["target_document"]] for edge in ReferenceGraph.open(tmp_path / "w", corpus).edges()] == [path]


def test_labels_that_two_chapters_have_are_those_of_the_own_chapter_or_of_the_one_named(tmp_path):
    section = "\\section{{{}}}\\label{{section-start}} Text of {} here.\n"
    write_pages(
        tmp_path / "pages",
        {
            "sheaves/one.tex": section.format("Sheaves", "sheaves"),
            "descent/one.tex": section.format("Descent", "descent"),
            "descent/two.tex": "\\section{Use}\nBy \\ref{section-start} and \\ref{sheaves-section-start}.\n",
        },
    )
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    ids = list(corpus.document_ids())
    targets = [ids[edge["target_document"]] for edge in ReferenceGraph.open(tmp_path / "w", corpus).edges()]
    assert targets == ["descent/one.tex", "sheaves/one.tex"]


@pytest.mark.parametrize("kind", ["adoc", "Rmd", "rst", "xml"])
def test_an_id_that_several_pages_have_is_that_of_the_nearest_folder(tmp_path, kind):
    place, use = {
        "adoc": ("= Sails\n\nText.\n\n[#reef]\n== Reefing\n\nText.\n", "= Use\n\nSee <<reef>>.\n"),
        "Rmd": ("# Sails\n\n## Reefing {#reef}\n\nText.\n", "# Use\n\nSee [it](#reef).\n"),
        "rst": ("Sails\n=====\n\n.. _reef:\n\nReefing\n-------\n\nText.\n", "Use\n===\n\nSee :ref:`reef`.\n"),
        "xml": (
            "<chapter><title>Sails</title><section id='reef'><title>Reefing</title><para>Text.</para></section></chapter>",
            "<chapter><title>Use</title><para>See <xref linkend='reef'/>.</para></chapter>",
        ),
    }[kind]
    sails = {f"book/{folder}/sails.{kind}": place for folder in ("de/deck", "en/deck", "fr/deck")}
    users = ("de/rope", "en", "en/rope/knots", "fr/deck")
    write_pages(
        tmp_path / "pages", sails | {f"book/{folder}/use.{kind}": use for folder in users} | {f"use.{kind}": use}
    )
    counts = ingest(tmp_path / "pages", tmp_path / "w", workers=1).links
    corpus = Corpus.open(tmp_path / "w")
    ids = list(corpus.document_ids())
    found = [
        (ids[edge["source_document"]].split("/")[1], ids[edge["target_document"]])
        for edge in ReferenceGraph.open(tmp_path / "w", corpus).edges()
    ]
    assert found == [(folder[:2], f"book/{folder[:2]}/deck/sails.{kind}") for folder in users]
    assert sum(each["ambiguous"] for each in counts.values()) == 1  # of the page beside the book


HEADINGS = "# Boat\n\n## 2.1 Sails & rigging: why?\n\n## Öl für Motoren\n\n## Deck\n\n### Cleats\n\n## Node.js use\n\n## Другой путь\n"


@pytest.mark.parametrize(
    ("anchor", "title"),
    [
        ("2.1 Sails & rigging: why?", "2.1 Sails & rigging: why?"),  # Obsidian
        ("2.1%20Sails%20%26%20rigging%3A%20why%3F", "2.1 Sails & rigging: why?"),
        ("2.1-Sails-&-rigging:-why?", "2.1 Sails & rigging: why?"),  # Jupyter
        ("_2-1-sails-rigging-why", "2.1 Sails & rigging: why?"),  # VitePress
        ("2.1-sails-%26-rigging%3A-why%3F", "2.1 Sails & rigging: why?"),  # Azure DevOps
        ("sails--rigging-why", "2.1 Sails & rigging: why?"),  # kramdown, which leaves numbers out
        ("sails-rigging-why", "2.1 Sails & rigging: why?"),  # docutils and Pandoc too
        ("ol-fur-motoren", "Öl für Motoren"),
        ("node.js-use", "Node.js use"),  # Pandoc
        ("Deck#Cleats", "Cleats"),
        ("другои-путь", "Другой путь"),  # VitePress
        ("user-content-Deck", "Deck"),  # GitHub
    ],
)
def test_an_anchor_is_found_by_whichever_renderer_s_rule_it_is_written(tmp_path, anchor, title):
    pages = {"a.md": f"# A\n\n[x](<b.md#{anchor}>)\n", "b.md": HEADINGS}
    assert edges(tmp_path, pages) == [("a.md", f"b.md#{title}", "hyperlink")]
    assert statistics(tmp_path)["links"]["hyperlink"]["dead_anchor"] == 0


def test_a_loose_anchor_that_two_sections_have_leads_to_neither_and_an_exact_one_to_its_own(tmp_path):
    other = "# B\n\n## 1. Moor it\n\n## 2. Moor it\n\n## The end\n\n## The-End!\n"
    pages = {"a.md": "# A\n\n[x](b.md#moor-it) [y](b.md#the-end)\n", "b.md": other}
    assert [target for _, target, _ in edges(tmp_path, pages)] == ["b.md#B", "b.md#The end"]
    assert statistics(tmp_path)["links"]["hyperlink"]["dead_anchor"] == 1


@given(st.text(min_size=1, max_size=30))
def test_renderers_differ_in_nothing_but_signs_case_and_accents(title):
    assert letters_and_digits(github_slug(title)) in ("", letters_and_digits(title))
    assert letters_and_digits(letters_and_digits(title)) == letters_and_digits(title)


@pytest.mark.parametrize(
    ("page", "target", "path"),
    [
        ("de/guides/a.md", "/de/guides/pages/", "guides/pages.md"),
        ("docs/de/a.md", "guides/pages.md#x", "docs/guides/pages.md"),
        ("docs/de/docs/a.md", "../img/boat.md", "docs/en/docs/img/boat.md"),
        ("i18n/fr/docusaurus-plugin-content-docs/current/a.md", "./b.md", "docs/b.md"),
        ("guide/a.pt-BR.md", "b.pt-BR.md", "guide/b.md"),
    ],
)
def test_a_page_that_is_not_translated_is_the_original(tmp_path, page, target, path):
    pages = {page: f"# A\n\n[x]({target})\n", path: "# There\n\n## X\n"}
    assert [(source, to.partition("#")[0]) for source, to, _ in edges(tmp_path, pages)] == [(page, path)]


def test_a_translation_s_images_may_lie_beside_the_original(tmp_path):
    write_pages(tmp_path / "pages", {"docs/fr/a.md": "# A\n\n![x](img/x.png)\n", "docs/en/img/x.png": "x"})
    assert ingest(tmp_path / "pages", tmp_path / "w", workers=1).links["embed"]["file"] == 1


def test_a_page_without_a_language_does_not_fall_back_to_another_folder(tmp_path):
    assert edges(tmp_path, {"a.md": "# A\n\n[x](is/list.md)\n", "list.md": "# List\n"}) == []


def test_pages_are_found_by_their_uid_and_an_unknown_one_leads_to_another_product(tmp_path):
    pages = {
        "a.md": "---\nuid: boat.a\n---\n# A\n\n[x](xref:boat.b#reef) <xref:boat.b> [y](xref:System.Object.Equals%2A)\n",
        "b.md": "---\nuid: boat.b\n---\n# B\n\n## Reef\n",
    }
    assert [target for _, target, _ in edges(tmp_path, pages)] == ["b.md#Reef", "b.md#B"]
    counts = statistics(tmp_path)["links"]["hyperlink"]
    assert (counts["external"], counts["unresolved"]) == (1, 0)


def test_pages_are_found_where_docfx_publishes_their_folder(tmp_path):
    settings = '{"build": {"content": [{"src": "7.4", "dest": "module"}, {"src": "concepts", "dest": "learn"}]}}'
    page = "---\nms.date: 2024-01-01\n---\n# {}\n\n[x](/boats/module/boats.core/reef)\n"
    pages = {
        "docfx.json": settings,
        "7.4/Boats.Core/Reef.md": page.format("Reef"),
        "concepts/start.md": page.format("Start"),
    }
    assert {target for _, target, _ in edges(tmp_path, pages)} == {"7.4/Boats.Core/Reef.md#Reef"}


@pytest.mark.parametrize("settings", ["[", "{}", '{"build": {"content": [{"src": 1}]}}', '{"build": {"content": [3]}}'])
def test_damaged_settings_of_docfx_do_no_harm(tmp_path, settings):
    assert edges(tmp_path, {"docfx.json": settings, "a.md": "---\nuid: a\n---\n# A\n\n[x](#a)\n"}) != []


DAMAGED = [
    "http://[x",
    "//[z/",
    "http://e\u2100.org/",
    "http://e.org:99999999/",
    "http://e.org:x/",
    "https://",
    "[x",
    "%zz",
]
PAGES_OF = {
    "a.html": "<html><head><link rel=canonical href='{0}'><base href='{0}'></head><h1>Mast</h1>"
    "<p><a href='{0}'>it</a> <a href='missing.html'>this</a></p></html>",
    "b.html": "<html><head><link rel=canonical href='{0}'></head><h1>Sail</h1><p><a href='missing.html'>this</a></p></html>",
    "c.md": "# Boat\n\n[it](<{0}>) [r] <{0}> ![p](<{0}>)\n\n[r]: <{0}>\n",
    "d.rst": "Rope\n====\n\n`it <{0}>`_ {0}\n\n.. image:: {0}\n",
    "e.adoc": "= Deck\n\nlink:{0}[it] image::{0}[] {0}[it]\n",
    "f.org": "* Keel\n[[{0}][it]] [[{0}]]\n",
    "g.wiki": "== Hull ==\n[{0} it] [[{0}]]\n",
    "h.tex": "\\section{{Bow}} \\href{{{0}}}{{it}} \\url{{{0}}}\n",
    "i.xml": "<article xmlns:xlink='http://www.w3.org/1999/xlink'><title>Stern</title>"
    "<para><link xlink:href='{0}'>it</link><ulink url='{0}'>it</ulink></para></article>",
}


@pytest.mark.parametrize("base_url", ["", "https://e.org/docs/"])
def test_a_damaged_address_costs_no_more_than_its_link(tmp_path, base_url):
    for number, address in enumerate(DAMAGED):
        write_pages(tmp_path / "pages" / str(number), {name: text.format(address) for name, text in PAGES_OF.items()})
    write_pages(tmp_path / "pages", {"good.md": "# Good\n\n[the boat](0/c.md)\n"})
    report = ingest(tmp_path / "pages", tmp_path / "w", site=Site(base_url))
    assert (report.documents, report.messages) == (len(DAMAGED) * len(PAGES_OF) + 1, [])
    documents = [document.id for document in Corpus.open(tmp_path / "w").documents()]
    assert any(
        documents[edge["source_document"]] == "good.md" and documents[edge["target_document"]] == "0/c.md"
        for edge in ReferenceGraph.open(tmp_path / "w").edges()
    )


def test_a_format_that_fails_at_a_link_costs_that_link_and_is_named(workspace, caplog):
    class Failing:
        def resolve(self, link, document):
            yield "nowhere"
            raise ZeroDivisionError("by zero")

    corpus, graph = Corpus.open(workspace), ReferenceGraph.open(workspace)
    document = next(corpus.documents())
    link = Link(LinkKind.HYPERLINK, "odd", "odd")
    with closing(NameTables(graph.folder / "names")) as names:
        assert resolve_link(Failing(), link, document, 0, names, corpus.site) == ("unresolved", -1, -1)
    assert f"{document.id}: the link 'odd' has no name (ZeroDivisionError: by zero)" in caplog.text


@pytest.mark.parametrize(
    "address", ["mailto:a@example.org", "vscode:mcp/install?x", "ms-settings:display", "web+app:x"]
)
def test_addresses_of_other_programs_lead_outside_and_words_with_a_colon_do_not(tmp_path, address):
    assert edges(tmp_path, {"a.md": f"# A\n\n[open]({address}) [ship](<Class:Ships>)\n"}) == []
    assert {kind: count for kind, count in statistics(tmp_path)["links"]["hyperlink"].items() if count} == {
        "external": 1,
        "unresolved": 1,
    }
