"""What a server bears: slow clients, many clients, a full disk, wrong addresses, its own end under load."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient
from structformer.errors import UsageError, WorkspaceError
from structformer.retrieval.indexing import build_index
from structformer.workspace import Workspace

from boats import boats
from conftest import write_pages
from load import (
    ask,
    closed_after,
    half_sent_bodies,
    half_sent_headers,
    held,
    never_read,
    serve,
    sigterm_under_load,
)
from structformer_serve.app import Application
from structformer_serve.feedback import FeedbackLog, events, searches
from structformer_serve.http import listening as opening
from structformer_serve.http.access import read_tokens
from structformer_serve.http.connections import Connections
from structformer_serve.http.guard import Metrics
from structformer_serve.http.listening import listen, listening
from structformer_serve.http.options import ServerOptions, client_of, own_names
from structformer_serve.http.server import Server
from structformer_serve.service import SearchService, View
from test_serving import TOKENS, client, free_port, wait_until, workspace

resource = pytest.importorskip("resource", reason="limits of a process need a POSIX system")

SEARCH = b"GET /api/search?q=mast HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty pages, searched by words."""
    folder = boats(tmp_path_factory.mktemp("limits"))
    build_index(folder, encoders=[])
    return folder


@contextmanager
def running(folder: Path, **options: object) -> Iterator[tuple[int, Server, Application]]:
    """A server in a thread; gives its port."""
    application = Application(SearchService(folder), ServerOptions(**options))  # type: ignore[arg-type]
    on = listening("127.0.0.1", 0)
    answers = threading.Event()
    server = Server(application, on, lambda address: answers.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    assert answers.wait(20)
    try:
        yield on.port, server, application
    finally:
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()


def whole(one: socket.socket) -> bytes:
    """An answer of JSON, all of it."""
    answer = b""
    while not answer.endswith(b"}"):
        answer += (piece := one.recv(100_000))
        assert piece, answer
    return answer


def counted(port: int, metric: str) -> float:
    with httpx.Client() as asking:
        text = asking.get(f"http://127.0.0.1:{port}/metrics").text
    return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(metric)), 0.0)


# -- slow clients ----------------------------------------------------------------------------------------------------------


def test_headers_that_do_not_end_are_closed_in_time(harbour):
    with running(harbour, header_seconds=1.0) as (port, _, _):
        with half_sent_headers(port, 100) as sockets:
            assert set(ask(port, 10).statuses) == {200}
            assert max(closed_after(sockets, 10)) < 5
        with held(port, 1, b"GET / HTTP/1.1\r\nx: ") as [one]:
            assert one.recv(1000).startswith(b"HTTP/1.1 408 ")
        with held(port, 1, b"") as [silent]:
            assert silent.recv(1000) == b""
        with held(port, 1, SEARCH) as [again]:
            assert whole(again).startswith(b"HTTP/1.1 200 ")
            again.sendall(b"GET / HTTP/1.1\r\nx: ")
            assert b"HTTP/1.1 408 " in again.recv(100_000)
        assert counted(port, 'structformer_connections_closed_total{reason="headers"}') == 103


def test_a_byte_now_and_then_does_not_hold_a_connection(harbour):
    with running(harbour, header_seconds=0.5) as (port, _, _), held(port, 1, b"GET / HTTP/1.1\r\nx: ") as [one]:
        begun = time.monotonic()

        def trickle() -> None:
            while time.monotonic() - begun < 10:
                one.sendall(b"x")
                time.sleep(0.02)

        with pytest.raises(OSError, match=r"reset|pipe"):
            trickle()
        assert time.monotonic() - begun < 5


