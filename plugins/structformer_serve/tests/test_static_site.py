"""The search without a server: what is written, and that a browser finds by it what the server finds."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from structformer import Retriever
from structformer.document import word_count
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.retrieval import STATIC_WORDS
from structformer.retrieval.documents.units import Unit
from structformer.retrieval.indexing import build_index
from structformer.static_encoder import StaticEncoder
from structformer.static_encoder.encoder import words_of
from structformer.text.lexical_analysis import idf, saturation
from structformer.workspace import Workspace

from boats import boats
from conftest import write_pages
from structformer_serve.static_site import export_site
from structformer_serve.static_site.vectors import DIMENSIONS, in_8_bits, short_vectors, word_rows
from structformer_serve.static_site.words import postings, word_files
from structformer_serve.static_site.writing import _surfaces
from test_page import browser as browser  # the fixture
from test_page import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def surfaces(text: str) -> Iterator[tuple[str, str]]:
    yield from ((word, word.removesuffix("s")) for word in text.lower().split())


def words(text: str) -> list[str]:
    return [term for _, term in surfaces(text)]


def test_postings_are_bm25_in_255_steps():
    texts = ["mast mast keel", "keels", "a jib"]
    units = [Unit(number, 0, f"{number}.md", "", (), "", text) for number, text in enumerate(texts)]
    found = postings(units, words, surfaces)
    mast = idf(1, 3) * saturation(2, 3, 2.0)
    keel = [idf(2, 3) * saturation(1, size, 2.0) for size in (3, 1)]
    jib = idf(1, 3) * saturation(1, 2, 2.0)
    highest = max(mast, *keel, jib)
    assert found.of["mast"] == [(0, round(255 * mast / highest))]
    assert found.of["keel"] == [(number, round(255 * score / highest)) for number, score in enumerate(keel)]
    assert found.forms["keels"] == "keel"


def test_every_word_stands_in_the_file_of_its_longest_beginning():
    texts = [
        " ".join(f"{first}{second}word{number}" for number in range(120)) for first in "abc" for second in "xyz"
    ] + ["a ax axword"]
    units = [Unit(number, 0, "", "", (), "", text) for number, text in enumerate(texts * 12)]
    found = postings(units, words, surfaces)
    files = dict(word_files(found))
    for form, term in found.forms.items():
        if term not in found.of:
            continue
        prefix = next(form[:length] for length in range(len(form), 0, -1) if form[:length] in files)
        content = files[prefix]
        row = content["postings"][content["forms"][form]]
        numbers = np.cumsum(row[::2]).tolist()
        assert list(zip(numbers, row[1::2], strict=True)) == found.of[term]


def test_a_file_of_words_says_which_passages_have_one_as_it_is_written_and_which_documents_are_called_so():
    texts = ["mast", "masts", "mast and masts", "the masts"]
    units = [
        Unit(number, 0, f"{number}.md", "", (), "", text, incoming="keel" if number % 2 else "the jib")
        for number, text in enumerate(texts)
    ]
    units = [replace(unit, document=number) for number, unit in enumerate(units)]
    found = postings(units, words, surfaces, frozenset({"and", "the"}))
    written: dict[str, set[int]] = {}
    called: dict[str, list[int]] = {}
    for _, content in word_files(found):
        for form, row in content["forms"].items():
            numbers = np.cumsum(content["postings"][row][::2])
            has = np.ones(len(numbers), bool)
            if form in content["has"]:
                has[:] = False
                has[np.cumsum(content["has"][form], dtype=int)] = True
            has[np.cumsum(content["lacks"].get(form, ()), dtype=int)] = False
            if form not in content["unsaid"]:
                written[form] = set(numbers[has].tolist())
            if row in content["called"]:
                called[form] = np.cumsum(content["called"][row]).tolist()
    assert {form: written[form] for form in ("mast", "masts")} == {"mast": {0, 2}, "masts": {1, 2, 3}}
    assert not {"the", "and"} & set(written)
    assert called == {"jib": [0, 2], "keel": [1, 3]}


def test_short_vectors_of_words_add_up_to_those_of_texts(harbour):
    encoder = StaticEncoder.load(Workspace(harbour).model("structure"))
    texts = [f"Clean the {thing} with a cloth" for thing in ("mast", "keel", "jib")] + ["帆を畳む"]
    vectors = encoder.encode_documents(texts)
    short = short_vectors(encoder, texts, vectors, vectors)
    assert short.words == sorted({word for text in texts for word in words_of(text)})
    assert short.of_words.shape == (len(short.words), DIMENSIONS)
    for text, wanted in zip(texts[:3], short.passages, strict=False):
        summed = short.of_words[[short.words.index(word) for word in words_of(text)]].sum(0)
        assert summed / np.linalg.norm(summed) == pytest.approx(wanted, abs=1e-4)
    content = [each for _, each in word_rows(short, 4)]
    assert content[0].endswith("\n".join(short.words[:4]).encode())
    scales, rows = in_8_bits(short.of_words)
    assert rows * scales[:, None] / 127 == pytest.approx(short.of_words, abs=float(scales.max()) / 250)


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = boats(tmp_path_factory.mktemp("static"))
    build_index(folder, encoders=["structure"])
    return folder


@pytest.fixture(scope="module")
def site(harbour: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site") / "out"
    report = export_site(harbour, folder, base_url="https://boats.example/docs", title="Boats")
    assert report.words > 50
    with hosted(folder) as address:
        yield address


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    handler = functools.partial(Host, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def site_of(folder: Path, pages: dict[str, str]) -> Path:
    """The static site of pages in docs/, searched by words."""
    write_pages(folder, pages)
    ingest(folder / "docs", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    export_site(folder / "w", folder / "site")
    return folder / "site"


def test_what_search_toml_says_holds_without_a_server(browser, tmp_path):
    pages = {
        "docs/cluster.md": "# Clusters\n\nKubernetes runs containers.\n",
        "docs/login.md": "# Accounts\n\nChange what you sign in with.\n",
        "docs/password.md": "# Words\n\nA password is a secret word, and a password is long.\n",
        "docs/internal/notes.md": "# Notes\n\nKubernetes notes, password list.\n",
        "docs/search.toml": 'hide = ["internal/*"]\n[synonyms]\nk8s = "kubernetes"\n[pins]\n"Reset my password" = "login.md"\n',
    }
    with hosted(site_of(tmp_path, pages)) as address:
        page = browser.new_page()
        for query, found in (
            ("k8s", ["Clusters"]),
            ("reset  my password?", ["Accounts", "Words"]),
            ("password", ["Words"]),
        ):
            page.goto(f"{address}?q={query}")
            expect(page.locator(".results h2")).to_have_text(found)
        page.close()


def test_a_page_comes_first_whose_title_the_query_is_as_on_the_server(browser, tmp_path):
    said = "Form data, and again form data: a form's data, which forms send as form data. " * 3
    pages = {f"docs/news{number}.md": f"# News of {number}\n\n## Form data\n\n{said}\n" for number in range(3)}
    pages["docs/form.md"] = "# Form Data\n\nA browser sends fields.\n"
    with hosted(site_of(tmp_path, pages)) as address:
        page = browser.new_page()
        page.goto(f"{address}?q=form data?")
        expect(page.locator(".results h2").first).to_have_text("Form Data")
        page.goto(f"{address}?q=form data again")
        expect(page.locator(".results h2").first).not_to_have_text("Form Data")
        page.close()


def test_versions_of_a_page_are_one_result_as_on_the_server(browser, tmp_path):
    common = "A pump moves water out of the boat. Check it before each trip, and keep a spare handle in the locker.\n"
    pages = {
        f"docs/{version}/pump.md": f"# Pumps\n\n{common}\n## Cleaning\n\nRinse it with fresh water. {own}\n"
        for version, own in (
            ("1.0", "Oil the leather valve."),
            ("2.0", "Oil the rubber valve."),
            ("latest", "Grease the rubber valve."),
        )
    }
    pages["docs/latest/mast.md"] = "# Masts\n\nA mast carries the sails. It needs no pump.\n"
    write_pages(tmp_path, pages)
    ingest(tmp_path / "docs", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=["structure"])
    export_site(tmp_path / "w", tmp_path / "site")
    retriever = Retriever.open(tmp_path / "w")
    with hosted(tmp_path / "site") as address:
        page = browser.new_page()
        for query, shown in (
            ("how to clean a pump", "latest/pump.md"),
            ("pump 1.0", "1.0/pump.md"),
            ("cleaning the pump in v2.0?", "2.0/pump.md"),
        ):
            page.goto(f"{address}?q={query}")
            expect(page.locator(".results h2")).to_have_count(2)
            found = page.evaluate("async (query) => window.structformer.search(query)", query)
            ids = {hit["document"] for hit in found["hits"]}
            assert ids == {hit.document_id for hit in retriever.search(query, group=True)}
            assert ids == {shown, "latest/mast.md"}
            assert found["documents"] == 2
        page.close()


def test_the_same_workspace_gives_the_same_files(harbour, tmp_path):
    export_site(harbour, tmp_path / "one")
    export_site(harbour, tmp_path / "two")
    names = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(names) > 10
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    with pytest.raises(UsageError, match="is there already"):
        export_site(harbour, tmp_path / "one")


def test_a_base_url_wins_over_the_settings_which_name_the_site(run, tmp_path):
    pages = {
        "docs/mast.md": "# The mast\n\nTall.\n",
        "mkdocs.yml": "site_name: Fair Winds\nsite_url: https://boats.example/en/\n",
    }
    write_pages(tmp_path / "p", pages)
    assert run("ingest", tmp_path / "p" / "docs", "-w", tmp_path / "w").code == 0
    assert run("index", "--encoder", "none", "-w", tmp_path / "w").code == 0

    def address(*options: str) -> str:
        assert run("export", "--site", tmp_path / "s", "--force", "-w", tmp_path / "w", *options).code == 0
        [[_, _, found]] = json.loads((tmp_path / "s" / "d" / "0.json").read_text())
        return str(found)

    assert address() == "https://boats.example/en/mast/"
    assert address("--base-url", "http://localhost:8000") == "http://localhost:8000/mast/"
    assert address("--base-url", "..") == "../mast/"
    assert json.loads((tmp_path / "s" / "meta.json").read_text())["title"] == "Fair Winds"


def test_the_words_of_a_name_and_their_other_forms_have_their_terms(harbour):
    opened = Retriever.open(harbour).opened
    found = list(_surfaces(opened, "masts_b hoistSails"))
    assert found == [("masts", "mast"), ("b", "b"), ("hoistsails", "hoistsail"), ("hoist", "hoist"), ("sails", "sail")]


def test_without_vectors_it_searches_by_words_and_says_so(tmp_path):
    folder = boats(tmp_path)
    build_index(folder, encoders=[])
    report = export_site(folder, tmp_path / "site")
    assert report.words == 0
    assert "vectors" not in json.loads((tmp_path / "site" / "meta.json").read_text())


def test_what_is_shown_is_in_single_lines(run, tmp_path):
    (tmp_path / "docs").mkdir()
    page = "<title>Bow\n\tline</title><h1>Bow\n line</h1><p>One<br>two.</p><pre>tie   it\n\n\tnow</pre><p>a\u202eb</p>"
    (tmp_path / "docs" / "knots.html").write_text(page, encoding="utf-8")
    assert run("ingest", tmp_path / "docs", "-w", tmp_path / "w").code == 0
    assert run("index", "-w", tmp_path / "w").code == 0
    assert run("export", "--site", tmp_path / "site", "-w", tmp_path / "w").code == 0
    [[_, _, path, _, shown]] = json.loads((tmp_path / "site" / "u" / "0.json").read_text(encoding="utf-8"))
    assert (path, shown) == (["Bow line"], "One two. tie it now a\\u202eb")


class Host(http.server.SimpleHTTPRequestHandler):
    """Gives 404.html for what is not there, as hosts of static pages do."""

    def log_message(self, *_: object) -> None:
        pass

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        body = b"" if self.command == "HEAD" else (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    yield found
    context.close()
    assert not wrong


def test_a_browser_finds_what_the_server_finds(page, site, harbour):
    page.goto(f"{site}?q=mend+the+mast")
    expect(page.locator(".results h2").first).to_have_text("Mend the mast")
    [address, words] = str(page.locator(".results h2 a").first.get_attribute("href")).split(":~:text=")
    assert address == "https://boats.example/docs/mast.md#mend-the-mast"
    assert words.startswith("mend%20the%20mast")
    expect(page.get_by_role("link", name="Boats")).to_be_visible()
    queries = [
        f"{verb} the {thing}" for verb in ("mend", "clean", "stow") for thing in ("mast", "keel", "jib", "oar", "quay")
    ]
    found = page.evaluate(
        "async (queries) => Promise.all(queries.map(async (query) => (await window.structformer.search(query)).hits[0].document))",
        queries,
    )
    served = [hits[0].document_id for query in queries if (hits := Retriever.open(harbour).search(query, 1))]
    assert sum(one == other for one, other in zip(found, served, strict=True)) >= 13
    words = page.evaluate(
        "async () => (await window.structformer.search('keel', { meaning: false })).hits.map((hit) => hit.document)"
    )
    assert words[0] == "keel.md"


def test_a_browser_reads_words_and_makes_vectors_as_the_encoder_does(page, site, harbour):
    page.goto(site)
    # Not wait_for_function: it evaluates text in the page, which the page's own policy forbids.
    page.evaluate("new Promise((done) => (function look() { window.structformer ? done() : setTimeout(look, 20) })())")
    texts = [
        "Clean THE mast_2, the jib's İ ΟΔΟΣ naïve x\u0301y",
        "a" * 60 + " no\u0301" + "b" * 60,
        "帆を畳む, GIT帆x ภาษาไทย 한국어 हिन्दी 𠀀𠀁 ٣ Ⅷ ½",
        "!?",
    ]
    read = """async (texts) => {
        const { wordsOf } = await import(new URL("static-search.js", location.href));
        const { runs, meta } = window.structformer;
        return texts.map((text) => wordsOf(text, runs, meta.vectors.reading));
    }"""
    assert page.evaluate(read, texts) == [words_of(text) for text in texts]
    queries = ["mend the mast", "clean clean the wet keel", "stow it", "帆"]
    made = page.evaluate(
        "(all) => Promise.all(all.map(async (q) => [...((await structformer.encode(q)) || [])]))", queries
    )
    encoder, index, weights = Retriever.open(harbour).opened.encoder("structure")
    vectors = np.asarray(index.vectors)
    short = short_vectors(encoder, queries, vectors, np.asarray(index.overviews))
    for query, found in zip(queries[:3], made, strict=False):
        wanted = encoder.encode_queries([query])[0] @ vectors.T
        assert np.array(found, np.float32) @ short.passages.T == pytest.approx(wanted, abs=0.03)
    assert made[3] == []
    mean, known = page.evaluate(
        "Promise.all(['mastless', 'mast'].map(async (w) => [...(await structformer.vector(w))]))"
    )
    assert mean == pytest.approx(known)
    assert page.evaluate("structformer.meta.weights") == {
        **weights.counted,
        "words": STATIC_WORDS,
        "name": weights.asked("name").counted,
        "version": weights.asked("version 1.0").counted,
    }


def test_a_browser_has_the_same_rule_of_what_a_word_is(page, site):
    page.goto(site)
    page.evaluate("new Promise((done) => (function look() { window.structformer ? done() : setTimeout(look, 20) })())")
    table = json.loads((Path(__file__).parents[3] / "tests/text/words.json").read_text(encoding="utf-8"))
    read = """async (texts) => {
        const { cut } = await import(new URL("static-search.js", location.href));
        const { runs, meta } = window.structformer;
        const found = texts.map((text) => cut(text, runs, meta.folding));
        return found.map(({ words, spaced, names }) => [words, spaced, names].map((each) => each.join(" ")));
    }"""
    found = page.evaluate(read, [row["text"] for row in table])
    assert found == [[row["words"], row["forms"], row["names"]] for row in table]


def test_names_phrases_and_the_commonest_words_are_found_without_a_server(page, run, tmp_path):
    texts = {f"p{number}": f"Sails of boat {number}, as sails go." for number in range(25)}
    texts |= {
        "sails": "All about them.",
        "caf\u00e9": "Set `--no-sail` or `hoistJib`.",
        "rig": "The mast step and C++, by rig.js.",
    }
    texts |= {"step": "A step of the mast.", "c": "C and C again."}
    (tmp_path / "docs").mkdir()
    for name, text in texts.items():
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    for command in (["ingest", tmp_path / "docs"], ["index"], ["export", "--site", tmp_path / "site"]):
        assert run(*command, "-w", tmp_path / "w").code == 0
    search = (
        "async (query) => (await window.structformer.search(query, { meaning: false })).hits.map((hit) => hit.document)"
    )
    with hosted(tmp_path / "site") as address:
        page.goto(f"{address}?q=mast")
        expect(page.locator(".results h2").first).to_be_visible()
        for query, first in {
            "sails": "sails",
            "--no-sail": "caf\u00e9",
            "jib": "caf\u00e9",
            "hoist jib": "caf\u00e9",
            "cafe": "caf\u00e9",
            "C++": "rig",
            "rigjs": "rig",
        }.items():
            assert page.evaluate(search, query)[0] == f"{first}.md"
        assert page.evaluate(search, '"mast step" -again') == ["rig.md"]
        assert page.evaluate(search, "mast -step") == []
        for query in ('"mast', "-mast", '"" -', "a " * 50_000):
            page.evaluate(search, query)


def test_quotes_minus_and_names_of_pages_are_read_as_on_the_server(page, run, tmp_path):
    pages = {
        "docs/rig.md": "# Rig\n\nNo reader for the id json was seen: use -deep or --flat to moor the boat.\n",
        "docs/boat.md": "# Boat\n\nThe id of a boat is json, and no reader was seen.\n",
        "docs/guides/mast-step.md": "# The step\n\nTo be or not to be, said he. A mast is not to step.\n",
        "docs/walrus.md": "# Walrus operator\n\nOf python.\n",
        "docs/operators.md": "# Operators\n\nThe operator walrus.\n",
        "docs/filesystem.md": "# File system\n\nSome words.\n\n## Deep part\n\nMore of them.\n",
    }
    write_pages(tmp_path, pages)
    for command in (["ingest", tmp_path / "docs"], ["index", "--encoder", "structure"]):
        assert run(*command, "-w", tmp_path / "w").code == 0
    export_site(tmp_path / "w", tmp_path / "site", base_url="https://boats.example/manual/")
    retriever = Retriever.open(tmp_path / "w")
    queries = [
        '"walrus operator"',
        '"operator python"',  # which no page has
        'no reader for the id "json"',
        'no reader "for the id" json',
        '"walrus operator" "no reader"',  # on two pages
        '"to be or not to be"',
        '"IS NOT"',
        "reader -operator",
        "boat -json",
        "boat -deep",  # which is an option
        "how to moor it: -deep --flat",
        "guides/mast-step.md",
        "mast-step",
        "/home/me/guides/mast-step.html",
        "filesystem",
        "filesystem.md#deep-part",
    ]
    search = """async (query) => {
        const found = await window.structformer.search(query);
        return [found.hits.map((hit) => hit.document), found.absent_phrases, found.hits[0].anchor];
    }"""
    with hosted(tmp_path / "site") as address:
        page.goto(f'{address}?q="operator python"')
        expect(page.locator("#summary")).to_contain_text("No page has this phrase: “operator python”.")
        for query in queries:
            found, absent, anchor = page.evaluate(search, query)
            served = retriever.search(query, group=True)
            ids = [hit.document_id for hit in served]
            assert absent or found[0] == ids[0], query
            assert absent == list(served.absent_phrases), query
            if '"' in query and not absent:
                assert found[1:2] == ids[1:2], query
        assert anchor == "deep-part"
        [found, _, _] = page.evaluate(search, "https://boats.example/manual/guides/mast-step.md")
        assert found[0] == "guides/mast-step.md"
        assert page.evaluate("structformer.search('mast-step').then((found) => found.likely)") == 0.9


def test_release_logs_versions_and_names_that_no_page_has_are_as_on_the_server(page, run, tmp_path):
    notes = "".join(
        f"## v{number}\n\n### Fixes\n\n- Reefing the main sail in strong wind.\n\n### New\n\n- Reef points.\n\n"
        for number in ("1.2", "1.3", "1.4")
    )
    pages = {
        "docs/CHANGELOG.md": f"# Changelog\n\n{notes}",
        "docs/sails.md": "# Sails\n\nReefing the main sail takes in the reef, so that the ship heels less in wind.\n",
        "docs/code.md": "# CVE-2031-1234\n\nMended in the anchor by ISO 9001:2015; `help@ships.example` knows.\n",
        **{f"docs/fill{number}.md": f"# Rope {number}\n\nA rope of {number} strands.\n" for number in range(8)},
        "docs/winch.md": "# Winch\n\nSet the turnRate.\n\n## Usage\n\nA turnRate of 2: the turnRate is low. Rope.\n",
        "docs/settings.md": "# Settings\n\nAll.\n\n## Others\n\nOf rope.\n\n## turnRate(speed)\n\nHow fast it may be.\n",
    }
    write_pages(tmp_path, pages)
    for command in (["ingest", tmp_path / "docs"], ["index", "--encoder", "structure"]):
        assert run(*command, "-w", tmp_path / "w").code == 0
    export_site(tmp_path / "w", tmp_path / "site")
    retriever = Retriever.open(tmp_path / "w")
    search = """async (query) => {
        const found = await window.structformer.search(query);
        return [found.hits[0].document, found.missing, found.confident];
    }"""
    with hosted(tmp_path / "site") as address:
        page.goto(f"{address}?q=CVE-2031-1235")
        expect(page.locator("#summary")).to_contain_text("CVE-2031-1235")
        headed = "structformer.search('turnRate').then((found) => found.hits[0].anchor)"
        assert page.evaluate(headed) == retriever.search("turnRate")[0].anchor == "turnratespeed"
        for query in ("reefing the main sail", "main sail in v1.3", "v1.3", "changelog of the main sail"):
            assert page.evaluate(search, query)[0] == retriever.search(query)[0].document_id, query
        assert page.evaluate(search, "reefing the main sail")[0] == "sails.md"
        absent = ("CVE-2031-1235", "CVE 2031 1235", "how is CVE-2031-1235 mended", "ISO 9001:2016", "rope 12")
        for query in (*absent, "sales@ships.example", "CVE-2031-1234 CVE-2031-1236"):
            assert page.evaluate(search, query)[1:] == [[retriever.search(query).absent_name], False], query
        for query in ("CVE-2031-1234", "CVE 2031 1234", "ISO 9001:2015", "help@ships.example"):
            assert page.evaluate(search, query) == ["code.md", [], True], query


def test_words_as_they_are_typed_and_what_others_call_a_page_count_as_on_the_server(page, run, tmp_path):
    pages = {
        "docs/rope.md": "# Rope\n\nHoist sails with a rope, see [the halyard](line.md) and [hoist](winch.md).\n",
        "docs/ropes.md": "# Ropes\n\nTwo ropes hoisting sails: `hoist-all` and [a halyard](line.md).\n",
        "docs/line.md": "# Line\n\nA line that hoists one sail, with --no-knot.\n",
        "docs/winch.md": "# Winch\n\nTurn it: no knot, no rope. 帆を畳む。\n",
        "docs/boat.md": "# Boat\n\nIt sails all day.\n",
    }
    write_pages(tmp_path, pages)
    for command in (["ingest", tmp_path / "docs"], ["index"], ["export", "--site", tmp_path / "site"]):
        assert run(*command, "-w", tmp_path / "w").code == 0
    opened = Retriever.open(tmp_path / "w").opened
    units = list(range(len(opened.units)))
    queries = [
        "hoist the sails",
        "ropes",
        "halyard rope",
        "--no-knot",
        "hoist-all sails",
        "帆を畳む rope",
        "the hoisting",
        "hoist all",
        "no knot",
        "hoist all the sails",
    ]
    with hosted(tmp_path / "site") as address:
        page.goto(f"{address}?q=winch")
        expect(page.locator(".results h2").first).to_have_text("Winch")
        ask = """async (queries) => {
            const { cut, wordCount } = await import(new URL("static-search.js", location.href));
            const all = window.structformer;
            return Promise.all(queries.map(async (query) => {
                const { words } = cut(query, all.runs, all.meta.folding);
                return [[...await all.present(query)], [...await all.called(words)], wordCount(query, all.runs)];
            }));
        }"""
        found = page.evaluate(ask, queries)
        scored = """async ([present, called, text]) => {
            const scores = await structformer.scored(new Map([[0, 1], [1, 1]]), null, new Map(present), new Map(called), text);
            return [...scores.values()];
        }"""
        for asked, weight in (([[[1, 1]], [], "a b"], 0.0), ([[[1, 1]], [], "a"], 3.0), ([[], [[1, 5]], "a b"], 0.2)):
            assert page.evaluate(scored, asked) == pytest.approx([-weight, weight])
    for query, (present, called, length) in zip(queries, found, strict=True):
        theirs = opened.lexical.presence(query, units)
        ours = np.array([dict(present).get(unit, 0.0) for unit in units])
        assert ours * theirs.max() == pytest.approx(theirs * ours.max(), abs=1e-6), query  # in any unit
        names = opened.lexical.called(query, opened.owners, range(len(opened.documents)))
        assert set(dict(called)) == set(names), query
        assert length == word_count(query)


def test_it_answers_as_one_types_also_with_slips(page, site):
    page.goto(site)
    summary = page.locator("#summary")
    expect(summary).to_have_text("Ask in your own words, or type the beginning of a name.")
    box = page.get_by_role("combobox")
    for typed in ("stow the kee", "stow the kele"):
        box.fill("")
        box.type(typed)
        expect(page.get_by_role("option").first).to_contain_text("keel", ignore_case=True)
    expect(page.locator(".sf-for")).to_have_text("for: stow the keel")
    box.press("ArrowDown")
    href = page.get_by_role("option").first.get_attribute("href")
    assert href.partition(":~:")[0] == "https://boats.example/docs/keel.md#stow-the-keel"
    box.press("Escape")
    box.press("Enter")
    expect(page.locator(".results li").first).to_be_visible()
    expect(page).to_have_title("stow the kele · Boats")
    page.go_back()
    expect(box).to_have_value("")
    expect(page.locator(".results li")).to_have_count(0)
    expect(summary).to_contain_text("Ask in your own words")
    expect(page).to_have_title("Boats")


def test_a_page_whose_files_cannot_be_read_says_so(browser, site):
    page = browser.new_context().new_page()
    page.route("**/w/*.json", lambda route: route.abort())
    page.goto(f"{site}?q=mast")
    expect(page.locator("#summary")).to_contain_text("could not be loaded")
    page.context.close()


def test_it_doubts_as_a_server_that_searches_by_words(page, site, harbour):
    page.goto(site)
    page.evaluate("new Promise((done) => (function look() { window.structformer ? done() : setTimeout(look, 20) })())")
    for query in (
        "stow the keel",
        "clean the mast with a cloth",
        "bake a chocolate cake",
        "hoist chocolate sails",
        "the",
    ):
        ours = page.evaluate("query => structformer.search(query)", query)
        theirs = Retriever.open(harbour).search(query, pipeline="lexical")
        assert (ours["likely"], ours["confident"]) == (pytest.approx(theirs.likely, abs=0.08), theirs.confident), query
    page.goto(f"{site}?q=bake+a+chocolate+cake")
    summary = page.locator("#summary")
    expect(summary).to_contain_text(
        "No page has: bake, chocolate, cake. · for: bake a chocolate care · No sure match for bake a chocolate cake. Closest"
    )


def test_scripts_without_spaces_are_searched_by_pairs_as_on_the_server(page, run, tmp_path):
    texts = {
        "桅杆": "先用软布清洁桅杆，然后上油。",
        "船帆": "风大的时候要收起船帆，再把绳子系好。",
        "龙骨": "每年检查一次龙骨。",
        "帆": "帆",
    }
    for name, text in texts.items():
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    assert run("ingest", tmp_path / "docs", "-w", tmp_path / "w").code == 0
    assert run("index", "-w", tmp_path / "w").code == 0
    assert run("export", "--site", tmp_path / "site", "-w", tmp_path / "w").code == 0
    with hosted(tmp_path / "site") as address:
        page.goto(f"{address}?q=怎么收起船帆")
        expect(page.locator(".results h2").first).to_have_text("船帆")
        expect(page.locator(".results mark").first).to_have_text("收起船帆")
        for query, wanted in (("清洁桅杆", "桅杆.md"), ("检查龙骨", "龙骨.md"), ("帆", "帆.md")):
            found = page.evaluate(
                "async (query) => (await window.structformer.search(query, { meaning: false })).hits[0].document", query
            )
            assert found == wanted


def test_where_no_page_is_one_can_search_and_go_home(browser, site):
    page = browser.new_context().new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{site}old/manual/mast.html")
    expect(page.get_by_role("heading")).to_have_text("Page not found")
    for name in ("Boats", "start page"):
        expect(page.get_by_role("link", name=name)).to_have_attribute("href", site)
    looks = "getComputedStyle(document.querySelector('header')).cssText + getComputedStyle(document.body).fontFamily"
    missing = page.evaluate(looks)
    box = page.get_by_role("combobox")
    box.type("stow the kee")
    expect(page.get_by_role("option").first).to_contain_text("keel", ignore_case=True)
    box.fill("mend the mast")
    box.press("Enter")
    expect(page.locator(".results h2").first).to_have_text("Mend the mast")
    assert page.url == f"{site}index.html?q=mend%20the%20mast"
    assert page.evaluate(looks) == missing
    assert not wrong
    page.context.close()
