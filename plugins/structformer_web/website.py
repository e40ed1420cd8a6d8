"""A crawl of one website into a folder, which an ingest reads like any mirror.

The site's robots.txt is asked first, then the start address, then what the sitemaps name, then what the pages link to,
breadth first in document order: the same site gives the same files. A page is left as it is where the server says that
it has not changed. A crawl that was stopped goes on where it was.
"""

from collections import Counter, deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import webencodings
from structformer.errors import ReadError, UsageError
from structformer.formats import BOMS, as_utf8
from structformer.storage import bytes_digest, write_bytes, writing_errors

from structformer_web.addresses import Scope, file_name, may_be_page, normal, page_links, safe_name
from structformer_web.fetching import HOURS, MOST_BYTES, Answer, Fetcher
from structformer_web.journal import Entry, Journal
from structformer_web.robots_and_sitemaps import MOST_REDIRECTS, REDIRECTS, Rules, site_rules, sitemap_pages

MOST_PAGES = 10_000
DELAY = 1.0  # seconds between requests
_PAGE_BYTES = 32_000_000
_KNOWN = 500_000  # addresses that a crawl remembers
_WAITING = 100_000
_FAILURES = 10  # one after the other, after which the site is left alone
_PROBLEMS = 1000  # that are kept with their addresses
_PAGES = ("text/html", "application/xhtml+xml")

Progress = Callable[[int, int], None]


class Fate(StrEnum):
    """Outcomes of fetching an address."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    ROBOTS = "forbidden by robots.txt"
    HOST = "on other hosts"
    OUTSIDE = "outside the start path"
    OTHER = "no HTML"
    REDIRECT = "redirects"
    TWICE = "other addresses of a page"
    GONE = "not found"
    ERROR = "failed"
    LEFT = "beyond the limits"


TAKEN = (Fate.NEW, Fate.CHANGED, Fate.UNCHANGED)


@dataclass(slots=True)
class Crawl:
    """Result of a crawl."""

    folder: Path
    """The folder of the pages."""
    counts: Counter[Fate] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Addresses that failed, each with the reason."""
    removed: int = 0
    """How many files of pages that are gone were removed."""
    stopped: str = ""
    """Why the crawl ended early; "" if it did not."""

    @property
    def pages(self) -> int:
        """How many pages were taken."""
        return sum(self.counts[fate] for fate in TAKEN)

    def __str__(self) -> str:
        """Return the numbers in words: 12 pages (10 new, 2 changed), 3 forbidden by robots.txt."""
        taken = ", ".join(f"{self.counts[fate]} {fate}" for fate in TAKEN if self.counts[fate])
        others = [f"{self.counts[fate]} {fate}" for fate in Fate if fate not in TAKEN and self.counts[fate]]
        removed = [f"{self.removed} removed"] if self.removed else []
        return ", ".join(
            [f"{self.pages} page{'s' * (self.pages != 1)}" + (f" ({taken})" if taken else ""), *others, *removed]
        )


def website_folder(url: str, folder: Path) -> Path:
    """Return where the pages of one website are kept. Raises UsageError on what is not an address."""
    return folder / safe_name(unquote(Scope.of(url).host))


def website_pages(
    url: str,
    folder: Path,
    *,
    max_pages: int = MOST_PAGES,
    delay: float = DELAY,
    hours: float = HOURS,
    progress: Progress | None = None,
) -> Crawl:
    """Fetch the pages below an address into a folder of their host's name.

    max_pages: how many are asked for at most. delay: seconds between requests, more where robots.txt asks for more.
    hours: how long it may take in all; the next crawl goes on from there. progress(done, total): pages; the total grows
    as links are found. Raises UsageError on what is not an address, ReadError where nothing could be read.
    """
    scope = Scope.of(url)
    place = website_folder(url, folder)
    if place.is_symlink():
        raise UsageError(f"{place} is a symbolic link: name another workspace")
    journal = Journal(folder / f"{place.name}.jsonl", scope.start)
    with closing(Fetcher(scope, delay, hours)) as fetcher:
        rules = site_rules(fetcher, scope)
        if not rules.allow(scope.start):
            raise ReadError(f"{scope.start}: {Fate.ROBOTS}")
        fetcher.delay = rules.delay(delay)
        with journal:
            write_bytes(place / "robots.txt", rules.text)
            crawl = _Crawler(Crawl(place), scope, fetcher, rules, journal, max_pages, progress).run()
    if not crawl.pages:
        why = next((f"{address}: {message}" for address, message in crawl.problems), f"{scope.start}: {crawl}")
        raise ReadError(f"no page could be read; {why}")
    return crawl


