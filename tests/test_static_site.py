"""The search without a server: what is written, and that a browser finds by it what the server finds."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from structformer import Retriever, train
from structformer.errors import UsageError
from structformer.retrieval.bm25 import idf, saturation
from structformer.retrieval.index import build_index
from structformer.retrieval.units import Unit
from structformer.static_site import export_site
from structformer.static_site.distilling import DIMENSIONS, distil, unit
from structformer.static_site.words import postings, word_files

from boats import TINY, boats
from test_page import CHROMIUM, expect
from test_page import browser as browser  # the fixture

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


def test_a_static_encoder_learns_what_its_tokens_add_up_to():
    rng = np.random.default_rng(0)
    vocabulary = [f"t{number}" for number in range(40)]
    vectors = {token: rng.normal(size=80) for token in vocabulary}

    def encode(texts):
        return unit(np.array([sum((vectors[token] for token in text.split()), np.zeros(80)) for text in texts]))

    def tokenize(texts):
        return [text.split() for text in texts]

    texts = [" ".join(rng.choice(vocabulary, 6)) for _ in range(600)]
    static = distil(texts, texts, encode(texts), encode, tokenize)
    assert static.vectors.shape == (40, min(DIMENSIONS, 80))
    new = [" ".join(rng.choice(vocabulary, 4)) for _ in range(50)]
    places = {token: place for place, token in enumerate(static.tokens)}
    made = unit(
        np.stack(
            [
                sum(static.weights[places[token]] * static.vectors[places[token]] for token in text.split())
                for text in new
            ]
        )
    )
    cosines = (made * static.shortened(encode(new))).sum(1)
    assert cosines.mean() > 0.9
    again = distil(texts, texts, encode(texts), encode, tokenize)
    assert again.tokens == static.tokens
    assert np.array_equal(again.vectors, static.vectors)


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = boats(tmp_path_factory.mktemp("static"))
    train(folder, replace(TINY, max_steps=3, mix={"ict": 1.0}))
    build_index(folder, encoders=["base"])
    return folder


@pytest.fixture(scope="module")
def site(harbour: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site") / "out"
    report = export_site(harbour, folder, base_url="https://boats.example/docs", title="Boats")
    assert report.tokens > 20
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_the_same_workspace_gives_the_same_files(harbour, tmp_path):
    export_site(harbour, tmp_path / "one")
    export_site(harbour, tmp_path / "two")
    names = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(names) > 10
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    with pytest.raises(UsageError, match="is there already"):
        export_site(harbour, tmp_path / "one")


def test_without_vectors_it_searches_by_words_and_says_so(tmp_path):
    folder = boats(tmp_path)
    build_index(folder, encoders=[])
    report = export_site(folder, tmp_path / "site")
    assert report.tokens == 0
    assert "vectors" not in json.loads((tmp_path / "site" / "meta.json").read_text())


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


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install Debian's package of that name")
def test_a_browser_finds_what_the_server_finds(page, site, harbour):
    page.goto(f"{site}?q=mend+the+mast")
    expect(page.locator(".results h2").first).to_have_text("The mast")
    expect(page.locator(".results .path a").first).to_have_attribute(
        "href", "https://boats.example/docs/mast.md#mend-the-mast"
    )
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


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install Debian's package of that name")
def test_it_answers_as_one_types_also_with_slips(page, site):
    page.goto(site)
    box = page.get_by_role("combobox")
    for typed in ("stow the kee", "stow the kele"):
        box.fill("")
        box.type(typed)
        expect(page.get_by_role("option").first).to_contain_text("keel", ignore_case=True)
    box.press("ArrowDown")
    assert page.get_by_role("option").first.get_attribute("href") == "https://boats.example/docs/keel.md#stow-the-keel"
    box.press("Escape")
    box.press("Enter")
    expect(page.locator(".results li").first).to_be_visible()
    page.go_back()
    expect(box).to_have_value("")
