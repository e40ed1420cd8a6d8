"""Docusaurus."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

from structformer.formats import (
    BARE,
    HtmlPages,
    HtmlRules,
    NavEntry,
    SearchBox,
    SiteFacts,
    SiteFiles,
    SiteGenerator,
    SitePage,
    SourceFile,
)

from structformer_sites.navigation import number_at, place, prefixes, text_at
from structformer_sites.settings import SCRIPTS, address, load, objects, path_in, text_of

_SIDEBARS = (*(f"sidebars{suffix}" for suffix in SCRIPTS), "sidebars.json")
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_DEEPEST = 60  # lists of a sidebar in each other
_NUMBERED = re.compile(r"(\d{1,9})\s*[-_.]+\s*(?=[^\s\d])")
_SUFFIX = re.compile(r"\.mdx?\Z")
_CONFIG = ("title", "url", "baseUrl", "presets", "plugins", "themeConfig")
_VERSIONS = "versions.json"
_PLUGIN = "docusaurus-plugin-content-"
_PLUGIN_FOLDERS = {"docs": "docs", "blog": "blog", "pages": "src/pages"}
_RELEASED, _CURRENT = "versioned_docs", "current"


def _whole(text: str, beside: Callable[[str], str]) -> str:
    """Return the settings with the versions that are released, newest first."""
    versions = beside(_VERSIONS)
    return f"{text}\nconst released = {{versions: {versions}}};\n" if versions else text


def _read(name: str, text: str) -> SiteFacts:
    if name in _SIDEBARS:
        return SiteFacts(rule=BARE, pages=("docs", ""))
    settings = load(name, text, _CONFIG)
    written = (settings, *objects(text))
    docs = next((docs for each in written if (docs := _docs(each))), dict[str, Any]())
    within = docs.get("routeBasePath")
    within = (within if isinstance(within, str) else "docs").strip("/")
    listed = (each.get("versions") for each in written)
    versions = [_CURRENT, *_texts(next((each for each in listed if isinstance(each, list)), None))]
    paths = {_CURRENT: "next", text_of(docs.get("lastVersion")) or versions[:2][-1]: ""}
    languages = _texts(path_in(settings, "i18n", "locales"))
    elsewhere: list[tuple[str, str]] = []
    for version in versions:
        own, name = path_in(docs, "versions", version, "path"), "" if version == _CURRENT else f"version-{version}"
        path = own if isinstance(own, str) else paths.get(version, version)
        place = "".join(f"{part}/" for part in (within, path.strip("/")) if part)
        elsewhere.append((f"{_RELEASED}/{name}/", place))
        elsewhere += [(f"i18n/{each}/{_PLUGIN}docs/{name or _CURRENT}/", f"{each}/{place}") for each in languages]
    return SiteFacts(
        address(settings.get("url"), settings.get("baseUrl", "/")),
        BARE,
        (text_of(docs.get("path")) or "docs",),
        elsewhere[0][1],
        text_of(settings.get("title")),
        elsewhere=tuple(elsewhere[1:]),
    )


def _texts(value: object) -> list[str]:
    return [*filter(None, map(text_of, value))] if isinstance(value, list) else []


def _docs(value: Any, depth: int = 0) -> dict[str, Any] | None:
    """Return the options of the documents: the first table called "docs", or those of the plugin for documents."""
    if depth > 8:
        return None
    if isinstance(value, list) and value and str(value[0]).endswith("plugin-content-docs"):
        return next((each for each in value[1:] if isinstance(each, dict) and not each.get("id")), None)
    if isinstance(value, dict) and isinstance(own := value.get("docs"), dict) and "sidebar" not in own:  # of the theme
        return own
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((docs for each in inner if (docs := _docs(each, depth + 1)) is not None), None)


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages that the sidebars list, and those of generated folders by position, number and name."""
    folders = {above for page in files.pages for above in prefixes(page.path.split("/")[:-1])}
    categories = {each: place for each in folders if (place := _category(files, each)) is not None}
    pages = sorted((page for page in files.pages if _SUFFIX.search(page.path)), key=lambda p: _place(p, categories))
    ids: dict[str, SitePage] = {}
    for page in pages:
        ids.setdefault(_id(page), page)
    places = dict.fromkeys((files.folder, "../", ""))
    texts = (files.text(place + name) for place in places for name in _SIDEBARS)
    listed = next((items for text in texts if text and (items := listed_in(text))), [("./", "")])
    for item, label in listed:
        if item.endswith("/"):  # a folder, in the order that Docusaurus generates
            below = item.removeprefix("./")
            inside = (page for page in pages if page.path.startswith(below))
            yield from (NavEntry(page.path, text_at(page.metadata, "sidebar_label")) for page in inside)
        elif item in ids:
            yield NavEntry(ids[item].path, label or text_at(ids[item].metadata, "sidebar_label"))


def listed_in(script: str) -> list[tuple[str, str]]:
    """Return what the sidebars of a script list, as far as they are written out: (id of a page, its label), and
    generated folders with a slash at the end. Of several objects, the longest list.
    """
    return max((list(_listed(each)) for each in objects(script)), key=len, default=[])


