"""The served page as somebody new meets it: the first page, filters, a preview, help where nothing is found, errors."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from structformer.ingestion import ingest
from structformer.retrieval import Filter
from structformer.retrieval.indexing import build_index
from structformer.retrieval.search_suggestions import distance
from structformer.text import version_order
from structformer.workspace import Workspace

from conftest import write_pages
from structformer_serve.app import Application
from structformer_serve.assets import icon
from structformer_serve.http.access import EVERYTHING, Access, read_tokens
from structformer_serve.http.options import ServerOptions
from structformer_serve.service import SearchService
from structformer_serve.shelves import folder_label, newest_first
from structformer_serve.static_site import export_site

BROWSER = {"accept": "text/html,application/xhtml+xml"}
TOKENS = """
[[tokens]]
name = "guide"
token = "only-the-guide-0123456789"
paths = ["guide/*"]
"""
PAGES = {
    "readme.md": "# Harbour\n\nSee [moor](guide/moor.md).\n",
    "about.md": "# About\n\nWho made it. See [moor](guide/moor.md).\n",
    "guide/anchor.md": "---\nversion: '1.9'\n---\n# Anchor\n\nDrop the anchor.\n\n## How do I weigh the anchor?\n\nHeave.\n",
    "guide/index.md": "---\nversion: '1.9'\n---\n# All guides\n\nSee [moor](moor.md).\n",
    "guide/moor.md": "---\nversion: '1.10'\n---\n# Moor\n\nMoor the boat.\n\n```sh\nmoor --at <quay>\n```\n\n"
    "## Remove the old mooring line\n\nCoil the rope.\n",
    "guide/deep/oar.md": "---\nversion: '2.0'\n---\n# Oar\n\nRow the boat.\n",
    **{f"parts/p{number}.md": f"# Part {number}\n\nA secret halyard.\n" for number in range(12)},
}


def served(folder: Path, pages: dict[str, str], options: ServerOptions | None = None) -> TestClient:
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    service = SearchService(folder / "w", "Boats")
    return TestClient(
        Application(service, options or ServerOptions(), watch=False).asgi,
        base_url="http://localhost:8765",
        raise_server_exceptions=False,
    )


@pytest.fixture(scope="module")
def boats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("boats"), PAGES) as found:
        yield found


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("limited")
    (folder / "tokens.toml").write_text(TOKENS)
    with served(folder, PAGES, ServerOptions(tokens=read_tokens(folder / "tokens.toml"))) as found:
        found.headers["authorization"] = "Bearer only-the-guide-0123456789"
        yield found


def links(page: str) -> dict[str, str]:
    """Where the links of a page lead, by their texts."""
    found = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', page)
    return {re.sub("<[^>]+>", "", text): html.unescape(address) for address, text in found}


def texts(page: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())


def test_each_page_and_result_is_written_in_the_direction_of_its_own_text(boats):
    assert '<article dir="auto">' in boats.get("/read/guide/moor.md").text
    found = boats.get("/", params={"q": "moor"}).text
    assert found.count("<article") == found.count('<li dir="auto"><article') > 0


def test_a_translation_is_written_in_the_direction_of_its_own_language(tmp_path):
    pages = {
        "ar.md": "---\nlang: ar\n---\n# دليل الملاحة\n\nكيف ترفع الشراع عندما تهب الرياح القوية في البحر؟\n",
        "en.md": "# Sailing guide\n\nHoist the sail in a strong wind.\n",
    }
    with served(tmp_path, pages) as found:
        assert '<article dir="rtl">' in found.get("/read/ar.md").text
        assert '<article dir="auto" lang="en">' in found.get("/read/en.md").text


def test_the_first_page_has_the_folders_each_with_its_index_page_first(boats):
    page = boats.get("/").text
    assert re.findall(r"<h2><a [^>]+>([^<]+)</a> <span class=\"count\">(\d+)", page) == [
        ("All guides", "4"),  # as its index page has it
        ("Parts", "12"),
    ]
    names = list(links(page))
    assert names.index("Harbour") < names.index("About") < names.index("All guides")
    assert names.index("All guides") < names.index("Anchor") < names.index("Moor") < names.index("Oar")
    assert "Part 7" in names
    assert "Part 9" not in names
    assert links(page)["All 12 · Parts"] == "/?folder=parts"


def test_a_folder_has_one_name_on_cards_and_above_pages_and_hits(boats):
    assert folder_label("docs/01-getting-started") == "Getting started"
    assert folder_label("cli", "Overview") == "Cli"
    assert folder_label("docs/v2.0", "Boats") == "v2.0"
    assert links(boats.get("/read/guide/anchor.md").text)["All guides"] == "/?folder=guide"
    assert '<p class="path">All guides › Moor</p>' in boats.get("/?q=weigh the anchor").text
    assert links(boats.get("/?folder=guide").text)["All guides"] == "/read/guide/index.md"


def test_a_description_of_the_api_has_its_code_set_as_code(boats):
    page = boats.get("/docs").text
    assert "<code>" in page
    assert "`" not in page.partition("<main")[2]


def test_a_folder_shows_all_that_it_has(boats):
    page = boats.get(links(boats.get("/").text)["Parts"]).text
    assert {f"Part {number}" for number in range(12)} <= set(links(page))
    guide = boats.get("/?folder=guide").text
    assert links(guide)["Deep"] == "/?folder=guide%2Fdeep"
    assert links(boats.get("/?folder=guide/deep").text)["All guides"] == "/?folder=guide"
    assert boats.get("/?folder=nowhere").status_code == 404


def test_the_examples_are_headings_that_ask_or_tell_and_are_answered(boats):
    page = boats.get("/").text
    asked = re.search(r'<ul class="examples">(.*?)</ul>', page, re.DOTALL)
    assert asked
    assert list(links(asked[1])) == ["How do I weigh the anchor?", "Remove the old mooring line"]
    for text, address in links(asked[1]).items():
        assert text.rstrip("?") in texts(boats.get(address).text.partition('<ol class="results"')[2])


def test_a_heading_that_only_begins_like_a_question_is_no_example(tmp_path):
    pages = {
        "flags.md": "# Flags\n\n## Do not truncate the output\n\nIt is long.\n\n## When the daemon starts late\n\nWait.\n",
        "wait.md": "# Waiting\n\n## When to give up waiting\n\nNever.\n",
        "short.md": "# Short\n\n## How do I?\n\nSo.\n\n## What is a flag?\n\nA page's best may be too short to tell what it asks.\n",
    }
    with served(tmp_path, pages) as found:
        [listed] = re.findall(r'<ul class="examples">(.*?)</ul>', found.get("/").text, re.DOTALL)
    assert list(links(listed)) == ["When to give up waiting"]  # no other asks or tells


def test_the_words_of_a_hit_end_with_a_stop(boats):
    page = boats.get("/?q=moor+the+boat").text
    assert re.search(r"Contains: (<mark>\w+</mark> )*<mark>\w+</mark>\.\s+Learned: ", page)


def test_the_first_result_is_shown_beside_the_results_and_others_are_to_be_had(boats):
    page = boats.get("/?q=moor the boat").text
    preview = page.partition('<aside class="preview" aria-label="Preview">')[2]
    assert "moor --at &lt;quay&gt;" in preview
    assert "Remove the old mooring line" in preview  # the sections below it are shown as far as there is room
    assert re.search(r'<article class="shown">\s*<h2><a href="/read/guide/moor.md"', page)
    part = boats.get("/preview/guide/moor.md?section=1")
    assert (part.status_code, texts(part.text)) == (200, "Moor Remove the old mooring line Coil the rope.")
    assert "default-src 'none'" in part.headers["content-security-policy"]
    assert boats.get("/preview/guide/moor.md?section=7").status_code == 404
    assert boats.get("/preview/nobody.md").status_code == 404


def test_versions_are_filters_with_the_newest_first(boats):
    page = boats.get("/?q=boat anchor moor").text
    filters = page.partition('aria-label="Filters"')[2].partition("</nav>")[0]
    versions = [text for text in links(filters) if re.fullmatch(r"\d.*", text)]
    assert versions == ["2.0", "1.10", "1.9"]
    assert filters.index(">Version<") < filters.index(">2.0<")
    assert newest_first(["v1.0rc1", "v1.0", "latest", "v0.9", "other"]) == [
        "latest",
        "v1.0",
        "v1.0rc1",
        "v0.9",
        "other",
    ]
    written = ["2.0", "2.0 beta", "1.1.post1", "1.1 LTS", "1.0-rc.2"]
    assert [name for name in newest_first(written) if name in written[:2]] == written[:2]
    assert all(map(version_order, written))
    assert [bool(version_order(name)) for name in ("v2", "stable", "1.2-beta", "guide")] == [True, True, True, False]


def test_a_search_by_words_says_which_words_no_page_has(boats):
    page = boats.get("/?q=kubernetes mooring for a helicopter").text
    assert "No page has: kubernetes , helicopter ." in texts(page)
    assert "/read/guide/moor.md" in page
    assert "No page has" not in boats.get("/?q=moor the boat").text


def test_a_phrase_that_no_page_has_is_named_on_the_page(boats):
    page = boats.get('/?q="moor the anchor"').text
    assert "No page has this phrase: moor the anchor . Pages with its words:" in texts(page)
    assert "/read/guide/moor.md" in page
    assert "this phrase" not in boats.get('/?q="moor the boat"').text


def test_did_you_mean_offers_only_what_stands_beside_the_other_words(boats):
    page = texts(boats.get("/?q=secret halyrad").text)
    assert "Did you mean secret halyard ?" in page
    assert "Did you mean" not in texts(boats.get("/?q=anchor halyrad").text)


def test_an_empty_answer_names_the_nearest_words_and_the_pages_most_linked(boats):
    page = boats.get("/?q=halyrad").text
    assert "Nothing found for halyrad" in texts(page)
    assert links(page)["halyard"] == "/?q=halyard"
    assert next(iter(links(page.partition('id="linked"')[2]))) == "Moor"
    assert distance("halyrad", "halyard") == 1


def test_the_first_page_says_what_was_read(tmp_path):
    pages = {
        **PAGES,
        "blank.md": "",
        "broken.zip": "no archive",
        "tide.bin": "no text",
        "dead.md": "# Dead\n\n[x](no.md)\n",
    }
    with served(tmp_path, pages) as found:
        said = texts(found.get("/").text).partition("What was read ")[2]
        assert said.startswith("Documents: 19 Sections: 21 Files: 22 Files read: 19 Files skipped: 2 (")
        assert "empty: no document" in said
        assert "Files that failed: 1 (" in said
        assert said.endswith("Resolved links between documents: 3 / 4")
        assert "tide" not in said  # reasons, without the names of files that nobody can open here
        assert "What was read" not in found.get("/?q=anchor").text
        status = found.get("/api/status").json()["what_was_read"]
        assert (status["files"], status["read"], status["skipped"], status["failed"]) == (22, 19, 2, 1)
        schemas = found.get("/openapi.json").json()["components"]["schemas"]
        assert set(schemas["WhatWasRead"]["properties"]) == set(status)


def test_without_the_report_the_page_says_nothing_of_what_was_read(tmp_path):
    with served(tmp_path, PAGES):
        (tmp_path / "w" / "corpus" / "report.json").unlink()
    again = Application(SearchService(tmp_path / "w"), ServerOptions(), watch=False).asgi
    with TestClient(again, base_url="http://localhost:8765") as found:
        assert found.get("/api/status").json()["what_was_read"] is None
        assert "What was read" not in found.get("/").text


def test_nothing_is_told_of_what_may_not_be_seen(limited):
    home = limited.get("/").text
    assert "What was read" not in home
    assert limited.get("/api/status").json()["what_was_read"] is None
    assert "Part" not in texts(home)
    assert "Harbour" not in texts(home)
    page = limited.get("/?q=halyrad").text
    assert "halyard" not in page
    assert "No page has: halyard" in texts(limited.get("/?q=halyard").text)
    assert "Part" not in texts(page)
    assert limited.get("/?folder=parts").status_code == 404
    assert limited.get("/preview/parts/p1.md").status_code == 404


def test_browsers_read_errors_as_pages_and_programs_as_json(boats, limited):
    page = boats.get("/nosuch", headers=BROWSER)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "This page does not exist. It may" in page.text
    assert links(page.text) == {"Go to the search": "/"}
    program = boats.get("/nosuch")
    assert (program.status_code, program.json()["error"]) == (404, "not_found")
    assert boats.get("/api/document/nobody.md", headers=BROWSER).json()["error"] == "not_found"
    refused = limited.get("/", headers={**BROWSER, "authorization": ""})
    assert (refused.status_code, "Token required" in refused.text) == (401, True)
    assert refused.headers["www-authenticate"].startswith("Basic")
    hostile = boats.get("/?folder=<script>alert(1)</script>", headers=BROWSER)
    assert hostile.status_code == 404
    assert "<script>" not in hostile.text


def test_robots_and_browsers_find_what_they_ask_for_first(limited):
    del limited.headers["authorization"]
    assert limited.get("/robots.txt").text == "User-agent: *\nAllow: /llms.txt\nDisallow: /\n"
    icon = limited.get("/favicon.ico")
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")


def test_the_search_button_has_a_name_where_only_its_picture_is_seen(boats):
    button = re.search(r'<button type="submit" class="go".*?</button>', boats.get("/").text)
    assert button
    assert "<span>Search</span>" in button[0]
    assert 'aria-hidden="true"' in button[0]


SITE = {
    "mkdocs.yml": "site_name: Boats\nsite_url: https://boats.example/\nnav:\n  - Start: index.md\n  - Rope:\n"
    "      - 'Splice': rope/splice.md\n      - rope/knots.md\n  - anchor/weigh.md\ntheme: material\n",
    "docs/index.md": "# Boats\n\nAll of it.\n",
    "docs/rope/knots.md": "# Knots\n\nTie the rope.\n\n## Bowline\n\nTie a rope with a loop.\n\n## Sheet bend\n\nTie two ropes.\n",
    "docs/rope/splice.md": "# Splice\n\nSplice the rope.\n\n- [x] cut it\n- [ ] tie it\n",
    "docs/anchor/weigh.md": "# Weigh\n\nHeave the anchor.\n\n![How it is heaved](heave.png)\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Pages of a site whose address and order its settings give."""
    folder = tmp_path_factory.mktemp("site")
    write_pages(folder, SITE)
    ingest(folder / "docs", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    application = Application(SearchService(folder / "w"), ServerOptions(), watch=False)
    with TestClient(application.asgi, base_url="http://localhost:8765") as found:
        yield found


def test_the_first_page_and_the_reader_follow_the_navigation_of_mkdocs(site):
    names = list(links(site.get("/").text))
    assert names.index("Rope") < names.index("Splice") < names.index("Knots") < names.index("Weigh")
    page = site.get("/read/rope/splice.md").text
    assert links(page)["Next Knots"] == "/read/rope/knots.md"
    assert links(page.partition("Parent folders")[2])["Rope"] == "/?folder=rope"
    assert "Previous Splice" in links(site.get("/read/rope/knots.md").text)


def test_weights_of_front_matter_order_pages_and_folders(tmp_path):
    pages = {
        "a/one.md": "---\nweight: 20\n---\n# One\n\nText.\n",
        "a/two.md": "---\nweight: 10\n---\n# Two\n\nText.\n",
        "b/index.md": "---\nweight: 5\n---\n# Three\n\nText.\n",
        "c/none.md": "# Four\n\nText.\n",
    }
    with served(tmp_path, pages) as found:
        names = [name for name in links(found.get("/").text) if name in ("One", "Two", "Three", "Four")]
    assert names == ["Three", "Two", "One", "Four"]


def test_a_result_leads_to_its_site_and_may_be_read_here(site):
    page = site.get("/?q=tie+the+rope").text.partition('<ol class="results"')[2].partition("<aside")[0]
    assert links(page)["Knots"].startswith("https://boats.example/rope/knots/")
    assert links(page)["Read here: Knots"].startswith("/read/rope/knots.md")
    assert "<code>rope/knots.md</code>" not in page
    reader = site.get("/read/rope/knots.md").text
    assert reader.count("Open page") == 1


def test_more_sections_are_named_by_what_the_result_does_not_say_already(site):
    page = site.get("/?q=bowline+loop+rope").text
    more = page.partition('aria-label="More in Knots"')[2].partition("</ul>")[0]
    assert "Knots" not in links(more)  # a page's own title says nothing more
    assert len(links(more)) <= 2
    page = site.get("/?q=knots").text  # the page itself is found, and its sections below
    assert list(links(page.partition('aria-label="More in Knots"')[2].partition("</ul>")[0])) == [
        "Bowline",
        "Sheet bend",
    ]


def test_what_is_to_be_done_and_what_is_done_have_boxes(site):
    page = site.get("/read/rope/splice.md").text
    assert '<li class="task done">cut it</li>' in page
    assert '<li class="task open">tie it</li>' in page


def test_the_alternative_text_of_a_picture_is_told_from_the_text(site):
    page = site.get("/read/anchor/weigh.md").text
    assert '<em class="picture">[picture: How it is heaved]</em>' in page


def test_pages_say_their_own_language_and_the_filters_say_it_once(tmp_path):
    pages = {
        "de.md": "---\nlang: de\nlanguage: de\n---\n# Anker\n\nDer Anker hält das Boot im Hafen.\n",
        "en.md": "---\nlang: en\nlanguage: en\n---\n# Anker chain\n\nThe anker holds the boat in the harbour.\n",
    }
    with served(tmp_path, pages) as found:
        assert '<html lang="de">' in found.get("/read/de.md").text
        assert '<article dir="auto">' in found.get("/read/de.md").text
        assert '<article dir="auto" lang="en">' in found.get("/read/en.md").text
        page = found.get("/?q=anker+chain+harbour").text
        assert page.count(' lang="en"') == 1
        assert page.count('<h2 id="facet') == 1


def test_the_filter_of_a_folder_finds_what_is_in_it_whatever_its_name(tmp_path):
    folders = ("[slug]", "gu*", "guide")
    pages = {f"{folder}/{name}.md": f"# {name} of {folder}\n\nA rope.\n" for folder in folders for name in "ab"}
    with served(tmp_path, pages) as found:
        links = re.findall(r'<li><a href="([^"]*path=[^"]*)">([^<]*)</a>', found.get("/?q=rope").text)
        assert [label for _, label in links] == ["[slug]", "gu*", "Guide"]
        for (address, _), label in zip(links, folders, strict=True):
            page = found.get(html.unescape(address)).text
            assert set(re.findall(r'data-document="([^"]*)"', page)) == {f"{label}/a.md", f"{label}/b.md"}
            assert f'">{label}/*<span class="hidden"> (remove this filter)' in page


def test_a_page_names_others_about_the_same_that_may_be_seen(tmp_path):
    folder = tmp_path
    about = {
        name: f"# {name}\n\nHow to tie rope knot {name} with a rope and a loop.\n" for name in ("Bend", "Hitch", "Loop")
    }
    other = {f"Sail{n}": f"# Sail {n}\n\nHoist the sail in wind {n} and reef the canvas.\n" for n in range(6)}
    write_pages(folder / "pages", {f"{name.lower()}.md": text for name, text in {**about, **other}.items()})
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=["structure"])
    service = SearchService(folder / "w")
    related = [each.document for each in service.seen_by(EVERYTHING).document("bend.md").related]
    assert set(related[:2]) == {"hitch.md", "loop.md"}
    few = Access(where=Filter(("bend.md", "loop.md")))
    assert [each.document for each in service.seen_by(few).document("bend.md").related] == ["loop.md"]
    with TestClient(Application(service, watch=False).asgi, base_url="http://localhost:8765") as found:
        assert "Related to this page" in found.get("/read/bend.md").text