@dataclass(slots=True)
class _Crawler:
    """One crawl."""

    crawl: Crawl
    scope: Scope
    fetcher: Fetcher
    rules: Rules
    journal: Journal
    max_pages: int
    progress: Progress | None
    waiting: deque[tuple[str, int]] = field(default_factory=deque)  # addresses, each with the redirects that led there
    seen: set[str] = field(default_factory=set)  # digests of addresses
    files: set[str] = field(default_factory=set)  # of this crawl's pages
    reached: set[str] = field(default_factory=set)  # pages whose files stay
    size: int = 0
    failures: int = 0

    def run(self) -> Crawl:
        """Ask for all that is to be asked for."""
        self._see(self.scope.start)
        for address in sitemap_pages(self.fetcher, self.scope, self.rules):
            self._see(address)
        asked = 0
        while self.waiting and not self._is_stopped(asked):
            address, redirects = self.waiting.popleft()
            asked += self._visit(address, redirects)
            if self.progress:
                self.progress(asked, asked + len(self.waiting))
        self.crawl.counts[Fate.LEFT] += len(self.waiting)
        if self.failures < _FAILURES and not self.fetcher.spent:
            for entry in list(self.journal.entries.values()):
                if self.scope.holds(entry.address) and entry.address not in self.reached:
                    self._remove(entry)  # nothing leads to it any more
            self.journal.finish()
        return self.crawl

    def _is_stopped(self, asked: int) -> bool:
        if asked >= self.max_pages:
            self.crawl.stopped = f"{asked} pages were asked for (--max-pages)"
        elif self.size >= MOST_BYTES:
            self.crawl.stopped = f"the pages have {self.size / 1e9:.1f} GB"
        elif self.failures >= _FAILURES:
            self.crawl.stopped = f"{_FAILURES} requests failed one after the other; run it again to go on"
        elif spent := self.fetcher.spent:
            self.crawl.stopped = f"{spent}; run it again to go on"
        return bool(self.crawl.stopped)

    def _see(self, address: str, redirects: int = 0) -> None:
        """Let an address wait that is met for the first time, or count why it is left out."""
        digest = bytes_digest(address.encode())
        if digest in self.seen or len(self.seen) >= _KNOWN:
            return
        self.seen.add(digest)
        fate = self._left_out(address)
        if fate is not None:
            self.crawl.counts[fate] += 1
        elif redirects:
            self.waiting.appendleft((address, redirects))
        else:
            self.waiting.append((address, 0))

    def _left_out(self, address: str) -> Fate | None:
        if not self.scope.is_here(address):
            return Fate.HOST
        if not self.scope.holds(address):
            return Fate.OUTSIDE
        if not may_be_page(address):
            return Fate.OTHER
        return Fate.LEFT if len(self.waiting) >= _WAITING else None

    def _visit(self, address: str, redirects: int) -> bool:
        """Ask for a page and note what becomes of it. Whether one was asked for, now or before the crawl stopped."""
        if not self.rules.allow(address):
            self._end(address, Fate.ROBOTS)
            return False
        name = file_name(address, _PAGES[0])
        if name in self.files:
            self._end(address, Fate.TWICE)
            return False
        entry = self._entry(address)
        if entry is not None and not (self.crawl.folder / entry.file).is_file():
            entry = None
        if entry is not None and address in self.journal.done:
            self._keep(entry, Fate.UNCHANGED)
            return True
        answer = self.fetcher.get(
            address,
            _PAGE_BYTES,
            headers=entry.conditions if entry else None,
            wanted=lambda answer: "" if answer.kind in _PAGES else Fate.OTHER,
        )
        failed = answer.status in (0, 429) or answer.status >= 500
        self.failures = self.failures + 1 if failed else 0
        if answer.status == 304 and entry is not None:
            self.journal.take(entry)
            self._keep(entry, Fate.UNCHANGED)
        elif answer.status in REDIRECTS:
            self._redirect(address, answer, redirects)
        elif answer.status in (404, 410):
            self._end(address, Fate.GONE, f"status {answer.status}")
        elif answer.problem == Fate.OTHER:
            self._end(address, Fate.OTHER)
        elif answer.status != 200 or answer.problem:
            self._fail(address, answer.problem or f"status {answer.status}", entry)
        else:
            self._take(address, answer, name, entry)
        return True

    def _take(self, address: str, answer: Answer, name: str, before: Entry | None) -> None:
        file = self.crawl.folder / name
        if file.is_dir() or any((self.crawl.folder / above).is_file() for above in PurePosixPath(name).parents):
            self._fail(address, f"its file {name} would be in the way of another's", None)
            return
        data = _as_kept(address, answer)
        is_same = before is not None and before.size == len(data) and file.read_bytes() == data
        if not is_same:
            write_bytes(file, data)
        entry = Entry(address, name, len(data), answer.headers.get("etag", ""), answer.headers.get("last-modified", ""))
        self.journal.take(entry)
        self._keep(entry, Fate.UNCHANGED if is_same else Fate.CHANGED if before else Fate.NEW)

    def _keep(self, entry: Entry, fate: Fate | None) -> None:
        """Count a page whose file is there, and follow its links."""
        if fate is not None:
            self.crawl.counts[fate] += 1
        self.files.add(entry.file)
        self.reached.add(entry.address)
        self.size += entry.size
        for link in page_links((self.crawl.folder / entry.file).read_bytes(), entry.address):
            self._see(link)

    def _redirect(self, address: str, answer: Answer, redirects: int) -> None:
        target = normal(answer.headers.get("location", ""), address)
        if not target or redirects >= MOST_REDIRECTS:
            self._fail(address, f"over {MOST_REDIRECTS} redirects" if target else "leads nowhere", None)
            return
        self._end(address, Fate.REDIRECT)
        if address == self.scope.start and not self.scope.holds(target):
            self._note(address, f"leads to {target}: start there")
        self._see(target, redirects + 1)

    def _fail(self, address: str, why: str, before: Entry | None) -> None:
        """Count a page that could not be had; what was there before stays."""
        self.crawl.counts[Fate.ERROR] += 1
        self._note(address, why)
        if before is not None:
            self._keep(before, None)

    def _end(self, address: str, fate: Fate, why: str = "") -> None:
        """Count an address that is not a page, or none any more."""
        self.crawl.counts[fate] += 1
        if why:
            self._note(address, why)
        if (entry := self._entry(address)) is not None:
            self._remove(entry)

    def _note(self, address: str, why: str) -> None:
        if len(self.crawl.problems) < _PROBLEMS:
            self.crawl.problems.append((address, why))

    def _entry(self, address: str) -> Entry | None:
        """Return what is kept of a page."""
        entry = self.journal.entries.get(file_name(address, _PAGES[0]))
        return entry if entry is not None and entry.address == address else None

    def _remove(self, entry: Entry) -> None:
        self.journal.remove(entry.file)
        with writing_errors(self.crawl.folder / entry.file):
            (self.crawl.folder / entry.file).unlink(missing_ok=True)
        self.crawl.removed += 1


def _as_kept(address: str, answer: Answer) -> bytes:
    """A page as its file: what only the answer's headers say of it, its encoding and its address, is said in the page.

    An address of its own in the page counts before that.
    """
    body = answer.body
    charset = webencodings.lookup(answer.charset) if answer.charset else None
    if any(body.startswith(mark) for mark, _ in BOMS):
        body = as_utf8(body)
    elif charset is not None and charset.name not in ("utf-8", "x-user-defined"):
        body = ("\ufeff" + charset.codec_info.decode(body, "replace")[0].removeprefix("\ufeff")).encode()
    return body + f'\n<link rel="canonical" href="{escape(address)}">\n'.encode()
