"""The search page and the box for other sites, in a real browser; skipped where there is none."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from structformer.retrieval.indexing import build_index

from boats import boats
from test_serving import free_port, wait_until, workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page
else:
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: install the extra test-all")
    expect, sync_playwright = sync_api.expect, sync_api.sync_playwright

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
expect.set_options(timeout=30_000)  # a machine that runs other tests beside


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium: install Debian's package of that name")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


PARTS = """# Routes

Use `gw` as the [manual](manual.md) says.

```sh
gw init --path /var/lib/gateway --listen 0.0.0.0:8080 --log-level debug --workers 16 --storage-class fast --no-wait
```

> [!WARNING]
> It deletes **all** of them.

| Option | Default | Meaning | Environment | Reload | |
|---|---|---|---|---|---|
| `--listen` | `0.0.0.0:8080` | The address that it listens on, or several of them with commas | `GATEWAY_LISTEN_ADDRESS` | no | x |

1. Make a folder

   ```
   mkdir routes
   ```
2. Go in
"""


LONG = "ConfigurationOfTheAuthenticationMiddleware" * 3
ARABIC = """---
lang: ar
---
# FastAPI كيفية رفع الملفات

يمكنك تعريف الملفات باستخدام `File`.

## تثبيت الحزمة

- الخطوة الأولى

```sh
pip install fastapi
```

## `--reload`

الخيار `--reload` للتطوير.

> [!WARNING]
> لا تنس تثبيت الحزمة.
"""


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """The address of a server with feedback, for any site."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "structformer",
        "serve",
        "-w",
        str(folder),
        "--port",
        str(port),
        "--title",
        "Boats",
        "--feedback",
    ]
    with subprocess.Popen([*command, "--cors", "*", *options], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert "http://" in started.stdout.readline()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            started.terminate()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Boats, searched by words."""
    folder = boats(tmp_path_factory.mktemp("page"))
    build_index(folder, encoders=[])
    with served(folder) as found:
        yield found


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page with code, a note, a wide table and a list; one in Arabic, one in Japanese, one with a long title."""
    pages = {
        "routes.md": PARTS,
        "manual.md": "# Manual\n\nHow to use it.\n",
        "long.md": f"# {LONG}\n\nA way.\n\n## {LONG}\n\nMore ways.\n",
        "ar.md": ARABIC,
        "ja.md": "---\nlang: ja\n---\n# ファイルのアップロード方法\n\nファイルを定義できます。\n",
    }
    with served(workspace(tmp_path_factory.mktemp("manual"), pages)) as found:
        yield f"{found}/read/routes.md"


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport={"width": 1200, "height": 800})
    yield found
    found.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    found = context.new_page()
    wrong: list[str] = []
    found.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: wrong.append(str(error)))
    yield found
    assert not wrong


def test_the_keyboard_alone_searches_and_opens(page, address):
    page.goto(address)
    page.locator("body").click()
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search Boats")
    expect(box).to_be_focused()
    page.keyboard.type("mend the ma", delay=20)
    expect(page.get_by_role("option").first).to_contain_text("Mend the mast")
    expect(box).to_have_attribute("aria-expanded", "true")
    page.wait_for_timeout(600)  # the search on the pause has come
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    chosen = box.get_attribute("aria-activedescendant")
    assert chosen == page.get_by_role("option").first.get_attribute("id")
    page.keyboard.press("End")
    expect(page.get_by_role("option").last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/read/mast\.md#s2$"))
    expect(page.get_by_role("heading", name="Mend the mast")).to_be_in_viewport()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("keel")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/\?q=keel$"))
    expect(page.locator(".results h2").first).to_have_text("Clean the keel")


def test_the_keyboard_alone_goes_from_a_hit_through_the_reader_to_a_related_page_and_back(page, tmp_path):
    about = {f"{name}.md": f"# {name}\n\nTie rope knot {name} with a rope and a loop.\n" for name in ("Bend", "Hitch")}
    other = {f"Sail{n}.md": f"# Sail {n}\n\nHoist sail {n} and reef the canvas.\n" for n in range(6)}
    folder = workspace(tmp_path, {**about, **other})
    build_index(folder, encoders=["structure"])

    def tab_to(role: str, name: str) -> None:
        link = page.get_by_role(role, name=name, exact=True).first
        for _ in range(60):
            page.keyboard.press("Tab")
            if link.evaluate("each => each === document.activeElement"):
                assert link.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"  # it is seen
                return
        pytest.fail(f"no way by Tab to {name}")

    with served(folder) as address:
        page.goto(address)
        page.keyboard.type("rope knot Bend")  # the box has the focus
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"\?q=rope"))
        tab_to("link", "Bend")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{address}/read/Bend.md")
        tab_to("link", "Hitch")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{address}/read/Hitch.md")
        page.go_back()  # Alt+Left, which is a key of the browser, not of the page
        expect(page).to_have_url(f"{address}/read/Bend.md")
        page.go_back()
        expect(page).to_have_url(re.compile(r"\?q=rope"))


