"""Addresses of a website: one form for each, which of them a crawl may ask for, and what pages and sitemaps name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from ipaddress import ip_address
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from lxml import etree
from structformer.errors import UsageError
from structformer.ingestion import page_name
from structformer.storage import bytes_digest

MOST_CHARACTERS = 1000  # of an address
_PORTS = {"http": 80, "https": 443}
_DOT = re.compile("%2e", re.IGNORECASE)
_KEPT = "/%:@!$&'()*+,;=~-._"
# What is no link is passed over, to the end of the text where it is not closed.
_TAG = re.compile(
    r"""<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\b|\Z)"""
    r"""|<(?P<tag>a|area|base|frame|iframe)\s(?P<attributes>(?:[^<>"']|"[^"<]*"|'[^'<]*')*)""",
    re.IGNORECASE | re.DOTALL,
)
_TARGET = re.compile(r"""(?:^|\s)(href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_NO_PAGES = re.compile(
    r"\.(?:avi|bmp|bz2|css|deb|dmg|docx?|eot|epub|exe|gif|gz|ico|iso|jar|jpe?g|js|json|m4a|mkv|mov|mp[34]|od[pst]|og[gv]|"
    r"otf|pdf|png|pptx?|rpm|svg|t[gx]z|tar|tiff?|ttf|wav|web[mp]|whl|woff2?|xlsx?|xz|zip|zst)$",
    re.IGNORECASE,
)
_UNSAFE = re.compile(r"^\.|[\x00-\x1f\x7f\\]")
_NAME_BYTES = 200  # of a file's or a folder's name


@dataclass(frozen=True, slots=True)
class Scope:
    """Scope of a crawl: the pages of one scheme and host below a path."""

    start: str
    scheme: str
    host: str
    path: str

    @classmethod
    def of(cls, start: str) -> Scope:
        """The scope of a start address: its folder, or all below it where it has no suffix. Raises UsageError."""
        address = normal(start)
        if not address:
            raise UsageError(f"{start!r} is not an address of a website: write https://example.org/docs/")
        parts = urlsplit(address)
        folder, _, last = parts.path.rpartition("/")
        return cls(address, parts.scheme, parts.netloc, f"{folder}/" if not last or "." in last else parts.path)

    @property
    def top(self) -> str:
        """The address of the host."""
        return f"{self.scheme}://{self.host}"

    def is_here(self, address: str) -> bool:
        """Whether an address has this scheme and host."""
        return address.startswith(f"{self.top}/")

    def holds(self, address: str) -> bool:
        """Whether an address is below the start path too."""
        path = address.removeprefix(self.top).partition("?")[0]
        return self.is_here(address) and (
            path.startswith(self.path) if self.path.endswith("/") else f"{path}/".startswith(f"{self.path}/")
        )


def normal(address: str, base: str = "") -> str:
    """Return an address in the one form in which addresses are compared; "" for what is none of a website."""
    try:
        parts = urlsplit(urljoin(base, re.sub(r"[\t\r\n]", "", address.strip())))
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError:  # UnicodeError too
        return ""
    if parts.scheme not in _PORTS or not host or parts.username is not None:
        return ""
    path = urljoin("http://-/", quote(_DOT.sub(".", parts.path), safe=_KEPT) or "/").removeprefix("http://-")
    netloc = f"[{host}]" if ":" in host else host
    if port not in (None, _PORTS[parts.scheme]):
        netloc += f":{port}"
    joined = urlunsplit((parts.scheme, netloc, path, quote(parts.query, safe=f"{_KEPT}?"), ""))
    return joined if len(joined) <= MOST_CHARACTERS and path.startswith("/") else ""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open network."""
    return ip_address(address.partition("%")[0]).is_global


def may_be_page(address: str) -> bool:
    """Whether an address may be a page's, by its suffix."""
    return not _NO_PAGES.search(urlsplit(address).path)


def page_links(page: bytes, address: str) -> Iterator[str]:
    """Yield the addresses that a page links to, in document order; other schemes than the web's are left out."""
    base = address
    for found in _TAG.finditer(page.decode("utf-8", "replace")):
        tag = (found["tag"] or "").lower()
        wanted = "src" if tag.endswith("frame") else "href"
        for target in _TARGET.finditer(found["attributes"] or ""):
            if target[1].lower() != wanted:
                continue
            named = normal(unescape(target[2] or target[3] or target[4] or ""), base)
            if named and tag == "base":
                base = named
            elif named:
                yield named
            break


def sitemap_addresses(data: bytes) -> tuple[list[str], list[str]]:
    """Return (pages, further sitemaps) that a sitemap names; none where it is damaged."""
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        return [], []
    pages: list[str] = []
    sitemaps: list[str] = []
    for each in root:
        kind = etree.QName(each).localname if isinstance(each.tag, str) else ""
        place = next((inner.text for inner in each.iterfind("{*}loc")), None)
        if place and (address := normal(place)) and kind in ("url", "sitemap"):
            (pages if kind == "url" else sitemaps).append(address)
    return pages, sitemaps


def file_name(address: str, kind: str) -> str:
    """Return the file of a page below the folder of its host, with names that any file system takes."""
    return "/".join(safe_name(part) for part in page_name(address, kind).split("/")[1:] if part)


def safe_name(name: str) -> str:
    """Return a name as any file system takes it."""
    if not _UNSAFE.search(name) and len(name.encode()) <= _NAME_BYTES:
        return name
    stem, dot, suffix = name.rpartition(".")
    suffix = dot + suffix if dot and len(suffix) <= 5 else ""
    short = _UNSAFE.sub("_", stem if suffix else name).encode()[:150].decode("utf-8", "ignore")
    return f"{short}-{bytes_digest(name.encode())[:8]}{_UNSAFE.sub('_', suffix) if suffix != '.' else ''}"