def test_versions_of_a_page_are_one_result_that_names_the_others(tmp_path):
    moor = "# Moor\n\n" + "".join(f"Moor the boat at berth {number} with two lines.\n\n" for number in range(9))
    pages = {f"v{version}/moor.md": f"{moor}Since {version}.\n" for version in ("1.9", "1.10", "2.0")}
    with served(tmp_path, {**pages, "row.md": "# Row\n\nRow the boat.\n"}) as found:
        page = found.get("/?q=moor+the+boat").text
        [hit] = [each for each in found.get("/api/search?q=moor+the+boat").json()["hits"] if each["also_at"]]
        old, new = (found.get(f"/read/{version}/moor.md").text for version in ("v1.9", "v2.0"))
    assert hit["document"] == "v2.0/moor.md"
    assert [each["version"] for each in hit["also_at"]] == ["v1.10", "v1.9"]
    others = ", ".join(f'<a href="/read/{version}/moor.md">{version}</a>' for version in ("v1.10", "v1.9"))
    assert f"Other versions: {others}</p>" in page
    assert 'This is an older version of this page. <a href="/read/v2.0/moor.md">Read v2.0</a>' in old
    assert "older version" not in new
    assert "2 copies" in page
    service = SearchService(tmp_path / "w")
    assert service.seen_by(EVERYTHING).document("v1.9/moor.md").newest.document == "v2.0/moor.md"
    up_to_1 = Access(where=Filter(("v1.9/*", "v1.10/*")))
    assert (
        service.seen_by(up_to_1).document("v1.9/moor.md").newest.document == "v1.10/moor.md"
    )  # the newest that one may see
    assert service.seen_by(up_to_1).document("v1.10/moor.md").newest is None


