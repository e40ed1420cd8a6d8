"""Settings of site generators: what they say of addresses, however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer import Corpus
from structformer.ingestion import ingest
from structformer.workspace import Workspace

from conftest import write_pages
from structformer_sites import load

PAGES = {
    "docs/index.md": "# Home\n\nThe harbour.\n",
    "docs/guide/start.md": "# Start\n\nCast off the lines.\n",
}


def address(folder: Path, name: str, settings: str, page: str = "docs/guide/start.md") -> str:
    """The address of a page of a site with these settings."""
    write_pages(folder / "site", {**PAGES, name: settings})
    ingest(folder / "site", folder / "w", workers=1)
    corpus = Corpus.open(folder / "w")
    return corpus.site.address(corpus.document(page))


@pytest.mark.parametrize("value", ["False", "no", "false", '"false"'])
def test_mkdocs_without_folders_as_addresses(tmp_path, value):
    settings = f"site_url: https://e.org/\nuse_directory_urls: {value}\n"
    assert address(tmp_path, "mkdocs.yml", settings) == "https://e.org/guide/start.html"


@pytest.mark.parametrize(
    "url", ["!ENV [SITE_URL, 'https://e.org/']", ">-\n  https://e.org/", "!!str https://e.org/", "&url https://e.org/"]
)
def test_an_address_in_any_form_of_yaml(tmp_path, url):
    settings = f"site_url: {url}\nplugins:\n  - x: !!python/name:a.b\n  - y: !relative $docs\n"
    assert address(tmp_path, "mkdocs.yml", settings) == "https://e.org/guide/start/"


def test_an_address_that_the_environment_has_is_not_known(tmp_path):
    assert address(tmp_path, "mkdocs.yml", "site_url: !ENV SITE_URL\n") == ""


@pytest.mark.parametrize(
    "config",
    [
        "export default {themeConfig: {navbar: {items: [{url: 'https://other.org'}]}}, url: 'https://e.org'};",
        "// url: 'https://other.org'\nconst config: Config = {url: 'https://e.org'} satisfies Config;",
        "module.exports = async () => { const other = {a: 1}; return {title: 'x', url: `https://e.org`}; };",
        "export default defineConfig({url: process.env.URL || 'https://e.org', baseUrl: '/'});",
    ],
)
def test_the_address_at_the_top_of_a_script_counts(tmp_path, config):
    assert address(tmp_path, "docusaurus.config.js", config) == "https://e.org/docs/guide/start"


@pytest.mark.parametrize(
    "options",
    [
        "{docs: {editUrl: ({docPath}) => `x/${docPath}`, routeBasePath: 'm'}}",
        "/** @type {Options} */ ({docs: {sidebarPath: require.resolve('./s.js'), routeBasePath: '/m/'}, blog: false})",
    ],
)
def test_the_place_of_the_pages_stands_after_any_function(tmp_path, options):
    config = f"export default {{url: 'https://e.org', presets: [['classic', {options}]]}};"
    assert address(tmp_path, "docusaurus.config.ts", config) == "https://e.org/m/guide/start"


@pytest.mark.parametrize(
    "text", ["/*", "'\\", "[", "{", "const a = {", "`$", "(", "a || ", "return {", "export default"]
)
def test_a_hostile_script_ends(text):
    assert load("x.js", f"export default {{a: 'b', c: {text * 20_000}").get("a", "b") == "b"


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 5000, "a: &a [1]\nb: *a\nc: !x {d: [*a]}", "a: b\n<<: {a: {a: b}}\nt: {{ x }}", "- a", ""]
)
def test_hostile_yaml_is_no_error(text):
    assert isinstance(load("x.yml", text), dict)


def test_python_is_read_as_far_as_it_is_written_out():
    text = "a: str = 'x'\nb = 'x' 'y' + z\nb += 'w'\nc = {'k': ('v', f())}\nd = os.environ\nimport os\n"
    assert load("conf.py", text) == {"a": "x", "b": "xyw", "c": {"k": ["v", None]}, "d": None}
    assert load("conf.py", "a = (\n") == {}


@pytest.mark.parametrize(
    ("pages", "name"),
    [
        ({"docs/index.md": "---\ntitle: Svelte\n---\nText.\n"}, "Svelte"),
        ({"docs/index.md": "# Introduction\n\nText.\n", "mkdocs.yml": "site_name: Boats\n"}, "Boats"),
        ({"docs/a.md": "# A\n\nText.\n"}, "harbour"),
        ({"docs/README.md": "# Documentation\n\nText.\n"}, "harbour"),
    ],
)
def test_a_site_is_never_called_docs(pages, name, tmp_path):
    from structformer_serve.service import default_title

    write_pages(tmp_path / "harbour", pages)
    ingest(tmp_path / "harbour" / "docs", tmp_path / "w", workers=1)
    assert default_title(Workspace(tmp_path / "w")) == name


def test_folders_that_are_not_opened_are_named(tmp_path):
    write_pages(tmp_path / "site", {"a.md": "# A\n\nText.\n", ".generated/b.md": "# B\n"})
    report = ingest(tmp_path / "site", tmp_path / "w", workers=1)
    assert "folders not opened: 1 (.generated)" in str(report.account)


@pytest.mark.parametrize(
    ("name", "settings", "start"),
    [
        ("hugo.yaml", "baseURL: https://e.org/\nuglyURLs: True\ncontentDir: docs\n", "guide/start.html"),
        ("book.toml", "[ book ]\nsrc = 'docs'\n[output]\nhtml = { site-url = 'https://e.org/' }\n", "guide/start.html"),
        ("conf.py", "extensions = []\nhtml_baseurl: str = 'https://e.org/'\n", "docs/guide/start.html"),
    ],
)
def test_settings_in_any_form_of_their_language(name, settings, start, tmp_path):
    assert address(tmp_path, name, settings) == f"https://e.org/{start}"


@pytest.mark.parametrize(
    ("name", "settings", "pages", "place"),
    [
        ("hugo.yaml", "baseURL: https://e.org/\n", "content", "release-notes/v2-1/"),
        ("hugo.yaml", "baseURL: https://e.org/\ndisablePathToLower: true\n", "content", "Release%20Notes/V2-1/"),
        ("config.toml", "base_url = 'https://e.org'\n", "content", "release-notes/v2-1/"),
        ("mkdocs.yml", "site_url: https://e.org/\n", "docs", "Release%20Notes/V2-1/"),
    ],
)
def test_addresses_are_in_lower_case_where_the_generator_writes_them_so(name, settings, pages, place, tmp_path):
    page = f"{pages}/Release Notes/V2-1.md"
    write_pages(tmp_path / "site", {name: settings, page: "# V2.1\n\nText.\n"})
    ingest(tmp_path / "site", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    assert [corpus.site.address(document) for document in corpus.documents()] == [f"https://e.org/{place}"]


VERSIONED = {
    "docs/a.md": "# A\n\nOf the next release.\n",
    "versioned_docs/version-2.0/a.md": "# A\n\nOf this release.\n",
    "versioned_docs/version-1.0/a.md": "# A\n\nOf an old release.\n",
    "i18n/fr/docusaurus-plugin-content-docs/current/a.md": "# A\n\nDe la prochaine.\n",
    "i18n/fr/docusaurus-plugin-content-docs/version-2.0/a.md": "# A\n\nDe celle-ci.\n",
    "other/a.md": "# A\n\nOf no site.\n",
}


@pytest.mark.parametrize(
    ("options", "versions", "places"),
    [
        ("", '["2.0", "1.0"]', ["next/a", "a", "1.0/a", "fr/next/a", "fr/a"]),
        ("lastVersion: 'current'", '["2.0", "1.0"]', ["a", "2.0/a", "1.0/a", "fr/a", "fr/2.0/a"]),
        (
            "versions: {current: {path: ''}, '1.0': {path: 'old'}}",
            '["2.0", "1.0"]',
            ["a", "a", "old/a", "fr/a", "fr/a"],
        ),
        ("", "", ["a", "", "", "fr/a", ""]),
        ("", "[", ["a", "", "", "fr/a", ""]),  # damaged
        ("versions: 3", '{"2.0": 1}', ["a", "", "", "fr/a", ""]),
    ],
)
def test_versions_and_languages_of_docusaurus_have_their_addresses(tmp_path, options, versions, places):
    config = (
        "module.exports = {url: 'https://e.org', i18n: {defaultLocale: 'en', locales: ['en', 'fr']}, "
        f"presets: [['classic', {{docs: {{routeBasePath: '/', {options}}}}}]]}};"
    )
    write_pages(tmp_path / "site", {**VERSIONED, "docusaurus.config.js": config})
    if versions:
        (tmp_path / "site" / "versions.json").write_text(versions, encoding="utf-8")
    ingest(tmp_path / "site", tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    addresses = {document.id: corpus.site.address(document) for document in corpus.documents()}
    assert addresses == {
        id: place and f"https://e.org/{place}" for id, place in zip(VERSIONED, [*places, ""], strict=True)
    }


def test_a_slug_is_the_address_where_files_keep_their_names(tmp_path, run):
    pages = {"a.md": "---\nslug: start\n---\n# A\n", "b/c.md": "---\nslug: /\n---\n# C\n", "d.md": "# D\n"}
    write_pages(tmp_path / "site", pages)
    url = ("--base-url", "https://e.org", "--url-rule", "file")
    run("ingest", tmp_path / "site", "-w", tmp_path / "w", "-q", *url)
    corpus = Corpus.open(tmp_path / "w")
    addresses = {document.id: corpus.site.address(document) for document in corpus.documents()}
    assert addresses == {"a.md": "https://e.org/start", "b/c.md": "https://e.org/", "d.md": "https://e.org/d.md"}


@pytest.mark.parametrize(
    ("page", "slug", "place"),
    [
        ("docs/guide/own.md", "/", ""),
        ("docs/guide/own.md", "/first", "first"),
        ("docs/guide/own.md", "first", "guide/first"),
        ("docs/other/index.md", "first", "other/first"),
    ],
)
def test_a_slug_is_below_the_pages(tmp_path, page, slug, place):
    write_pages(tmp_path / "site", {page: f"---\nslug: {slug}\n---\n# Start\n\nCast off.\n"})
    config = "module.exports = {url: 'https://e.org', presets: [['classic', {docs: {routeBasePath: 'm'}}]]};"
    assert address(tmp_path, "docusaurus.config.js", config, page) == f"https://e.org/m/{place}"
