"""The search box on the pages of documentation generators: it is where a reader looks for it, in the theme's own colours."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from structformer_exports import sphinx
from structformer_serve.static_site import export_site
from test_language import english_words
from test_page import browser as browser  # the fixture
from test_page import expect
from test_serving import workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


# What the headers of built sites have in them, by the versions that were looked at: no more than where the search is, and
# the theme's own search with the class `own`.
THEMES = {
    "Furo 2025": """<header class="mobile-header"><div class="header-right"><button>theme</button></div></header>
        <div class="sidebar-sticky"><form class="sidebar-search-container own"><input class="sidebar-search"></form></div>""",
    "Read the Docs 3": """<nav class="wy-nav-side"><div class="wy-side-nav-search"><div role="search">
        <form id="rtd-search-form" class="wy-form own"><input type="text"></form></div></div></nav>
        <nav class="wy-nav-top"><i class="fa fa-bars"></i></nav>""",
    "PyData 0.20": """<header class="bd-header"><div class="navbar-item navbar-persistent--container">
        <button class="btn search-button-field search-button__button own">Find</button></div></header>""",
    "Alabaster 1": """<div class="sphinxsidebar"><search id="searchbox" role="search"><form class="search own"><input></form>
        </search></div>""",
    "MkDocs 1.6": """<div class="navbar"><button class="navbar-toggler" data-bs-target="#navbar-collapse">menu</button>
        <div id="navbar-collapse"><ul class="nav"><li class="nav-item own"><a class="nav-link" href="#"
        data-bs-toggle="modal" data-bs-target="#mkdocs_search_modal">Find</a></li></ul></div></div>""",
    "Material for MkDocs 9": """<header class="md-header"><nav class="md-header__inner">
        <label class="md-header__button md-icon own" for="__search">o</label>
        <div class="md-search own"><form class="md-search__form"><input></form></div></nav></header>""",
    "Docusaurus 3": """<nav class="navbar"><div class="navbar__inner"><div class="navbar__items navbar__items--right">
        <div class="navbarSearchContainer_x1"><button class="DocSearch DocSearch-Button own">Find</button></div></div></div>
        </nav><script>document.documentElement.dataset.hasHydrated = "true"</script>""",
    "mdBook 0.5": """<div id="mdbook-menu-bar" class="menu-bar"><div class="left-buttons">
        <button id="mdbook-search-toggle" class="icon-button own">o</button></div></div>""",
    "VitePress 1": """<header class="VPNav"><div class="VPNavBar"><div class="VPNavBarSearch search"><div id="local-search"
        class="own"><button class="DocSearch-Button">Find</button></div></div></div></header>""",
    "Starlight 0.34": """<header class="header"><div class="header"><site-search class="own"><button>Find</button>
        </site-search></div></header>""",
}
PAGE = """<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width, initial-scale=1"><style>
body { margin: 0; background: #fff; color: #222 }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }
</style><title>Boats</title></head><body>%s<main><h1>Boats</h1><textarea aria-label="notes"></textarea>
<p>The last line.</p></main><script src="search/widget.js"%s></script></body></html>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder of pages with a search that needs no server, and its address."""
    made = workspace(tmp_path_factory.mktemp("boats"), {"mast.md": "# The mast\n\n## Mend the mast\n\nWith resin.\n"})
    folder = tmp_path_factory.mktemp("site")
    export_site(made, folder / "search", base_url="../read/")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def opened(
    browser: Browser, site: tuple[Path, str], body: str, options: str = "", *, width: int = 1280, scheme: str = "light"
) -> Page:
    folder, address = site
    (folder / "page.html").write_text(PAGE % (body, options))
    context = browser.new_context(viewport={"width": width, "height": 600}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{address}page.html")
    expect(buttons(page).first).to_be_visible()
    return page


def buttons(page: Page) -> Locator:
    return page.locator("[data-structformer] button").locator("visible=true")


@pytest.mark.parametrize("theme", THEMES)
def test_the_button_stands_in_for_the_themes_search(browser, site, theme):
    page = opened(browser, site, THEMES[theme])
    assert page.locator("[data-look=floating]").locator("visible=true").count() == 0
    assert buttons(page).last.inner_text().split() == ["Search", "Ctrl", "K"]
    own = page.locator(".own")
    assert own.count()
    assert not any(each.is_visible() for each in own.all())
    page.set_viewport_size({"width": 390, "height": 600})
    expect(page.locator("[data-structformer] button").locator("visible=true").first).to_be_in_viewport(ratio=0.5)
    page.context.close()


def test_the_theme_can_keep_its_search_and_the_slash(browser, site):
    page = opened(browser, site, THEMES["mdBook 0.5"], ' data-own="keep"')
    expect(page.locator(".own")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.context.close()


def test_an_unknown_theme_gets_a_floating_button_that_covers_nothing_on_a_phone(browser, site):
    page = opened(browser, site, "<p>boat</p>" * 60, width=390)
    page.mouse.wheel(0, 100_000)
    last, bar = page.get_by_text("The last line."), buttons(page).first
    page.wait_for_function("scrollY + innerHeight >= document.documentElement.scrollHeight - 1")
    below = last.bounding_box()
    assert below["y"] + below["height"] <= bar.bounding_box()["y"]
    assert bar.bounding_box()["y"] + bar.bounding_box()["height"] == 600
    page.context.close()


def test_a_field_keeps_its_keys(browser, site):
    page = opened(browser, site, THEMES["Starlight 0.34"])
    notes = page.get_by_role("textbox", name="notes")
    notes.press("/")
    notes.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(notes).to_have_value("/")
    notes.blur()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.context.close()


THEME_KEYS = """<script>
    const seen = (window.seen = []); // MkDocs, Material, Docusaurus and VitePress listen so
    for (const place of [document, window]) for (const kind of ["keydown", "keypress", "keyup"])
      place.addEventListener(kind, (event) => {
        if (event.target.tagName === "INPUT") return;
        seen.push(event.key);
        if (event.key === "p") location.assign("/elsewhere");
        if (event.key === "s") event.preventDefault();
      });
    </script>"""


def test_what_is_typed_in_the_box_is_not_taken_for_the_themes_shortcuts(browser, site):
    page = opened(browser, site, THEMES["MkDocs 1.6"] + THEME_KEYS)
    buttons(page).first.click()
    typed = "abcdefghijklmnopqrstuvwxyz0123456789?/.,;-+"
    page.keyboard.type(typed)
    expect(page.get_by_role("combobox", name="Search")).to_have_value(typed)
    assert page.url.endswith("/page.html")
    assert page.evaluate("seen") == []
    page.get_by_role("dialog").evaluate("dialog => dialog.close()")
    page.keyboard.press("x")
    assert page.evaluate("seen") == ["x"] * 6
    page.context.close()


def test_it_finds_without_a_server_and_leads_to_the_sites_pages(browser, site):
    page = opened(browser, site, THEMES["VitePress 1"])
    buttons(page).first.click()
    page.keyboard.type("mend mast")
    first = page.get_by_role("option").first
    expect(first).to_contain_text("Mend the mast")
    assert first.get_attribute("href").startswith(f"{site[1]}read/mast.md")
    page.context.close()


def test_a_result_leads_to_its_words_on_the_sites_page(browser, site):
    page = opened(browser, site, THEMES["VitePress 1"])
    long = "<title>Mast</title><div style='height: 5000px'></div><p>With resin.</p>"
    page.route("**/read/**", lambda route: route.fulfill(body=long, content_type="text/html"))
    buttons(page).first.click()
    page.keyboard.type("resin")
    page.get_by_role("option").first.click()
    page.wait_for_url("**/read/**")
    page.wait_for_function("scrollY > 3000")  # what the browser found by the address's `:~:text=`
    page.context.close()


def test_the_box_on_a_german_page_has_no_english_string(browser, tmp_path):
    made = workspace(tmp_path / "seiten", {"mast.md": "# Der Mast\n\n## Den Mast flicken\n\nMit Harz und Ruhe.\n"})
    folder = tmp_path / "site"
    export_site(made, folder / "search", base_url="../read/")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (folder / "page.html").write_text((PAGE % ("", "")).replace('lang="en"', 'lang="de-AT"'))
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/page.html")
        expect(buttons(page).first).to_contain_text("Suche")
        buttons(page).first.click()
        dialog = page.get_by_role("dialog")
        for query, shown in (("", "Esc"), ("Mast flicken", "Den Mast flicken"), ("xqztw", "Keine Ergebnisse")):
            page.get_by_role("combobox").fill(query)
            expect(dialog).to_contain_text(shown)
            page.wait_for_timeout(500)  # the search on the pause
            assert not english_words(dialog.evaluate("dialog => dialog.outerHTML")), query
        page.close()
        server.shutdown()


def test_it_is_dark_where_the_site_is_and_follows_its_switch(browser, site):
    page = opened(browser, site, THEMES["PyData 0.20"], scheme="dark")
    ink = "getComputedStyle(document.querySelector('[data-look]').shadowRoot.querySelector('button')).color"
    dark = "document.querySelector('[data-look]').matches('[data-dark]')"
    assert page.evaluate(dark) is True
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.querySelector('.bd-header')).color")
    page.evaluate("document.body.style.background = '#fff'")
    page.wait_for_function(f"!({dark})")
    page.context.close()


def test_it_is_dark_where_the_browser_paints_the_page(browser, site):
    """A site with no colours of its own that lets the browser choose between light and dark."""
    own = "<style>body { background: none !important; color: inherit !important }</style>"
    page = opened(browser, site, f'<meta name="color-scheme" content="light dark">{own}', scheme="dark")
    assert page.locator("[data-look]").first.evaluate("each => each.matches('[data-dark]')")
    page.context.close()


def test_a_header_that_is_made_again_gets_its_button_again(browser, site):
    page = opened(browser, site, THEMES["VitePress 1"])
    page.evaluate("document.querySelector('.VPNavBar').innerHTML = '<div class=VPNavBarSearch></div>'")
    expect(page.locator(".VPNavBarSearch [data-structformer] button")).to_be_visible()
    assert buttons(page).count() == 1
    page.context.close()


def test_no_theme_is_taken_for_another(browser, site):
    """The pages above, all themes' places looked for on each."""
    page = opened(browser, site, "")
    places = (
        "async (html) => { document.body.innerHTML = html; const { PLACES } = await import('/search/box-places.js'); "
    )
    matched = (
        "return PLACES.filter(({at}) => at.some(({beside}) => document.querySelector(beside))).map(({name}) => name) }"
    )
    for theme, html in THEMES.items():
        (name,) = page.evaluate(places + matched, html)
        assert theme.startswith(name)
    page.context.close()


def test_mkdocs_builds_pages_that_have_the_button(browser, site):
    pytest.importorskip("mkdocs")
    folder, address = site
    source = folder / "source"
    (source / "docs").mkdir(parents=True)
    (source / "docs" / "index.md").write_text("# Boats\n\nAll about boats.\n")
    (source / "mkdocs.yml").write_text(
        "site_name: Boats\nplugins:\n  - search\n  - structformer:\n      server: /search\n"
    )
    built = folder / "built"
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-f", source / "mkdocs.yml", "-d", built], check=True
    )
    page = browser.new_page(viewport={"width": 1280, "height": 600})
    page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(address) else route.abort())
    page.goto(f"{address}built/index.html")
    expect(page.locator(".navbar [data-look=button] button")).to_be_visible()
    expect(page.get_by_text("Search", exact=True).locator("visible=true")).to_have_count(1)
    page.context.close()


@pytest.mark.parametrize(
    ("config", "script"),
    [
        ({"structformer_server": "https://find.example.org/"}, "https://find.example.org/widget.js"),
        ({"structformer_static": True}, "../structformer-search/widget.js"),  # beside _static
    ],
)
def test_sphinx_adds_the_buttons_script_of_a_server_or_of_the_sites_own_search(config, script):
    added: list[tuple[str, dict[str, str]]] = []
    values: dict[str, object] = {}
    app = SimpleNamespace(
        builder=SimpleNamespace(format="html"),
        connect=lambda event, handler: None,
        add_config_value=lambda name, default, rebuild: values.update({name: default}),
        add_js_file=lambda name, **attributes: added.append((name, attributes)),
    )
    sphinx.setup(app)
    app.config = SimpleNamespace(**{**values, **config, "structformer_own": "keep"})
    sphinx._add_box(app)
    assert added == [(script, {"data-label": "Search", "data-own": "keep"})]
