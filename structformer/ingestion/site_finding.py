"""Looking for where a corpus's pages are read: in the folders that are given, and in the settings of site generators
up to two folders above them; and the site's navigation: its pages' order and titles, read by the recognised generator.

Above a given folder nothing is opened but files of those names, none beyond the root of a repository and none in a
folder that anybody may write to."""

import json
import os
import posixpath
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from structformer.corpus import Corpus
from structformer.corpus.site import HOST, PAGE, Navigation, Site
from structformer.formats.generators import (
    BARE,
    FOLDER,
    HTML,
    MIRROR,
    SiteFacts,
    SiteFiles,
    SiteGenerator,
    SitePage,
    is_address,
)
from structformer.formats.link_names import page_suffixes, without_suffix
from structformer.formats.source import open_file
from structformer.ingestion.sources import base_of, folder_of
from structformer.plugins import load_plugins
from structformer.workspace import Source

_ABOVE = 2  # folders above a given one in which settings are looked for
_SETTINGS_BYTES = 200_000
_PAGE_BYTES = 1_000_000
_SITEMAP_BYTES = 5_000_000
_FILE_BYTES = 2_000_000
_LOCATION = re.compile(r"<loc>\s*(https?://[^<\s]+)\s*</loc>")
_BY_NAME = "the folder's name"
_MOST_PAGES = 200_000  # of a corpus whose pages are asked for their place
_MOST_FOLDERS = 500  # in which a file is looked for that shows the generator
_INDEX_PAGES = ("index", "_index", "readme", "home")
_PLAIN_TITLES = frozenset(
    """about contents docs documentation getting started home index introduction overview readme start
    table of contents welcome""".split()
) | {"getting started", "table of contents"}


@dataclass(frozen=True, slots=True)
class FoundSite:
    """A site, what it was recognised by, and the files outside of the given folders that were read to find it."""

    site: Site
    above: tuple[str, ...] = ()
    """Paths of those files, as seen from the given folder."""
    generator: SiteGenerator | None = None
    given: Path = Path()
    """The given folder that the site is of."""
    pages: Path = Path()
    """The folder of its pages."""
    root: str = ""
    """Prefix of its pages' ids, before their paths from their folder."""
    below: str = ""
    """The way from the folder of pages to the given one, if that is in it: "guide/"."""
    folder: Path = Path()
    """The folder of its settings."""
    settings: str = ""
    """The name of the settings file; "" if there is none."""
    text: str = ""
    """Text of that file, with the settings that it builds on."""


def found_site(sources: Sequence[Source], theme: str = "", *, above: bool = True) -> FoundSite:
    """Return the site of the first source that tells: by a generator's settings at its top, a sitemap, that it is a
    mirror with folders called after hosts, or by settings above it.

    theme: a user's own, in TOML, which is asked first. above: whether to look above the given folders."""
    read: list[str] = []
    seen: set[Path] = set()
    best: FoundSite | None = None
    for source in sources:
        given = folder_of(source.path)
        if given in seen:
            continue
        seen.add(given)
        inside = Path(source.path) == given
        own = load_plugins().theme(theme)
        if own.read is not None and (facts := own.read("", theme)) is not None:
            placed = _placed(facts, given, given, source, own)
            assert placed is not None
            return replace(placed, site=replace(placed.site, said_by="the theme" if facts.base_url else ""))
        places = [*_places(given)][: None if above else 1]
        for folder, way in places:
            outside = not inside or folder != given
            beside = file_reader(folder, [places[-1][0]], given, read)
            for generator, name, text, facts in _settings(folder, beside):
                if outside:
                    read.append(way + name)
                placed = _placed(facts, folder, given, source, generator, name) if facts is not None else None
                if placed is None:
                    continue
                best = best or replace(placed, text=text)
                if placed.site.base_url:
                    site = replace(placed.site, said_by=way + name, name=best.site.name or placed.site.name)
                    return replace(best, site=site, above=tuple(dict.fromkeys(read)))
            if not outside and (site := _told_by_pages(given, source.label)).is_known:
                best = best or FoundSite(site, (), None, given, given)
                return replace(best, site=replace(site, name=best.site.name), above=tuple(read))
    if best is None:
        given = folder_of(sources[0].path) if len(sources) == 1 else Path()
        best = FoundSite(Site(), (), None, given, given)
    return replace(best, above=tuple(dict.fromkeys(read)))