def test_a_page_from_right_to_left_is_laid_out_so_whatever_it_begins_with(page, manual):
    page.goto(manual.replace("routes.md", "ar.md"))
    expect(page.locator("article")).to_have_attribute("dir", "rtl")
    note = page.get_by_role("note")
    assert note.evaluate("each => getComputedStyle(each).borderRightWidth") == "4px"
    assert note.evaluate("each => getComputedStyle(each).borderLeftWidth") == "0px"
    assert page.locator("article li").evaluate("each => getComputedStyle(each.parentElement).paddingLeft") == "0px"
    # A name that begins with signs keeps them in front.
    code, heading = page.locator("article p code").last, page.locator("article h2 bdi").last
    assert [each.inner_text() for each in (code, heading)] == ["--reload", "--reload"]
    assert [each.evaluate("each => getComputedStyle(each).direction") for each in (code, heading)] == ["ltr", "ltr"]


def test_what_nothing_surely_fits_is_said_once_one_has_stopped_typing(page, address):
    page.goto(address)
    page.get_by_role("combobox").type("zebra mast stripes quagga")
    expect(page.locator(".sf-for")).to_have_text("No sure match for zebra mast stripes quagga. Closest pages:")


def test_escape_closes_and_then_clears(page, address):
    page.goto(address)
    box = page.get_by_role("combobox")
    box.type("keel")
    expect(page.get_by_role("listbox")).to_be_visible()
    box.press("Escape")
    page.wait_for_timeout(600)  # the search on the pause would have come: what was closed stays closed
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(box).to_have_value("keel")
    box.press("Escape")
    expect(box).to_have_value("")


def test_what_a_screen_reader_is_told(page, address):
    page.goto(f"{address}/?q=mend+the+mast")
    golden = Path(__file__).parents[3] / "tests" / "samples" / "page-tree.txt"
    tree = re.sub(r"[\d.]+ ms", "N ms", page.locator("body").aria_snapshot())
    first = tree[: tree.index("- listitem", tree.index("- listitem") + 1)] if tree.count("- listitem") > 1 else tree
    assert first.strip() == golden.read_text().strip()


def test_what_was_found_is_said_aloud(page, address):
    page.goto(address)
    page.get_by_role("combobox").type("mast")
    expect(page.locator(".sf-live")).to_have_text(re.compile(r"^\d+ results?$"))


SEEN = [("light", 1440), ("dark", 1024), ("light", 768), ("dark", 390)]


