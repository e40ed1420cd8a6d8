"""What pages of other sites can do: by their browsers' own words, and in a browser where one is installed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from structformer.workspace import Workspace

from structformer_serve.feedback import events
from structformer_serve.http.options import ServerOptions
from test_page import browser as browser  # the fixture
from test_server_limits import running
from test_serving import client, wait_until, workspace

IMAGE = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
FRAME = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
CLICK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
AHEAD = {**CLICK, "sec-purpose": "prefetch;prerender"}
PORT = {**IMAGE, "sec-fetch-site": "same-site"}  # another server of this machine, or of the same domain
OURS = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
TYPED = {**CLICK, "sec-fetch-site": "none"}
BOX = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "origin": "https://docs.example.org"}


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("docs"), {"mast.md": "# Mast\n\nA mast holds sails.\n"})


def queries(folder: Path) -> list[str]:
    return [event["query"] for event in events(Workspace(folder))]


@pytest.mark.parametrize("headers", [IMAGE, FRAME, AHEAD, PORT], ids=["image", "frame", "prerender", "other port"])
@pytest.mark.parametrize(
    "path", ["/api/search?q=mast", "/?q=mast", "/read/mast.md", "/read/none.md", "/api/status", "/mcp"]
)
def test_a_page_of_another_site_gets_no_answer_and_learns_nothing(docs, headers, path):
    with client(docs) as asked:
        said = asked.get(path, headers=headers)
    assert (said.status_code, "mast" in said.text) == (403, False)
    assert said.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("headers", [{}, OURS, TYPED, CLICK], ids=["no browser", "ours", "typed", "a link"])
def test_our_own_pages_and_links_in_a_window_of_their_own_are_answered(docs, headers):
    with client(docs) as asked:
        for path in ("/?q=mast", "/read/mast.md", "/api/search?q=mast"):
            assert asked.get(path, headers=headers).status_code == 200


def test_the_script_and_the_styles_are_for_every_site(docs):
    with client(docs) as asked:
        said = asked.get("/widget.js", headers={**IMAGE, "sec-fetch-dest": "script"})
    assert (said.status_code, said.headers["cross-origin-resource-policy"]) == (200, "cross-origin")


def test_only_what_our_pages_and_declared_sites_ask_is_kept(tmp_path):
    folder = workspace(tmp_path, {"mast.md": "# Mast\n\nA mast holds sails.\n"})
    with client(folder, ServerOptions(feedback=True, cors=("https://docs.example.org", "*"))) as asked:
        for number, headers in enumerate(
            [{}, OURS, TYPED, CLICK, IMAGE, BOX, {**BOX, "origin": "https://evil.example"}]
        ):
            asked.get(f"/api/search?q=mast{number}", headers=headers)
        event = {"event": "not_found", "query": "mast7", "shown": []}
        assert asked.post("/api/feedback", json=event, headers={"origin": "https://evil.example"}).status_code == 204
        assert asked.post("/api/feedback", json={**event, "query": "mast8"}, headers=OURS).status_code == 204
    assert queries(folder) == ["mast0", "mast1", "mast2", "mast5", "mast8"]


def test_each_search_is_kept_with_the_door_that_it_came_through(tmp_path):
    folder = workspace(tmp_path, {"mast.md": "# Mast\n\nA mast holds sails.\n"})
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "mast"}},
    }
    with client(folder, ServerOptions(feedback=True, cors=("https://docs.example.org",))) as asked:
        asked.get("/?q=mast", headers=TYPED)
        asked.get("/api/search?q=mast", headers=OURS)
        asked.get("/api/search?q=mast", headers=BOX)
        asked.get("/api/search?q=mast")
        assert (
            asked.post("/mcp", json=call, headers={"accept": "application/json, text/event-stream"}).status_code == 200
        )
    assert [event["door"] for event in events(Workspace(folder))] == ["page", "page", "box", "api", "mcp"]


def test_transfer_encoding_beside_content_length_is_refused_and_ends_the_connection(docs):
    smuggled = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    head = b"POST /api/search HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    with running(docs) as (port, _, _):
        for host in (b"localhost", b"evil.example"):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(head % (host, 5 + len(smuggled)) + smuggled)
                said = b"".join(iter(partial(connection.recv, 65536), b""))
            assert said.startswith(b"HTTP/1.1 400 ")
            assert said.count(b"HTTP/1.1 ") == 1


# -- in a browser -----------------------------------------------------------------------------------------------------

ATTACKS = """<!doctype html><title>attack</title><body>
<img src="{0}/api/search?q=image"><script src="{0}/api/search?q=script"></script>
<iframe src="{0}/?q=frame"></iframe><object data="{0}/?q=object"></object>
<link rel="stylesheet" href="{0}/api/search?q=style">
<form method=post action="{0}/feedback" target=there><input name=q value=form></form><iframe name=there></iframe>
<script>
const report = {{}};
fetch("{0}/api/search?q=fetch", {{mode: "no-cors"}}).then(() => report.fetch = "sent", () => report.fetch = "refused");
navigator.sendBeacon("{0}/api/feedback", JSON.stringify({{event: "not_found", query: "beacon", shown: []}}));
for (const name of ["mast", "none"]) {{
  const link = document.createElement("link");
  link.rel = "prefetch"; link.href = "{0}/read/" + name + ".md";
  link.onload = () => report[name] = "loaded"; link.onerror = () => report[name] = "failed";
  document.head.append(link);
}}
document.forms[0].submit();
window.report = report;
</script>"""


@contextmanager
def another_site(page: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def test_no_way_of_a_browser_asks_for_another_site(tmp_path, browser):
    folder = workspace(tmp_path, {"mast.md": "# Mast\n\nA mast holds sails.\n"})
    with running(folder, feedback=True) as (port, _, _):
        ours = f"http://127.0.0.1:{port}"
        with another_site(ATTACKS.format(ours)) as site, browser.new_page() as page:
            page.goto(site)
            page.wait_for_timeout(1500)
            report = page.evaluate("window.report")
            assert report["fetch"] == "refused"
            assert report.get("mast") == report.get("none")
            page.goto(f"{ours}/?q=typed")  # as in the address bar
        wait_until(lambda: "typed" in queries(folder))
    assert queries(folder) == ["typed"]
