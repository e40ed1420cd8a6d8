"""Looking for where a corpus's pages are read: in the folders that are given, and in the settings of site generators
up to two folders above them.

Above a given folder nothing is opened but files of those names, none beyond the root of a repository and none in a
folder that anybody may write to.
"""

import os
import posixpath
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from structformer.corpus.site import HOST, PAGE, Site
from structformer.formats.generators import BARE, FOLDER, HTML, MIRROR, SiteFacts, is_address
from structformer.formats.link_names import page_suffixes
from structformer.formats.source import open_file
from structformer.ingestion.site_settings import READERS, site_name
from structformer.ingestion.sources import base_of, folder_of
from structformer.plugins import load_plugins
from structformer.workspace import Source

_ABOVE = 2  # folders above a given one in which settings are looked for
_SETTINGS_BYTES = 200_000
_PAGE_BYTES = 1_000_000
_SITEMAP_BYTES = 5_000_000
_LOCATION = re.compile(r"<loc>\s*(https?://[^<\s]+)\s*</loc>")
_BY_NAME = "the folder's name"


@dataclass(frozen=True, slots=True)
class Found:
    """A site, and the files outside of the given folders that were read to find it, as seen from there."""

    site: Site
    above: tuple[str, ...] = ()


def found_site(sources: Iterable[Source]) -> Found:
    """The site of the first source that tells: by a generator's settings at its top, a sitemap, that it is a mirror
    with folders called after hosts, or by settings above it.
    """
    above: list[str] = []
    seen: set[Path] = set()
    called = ""
    for source in sources:
        given = folder_of(source.path)
        if given in seen:
            continue
        seen.add(given)
        inside = Path(source.path) == given
        for folder, way in _places(given):
            outside = not inside or folder != given
            for name, settings in _settings(folder):
                if outside:
                    above.append(way + name)
                if (site := _placed(settings, folder, given, source)) is None:
                    continue
                called = called or site.name
                if site.base_url:
                    return Found(replace(site, said_by=way + name, name=called), tuple(dict.fromkeys(above)))
            if not outside and (site := _told_by_pages(given, source.label)).is_known:
                return Found(replace(site, name=called), tuple(above))
    return Found(Site(name=called), tuple(dict.fromkeys(above)))


def _places(given: Path) -> Iterator[tuple[Path, str]]:
    """The folders to look into, each with the way there from the given one."""
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


def _settings(folder: Path) -> Iterator[tuple[str, SiteFacts]]:
    """What each of the settings in a folder says, with its name."""
    for generator in load_plugins().site_generators.values():
        for name in generator.settings:
            text = _text(folder, name, _SETTINGS_BYTES)
            facts = generator.read(name, text) if text is not None and generator.read is not None else None
            if facts is not None:
                yield name, facts
    for name, read in READERS.items():
        if (text := _text(folder, name, _SETTINGS_BYTES)) is not None:
            yield name, replace(read(text), name=site_name(name, text))


def _text(folder: Path, name: str, limit: int) -> str | None:
    """A file's text; None where there is none, or it is too large, or no file of this folder."""
    path = folder / name
    try:
        if not path.is_file() or any(each.is_symlink() for each in (path, path.parent) if each != folder):
            return None
        with open_file(path) as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= limit else None


def _placed(settings: SiteFacts, folder: Path, given: Path, source: Source) -> Site | None:
    """The site with its place among the documents; None where the given folder has none of its pages."""
    candidates = [Path(os.path.normpath(folder / each.strip("/"))) for each in settings.pages]
    pages = next((each for each in candidates if os.path.isdir(each)), None)
    within = settings.within
    if pages is None and folder == given:  # the pages lie beside the settings
        pages, within = folder, ""
    if pages is None or not (pages.is_relative_to(given) or given.is_relative_to(pages)):
        return None
    if any(part.startswith(("_", ".")) for part in _inside(given, pages)):
        return None  # what generators make, or keep for themselves
    base = base_of(source)
    base, label = (given, f"{source.label}/" if source.label else "") if base is None else (base, "")
    if pages.is_relative_to(base):
        root = label + _path(_inside(pages, base))
    else:
        root, within = label, within + _path(_inside(base, pages))
    base_url = settings.base_url if is_address(settings.base_url) else ""
    return Site(base_url, settings.rule, root, within, name=settings.name)


def _inside(folder: Path, other: Path) -> tuple[str, ...]:
    return folder.relative_to(other).parts if folder.is_relative_to(other) else ()


def _path(parts: tuple[str, ...]) -> str:
    return "".join(f"{part}/" for part in parts)


def _told_by_pages(folder: Path, label: str) -> Site:
    """What a folder says without settings: its sitemap, or that it is a mirror."""
    root = f"{label}/" if label else ""
    if (text := _text(folder, "sitemap.xml", _SITEMAP_BYTES)) is not None and (site := _sitemap(text)).base_url:
        return replace(site, root=root, said_by="sitemap.xml")
    if _is_mirror(folder):
        return Site(f"https://{folder.name}/", HTML, root, said_by=_BY_NAME)
    with suppress(OSError):  # the walk says what cannot be read
        if any(_is_mirror(each) for each in folder.iterdir()):
            return Site(rule=MIRROR, root=root, said_by=_BY_NAME)
    return Site()


def _is_mirror(folder: Path) -> bool:
    """Whether a folder is a host's, as `wget --mirror` leaves it: called after it, with its robots.txt or a page that
    names it.
    """
    name = folder.name
    files = tuple(suffix for suffix in page_suffixes() if suffix != ".org")  # which ends more hosts than files
    if not HOST.fullmatch(name) or name.endswith(files) or folder.is_symlink() or not folder.is_dir():
        return False
    if _text(folder, "robots.txt", _PAGE_BYTES) is not None:
        return True
    return f"//{name}/" in (_text(folder, "index.html", _PAGE_BYTES) or "")


def _sitemap(text: str) -> Site:
    """The site of a sitemap: the folder that all its addresses share, and the rule that most of them follow."""
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