def _listed(sidebar: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(sidebar, str):
        yield sidebar, ""
    elif depth > _DEEPEST:
        return
    elif isinstance(sidebar, list):
        for each in sidebar:
            yield from _listed(each, depth + 1)
    elif isinstance(sidebar, Mapping):
        kind = sidebar.get("type")
        if kind == "autogenerated":
            yield f"{str(sidebar.get('dirName', '.')).strip('/')}/", ""
        elif not isinstance(kind, str):  # sidebars by their names, or categories by their labels
            for each in sidebar.values():
                yield from _listed(each, depth + 1) if isinstance(each, list | Mapping) else ()
        else:
            for each in (sidebar, sidebar.get("link")):
                if isinstance(each, Mapping) and each.get("type") in ("doc", "ref") and isinstance(each.get("id"), str):
                    yield each["id"], text_of(sidebar.get("label"))
            yield from _listed(sidebar.get("items"), depth + 1)


def _category(files: SiteFiles, folder: str) -> float | None:
    """Return the position of a folder by its `_category_` file."""
    texts = ((name, files.text(f"{folder}/{name}")) for name in _CATEGORIES)
    return next((place for name, text in texts if text and (place := number_at(load(name, text), "position"))), None)


def _place(page: SitePage, categories: Mapping[str, float]) -> list[tuple[float, str]]:
    """Return what Docusaurus sorts a page by: at each level the position, then the name."""
    parts = page.path.split("/")
    folders = zip(prefixes(page.path.split("/")[:-1]), parts, strict=False)
    steps = [(categories.get(above, _number(part)), part) for above, part in folders]
    own = number_at(page.metadata, "sidebar_position")
    stem = _SUFFIX.sub("", parts[-1]).lower()
    first = stem in ("index", "readme") or (len(parts) > 1 and stem == parts[-2].lower())
    place = -inf if first and len(parts) > 1 else _number(parts[-1]) if own is None else own
    return [*steps, (place, parts[-1])]


def _number(part: str) -> float:
    match = _NUMBERED.match(part)
    return float(match[1]) if match else inf


def _id(page: SitePage) -> str:
    *folders, last = (_NUMBERED.sub("", part, count=1) for part in page.path.split("/"))
    return "/".join([*folders, text_of(page.metadata.get("id")) or _SUFFIX.sub("", last)])


def _published(path: str, metadata: Mapping[str, Any], source: SourceFile) -> Iterator[str]:
    """Yield a page's path with the name that its `id` gives it."""
    if (name := text_of(metadata.get("id"))) and "/" not in name:
        yield f"{path.rpartition('/')[0]}/{name}".lstrip("/")


def _names(path: str, target: str) -> Iterator[str]:
    """Return where /docs/2.x/cli/build lies: versioned_docs/version-2.x/cli/build; and /docs/next/a: docs/a."""
    parts = target.strip("/").split("/") if target.startswith("/") else []
    for number in (number for number, part in enumerate(parts) if part[:1].isdigit() or part == "next"):
        folders = [f"{plugin}{_RELEASED}/version-{parts[number]}" for plugin in ("", f"{parts[number - 1]}_")]
        above = ["", *(f"{each}/" for each in prefixes(path.split("/")[:-1]) if not each.endswith(_RELEASED))]
        for folder in ["docs"] if parts[number] == "next" else folders:
            yield from ("/".join((each + folder, *parts[number + 1 :])) for each in above)


def _languages(before: Sequence[str], after: Sequence[str]) -> Iterator[Sequence[str]]:
    """Return what i18n/fr/docusaurus-plugin-content-docs/current/a.md translates: docs/a.md."""
    if len(after) < 2 or not after[0].startswith(_PLUGIN) or not before:
        return
    kind, _, name = after[0].removeprefix(_PLUGIN).partition("-")
    folder, version, rest = name or _PLUGIN_FOLDERS.get(kind, kind), after[1], after[2:]
    if kind != "docs":
        yield [*before[:-1], folder, *after[1:]]
    elif version == _CURRENT:
        yield [*before[:-1], folder, *rest]
    else:
        yield [*before[:-1], f"{name}_{_RELEASED}" if name else _RELEASED, version, *rest]


DOCUSAURUS = SiteGenerator(
    "docusaurus",
    "Docusaurus",
    settings=(*(f"docusaurus.config{suffix}" for suffix in SCRIPTS), *_SIDEBARS),
    read=_read,
    whole=_whole,
    navigation=_navigation,
    markers=_CATEGORIES,
    position_keys=("sidebar_position",),
    html=HtmlRules(
        pages=(HtmlPages("theme-doc-markdown", ".theme-doc-markdown", "article"),),
        furniture=frozenset(
            {"hash-link", "pagination-nav", "theme-doc-footer", "theme-doc-toc-mobile", "theme-doc-version-badge"}
        ),
        notes=frozenset({"theme-admonition"}),
        note_prefixes=frozenset({"theme-admonition"}),
        note_titles=frozenset({"admonitionHeading"}),
    ),
    boxes=(
        SearchBox(
            "Docusaurus",
            (place(".navbar .navbar__items--right", "append", "button", "margin-left:.5rem"),),
            own=".navbar [class*=navbarSearchContainer] > *, .navbar .navbar__search, .navbar .DocSearch-Button",
            after="html[data-has-hydrated=true]",  # React throws away what it did not make
        ),
    ),
    markdown=("mdx", "containers"),
    published=_published,
    names=_names,
    versions=_RELEASED,
    languages=_languages,
)