def test_bodies_that_do_not_end_leave_the_places_of_searches_free(harbour):
    with running(harbour, body_seconds=2.0, queued=4, bodies=8) as (port, _, _):
        with half_sent_bodies(port, 5) as lengths, half_sent_bodies(port, 20, chunked=True) as chunks:
            assert set(ask(port, 20).statuses) == {200}
            with httpx.Client(base_url=f"http://127.0.0.1:{port}") as asking:
                assert asking.post("/1/indexes/a/query", json={"query": "mast"}).status_code == 503
            assert counted(port, "structformer_bodies_being_read") == 8
            assert counted(port, "structformer_active_requests") == 1  # this one
            lengths[0].settimeout(10)
            answer = lengths[0].recv(10_000).decode()
            assert answer.startswith("HTTP/1.1 408 ")
            assert "connection: close" in answer
            assert max(closed_after([*lengths, *chunks], 10)) < 8
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as asking:
            assert asking.post("/1/indexes/a/query", json={"query": "mast"}).status_code == 200


def test_a_body_in_pieces_is_read_whole_and_no_further_than_its_limit(harbour):
    with running(harbour, body_bytes=1000) as (port, _, _):
        connection = HTTPConnection("127.0.0.1", port, timeout=20)

        def pieces(*parts: bytes) -> Iterator[bytes]:
            for part in parts:
                yield part
                time.sleep(0.05)

        connection.request("POST", "/1/indexes/a/query", pieces(b'{"query":', b' "mast"}'), encode_chunked=True)
        answer = connection.getresponse()
        assert json.loads(answer.read())["nbHits"] > 0
        connection.request("POST", "/1/indexes/a/query", pieces(*[b" " * 300] * 5), encode_chunked=True)
        assert connection.getresponse().status == 413


def test_a_client_that_leaves_before_its_body_is_whole_is_not_a_fault(harbour):
    with running(harbour) as (port, _, _):
        with half_sent_bodies(port, 3):
            wait_until(lambda: counted(port, "structformer_bodies_being_read") == 3)
        wait_until(lambda: counted(port, "structformer_bodies_being_read") == 0)
        assert counted(port, 'structformer_requests_total{route="other",status="499"}') == 3


UNREAD = 'structformer_connections_closed_total{reason="sending"}'


def test_clients_that_read_nothing_of_a_large_answer_leave_the_places_free(tmp_path):
    page = "# Mast\n\n" + "\n\n".join(f"## Part {number}\n\n{'A mast carries sails. ' * 400}" for number in range(200))
    folder = workspace(tmp_path, {"mast.md": page})
    with running(folder, send_seconds=2.0, queued=8) as (port, _, application):
        with never_read(port, 8, "/api/section/mast.md?children=true"):
            wait_until(lambda: counted(port, 'structformer_requests_total{route="/api/section/{id:path}"') >= 8)
            # Until none but this request for the metrics is worked on, and no next one of a connection begins.
            wait_until(lambda: all(counted(port, "structformer_active_requests") <= 1 for _ in range(10)))
            opened = application.metrics.connections._value.get()
            assert opened + counted(port, UNREAD) >= 8, "a loaded machine may have closed some by now"
            assert set(ask(port, 10).statuses) == {200}
            wait_until(lambda: not application.metrics.connections._value.get(), 20)
        assert counted(port, UNREAD) == 8


def test_a_client_that_reads_slowly_gets_all_of_a_large_answer(tmp_path):
    page = "# Mast\n\n" + "\n\n".join(f"## Part {number}\n\n{'A mast carries sails. ' * 400}" for number in range(100))
    folder = workspace(tmp_path, {"mast.md": page})
    asked = b"GET /api/section/mast.md?children=true HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with running(folder, send_seconds=0.5) as (port, _, _):
        with held(port, 1, asked, buffer=2048) as [one]:
            head, _, begun = one.recv(2000).partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            got, since = len(begun), time.monotonic()
            while got < length and (piece := one.recv(8000)):
                got += len(piece)
                time.sleep(0.02 if time.monotonic() - since < 3 else 0.0)
        assert (got, time.monotonic() - since > 1) == (length, True)


# -- many connections ------------------------------------------------------------------------------------------------------