def test_the_sites_own_icon_stands_beside_its_name(tmp_path: Path) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
    with served(tmp_path, {**PAGES, "assets/logo.svg": "<svg/>", "img/favicon.svg": picture}) as page:
        assert '<h1><img src="/icon" alt="" width="28" height="28"> Boats</h1>' in page.get("/", headers=BROWSER).text
        assert '<img src="/icon" alt="" width="20" height="20"> Boats</a>' in page.get("/?q=oar", headers=BROWSER).text
        shown = page.get("/icon")
        assert (shown.text, shown.headers["content-type"]) == (picture, "image/svg+xml")
        assert page.get("/favicon.ico").text != picture  # needs no token, so it tells nothing of what is read
    export_site(tmp_path / "w", tmp_path / "site")
    assert (tmp_path / "site" / "icon.svg").read_text() == picture
    assert '<a class="title" href="."><img src="icon.svg"' in (tmp_path / "site" / "index.html").read_text()


def test_no_icon_is_read_from_outside_the_folder_that_was_read(tmp_path: Path) -> None:
    (tmp_path / "secret.svg").write_text("<svg>outside</svg>")
    pages = tmp_path / "pages"
    write_pages(pages, PAGES)
    (pages / "favicon.svg").symlink_to(tmp_path / "secret.svg")
    (pages / "assets").symlink_to(tmp_path)
    (tmp_path / "favicon.png").write_bytes(b"outside as well")
    (pages / "logo.png").write_bytes(bytes(100_001))
    ingest(pages, tmp_path / "w", workers=1)
    assert not icon(Workspace(tmp_path / "w")).is_own