@pytest.mark.parametrize(("scheme", "width"), SEEN)
def test_nothing_stands_in_anybodys_way(browser, address, manual, scheme, width):
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.submodule_search_locations
    script = Path(spec.submodule_search_locations[0]) / "axe.min.js"
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    page = context.new_page()
    site = manual.removesuffix("/read/routes.md")
    others = [f"{site}{path}" for path in ("/", "/?q=ways+رفع+ファイル", "/read/long.md", "/read/ar.md", "/read/ja.md")]
    for path in ("/", "/?q=mend+the+mast", "/?q=zzzz", "/read/mast.md", "/docs", manual, *others):
        page.goto(path if path.startswith("http") else address + path)
        if path == "/?q=mend+the+mast":
            page.locator("details.why summary").first.click()
        if path == "/":
            page.get_by_role("combobox").type("mats")
            expect(page.locator(".sf-for")).to_have_text("for: mast")
        page.add_script_tag(path=script)
        found = page.evaluate("axe.run()")
        told = [f"{each['id']}: {each['nodes'][0]['html'][:150]}" for each in found["violations"]]
        assert told == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    context.close()


def test_it_works_without_javascript(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.get_by_role("searchbox", name="Search Boats").fill("stow the keel")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".results h2").first).to_have_text("Stow the keel")
    page.get_by_text("Why this").first.click()
    expect(page.get_by_text("nothing, words alone").first).to_be_visible()
    page.locator(".results h2 a").first.click()
    expect(page.get_by_role("navigation", name="Contents")).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="None of these").click()
    expect(page).to_have_url(f"{address}/")
    context.close()


def test_code_can_be_copied(context, page, manual):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(manual)
    button = page.get_by_role("button", name="Copy code: sh")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("Copied")
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()").startswith("gw init --path")
    expect(button).to_have_text("Copy")
    context.clear_permissions()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) }")
    page.get_by_role("button", name="Copy code", exact=True).click()
    expect(page.get_by_text("Copied", exact=True).first).to_be_attached()
    context.grant_permissions(["clipboard-read"])
    assert page.evaluate("navigator.clipboard.readText()") == "mkdir routes"


def test_what_is_too_wide_scrolls_by_itself_and_by_the_keyboard(browser, manual):
    for width in (1200, 390):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(manual)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        code = page.get_by_role("group", name="Wide code").first
        code.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(500)
        assert page.evaluate("document.activeElement.scrollLeft") > 0
        page.close()


def test_a_newer_index_is_taken_over_with_its_buttons_and_its_previews(page, tmp_path):
    pages = {"routes.md": PARTS, "manual.md": "# Manual\n\nSet up routes.\n\n```sh\nmanual --old\n```\n"}
    folder = workspace(tmp_path, pages)
    with served(folder) as address:
        page.clock.install()
        page.goto(f"{address}/?q=routes")
        routes, manual = (
            page.locator(".results article").filter(has=page.get_by_role("heading", name=name))
            for name in ("Routes", "Manual")
        )
        pane = page.locator(".preview")
        copy = pane.get_by_role("button", name="Copy code: sh")
        for article, text in ((routes, "gw init"), (manual, "manual --old"), (routes, "gw init")):
            article.hover()
            expect(pane).to_contain_text(text)
            expect(copy).to_be_visible()
        page.mouse.move(0, 0)
        before = page.locator("body").get_attribute("data-index")

        workspace(tmp_path, {**pages, "manual.md": pages["manual.md"].replace("--old", "--new")})
        wait_until(lambda: read_url(f"{address}/api/status")["index"] != before)
        page.clock.fast_forward(60_000)
        expect(page.locator("body")).not_to_have_attribute("data-index", str(before))
        expect(copy).to_be_visible()
        for article, text in ((routes, "gw init"), (manual, "manual --new")):
            article.hover()
            expect(pane).to_contain_text(text)


def read_url(address: str) -> Any:
    with urllib.request.urlopen(address) as answer:
        return json.load(answer)


def test_a_wide_screen_leaves_no_gap_between_what_belongs_together(browser, manual):
    page = browser.new_page(viewport={"width": 1920, "height": 1080})

    def gap(left: str, right: str) -> float:
        return page.evaluate(
            "([left, right]) => document.querySelector(right).getBoundingClientRect().left"
            " - document.querySelector(left).getBoundingClientRect().right",
            [left, right],
        )

    page.goto(manual.replace("/read/routes.md", "/?q=routes"))
    assert 0 < gap(".found", ".preview") < 60
    expect(page.locator(".preview").get_by_role("button", name="Copy code: sh")).to_be_visible()
    expect(page.locator(".preview").get_by_text("sh", exact=True)).to_be_hidden()  # the code has its place
    page.goto(manual.replace("routes.md", "manual.md"))
    assert 0 < gap(".read main", ".read > aside") < 60
    page.close()