def test_a_client_beyond_its_connections_is_refused_at_once(harbour):
    with (
        running(harbour, connections=3, header_seconds=10.0) as (port, _, application),
        held(port, 3, b"") as sockets,
    ):
        opened = application.metrics.connections._value.get
        wait_until(lambda: opened() == 3)
        with held(port, 1, SEARCH) as [one]:
            assert one.recv(10_000).startswith(b"HTTP/1.1 429 ")
        sockets[0].close()
        wait_until(lambda: opened() == 2)
        with held(port, 1, SEARCH) as [one]:
            assert one.recv(100_000).startswith(b"HTTP/1.1 200 ")


def test_connections_are_counted_by_client_and_all_together():
    options = ServerOptions()
    assert [options.connections_of(each) for each in ("192.0.2.1", "127.0.0.1", "::1", "")] == [64, 0, 0, 0]
    assert ServerOptions(connections=5).connections_of("127.0.0.1") == 5
    assert ServerOptions(connections=0).connections_of("192.0.2.1") == 0
    assert client_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:2") != client_of("2001:db8:0:1::1")
    connections = Connections(options, Metrics())
    assert [connections.entered("192.0.2.1") for _ in range(65)] == [None] * 64 + [429]
    connections.left("192.0.2.1")
    connections.left("192.0.2.1")
    assert connections.entered("192.0.2.1") is None
    assert 16 <= connections.most < 1 << 30


# -- readiness -------------------------------------------------------------------------------------------------------------


def test_a_server_is_ready_when_a_search_would_be_answered(harbour, monkeypatch):
    application = Application(SearchService(harbour))
    asked: list[str] = []
    search = View.search

    def noted(view, request):
        asked.append(request.q)
        if request.q == "The" and broken:
            raise OSError(errno.EIO, "the index is gone")
        return search(view, request)

    broken = False
    monkeypatch.setattr(View, "search", noted)
    with TestClient(application.asgi, base_url="http://localhost") as asking:
        now = 100.0
        monkeypatch.setattr("structformer_serve.app.time.monotonic", lambda: now)
        for _ in range(5):
            assert asking.get("/readyz", headers={"host": "any.example"}).text == "ready\n"
        assert asked == ["The"]  # a word of the first document's title, once a second
        broken = True
        assert asking.get("/readyz").status_code == 200
        now += 1.1
        failing = asking.get("/readyz")
        assert (failing.status_code, failing.text) == (503, "failing\n")
        broken = False
        now += 1.1
        assert asking.get("/readyz").status_code == 200
        application.asgi._active.update(range(64))
        assert (asking.get("/readyz").text, asking.get("/api/search?q=mast").status_code) == ("busy\n", 503)
        application.asgi._active.clear()
        application.asgi.draining = True
        assert asking.get("/readyz").text == "draining\n"


def test_a_search_that_does_not_come_back_holds_one_thread_of_the_probes(harbour, monkeypatch):
    service = SearchService(harbour)
    go, begun = threading.Event(), []
    monkeypatch.setattr(View, "search", lambda view, request: (begun.append(1), go.wait(20)))
    monkeypatch.setattr("structformer_serve.app._PROBE_SECONDS", 0.1)
    monkeypatch.setattr("structformer_serve.app._PROBED_SECONDS", 0.0)
    with TestClient(Application(service).asgi, base_url="http://localhost") as asking:
        assert [asking.get("/readyz").text for _ in range(3)] == ["slow\n"] * 3
        assert len(begun) == 1
        go.set()
        wait_until(lambda: asking.get("/readyz").text == "ready\n")


def test_an_index_that_cannot_be_read_is_said_in_the_log(harbour, monkeypatch, caplog):
    def gone(*given: object) -> None:
        raise WorkspaceError("its rows are gone")

    service = SearchService(harbour)
    monkeypatch.setattr(View, "document", gone)
    with TestClient(Application(service).asgi, base_url="http://localhost") as asking:
        assert asking.get("/api/document/mast.md").status_code == 503
    assert "its rows are gone" in caplog.text


