"""MkDocs."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from posixpath import dirname, join
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

from structformer_sites.navigation import place, prefixes
from structformer_sites.settings import address, load, table_of, text_of

_SETTINGS = ("mkdocs.yml", "mkdocs.yaml")
_DEEPEST = 30  # lists of a navigation in each other, and settings that others build on
_MOST_FOLDERS = 2000  # in which .pages is looked for
_REST = "..."  # what a .pages file does not list


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    rule = HTML if settings.get("use_directory_urls") in (False, "false") else FOLDER
    pages = text_of(settings.get("docs_dir")) or "docs"
    return SiteFacts(address(settings.get("site_url")), rule, (pages,), name=text_of(settings.get("site_name")))


def _whole(text: str, beside: Callable[[str], str]) -> str:
    """Return settings merged into those that their INHERIT names, and so on; lists are replaced, as MkDocs does it."""
    settings, path = load(_SETTINGS[0], text), ""
    for _ in range(_DEEPEST if "INHERIT" in settings else 0):
        if not (base := text_of(settings.pop("INHERIT", None))):
            break
        path = join(dirname(path), base)
        settings = _merged(load(_SETTINGS[0], beside(path)), settings)
    return json.dumps(settings) if path else text


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    tables = [key for key, value in own.items() if table_of(value) and isinstance(base.get(key), dict)]
    return {**base, **own, **{key: _merged(base[key], own[key]) for key in tables}}


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    nav = load(files.settings, files.settings_text).get("nav")
    return _entries(nav) if nav else _by_folders(files)


def _by_folders(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages as the .pages files of the plugin awesome-pages order and call them; none without such files."""
    inside: dict[str, dict[str, None]] = {"": {}}
    for page in files.pages:
        for path in prefixes(page.path.split("/")):
            folder, _, name = path.rpartition("/")
            inside.setdefault(folder, {})[name] = None
    read = ((folder, files.text(f"{folder}/.pages".lstrip("/"))) for folder in islice(inside, _MOST_FOLDERS))
    settings = {folder: load(".yml", text) for folder, text in read if text}
    return _folder("", inside, settings) if settings else iter(())


def _folder(folder: str, inside: Mapping[str, Any], settings: Mapping[str, dict[str, Any]]) -> Iterator[NavEntry]:
    own = settings.get(folder, {})
    order, before = own.get("order"), f"{folder}/" if folder else ""
    names = sorted(inside[folder], key=lambda name: (not order and before + name in inside, name.lower()))
    names = sorted(names[:: -1 if order == "desc" else 1], key=lambda name: not name.startswith("index."))
    listed = [(entry.path.rstrip("/"), entry.title) for entry in _entries(own.get("nav") or [_REST])]
    named = {name for name, _ in listed}
    for name, title in listed:
        for each in [other for other in names if other not in named] if name.startswith(_REST) else [name]:
            if before + each in inside:
                yield from _folder(before + each, inside, settings)
            else:
                yield NavEntry(before + each, title or (text_of(own.get("title")) if each.startswith("index.") else ""))


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
    whole=_whole,
    navigation=_navigation,
    markdown=("pymdown",),
    page_settings=dict.fromkeys(("loose_tables", "references_to_places"), dict.fromkeys(_SETTINGS, "")),
    html=HtmlRules(pages=(HtmlPages("col-md-9", "div.col-md-9[role=main]", "div.col-md-9[role=main]"),)),
    boxes=(
        SearchBox(
            "MkDocs",
            (
                place(
                    ".navbar .nav-item:has(> [data-bs-target='#mkdocs_search_modal'])",
                    "before",
                    "button",
                    "align-self:center;margin:0 .5rem;color:var(--bs-navbar-active-color,#fff)",
                    above=992,
                ),
                place(
                    ".navbar .navbar-toggler[data-bs-target='#navbar-collapse']",
                    "before",
                    "icon",
                    "margin:0 .5rem 0 auto;color:var(--bs-navbar-active-color,#fff)",
                    below=992,
                ),
            ),
            own=".nav-item:has(> [data-bs-target='#mkdocs_search_modal'])",
            keys=("s",),
        ),
    ),
)
