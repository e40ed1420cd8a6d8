"""Astro, and Starlight, its theme for documentation."""

from collections.abc import Iterator
from typing import Any

from structformer.formats import FOLDER, HtmlRules, NavEntry, SearchBox, SiteFacts, SiteFiles, SiteGenerator

from structformer_sites.navigation import PageNames, by_weight, nested, place
from structformer_sites.settings import SCRIPTS, address, load, text_of

_KEYS = ("site", "base", "integrations")


def _theme(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the theme's options: those of the integration that has a sidebar or a title."""
    integrations = settings.get("integrations")
    options = [each for each in integrations if isinstance(each, dict)] if isinstance(integrations, list) else []
    return next((each for each in options if "sidebar" in each or "title" in each), {})


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text, _KEYS)
    base_url, name = address(settings.get("site"), settings.get("base", "/")), text_of(_theme(settings).get("title"))
    return SiteFacts(base_url, FOLDER, ("src/content/docs", "src/pages"), name=name, lower=True)


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages that the sidebar lists, and those of generated folders by their order."""
    names = PageNames(files.pages)
    sidebar = _theme(load(files.settings, files.settings_text, _KEYS)).get("sidebar")
    for target, title in nested(sidebar, ("slug", "link", "directory"), ("label",)) if sidebar else [("", "")]:
        below = [page for page in files.pages if page.path.startswith(f"{target.strip('/')}/".lstrip("/"))]
        entry = names.entry(target, title)
        if below and (entry is None or not title):
            yield from by_weight(below, "sidebar.order", ("sidebar.label",))
        elif entry is not None:
            yield entry


STARLIGHT = SiteGenerator(
    "starlight",
    "Starlight",
    settings=tuple(f"astro.config{suffix}" for suffix in SCRIPTS),
    read=_read,
    navigation=_navigation,
    markdown=("mdx", "containers"),
    html=HtmlRules(
        furniture=frozenset({"sl-anchor-link"}),
        notes=frozenset({"starlight-aside"}),
        note_prefixes=frozenset({"starlight-aside"}),
        note_titles=frozenset({"starlight-aside__title"}),
    ),
    boxes=(SearchBox("Starlight", (place("header site-search", "before", "button"),), own="header site-search"),),
)
