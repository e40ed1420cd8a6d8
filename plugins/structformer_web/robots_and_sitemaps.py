"""A site's rules for those who crawl it, and the pages that it names: its robots.txt and its sitemaps.

Sources: RFC 9309, Robots Exclusion Protocol; sitemaps.org, protocol 0.9.
"""

import zlib
from collections import deque

from structformer.errors import ReadError
from structformer.extras import needed_for

from structformer_web.addresses import Scope, normal, sitemap_addresses
from structformer_web.fetching import AGENT, Answer, Fetcher

with needed_for("reading a website"):
    from protego import Protego

REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 5
_ROBOTS_BYTES = 500_000
_SITEMAP_BYTES = 32_000_000
_SITEMAPS = 100
_DEPTH = 2  # of indexes of sitemaps
_ADDRESSES = 50_000
_LONGEST_DELAY = 30.0


class Rules:
    """A site's robots.txt. text: as it is sent, empty where there is none."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._parsed = Protego.parse(text.decode("utf-8-sig", "replace"))

    def allow(self, address: str) -> bool:
        """Whether an address may be asked for."""
        return bool(self._parsed.can_fetch(address, AGENT))

    def delay(self, least: float) -> float:
        """Return the seconds between requests: those that the site asks for, at least these."""
        return max(least, min(self._parsed.crawl_delay(AGENT) or 0.0, _LONGEST_DELAY))

    @property
    def sitemaps(self) -> list[str]:
        """The addresses of the sitemaps that it names."""
        return [address for each in self._parsed.sitemaps if (address := normal(each))]


def site_rules(fetcher: Fetcher, scope: Scope) -> Rules:
    """The rules of a site. Raises ReadError where the server cannot say them, since they may forbid everything."""
    address = f"{scope.top}/robots.txt"
    answer = _asked(fetcher, scope, address, _ROBOTS_BYTES, cut=True)
    if not answer.status or answer.status == 429 or answer.status >= 500 or answer.problem:
        why = answer.problem or f"status {answer.status}"
        raise ReadError(f"{address}: {why}; what may be read is unknown, so nothing was read: try again later")
    return Rules(answer.body)


def sitemap_pages(fetcher: Fetcher, scope: Scope, rules: Rules) -> list[str]:
    """Return the addresses that a site's sitemaps name, in their order; those of another host are not asked for."""
    waiting = deque((address, 0) for address in rules.sitemaps or [f"{scope.top}/sitemap.xml"])
    seen: set[str] = set()
    pages: dict[str, None] = {}
    while waiting and len(seen) < _SITEMAPS and len(pages) < _ADDRESSES:
        address, depth = waiting.popleft()
        if address in seen or not scope.is_here(address) or not rules.allow(address):
            continue
        seen.add(address)
        answer = _asked(fetcher, scope, address, _SITEMAP_BYTES)
        named, further = sitemap_addresses(_unpacked(answer.body))
        pages.update(dict.fromkeys(named[: _ADDRESSES - len(pages)]))
        if depth < _DEPTH:
            waiting.extend((each, depth + 1) for each in further[:_SITEMAPS])
    return list(pages)


def _asked(fetcher: Fetcher, scope: Scope, address: str, limit: int, *, cut: bool = False) -> Answer:
    """Return the answer at an address, or where the site's redirects lead; another host's counts as not found."""
    for _ in range(MOST_REDIRECTS + 1):
        answer = fetcher.get(address, limit, cut=cut)
        if answer.status not in REDIRECTS:
            return answer
        address = normal(answer.headers.get("location", ""), address)
        if not scope.is_here(address):
            break
    return Answer(404, {})


def _unpacked(data: bytes) -> bytes:
    """Return a sitemap that is kept as a packed file, within the same limit."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _SITEMAP_BYTES)
    except zlib.error:
        return b""
