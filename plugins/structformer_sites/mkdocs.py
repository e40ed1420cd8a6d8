"""MkDocs."""

from collections.abc import Iterator
from typing import Any

from structformer.formats import (
    FOLDER,
    HTML,
    HtmlPages,
    HtmlRules,
    NavEntry,
    SearchBox,
    SiteFacts,
    SiteFiles,
    SiteGenerator,
)

from structformer_sites.settings import address, load, text_of

_SETTINGS = ("mkdocs.yml", "mkdocs.yaml")
_DEEPEST = 30  # lists of a navigation in each other


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    rule = HTML if settings.get("use_directory_urls") in (False, "false") else FOLDER
    pages = text_of(settings.get("docs_dir")) or "docs"
    return SiteFacts(address(settings.get("site_url")), rule, (pages,), name=text_of(settings.get("site_name")))


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    return _entries(load(files.settings, files.settings_text).get("nav"))


def _entries(item: Any, title: str = "", depth: int = 0) -> Iterator[NavEntry]:
    """Return the pages of a nav: lists of paths, and of titles with a path or a list."""
    if isinstance(item, str) and "://" not in item:
        yield NavEntry(item.removeprefix("./"), title)
    elif isinstance(item, list) and depth < _DEEPEST:
        for each in item:
            yield from _entries(each, "", depth + 1)
    elif isinstance(item, dict) and depth < _DEEPEST:
        for key, each in item.items():
            yield from _entries(each, key, depth + 1)


MKDOCS = SiteGenerator(
    "mkdocs",
    "MkDocs",
    settings=_SETTINGS,
    read=_read,
    navigation=_navigation,
    markdown=("pymdown",),
    page_settings=dict.fromkeys(("loose_tables", "references_to_places"), dict.fromkeys(_SETTINGS, "")),
    html=HtmlRules(pages=(HtmlPages("col-md-9", "div.col-md-9[role=main]", "div.col-md-9[role=main]"),)),
    boxes=(
        SearchBox(
            "MkDocs",
            (
                {
                    "beside": ".navbar .nav-item:has(> [data-bs-target='#mkdocs_search_modal'])",
                    "put": "before",
                    "look": "button",
                    "from": 992,
                    "style": "align-self:center;margin:0 .5rem;color:var(--bs-navbar-active-color,#fff)",
                },
                {
                    "beside": ".navbar .navbar-toggler[data-bs-target='#navbar-collapse']",
                    "put": "before",
                    "look": "icon",
                    "until": 992,
                    "style": "margin:0 .5rem 0 auto;color:var(--bs-navbar-active-color,#fff)",
                },
            ),
            own=".nav-item:has(> [data-bs-target='#mkdocs_search_modal'])",
            keys=("s",),
        ),
    ),
)
