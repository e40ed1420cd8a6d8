"""Websites: what a crawl asks for and what not, what it keeps, and that a second one fetches only what has changed."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from structformer import Corpus, ingest
from structformer.errors import ReadError, UsageError
from structformer.extras import install_command

pytest.importorskip("httpx")
pytest.importorskip("protego")

from structformer_web.addresses import Scope, file_name, is_public, normal, page_links
from structformer_web.fetching import Fetcher
from structformer_web.website import Crawl, Fate, website_pages

Reply = tuple[int, dict[str, str], bytes]


def page(title: str, *links: str) -> Reply:
    anchors = "".join(f'<p>To <a href="{link}">a page</a>.' for link in links)
    return 200, {"Content-Type": "text/html"}, f"<title>{title}</title><h1>{title}</h1><p>Text.{anchors}".encode()


def text(content: str) -> Reply:
    return 200, {"Content-Type": "text/plain"}, content.encode()


@dataclass
class Website:
    """A server of some replies by path. asked: the requests that it got; sent: the bytes of pages that it sent."""

    replies: dict[str, Reply]
    address: str = ""
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    sent: int = 0

    def reply(self, path: str) -> Reply:
        if path.startswith("/docs/endless/"):
            return page("Endless", f"{path}x/", f"{path}y/")
        return self.replies.get(path, (404, {}, b""))


@contextmanager
def serving(replies: dict[str, Reply]) -> Iterator[Website]:
    website = Website(replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            website.asked.append(self.path)
            website.headers.append(dict(self.headers))
            status, headers, body = website.reply(self.path)
            if status == 200 and headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
                status, body = 304, b""
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            website.sent += len(body) if self.path.startswith("/docs") else 0
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    website.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield website
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def replies() -> dict[str, Reply]:
    return {
        "/robots.txt": text("User-agent: *\nDisallow: /docs/private\nSitemap: /sitemap.xml\n"),
        "/docs/": page("Boats", "knots", "/docs/oars/", "../blog/", "https://other.example/", "private", "chart.pdf"),
        "/docs/knots": page("Knots", "/docs/", "/docs/old", "/docs/broken", "/docs/away"),
        "/docs/oars/": page("Oars", "../knots", "/docs/missing"),
        "/docs/private": page("Private"),
        "/blog/": page("Blog"),
        "/docs/old": (301, {"Location": "/docs/new?of=sails&by=wind"}, b""),
        "/docs/new?of=sails&by=wind": page("Sails"),
        "/docs/away": (302, {"Location": "https://other.example/docs/"}, b""),
        "/docs/broken": (500, {}, b""),
    }


@pytest.fixture
def website() -> Iterator[Website]:
    with serving(replies()) as each:
        yield each


def crawled(website: Website, folder: Path, **options: Any) -> Crawl:
    return website_pages(f"{website.address}/docs/", folder, delay=0, **options)


def files(crawl: Crawl) -> dict[str, bytes]:
    return {
        path.relative_to(crawl.folder).as_posix(): path.read_bytes()
        for path in sorted(crawl.folder.rglob("*"))
        if path.is_file()
    }


PAGES = ["docs/index.html", "docs/knots.html", "docs/new?of=sails&by=wind.html", "docs/oars/index.html"]


def test_a_website_is_read_by_its_address(run, website):
    done = run("ingest", f"{website.address}/docs/", "--crawl-delay", 0, "-w", "boats")
    assert done.code == 0, done.err
    host = website.address.removeprefix("http://")
    assert (
        f"{website.address}/docs/: 4 pages (4 new), 1 forbidden by robots.txt, 2 on other hosts, "
        f"1 outside the start path, 1 no HTML, 2 redirects, 1 not found, 1 failed; in " in done.out
    )
    assert f"{website.address}/docs/broken: status 500" in done.err
    assert f"{website.address}/docs/missing: status 404" in done.err
    assert "4 documents, 4 sections" in done.out
    corpus = Corpus.open("boats")
    assert {document.title: corpus.site.address(document) for document in corpus.documents()} == {
        "Boats": f"{website.address}/docs/",
        "Knots": f"{website.address}/docs/knots",
        "Oars": f"{website.address}/docs/oars/",
        "Sails": f"{website.address}/docs/new?of=sails&by=wind",
    }
    assert "11 internal links, 7 lead nowhere; 1 lead outside" in done.out
    shown = run("inspect", "-w", "boats", "--tree")
    assert shown.code == 0
    assert all(title in shown.out for title in ("Boats", "Knots", "Oars", "Sails"))
    assert (Path("boats") / "websites" / host / "robots.txt").is_file()
    assert {headers["User-Agent"].partition("/")[0] for headers in website.headers} == {"structformer"}
    again = run("ingest", "-w", "boats")  # without an address nothing is asked for
    assert "0 files read, 4 unchanged" in again.out
    assert run("ingest", f"{website.address}/docs/", "--remove", "-w", "boats").code == 2  # nothing would be left


def test_what_is_forbidden_elsewhere_or_no_page_is_never_asked_for(website, tmp_path):
    crawl = crawled(website, tmp_path)
    assert not {"/docs/private", "/blog/", "/docs/chart.pdf"} & set(website.asked)
    assert website.asked[:3] == ["/robots.txt", "/sitemap.xml", "/docs/"]
    assert len(website.asked) == len(set(website.asked))
    assert list(files(crawl)) == [*PAGES, "robots.txt"]


def test_the_same_site_gives_the_same_files(website, tmp_path):
    first, second = crawled(website, tmp_path / "a"), crawled(website, tmp_path / "b")
    assert files(first) == files(second)
    assert (tmp_path / "a" / f"{first.folder.name}.jsonl").read_bytes() == (
        tmp_path / "b" / f"{second.folder.name}.jsonl"
    ).read_bytes()


def test_sitemaps_come_first_and_an_index_leads_to_others(website, tmp_path):
    namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    index = f"<sitemapindex {namespace}><sitemap><loc>{website.address}/pages.xml.gz</loc></sitemap></sitemapindex>"
    pages = "".join(f"<url><loc>{website.address}/docs/{name}</loc></url>" for name in ("lone", "oars/", "../blog/"))
    website.replies |= {
        "/robots.txt": text(f"Sitemap: {website.address}/sitemap.xml\nSitemap: https://other.example/sitemap.xml\n"),
        "/sitemap.xml": text(index),
        "/pages.xml.gz": (200, {}, gzip.compress(f"<urlset {namespace}>{pages}</urlset>".encode())),
        "/docs/lone": page("Lone"),
    }
    crawl = crawled(website, tmp_path)
    assert website.asked[:6] == ["/robots.txt", "/sitemap.xml", "/pages.xml.gz", "/docs/", "/docs/lone", "/docs/oars/"]
    assert "docs/lone.html" in files(crawl)
    assert crawl.counts[Fate.OUTSIDE] == 1


def test_a_second_crawl_fetches_only_what_has_changed(website, tmp_path):
    for number, path in enumerate(("/docs/", "/docs/knots", "/docs/oars/", "/docs/new?of=sails&by=wind")):
        website.replies[path][1]["ETag"] = f'"{number}"'
    before = files(crawled(website, tmp_path))
    website.sent = 0
    crawl = crawled(website, tmp_path)
    assert (crawl.counts[Fate.UNCHANGED], crawl.pages, website.sent) == (4, 4, 0)
    assert files(crawl) == before
    website.replies["/docs/oars/"] = page("Oars and rowlocks")
    crawl = crawled(website, tmp_path)
    assert (crawl.counts[Fate.CHANGED], crawl.counts[Fate.UNCHANGED]) == (1, 3)
    assert website.sent == len(website.replies["/docs/oars/"][2])
    assert b"rowlocks" in files(crawl)["docs/oars/index.html"]


def test_a_page_that_is_gone_is_removed_and_one_that_fails_stays(website, tmp_path):
    crawled(website, tmp_path)
    website.replies["/docs/oars/"] = (410, {}, b"")
    website.replies["/docs/knots"] = (500, {}, b"")
    crawl = crawled(website, tmp_path)
    assert list(files(crawl)) == [PAGES[0], PAGES[1], PAGES[2], "robots.txt"]  # what the failed page leads to as well
    assert (crawl.removed, crawl.counts[Fate.GONE]) == (1, 1)
    website.replies["/docs/knots"] = page("Knots")
    assert list(files(crawled(website, tmp_path))) == [PAGES[0], PAGES[1], "robots.txt"]  # nothing leads to Sails


def test_a_crawl_that_was_killed_goes_on(website, tmp_path):
    def killed(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        website_pages(f"{website.address}/docs/", tmp_path, delay=0, progress=killed)
    [journal] = tmp_path.glob("*.jsonl")
    journal.write_bytes(journal.read_bytes() + b'{"address": "http://12')  # the line that it was writing
    asked = len(website.asked)
    crawl = crawled(website, tmp_path)
    assert not {"/docs/", "/docs/knots"} & set(website.asked[asked:])
    assert list(files(crawl)) == [*PAGES, "robots.txt"]
    assert all(json.loads(line)["file"] in PAGES for line in journal.read_text().splitlines())


def test_links_without_end_stop_at_the_most_pages(website, tmp_path):
    website.replies["/docs/"] = page("Boats", "endless/")
    crawl = crawled(website, tmp_path, max_pages=7)
    assert (crawl.pages, crawl.stopped) == (7, "7 pages were asked for (--max-pages)")
    assert crawl.counts[Fate.LEFT] > 0
    assert files(crawled(website, tmp_path, max_pages=7)) == files(crawl)


def test_a_crawl_that_has_taken_its_time_goes_on_the_next_time(website, tmp_path, monkeypatch):
    minutes = count()
    clock = SimpleNamespace(monotonic=lambda: next(minutes) * 60.0, sleep=time.sleep, time=time.time)
    monkeypatch.setattr("structformer_web.fetching.time", clock)
    first = crawled(website, tmp_path, hours=0.4)
    assert first.stopped == "it has taken 0.4 hours (--max-hours); run it again to go on"
    assert 0 < first.pages < len(PAGES)
    asked = len(website.asked)
    second = crawled(website, tmp_path)
    assert list(files(second)) == [*PAGES, "robots.txt"]
    assert "/docs/" not in website.asked[asked:]


def test_what_a_crawl_is_sent_is_bounded_whatever_is_kept_of_it(website, tmp_path, monkeypatch):
    monkeypatch.setattr("structformer_web.website._PAGE_BYTES", 10_000)
    monkeypatch.setattr("structformer_web.fetching.MOST_BYTES", 15_000)
    for name in ("/docs/knots", "/docs/oars/"):
        website.replies[name] = (200, {"Content-Type": "text/html"}, b"<h1>Oars</h1>" + b" " * 12_000)
    crawl = crawled(website, tmp_path)
    assert "GB were sent; run it again to go on" in crawl.stopped
    assert crawl.pages == 1


@pytest.mark.parametrize("packed", [True, False])
def test_a_page_that_is_too_large_is_left_out_by_name(website, tmp_path, monkeypatch, packed):
    monkeypatch.setattr("structformer_web.website._PAGE_BYTES", 100_000)
    body = b"<h1>Oars</h1>" + b" " * 200_000
    headers = {"Content-Type": "text/html", **({"Content-Encoding": "gzip"} if packed else {})}
    website.replies["/docs/oars/"] = (200, headers, gzip.compress(body) if packed else body)
    crawl = crawled(website, tmp_path)
    assert (f"{website.address}/docs/oars/", "over 0.1 MB") in crawl.problems
    assert "docs/oars/index.html" not in files(crawl)


def test_a_packed_page_is_unpacked(website, tmp_path):
    body = website.replies["/docs/oars/"][2]
    website.replies["/docs/oars/"] = (
        200,
        {"Content-Type": "text/html", "Content-Encoding": "gzip"},
        gzip.compress(body),
    )
    assert files(crawled(website, tmp_path))["docs/oars/index.html"].startswith(body)


def test_the_encoding_that_the_server_names_is_kept(website, tmp_path):
    website.replies["/docs/oars/"] = (
        200,
        {"Content-Type": "text/html; charset=koi8-r"},
        "<h1>Вёсла</h1>".encode("koi8-r"),
    )
    crawl = crawled(website, tmp_path / "websites")
    ingest(crawl.folder, tmp_path / "w", workers=1)
    assert "Вёсла" in {document.title for document in Corpus.open(tmp_path / "w").documents()}


def test_redirects_end(website, tmp_path):
    for number in range(9):
        website.replies[f"/docs/r{number}"] = (302, {"Location": f"r{number + 1}"}, b"")
    website.replies["/docs/"] = page("Boats", "r0", "circle")
    website.replies["/docs/circle"] = (302, {"Location": "/docs/circle"}, b"")
    crawl = crawled(website, tmp_path)
    assert crawl.problems == [(f"{website.address}/docs/r5", "over 5 redirects")]
    assert crawl.counts[Fate.REDIRECT] == 6


@pytest.mark.parametrize("status", [500, 503, 429])
def test_where_robots_txt_cannot_be_had_nothing_is_asked_for(website, tmp_path, status):
    website.replies["/robots.txt"] = (status, {}, b"")
    with pytest.raises(ReadError, match=rf"{website.address}/robots.txt: status {status}"):
        crawled(website, tmp_path)
    assert website.asked == ["/robots.txt"]


def test_where_there_is_no_robots_txt_all_is_allowed(website, tmp_path):
    del website.replies["/robots.txt"]
    assert "docs/private.html" in files(crawled(website, tmp_path))


def test_a_start_that_is_forbidden_or_leads_away_says_so(website, tmp_path):
    with pytest.raises(ReadError, match=r"docs/private: forbidden by robots\.txt"):
        website_pages(f"{website.address}/docs/private", tmp_path, delay=0)
    with pytest.raises(ReadError, match=r"leads to https://other\.example/docs/: start there"):
        website_pages(f"{website.address}/docs/away", tmp_path, delay=0)
    with pytest.raises(UsageError, match="not an address of a website"):
        website_pages("https://", tmp_path)


def test_a_site_that_fails_again_and_again_is_left_alone(website, tmp_path):
    website.replies["/docs/"] = page("Boats", "knots", *(f"b{number}" for number in range(30)))
    website.replies |= {f"/docs/b{number}": (500, {}, b"") for number in range(30)}
    crawl = crawled(website, tmp_path)
    assert crawl.stopped == "10 requests failed one after the other; run it again to go on"
    assert crawl.counts[Fate.ERROR] == 10
    asked = len(website.asked)
    crawled(website, tmp_path)
    assert "/docs/knots" not in website.asked[asked:]


def test_a_site_says_how_long_to_wait(website, tmp_path, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    website.replies["/robots.txt"] = text("User-agent: structformer\nCrawl-delay: 7\n")
    website.replies["/docs/knots"] = (503, {"Retry-After": "40"}, b"")
    crawl = crawled(website, tmp_path)
    assert (f"{website.address}/docs/knots", "status 503") in crawl.problems
    assert website.asked.count("/docs/knots") == 3
    assert sum(round(pause) == 40 for pause in pauses) == 2
    assert sum(round(pause) == 7 for pause in pauses) > 2


def test_what_is_read_already_is_not_lost_and_nothing_fetched_for_it(run, website, pages):
    run("ingest", pages, "-w", "boats")
    refused = run("ingest", f"{website.address}/docs/", "--crawl-delay", 0, "-w", "boats")
    assert refused.code == 2
    assert "--add reads this beside it" in refused.err
    assert website.asked == []
    added = run("ingest", f"{website.address}/docs/", "--add", "--crawl-delay", 0, "-w", "boats")
    assert "7 documents" in added.out, added.err
    assert run("ingest", f"{website.address}/docs/", "--remove", "-w", "boats").code == 0
    assert len(list(Corpus.open("boats").document_ids())) == 3


@pytest.mark.slow
def test_up_takes_a_website_and_fetches_only_what_has_changed_when_it_begins_again(run, monkeypatch):
    monkeypatch.setattr(
        "structformer_serve.http.server.run", lambda application, ready, on: [each.close() for each in on.sockets]
    )
    status, headers, body = page("Oars")
    with serving({"/docs/": (status, {**headers, "ETag": '"1"'}, body)}) as site, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        up = ("up", f"{site.address}/docs/", "-w", "boats", "--no-open", "--train", "none", "--port", port)
        done = run(*up)
        assert done.code == 0, done.err
        assert list(Corpus.open("boats").document_ids()) == ["docs/index.html"]
        assert f"{site.address}/docs/#oars" in run("search", "oars", "-w", "boats").out
        assert site.sent == len(body)
        assert run(*up).code == 0
        assert (site.asked.count("/docs/"), site.sent) == (2, len(body))
        assert "--watch looks at files" in run(*up, "--watch").err
    assert run("up", "boats/nothing", "-w", "boats", "--no-open").code == 2


def test_without_its_packages_one_line_says_what_to_install(tmp_path):
    code = (
        "import sys\nsys.modules['protego'] = None\nfrom structformer.cli.main import main\n"
        f"main(['ingest', 'http://127.0.0.1:9/', '-w', {str(tmp_path / 'w')!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"error: reading a website needs protego: {install_command('web')}\n"


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("HTTPS://Docs.Example.org:443/a/../b#part", "https://docs.example.org/b"),
        ("https://e.org", "https://e.org/"),
        ("https://e.org/a/%2e%2e/b?x=1 2", "https://e.org/b?x=1%202"),
        ("https://e.org/größe", "https://e.org/gr%C3%B6%C3%9Fe"),
        ("https://user@e.org/", ""),
        ("mailto:a@e.org", ""),
        ("https://[::1/", ""),
        ("https://e.org/" + "a" * 2000, ""),
    ],
)
def test_addresses_have_one_form(address, expected):
    assert normal(address) == expected


@pytest.mark.parametrize(
    ("start", "inside", "outside"),
    [
        ("https://e.org/docs/", "https://e.org/docs/a", "https://e.org/docs2/"),
        ("https://e.org/docs", "https://e.org/docs?a", "https://e.org/docs2/"),
        ("https://e.org/docs/index.html", "https://e.org/docs/a", "https://e.org/"),
        ("https://e.org", "https://e.org/a", "http://e.org/a"),
    ],
)
def test_a_start_says_what_is_below_it(start, inside, outside):
    scope = Scope.of(start)
    assert scope.holds(scope.start)
    assert scope.holds(inside)
    assert not scope.holds(outside)


def test_links_are_those_of_the_page_and_not_of_its_scripts_and_comments():
    html = (
        b"<base href='/docs/'><a href=a>A</a><!-- <a href=b> --><script>'<a href=c>'</script>"
        b'<a title="a > b" class=x href="d&amp;e#f">D</a><area href=\'g\'><a name=h><iframe src="i"></iframe><a href=//[>'
    )
    assert list(page_links(html, "https://e.org/x")) == [
        f"https://e.org/docs/{name}" for name in ("a", "d&e", "g", "i")
    ]


@pytest.mark.parametrize("hostile", [b"<a <a ", b'<a "', b"<!--", b"<script>", b"<a href=' ", b"<a href = "])
def test_hostile_pages_cost_linear_time(hostile):
    assert list(page_links(hostile * 300_000, "https://e.org/")) is not None


@pytest.mark.parametrize(
    "path", ["/%2e%2e%2f%2e%2e%2fetc", "/.git/config", "/a%00b", "/a%5C..%5Cb", "/" + "é" * 90 + "/x"]
)
def test_no_file_leads_elsewhere_or_has_a_name_that_cannot_be(path, tmp_path):
    address = normal(f"https://e.org{path}")
    file = tmp_path / file_name(address, "text/html")
    assert tmp_path in file.resolve().parents
    assert not any(part.startswith(".") or len(part.encode()) > 255 for part in file.relative_to(tmp_path).parts)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


@pytest.mark.parametrize(
    "begun",
    [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-kind: a",
        b"",
    ],
)
def test_a_page_that_drips_in_its_body_its_headers_or_before_them_ends_by_the_clock(begun, monkeypatch):
    monkeypatch.setattr("structformer_web.fetching._SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.recv(65536)
                connection.sendall(begun)
                while True:
                    connection.sendall(
                        b"1\r\nx\r\n" if b"chunked" in begun else begun[-1:] or b"HTTP/1.1 103 A\r\n\r\n"
                    )
                    time.sleep(0.01)

        thread = Thread(target=drip)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        fetcher = Fetcher(Scope.of(address), 0)
        assert "not there after" in fetcher.get(address, 1_000_000).problem
        fetcher.close()
        thread.join()


def test_private_places_of_a_public_host_are_passed_over(monkeypatch):
    def found(*addresses: str) -> list[str]:
        answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in addresses]
        monkeypatch.setattr("socket.getaddrinfo", lambda *arguments, **options: answers)
        return Fetcher(Scope.of("http://e.org/"), 0).places

    assert found("127.0.0.1", "93.184.216.34", "10.0.0.1") == ["93.184.216.34"]
    assert found("10.0.0.1") == ["10.0.0.1"]  # a network's own site, which was asked for
    assert not any(map(is_public, ("127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1%eth0")))
