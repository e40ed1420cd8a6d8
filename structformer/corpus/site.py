"""Where a corpus's pages are read: the address of the site that is built from them, and its rule for addresses."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import yaml

from structformer.document import Document
from structformer.errors import UsageError
from structformer.formats.link_names import INDEX_STEMS, page_suffixes, without_order, without_suffix, without_template
from structformer.storage.files import read_json, write_json
from structformer.workspace import Source

# x.md is /x/, /x, /x.html, or where it lies; in a mirror the first folder is the host.
FOLDER, BARE, HTML, FILE, MIRROR = RULES = ("folder", "bare", "html", "file", "mirror")
_FILE = "site.json"
_OWN_ADDRESS = ("permalink", "slug", "url")  # keys of front matter
_CONFIG_BYTES = 1_000_000
_ADDRESS = re.compile(r"https?://[^/\s]+")
_PAGE = re.compile(r"\.(?:html?|xhtml)$", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?")
_LOCATION = re.compile(r"<loc>\s*(https?://[^<\s]+)\s*</loc>")
_SITEMAP_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Site:
    """base_url: what stands before all addresses; "" where it is not known. rule: how a source's path becomes one.
    root: the folder of the corpus whose pages the site is built from.
    """

    base_url: str = ""
    rule: str = FOLDER
    root: str = ""

    def __post_init__(self) -> None:
        if self.base_url and not _ADDRESS.match(self.base_url):
            raise UsageError(f"{self.base_url!r} is not an address: write https://...")
        if self.rule not in RULES:
            raise UsageError(f"no URL rule {self.rule!r}; there are: {', '.join(RULES)}")

    @property
    def is_known(self) -> bool:
        """Whether pages have addresses other than those that they say themselves."""
        return bool(self.base_url) or self.rule == MIRROR

    def address(self, document: Document) -> str:
        """Where a document is read: what it says itself, else by the rule; "" where nothing tells."""
        return self.address_of(document.id, document.source.path, document.metadata)

    def address_of(self, id: str, path: str, metadata: Mapping[str, Any]) -> str:
        """The address of the document of an id, a source and what the source says of itself."""
        for key in ("canonical", "og:url"):
            value = metadata.get(key)
            if isinstance(value, str) and value.startswith(("https://", "http://")):
                return value
        if self.rule == MIRROR:
            host, _, rest = path.removeprefix(self.root).partition("/")
            return f"https://{host}/{quote(self._path(rest))}" if _HOST.fullmatch(host) and id == path else ""
        if not self.base_url:
            return ""
        base = self.base_url.rstrip("/") + "/"
        for key in _OWN_ADDRESS:
            value = metadata.get(key)
            if isinstance(value, str) and value.startswith("/"):
                return urljoin(base, quote(value.lstrip("/")))
        if id != path or not path.startswith(self.root):
            return ""  # one of many in a file, or no page of the site
        return base + quote(self._path(path[len(self.root) :]))

    def _path(self, path: str) -> str:
        bare = without_suffix(path)
        folder, _, stem = bare.rpartition("/")
        above = f"{folder}/" if folder else ""
        if self.rule == FILE or (_PAGE.search(path) and self.rule != BARE):
            return above if stem.lower() == "index" and self.rule != FILE else without_template(path)
        if stem.lower() in INDEX_STEMS:
            return above
        if self.rule == HTML:
            return f"{bare}.html"
        return f"{bare}/" if self.rule == FOLDER else without_order(bare)


def write_site(folder: Path, site: Site) -> None:
    """Keep a corpus's site in its folder."""
    write_json(folder / _FILE, asdict(site))


def read_site(folder: Path) -> Site:
    """A corpus's site; that of one that was read without is empty."""
    return Site(**read_json(folder / _FILE)) if (folder / _FILE).exists() else Site()


