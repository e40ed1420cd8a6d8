"""Where a corpus's pages are read: the address of the site that is built from them, and its rule for addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import yaml

from structformer.document import Document
from structformer.errors import UsageError
from structformer.storage.files import read_json, write_json
from structformer.text.names import INDEX_STEMS, without_order, without_suffix, without_template

# x.md is /x/, /x, /x.html, or where it lies.
FOLDER, BARE, HTML, FILE = RULES = ("folder", "bare", "html", "file")
_FILE = "site.json"
_OWN_ADDRESS = ("permalink", "slug", "url")  # keys of front matter
_CONFIG_BYTES = 1_000_000
_ADDRESS = re.compile(r"https?://[^/\s]+")
_PAGE = re.compile(r"\.(?:html?|xhtml)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Site:
    """base_url: what stands before all addresses; "" where it is not known. rule: how a source's path becomes one."""

    base_url: str = ""
    rule: str = FOLDER

    def __post_init__(self) -> None:
        if self.base_url and not _ADDRESS.match(self.base_url):
            raise UsageError(f"{self.base_url!r} is not an address: write https://...")
        if self.rule not in RULES:
            raise UsageError(f"no URL rule {self.rule!r}; there are: {', '.join(RULES)}")

    def address(self, document: Document) -> str:
        """Where a document is read: what it says itself, else by the rule; "" where nothing tells."""
        for key in ("canonical", "og:url"):
            value = document.metadata.get(key)
            if isinstance(value, str) and value.startswith(("https://", "http://")):
                return value
        if not self.base_url:
            return ""
        base = self.base_url.rstrip("/") + "/"
        for key in _OWN_ADDRESS:
            value = document.metadata.get(key)
            if isinstance(value, str) and value.startswith("/"):
                return urljoin(base, quote(value.lstrip("/")))
        if document.id != document.source.path:
            return ""  # one of many in a file
        return base + quote(self._path(document.source.path))

    def _path(self, path: str) -> str:
        bare = without_suffix(path)
        folder, _, stem = bare.rpartition("/")
        above = f"{folder}/" if folder else ""
        if self.rule == FILE or _PAGE.search(path):
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


def found_site(roots: Iterable[Path]) -> Site:
    """What a site generator's settings at the top of a folder say: MkDocs, Jekyll, Docusaurus, Sphinx."""
    for root in roots:
        if not root.is_dir():
            continue
        for name, read in _SETTINGS.items():
            path = root / name
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= _CONFIG_BYTES:
                text = path.read_text(encoding="utf-8", errors="replace")
                base_url, rule = read(text)
                return Site(base_url if _ADDRESS.match(base_url) else "", rule)
    return Site()


def _mkdocs(text: str) -> tuple[str, str]:
    found = {
        match[1]: match[2].strip().strip("\"'")
        for match in re.finditer(r"^(site_url|use_directory_urls):[ \t]*(\S.*)$", text, re.MULTILINE)
    }
    return found.get("site_url", ""), HTML if found.get("use_directory_urls") == "false" else FOLDER


def _jekyll(text: str) -> tuple[str, str]:
    try:
        settings: Any = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        return "", HTML
    base = str(settings.get("url") or "").rstrip("/") + str(settings.get("baseurl") or "")
    return base, FOLDER if settings.get("permalink") == "pretty" else HTML


def _docusaurus(text: str) -> tuple[str, str]:
    url = re.search(r"\burl:\s*['\"]([^'\"]+)['\"]", text)
    base = re.search(r"\bbaseUrl:\s*['\"]([^'\"]+)['\"]", text)
    return (url[1].rstrip("/") + (base[1] if base else "/")) if url else "", BARE


def _sphinx(text: str) -> tuple[str, str]:
    found = re.search(r"^html_baseurl\s*=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return found[1] if found else "", HTML


_SETTINGS = {
    "mkdocs.yml": _mkdocs,
    "_config.yml": _jekyll,
    "docusaurus.config.js": _docusaurus,
    "docusaurus.config.ts": _docusaurus,
    "conf.py": _sphinx,
}