# -- feedback --------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux changes another process's limits")
def test_a_full_disk_drops_feedback_and_fails_no_search(tmp_path, run, monkeypatch):
    folder = workspace(tmp_path, {"mast.md": "# Mast\n\nTall.\n"})
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # a module that is compiled meanwhile would be cut, and stay so
    port = free_port()
    started = serve("-w", folder, "--port", port, "--feedback")
    try:
        assert set(ask(port, 2).statuses) == {200}
        [path] = (folder / "feedback").iterdir()
        limit = path.stat().st_size + 30  # in the middle of the next line
        resource.prlimit(started.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        assert set(ask(port, 5).statuses) == {200}
        assert path.stat().st_size == limit
        assert counted(port, 'structformer_feedback_dropped_total{reason="error"}') == 5
        resource.prlimit(started.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert set(ask(port, 1).statuses) == {200}
    finally:
        started.kill()
        started.wait()
    skipped: list[str] = []
    assert [found.asked for found in searches(Workspace(folder), skipped)] == [3]
    assert (len(skipped), skipped[0]) == (1, f"{path}, line 3")
    said = run("feedback", "-w", folder)
    assert (said.code, f"skipped: 1; the first: {path}, line 3" in said.err) == (0, True)
    assert json.loads(run("feedback", "-w", folder, "--json").out)["skipped"] == 1


def test_feedback_is_limited_in_size_and_age_and_counts_what_it_drops(tmp_path, monkeypatch, caplog):
    folder = tmp_path / "w"
    (folder / "feedback").mkdir(parents=True)
    for name in ("2025-06.jsonl", "2025-07.jsonl", "2026-07.jsonl", "2024-13.jsonl", "mine.jsonl", "2020-01.txt"):
        (folder / "feedback" / name).write_text("")
    now = time.struct_time((2026, 7, 15, 12, 0, 0, 0, 0, 0))
    monkeypatch.setattr("structformer_serve.feedback.time.gmtime", lambda: now)
    dropped: list[str] = []
    kept = FeedbackLog(Workspace(folder), most_bytes=200, dropped=dropped.append)
    for _ in range(4):
        kept.add({"event": "search", "query": "mast", "shown": []})
    assert dropped == ["full", "full"]
    assert {path.name for path in (folder / "feedback").iterdir()} == {
        "2025-07.jsonl",
        "2026-07.jsonl",
        "2024-13.jsonl",
        "mine.jsonl",
        "2020-01.txt",
    }
    now = time.struct_time((2026, 8, 1, 0, 0, 0, 0, 0, 0))
    kept.add({"event": "search", "query": "mast", "shown": []})
    assert len(dropped) == 2
    assert not (folder / "feedback" / "2025-07.jsonl").exists()


def test_an_event_after_half_a_line_has_a_line_of_its_own(tmp_path):
    folder = tmp_path / "w" / "feedback"
    folder.mkdir(parents=True)
    path = folder / f"{time.strftime('%Y-%m', time.gmtime())}.jsonl"
    path.write_text('{"event": "search", "query": "oar", "shown": ["a"]}\n{"event": "sea')
    FeedbackLog(Workspace(tmp_path / "w")).add({"event": "search", "query": "mäst\ud800", "shown": []})
    (folder / "2000-01.jsonl").write_bytes(
        b'[]\n\n{"event": 3, "query": "x"}\n\xff\xfe\n{"event": "click", "query": "x", "document": {}}\n'
        + b"[" * 10_000
        + b'\n{"event": "click", "query": "x", "shown": [3]}\n{"event": "not_found", "query": "x", "shown": null}\n'
    )
    skipped: list[str] = []
    assert [event["query"] for event in events(Workspace(tmp_path / "w"), skipped)] == ["x", "oar", "mäst?"]
    assert (len(skipped), skipped[0]) == (8, f"{folder / '2000-01.jsonl'}, line 1")


# -- what is asked ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "mast", "hitsPerPage": Infinity}',
        b'{"query": "mast", "hitsPerPage": -Infinity}',
        b'{"query": "mast", "hitsPerPage": NaN}',
        b'{"query": "mast", "hitsPerPage": 1e999}',
        b'{"query": "mast", "other": [1e999]}',
        b'{"query": "mast", "params": "hitsPerPage=Infinity"}',
        b'{"query": "mast", "hitsPerPage": [3]}',
    ],
)
def test_numbers_that_json_does_not_have_are_refused(harbour, body):
    with client(harbour) as asking:
        assert asking.post("/1/indexes/a/query", content=body).status_code == 422
        wrong = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ' + body + b"}"
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if b'params"' not in body[1:] and b"[3]" not in body:
            assert asking.post("/mcp", content=wrong, headers=headers).status_code == 400
        assert asking.get("/mcp", headers=headers).status_code == 405  # no stream that never ends