def found_site(sources: Iterable[Source]) -> Site:
    """What a folder says of its site: the settings of MkDocs, Jekyll, Docusaurus or Sphinx at its top, a sitemap, or
    that it is a mirror, its folders called after hosts.
    """
    for source in sources:
        root, above = Path(source.path), f"{source.label}/" if source.label else ""
        if not root.is_dir():
            continue
        for name, read in _SETTINGS.items():
            if (text := _top_file(root, name, _CONFIG_BYTES)) is not None:
                site = read(text)
                # Settings may stand above the folder of the pages or in it.
                inside = f"{site.root}/" if site.root and (root / site.root).is_dir() else ""
                return replace(site, root=above + inside)
        if (text := _top_file(root, "sitemap.xml", _SITEMAP_BYTES)) is not None and (site := _sitemap(text)).base_url:
            return replace(site, root=above)
        if _is_mirror(root):
            return Site(f"https://{root.name}/", HTML, above)
        with suppress(OSError):  # the walk says what cannot be read
            if any(_is_mirror(folder) for folder in root.iterdir()):
                return Site(rule=MIRROR, root=above)
    return Site()


def _top_file(root: Path, name: str, limit: int) -> str | None:
    path = root / name
    if not path.is_file() or path.is_symlink() or path.stat().st_size > limit:
        return None
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _is_mirror(folder: Path) -> bool:
    """Whether a folder is a host's, as `wget --mirror` leaves it: called after it, with its robots.txt or a page that
    names it.
    """
    name = folder.name
    if not _HOST.fullmatch(name) or name.endswith(page_suffixes()) or folder.is_symlink() or not folder.is_dir():
        return False
    if _top_file(folder, "robots.txt", _CONFIG_BYTES) is not None:
        return True
    return f"//{name}/" in (_top_file(folder, "index.html", _CONFIG_BYTES) or "")


def _checked(base_url: str, rule: str, root: str = "") -> Site:
    return Site(base_url if _ADDRESS.match(base_url) else "", rule, root)


def _sitemap(text: str) -> Site:
    """The site of a sitemap: the folder that all its addresses share, and the rule that most of them follow."""
    addresses = _LOCATION.findall(text)
    hosts = {urlsplit(address)[:2] for address in addresses}
    if len(hosts) != 1:
        return Site()
    ((scheme, host),) = hosts
    paths = [urlsplit(address).path or "/" for address in addresses]
    shared = posixpath.commonpath([path[: path.rfind("/") + 1] for path in paths]).rstrip("/")
    ends = Counter(HTML if _PAGE.search(path) else FOLDER if path.endswith("/") else BARE for path in paths)
    return _checked(f"{scheme}://{host}{shared}/", ends.most_common(1)[0][0])


def _mkdocs(text: str) -> Site:
    found = {
        match[1]: match[2].strip().strip("\"'")
        for match in re.finditer(r"^(site_url|use_directory_urls|docs_dir):[ \t]*(\S.*)$", text, re.MULTILINE)
    }
    rule = HTML if found.get("use_directory_urls") == "false" else FOLDER
    return _checked(found.get("site_url", ""), rule, found.get("docs_dir", "docs").strip("/"))


def _jekyll(text: str) -> Site:
    try:
        settings: Any = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        return Site("", HTML)
    base = str(settings.get("url") or "").rstrip("/") + str(settings.get("baseurl") or "")
    return _checked(base, FOLDER if settings.get("permalink") == "pretty" else HTML)


def _docusaurus(text: str) -> Site:
    url = re.search(r"\burl:\s*['\"]([^'\"]+)['\"]", text)
    base = re.search(r"\bbaseUrl:\s*['\"]([^'\"]+)['\"]", text)
    return _checked((url[1].rstrip("/") + (base[1] if base else "/")) if url else "", BARE)


def _sphinx(text: str) -> Site:
    found = re.search(r"^html_baseurl\s*=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return _checked(found[1] if found else "", HTML)


_SETTINGS = {
    "mkdocs.yml": _mkdocs,
    "_config.yml": _jekyll,
    "docusaurus.config.js": _docusaurus,
    "docusaurus.config.ts": _docusaurus,
    "conf.py": _sphinx,
}
