"""DocFX, and Microsoft's documentation, which it publishes."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from structformer.errors import ReadError
from structformer.formats import BARE, HTML, NavEntry, SiteFacts, SiteFiles, SiteGenerator, SourceFile, decode, join

from structformer_sites.navigation import PageNames, nested
from structformer_sites.settings import address, load, load_list, path_in, text_of

_CONTENTS = ("toc.yml", "TOC.yml")
_SETTINGS = "docfx.json"
_FARTHEST = 4  # folders above a page where its settings are looked for
_MOST_FILES = 200  # of contents


def _content(settings: dict[str, Any]) -> list[dict[str, Any]]:
    content = path_in(settings, "build", "content")
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


@lru_cache(maxsize=16)
def _folders(text: str) -> tuple[tuple[str, str], ...]:
    """Return (folder of pages, where it is published) of each entry of a docfx.json."""
    entries = _content(load(_SETTINGS, text))
    return tuple((text_of(each.get("src")), text_of(each.get("dest")).strip("/")) for each in entries)


def _published(path: str, metadata: Mapping[str, Any], source: SourceFile) -> Iterator[str]:
    """Yield the paths of a page on its site; only front matter of its kind makes it look."""
    is_its = any(key == "uid" or key.startswith("ms.") for key in metadata)
    if (settings := source.above(_SETTINGS, _FARTHEST) if is_its else None) is None:
        return
    folder = settings.path.rpartition("/")[0]
    try:
        folders = _folders(decode(settings))
    except ReadError:
        return
    for within, to in folders:
        inside = join(folder, within)
        if to and inside is not None and path.startswith(f"{inside}/" if inside else ""):
            yield f"{to}/{path[len(inside) :].lstrip('/')}"


def _read(name: str, text: str) -> SiteFacts:
    """Return the facts of settings, which have an address if a sitemap is to be written; those of Microsoft's
    documentation have the folder of their site in the path of its breadcrumbs.
    """
    settings = load(name, text)
    pages = next((each for each in _content(settings) if each.get("src")), {})
    metadata = path_in(settings, "build", "globalMetadata")
    breadcrumbs = text_of(path_in(settings, "build", "globalMetadata", "breadcrumb_path"))
    host = address(path_in(settings, "build", "sitemap", "baseUrl"))
    learn = address("https://learn.microsoft.com", breadcrumbs.split("/")[1]) if breadcrumbs[:1] == "/" else ""
    within = f"{text_of(pages.get('dest')).strip('/')}/".lstrip("/")
    title = next(filter(None, (text_of(path_in(metadata or {}, key)) for key in ("_appTitle", "_appName"))), "")
    return SiteFacts(host or learn, HTML if host else BARE, (text_of(pages.get("src")),), within, title)


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages that the tables of contents list, from that at the top on."""
    names = PageNames(files.pages)
    waiting, seen = [""], {""}
    while waiting and len(seen) < _MOST_FILES:
        folder = waiting.pop(0)
        text = next((text for name in _CONTENTS if (text := files.text(folder + name))), "")
        items = load_list(text) or load("toc.yml", text).get("items")
        for target, title in nested(items, ("href", "topicHref"), ("name",)):
            if target.lower().endswith("toc.yml") or target.endswith("/"):
                below = join(folder, target.rpartition("/")[0])
                if below is not None and f"{below}/" not in seen:
                    seen.add(f"{below}/")
                    waiting.append(f"{below}/")
            elif (entry := names.entry(target, title, folder)) is not None:
                yield entry


DOCFX = SiteGenerator(
    "docfx",
    "DocFX",
    settings=(_SETTINGS,),
    read=_read,
    navigation=_navigation,
    markdown=("dfm",),
    page_settings={"loose_tables": {_SETTINGS: ""}},
    published=_published,
)