@pytest.mark.parametrize(
    ("opening", "closing", "kept"),
    [
        ("<mark>", "</mark>", True),
        ('<em class="hit is-strong">', "</em>", True),
        ("<span class='hit'>", "</span>", True),
        ("<b><script>alert(1)</script>", "</b>", False),
        ("<b>", "</b><script>alert(1)</script>", False),
        ("<b>", "</i>", False),
        ("<b >", "</b>", False),
        ('<b class="x" onclick="alert(1)">', "</b>", False),
        ('<b class="x&quot;">', "</b>", False),
        ("<b class=\"x'>", "</b>", False),
        ("<img>", "</img>", False),
        ("<svg/onload=alert(1)>", "</svg>", False),
        ("<b>\n", "</b>\n", False),
        ("__aa-highlight__", "__/aa-highlight__", False),
    ],
)
def test_a_box_chooses_an_element_and_a_class_and_nothing_else(harbour, opening, closing, kept):
    asked = {"query": "mend the mast", "highlightPreTag": opening, "highlightPostTag": closing}
    with client(harbour) as asking:
        hits = asking.post("/1/indexes/a/query", json=asked).json()["hits"]
    text = hits[0]["_snippetResult"]["content"]["value"]
    first, last = (opening, closing) if kept else ("<mark>", "</mark>")
    assert first in text
    assert "<" not in text.replace(first, "").replace(last, "")


# -- names and addresses ---------------------------------------------------------------------------------------------------


def test_a_server_for_other_machines_answers_to_this_machines_names_alone():
    name = socket.gethostname()
    everywhere = ServerOptions(host="0.0.0.0")
    for host in ("localhost:8765", "192.0.2.7:8765", "[2001:db8::1]:8765", "[::1]", name, f"{name.upper()}:80"):
        assert everywhere.answers_to(host), host
    for host in ("evil.example", "evil.example:8765", "", "127.0.0.1.evil.example", "0x7f.1"):
        assert not everywhere.answers_to(host), host
    assert ServerOptions(host="0.0.0.0", hosts=("Docs.Example.org",)).answers_to("docs.example.ORG:443")
    assert ServerOptions(host="0.0.0.0", hosts=("*",)).answers_to("evil.example")
    assert not ServerOptions(hosts=("docs.example.org",)).answers_to("evil.example")
    assert all(each == each.lower() for each in own_names())


