"""Jekyll, and Just the Docs, its theme for documentation."""

import re
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from structformer.formats import (
    FOLDER,
    HTML,
    HtmlRules,
    NavEntry,
    SiteFacts,
    SiteFiles,
    SiteGenerator,
    SitePage,
    SourceFile,
)

from structformer_sites.navigation import number_at, text_at
from structformer_sites.settings import address, load, text_of

_DEEPEST = 6  # parents of a page
_CONFIGURATIONS = dict.fromkeys(("_config.yml", "_config.yaml"), "")
_COLLECTION = re.compile(r"(?<![^/])_+(?=[^/]+/)")
_DATED = re.compile(r"(.*/)?(\d{4})-(\d\d)-(\d\d)-([^/]+)")


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    return SiteFacts(
        address(settings.get("url"), settings.get("baseurl")),
        FOLDER if settings.get("permalink") == "pretty" else HTML,
        (text_of(settings.get("source")),),
        name=text_of(settings.get("title")) or text_of(settings.get("name")),
    )


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages by nav_order among those of one parent, a page after its parent."""
    by_title = {page.title: page for page in files.pages}

    def place(page: SitePage, depth: int = 1) -> list[tuple[float, str]]:
        parent = text_at(page.metadata, "parent")
        above = by_title.get(parent) if parent != page.title and depth < _DEEPEST else None
        own = number_at(page.metadata, "nav_order") or inf, page.title
        return [*(place(above, depth + 1) if above is not None else ()), own]

    placed = [page for page in files.pages if "nav_order" in page.metadata or "parent" in page.metadata]
    return (NavEntry(page.path) for page in sorted(placed, key=place))


def _published(path: str, metadata: Mapping[str, Any], source: SourceFile) -> Iterator[str]:
    """Yield where _docs/a.md and _posts/2016-04-19-a.md are published, also by Eleventy, which drops the date."""
    plain = _COLLECTION.sub("", path)
    if plain != path:
        yield plain
    if dated := _DATED.fullmatch(path):
        folder, *date, name = dated.groups("")
        yield "/".join((f"{folder.removesuffix('_posts/')}{date[0]}", *date[1:], name))
        yield folder + name


JEKYLL = SiteGenerator(
    "jekyll",
    "Jekyll",
    settings=("_config.yml",),
    read=_read,
    navigation=_navigation,
    position_keys=("nav_order",),
    markdown=("kramdown", "liquid"),
    page_settings={"loose_tables": {"_config.yml": ""}, "site": _CONFIGURATIONS, "tags_in_code": _CONFIGURATIONS},
    published=_published,
    html=HtmlRules(line_numbers=frozenset({"rouge-gutter"})),
)