def test_code_is_read_without_javascript(browser, manual):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(manual)
    expect(page.locator("pre code.language-sh")).to_contain_text("gw init")
    expect(page.get_by_text("sh", exact=True)).to_be_visible()
    expect(page.get_by_role("note")).to_contain_text("It deletes all of them.")
    expect(page.get_by_role("columnheader", name="Default")).to_be_visible()
    assert page.get_by_role("button", name="Copy").count() == 0
    context.close()


def test_no_other_host_is_asked_and_nothing_foreign_runs(context, address):
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/?q=mast")
    page.get_by_role("combobox").type("keel")
    page.wait_for_timeout(500)
    assert all(url.startswith(address) for url in asked)
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.foreign = 1'; document.body.append(s); }"
    )
    assert page.evaluate("window.foreign") is None


def test_results_can_be_linked_to_and_remembered(page, address):
    page.goto(f"{address}/?q=keel")
    # Not wait_for_function: it evaluates text in the page, which the page's own policy forbids.
    while not page.evaluate("localStorage.getItem('structformer-recent')"):
        page.wait_for_timeout(50)
    page.goto(address)
    box = page.get_by_role("combobox")
    box.press("ArrowDown")
    expect(page.get_by_role("option", name="keel")).to_be_visible()
    page.get_by_role("option", name="keel").click()
    expect(box).to_have_value("keel")
    expect(page.get_by_role("option").first).to_contain_text("keel")


def test_what_does_not_fit_can_be_said(page, address):
    page.goto(f"{address}/?q=mast")
    with page.expect_request("**/api/feedback") as told:
        page.get_by_role("button", name="None of these").click()
    assert told.value.method == "POST"
    expect(page.get_by_text("Thanks for your feedback.")).to_be_visible()


def test_that_nothing_was_found_can_be_said_too(page, address):
    page.goto(f"{address}/?q=zzzz")
    expect(page.get_by_text("Nothing found for")).to_be_visible()
    with page.expect_request("**/api/feedback") as told:
        page.get_by_role("button", name="Report that this is missing").click()
    assert told.value.method == "POST"
    expect(page.get_by_text("Thanks for your feedback.")).to_be_visible()


def test_what_is_searched_for_in_the_place_of_a_slip_is_said_while_one_types(page, address):
    page.goto(address)
    box = page.get_by_role("combobox")
    said = page.locator(".sf-for")
    for typed, searched in (("mend the mats", "mend the mast"), ("mend the halya", "mend the halyard")):
        box.fill("")
        box.type(typed)
        expect(said).to_have_text(f"for: {searched}")
        expect(page.get_by_role("option").first.locator("mark").last).to_have_text(searched.split()[-1])
        expect(page.locator(".sf-live")).to_have_text(re.compile(rf"^\d+ results?, for: {searched}$"))
    box.fill("")
    box.type("mend the mast")
    page.wait_for_timeout(600)  # the search on the pause has come
    expect(page.get_by_role("option").first).to_be_visible()
    expect(said).to_be_hidden()


def test_any_site_can_have_the_box(context, address, tmp_path):
    (tmp_path / "index.html").write_text(
        f"<!doctype html><html lang=en><title>Docs</title><h1>Docs</h1><p id=search></p>"
        f'<script src="{address}/widget.js" data-target="#search" data-links="reader"></script></html>'
    )
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{site.server_port}/")
        page.get_by_role("button", name="Search").wait_for()
        page.keyboard.press("Control+k")
        box = page.get_by_role("combobox", name="Search")
        expect(box).to_be_focused()
        page.keyboard.type("mend mas")
        expect(page.get_by_role("option").first).to_contain_text("Mend the mast")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{address}/read/mast.md#s2")
        site.shutdown()