def test_at_the_start_it_says_which_names_it_answers_to(harbour):
    command = [sys.executable, "-m", "structformer", "serve", "-w", str(harbour), "--host", "0.0.0.0", "--port", "0"]
    command += ["--cors", "https://docs.example"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        address = started.stdout.readline().split()[0]
        assert "pages of https://docs.example may ask" in started.stderr.readline()
        line = started.stderr.readline()
        port = int(address.rsplit(":", 1)[1].strip("/"))
        wrong = httpx.get(f"http://127.0.0.1:{port}/api/search?q=mast", headers={"host": "evil.example"})
        started.send_signal(signal.SIGTERM)
        assert started.wait(30) == 0
    assert wrong.status_code == 421
    assert "localhost" in line
    assert "--host-name NAME" in line


def test_probes_need_no_name_and_no_token_behind_a_proxys_path_either(harbour, tmp_path):
    (tmp_path / "tokens.toml").write_text(TOKENS)
    with running(harbour, root="/search", tokens=read_tokens(tmp_path / "tokens.toml")) as (port, _, _):
        for path in ("/healthz", "/readyz"):
            with held(port, 1, f"GET {path} HTTP/1.0\r\n\r\n".encode()) as [one]:
                assert one.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert set(ask(port, 1).statuses) == {401}


def test_an_address_that_cannot_be_listened_on_is_said_precisely(run, tmp_path, monkeypatch):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        nowhere = tmp_path / "nowhere"
        taken = run("serve", "-w", nowhere, "--port", port)
        assert (taken.code, f"127.0.0.1:{port} is in use by another program" in taken.err) == (2, True)
        pages = write_pages(tmp_path / "pages", {"a.md": "# A\n"})
        assert "is in use" in run("up", pages, "-w", nowhere, "--port", port, "--no-open").err
        assert not nowhere.exists()  # nothing was read
    for host, message in (
        ("nosuch.invalid", "--host nosuch.invalid: no such host name is known"),
        ("192.0.2.1", "--host 192.0.2.1 is not an address of this machine"),
    ):
        assert message in run("serve", "-w", nowhere, "--host", host).err

    def refused(*_: object) -> socket.socket:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(opening, "_listen", refused)
    with pytest.raises(UsageError, match=r"127.0.0.1:80: this user may not listen on port 80"):
        listen("127.0.0.1", 80)


def test_a_port_is_ours_from_the_beginning_and_who_connects_waits(harbour):
    on = listening("127.0.0.1", 0)
    with pytest.raises(UsageError, match="in use"):
        listen("127.0.0.1", on.port)
    with held(on.port, 1, SEARCH) as [early]:
        server = Server(Application(SearchService(harbour)), on)
        thread = threading.Thread(target=server.run)
        thread.start()
        assert early.recv(100_000).startswith(b"HTTP/1.1 200 ")
        server.should_exit = True
        early.close()
        thread.join(20)


def test_answers_are_sent_without_waiting_for_more(harbour):
    with running(harbour) as (port, server, _), held(port, 1, SEARCH) as [one]:
        assert whole(one)
        [connection] = server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
@pytest.mark.parametrize(("host", "asked"), [("::1", ["[::1]"]), ("::", ["[::1]", "127.0.0.1"])])
def test_addresses_of_ipv6_are_served(harbour, host, asked):
    try:
        listen("::1", 0)[0].close()
    except UsageError:
        pytest.skip("IPv6 is switched off here")
    command = [sys.executable, "-m", "structformer", "serve", "-w", str(harbour), "--host", host, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        address = started.stdout.readline().split()[0]
        assert address.startswith(f"http://[{host}]:")
        port = address.rsplit(":", 1)[1].strip("/")
        for each in asked:
            assert httpx.get(f"http://{each}:{port}/api/search?q=mast").status_code == 200
        started.send_signal(signal.SIGTERM)
        assert started.wait(30) == 0


# -- the end ---------------------------------------------------------------------------------------------------------------


def test_connections_that_have_not_asked_yet_are_still_answered_at_the_end(harbour):
    with running(harbour) as (port, server, _), held(port, 1, SEARCH) as [kept], held(port, 1, b"") as [fresh]:
        kept.settimeout(20)
        assert b"connection: close" not in whole(kept)
        server.handle_exit(signal.SIGTERM, None)
        wait_until(lambda: not server.servers[0].is_serving())
        with socket.socket() as late:
            assert late.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
        for one in (kept, fresh):
            one.sendall(SEARCH)
            answer = whole(one)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b"connection: close" in answer


def test_ctrl_c_does_not_wait_for_idle_connections(harbour):
    with (
        running(harbour, header_seconds=30.0) as (port, server, _),
        held(port, 1, SEARCH) as [kept],
        held(port, 1, b""),
    ):
        assert whole(kept)
        begun = time.monotonic()
        server.handle_exit(signal.SIGINT, None)
        assert kept.recv(1000) == b""
        assert time.monotonic() - begun < 2


def test_no_request_is_cut_by_sigterm(harbour):
    port = free_port()
    ended = sigterm_under_load(lambda: serve("-w", harbour, "--port", port), port, requests=400)
    assert (ended.cut, ended.exit_code) == ([], 0)
    assert ended.answered >= 400


@pytest.mark.skipif(os.name != "posix", reason="systemd's protocol")
def test_a_socket_that_was_handed_over_refuses_nobody(harbour):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(2048)
        port = one.getsockname()[1]
        ended = sigterm_under_load(lambda: serve("-w", harbour, on=one), port, requests=400, overlap=True)
    assert (ended.cut, ended.refused, ended.exit_code) == ([], 0, 0)


def test_what_was_handed_over_must_listen(monkeypatch, tmp_path):
    monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
    monkeypatch.setenv("LISTEN_FDS", "1")
    with (tmp_path / "file").open("w") as file:
        monkeypatch.setattr(opening, "_FIRST_HANDED_OVER", file.fileno())
        with pytest.raises(UsageError, match="is not a socket"):
            listening("127.0.0.1", 0)
    assert "LISTEN_FDS" not in os.environ
    monkeypatch.setenv("LISTEN_PID", "1")
    monkeypatch.setenv("LISTEN_FDS", "1")
    on = listening("127.0.0.1", 0)  # meant for another process
    assert not on.handed_over
    on.sockets[0].close()


def test_feedback_is_not_appended_to_a_file_elsewhere(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"{time.strftime('%Y-%m', time.gmtime())}.jsonl").write_text("mine\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "feedback").symlink_to(tmp_path / "elsewhere")
    dropped: list[str] = []
    FeedbackLog(Workspace(tmp_path / "w"), dropped=dropped.append).add({"event": "search", "query": "mast"})
    (tmp_path / "w" / "feedback").unlink()
    (tmp_path / "w" / "feedback").mkdir()
    [file] = (tmp_path / "elsewhere").iterdir()
    (tmp_path / "w" / "feedback" / file.name).symlink_to(file)
    FeedbackLog(Workspace(tmp_path / "w"), dropped=dropped.append).add({"event": "search", "query": "mast"})
    assert dropped == ["error", "error"]
    assert file.read_text() == "mine\n"


def test_what_reads_writes_or_computes_runs_beside_the_event_loop(tmp_path, monkeypatch):
    folder = boats(tmp_path)
    build_index(folder, encoders=[])
    called: dict[str, bool] = {}

    def watch(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def watched(*given, **named):
            with suppress(RuntimeError):
                asyncio.get_running_loop()
                called[name] = True
            called.setdefault(name, False)
            return real(*given, **named)

        monkeypatch.setattr(owner, name, watched)

    for name in ("search", "compare", "section", "document", "status", "documents", "markdown"):
        watch(View, name)
    watch(FeedbackLog, "add")
    with client(folder, ServerOptions(feedback=True)) as server:
        for path in (
            "/api/search?q=mast", "/?q=mast&compare=words", "/", "/api/status", "/llms.txt", "/llms-full.txt", "/docs",
            "/openapi.json", "/read/page0.md", "/api/document/page0.md", "/api/section/page0.md", "/read/gone.md",
        ):  # fmt: skip
            assert server.get(path).status_code in (200, 404), path
        assert server.post("/api/feedback", json={"event": "not_found", "query": "x", "shown": []}).status_code == 204
    assert {"search", "status", "documents", "markdown", "add"} <= called.keys()
    assert not [name for name, on_loop in called.items() if on_loop]