def _places(given: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders to look into, each with the way there from the given one."""
    folder = given
    for up in range(_ABOVE + 1):
        yield folder, "../" * up
        if (folder / ".git").exists() or folder.parent == folder or _is_anybodys(folder.parent):
            return
        folder = folder.parent


def _is_anybodys(folder: Path) -> bool:
    """Whether anybody may write there, as in /tmp: a stranger's settings say nothing of our pages."""
    with suppress(OSError):
        return os.name == "posix" and bool(folder.stat().st_mode & stat.S_IWOTH)
    return True


def _settings(folder: Path, beside: Callable[[str], str]) -> Iterator[tuple[SiteGenerator, str, str, SiteFacts | None]]:
    """Yield each settings file's generator, name, text and facts, which are None if the file is another program's."""
    for generator in load_plugins().site_generators.values():
        for name in generator.settings:
            text = text_of(folder, name, _SETTINGS_BYTES)
            if text is not None and generator.read is not None:
                text = generator.whole(text, beside) if generator.whole is not None else text
                yield generator, name, text, generator.read(name, text)


def file_reader(start: Path, within: Sequence[Path], given: Path, outside: list[str]) -> Callable[[str], str]:
    """Return what reads files, by their paths from `start`, that lie in one of `within`; "" for others. outside: gets
    the paths, from `given`, of those that it lacks."""

    def text(path: str) -> str:
        place = Path(os.path.normpath(start / path))
        is_allowed = any(place.is_relative_to(folder) for folder in within)
        read = text_of(place.parent, place.name, _FILE_BYTES) if is_allowed else None
        if read is not None and not place.is_relative_to(given):
            outside.append(os.path.relpath(place, given).replace(os.sep, "/"))
        return read or ""

    return text


def text_of(folder: Path, name: str, limit: int) -> str | None:
    """Return a file's text; None where there is none, or it is too large, or no file of this folder."""
    path = folder / name
    try:
        if not path.is_file() or any(each.is_symlink() for each in (path, path.parent) if each != folder):
            return None
        with open_file(path) as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= limit else None


def _placed(
    facts: SiteFacts, folder: Path, given: Path, source: Source, generator: SiteGenerator, name: str = ""
) -> FoundSite | None:
    """Return the site with its place among the documents; None if the given folder has none of its pages."""
    candidates = [Path(os.path.normpath(folder / each.strip("/"))) for each in facts.pages]
    pages = next((each for each in candidates if os.path.isdir(each)), None)
    within = facts.within
    if pages is None and folder == given:  # the pages lie beside the settings
        pages, within = folder, ""
    if pages is None or not (pages.is_relative_to(given) or given.is_relative_to(pages)):
        return None
    if any(part.startswith(("_", ".")) for part in _inside(given, pages)):
        return None  # what generators make, or keep for themselves
    base = base_of(source)
    base, label = (given, f"{source.label}/" if source.label else "") if base is None else (base, "")
    inside = (_inside(pages, base), _inside(base, pages))
    above, below = ("".join(f"{part}/" for part in parts) for parts in inside)
    root = label + above
    base_url = facts.base_url if is_address(facts.base_url) else ""
    top = label + "".join(f"{part}/" for part in _inside(folder, base))
    elsewhere = tuple((top + each, there) for each, there in facts.elsewhere if folder.is_relative_to(base))
    known = (facts.name, generator.name, facts.outside, facts.lower, elsewhere)
    site = Site(base_url, facts.rule, root, within + below, "", *known)
    return FoundSite(site, (), generator, given, pages, root, below, folder, name)


def _inside(folder: Path, other: Path) -> tuple[str, ...]:
    return folder.relative_to(other).parts if folder.is_relative_to(other) else ()


def _told_by_pages(folder: Path, label: str) -> Site:
    """Find a site without settings: by its sitemap, or as a mirror."""
    root = f"{label}/" if label else ""
    if (text := text_of(folder, "sitemap.xml", _SITEMAP_BYTES)) is not None and (site := _sitemap(text)).base_url:
        return replace(site, root=root, said_by="sitemap.xml")
    if _is_mirror(folder):
        return Site(f"https://{folder.name}/", HTML, root, said_by=_BY_NAME)
    with suppress(OSError):  # the walk says what cannot be read
        if any(_is_mirror(each) for each in folder.iterdir()):
            return Site(rule=MIRROR, root=root, said_by=_BY_NAME)
    return Site()


def _is_mirror(folder: Path) -> bool:
    """Whether a folder is a host's from `wget --mirror`: named after it, with robots.txt or a page that names it."""
    name = folder.name
    files = tuple(suffix for suffix in page_suffixes() if suffix != ".org")  # which ends more hosts than files
    if not HOST.fullmatch(name) or name.endswith(files) or folder.is_symlink() or not folder.is_dir():
        return False
    if text_of(folder, "robots.txt", _PAGE_BYTES) is not None:
        return True
    return f"//{name}/" in (text_of(folder, "index.html", _PAGE_BYTES) or "")


def _sitemap(text: str) -> Site:
    """Return the site of a sitemap: the folder that all its addresses share, and the rule that most of them follow."""
    addresses = [*filter(is_address, _LOCATION.findall(text))]
    hosts = {urlsplit(address)[:2] for address in addresses}
    if len(hosts) != 1:
        return Site()
    ((scheme, host),) = hosts
    paths = [urlsplit(address).path or "/" for address in addresses]
    shared = posixpath.commonpath([path[: path.rfind("/") + 1] for path in paths]).rstrip("/")
    ends = Counter(HTML if PAGE.search(path) else FOLDER if path.endswith("/") else BARE for path in paths)
    base_url = f"{scheme}://{host}{shared}/"
    return Site(base_url, ends.most_common(1)[0][0])


def rows_of_pages(corpus: Corpus) -> Iterator[tuple[str, str, Any]]:
    """Return the (path, title, front matter) of each file of a corpus that is one document."""
    for shard in corpus.shards:
        for row in corpus.rows(shard, "documents", ["id", "path", "title", "metadata"]):
            if row["id"] == row["path"]:
                yield row["id"], row["title"], json.loads(row["metadata"])


def with_navigation(site: FoundSite, rows: Iterable[tuple[str, str, Any]]) -> tuple[FoundSite, Navigation]:
    """Return the site with its generator, and the navigation; an empty one if no generator is recognised by its
    settings, by keys of front matter that order pages, or by files that it alone has. rows: as of `rows_of_pages`.
    """
    root = site.root
    inside = (row for row in rows if row[0].startswith(root))
    pages = [SitePage(site.below + path[len(root) :], *others) for path, *others in islice(inside, _MOST_PAGES + 1)]
    if len(pages) > _MOST_PAGES:
        return site, Navigation()
    if not site.site.name:
        site = replace(site, site=replace(site.site, name=_name_by_index(pages)))
    outside: list[str] = []
    # Nothing is read but what lies in the folder of the pages or in that of the settings.
    within = (site.pages, site.folder) if site.pages != Path() else ()
    text = file_reader(site.pages, within, site.given, outside)
    generator = site.generator or _by_pages(pages, text)
    if generator is not None:
        site = replace(site, site=replace(site.site, generator=generator.name))
    if generator is None or generator.navigation is None:
        return site, Navigation()
    way = os.path.relpath(site.folder, site.pages).replace(os.sep, "/")
    folder = "" if way == "." or not site.settings else f"{way}/"
    known, settings = {page.path for page in pages}, folder + site.settings
    titles: dict[str, str] = {}
    read = SiteFiles(site.settings, lambda path: (site.text if path == settings else "") or text(path), pages, folder)
    for entry in generator.navigation(read):
        if entry.path in known:
            titles.setdefault(root + entry.path[len(site.below) :], " ".join(entry.title.split()))
    return replace(site, above=tuple(dict.fromkeys((*site.above, *outside)))), Navigation(titles)


def _name_by_index(pages: Sequence[SitePage]) -> str:
    """Return the title of the index page at the top, unless any site's could have it; "" if there is none."""
    titles = {without_suffix(page.path).lower(): page.title for page in pages if "/" not in page.path}
    named = (titles[stem].strip() for stem in _INDEX_PAGES if stem in titles)
    return next((title for title in named if title and title.lower() not in _PLAIN_TITLES and len(title) <= 80), "")


def _by_pages(pages: Sequence[SitePage], text: Callable[[str], str]) -> SiteGenerator | None:
    """Return the generator whose keys order most of the pages, else the first that has files among them."""
    generators = load_plugins().site_generators.values()

    def placed(generator: SiteGenerator) -> int:
        return sum(
            any(type(page.metadata.get(key)) in (int, float) for key in generator.position_keys) for page in pages
        )

    counts = [(placed(each), each) for each in generators if each.position_keys]
    best = max(counts, key=lambda counted: counted[0], default=(0, None))
    if best[0]:
        return best[1]
    folders = list(dict.fromkeys(page.path.rpartition("/")[0] for page in pages))[:_MOST_FOLDERS]
    marks = ((each, f"{at}/{name}".lstrip("/")) for each in generators for name in each.markers for at in folders)
    return next((generator for generator, path in marks if text(path)), None)
