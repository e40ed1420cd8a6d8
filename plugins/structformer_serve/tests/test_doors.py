"""What stands at a server's doors: a proxy's words, paths with and without its prefix, names that would be links, lines
that are no messages, wrong tokens, and answers that a client has already.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.retrieval.hits import Filter
from structformer.retrieval.indexing import build_index

from conftest import write_pages
from structformer_serve.app import Application
from structformer_serve.http.access import Access, Tokens
from structformer_serve.http.guard import ACCESS
from structformer_serve.http.listening import listening
from structformer_serve.http.options import ServerOptions
from structformer_serve.http.server import Server
from structformer_serve.mcp_server import Answers, mcp_server
from structformer_serve.schemas import AskRequest, FeedbackRequest
from structformer_serve.service import SearchService, View

LINK = "ok](http://evil.example/x) [y"
TOKEN = "public-public-public"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors")
    (folder / "docs").mkdir()
    records = [
        {"id": "public/a", "title": LINK, "text": "apples here"},
        {"id": "public/b](http://evil.example/) [c", "title": "B", "text": "pears here"},
        {"id": "public/what?#x%41", "title": "C", "text": "plums here"},
        {"id": "secret/dump#Merger", "title": "D", "text": "hidden"},
    ]
    (folder / "docs" / "r.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    ingest(folder / "docs", folder / "w")
    build_index(folder / "w", encoders=())
    return folder / "w"


def application(workspace: Path, **options: object) -> Application:
    return Application(SearchService(workspace, "Fruit"), ServerOptions(**options), watch=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("sent", ["/docs/search/healthz", "/docs/search/docs/search/healthz"])
def test_a_path_is_answered_with_what_a_proxy_puts_in_front_and_without(workspace, sent):
    app = application(workspace, root="/docs/search")
    with TestClient(app.asgi, "http://localhost", root_path="/docs/search") as client:  # as uvicorn hands a path on
        assert client.get(sent).status_code == 200
        assert client.get("/docs/search/docs/search").status_code == 200
        assert "Search: /docs/search/api/search?q=WORDS. MCP: /docs/search/mcp" in client.get("/llms.txt").text


@pytest.mark.parametrize("root", ["//x", "/x/", "x", "/a//b", "/a?b", "/a/../b", '/"'])
def test_a_root_that_is_no_path_is_refused(root):
    with pytest.raises(UsageError, match="a root path begins with a slash"):
        ServerOptions(root=root)


def test_who_asks_is_believed_from_named_proxies_alone(workspace):
    with pytest.raises(UsageError, match="'proxy' is not an address"):
        ServerOptions(proxies=("proxy",))
    for proxies in ((), ("10.0.0.0/8",)):
        config = Server(application(workspace, proxies=proxies), listening("127.0.0.1", 0)).config
        assert (config.proxy_headers, config.forwarded_allow_ips) == (bool(proxies), list(proxies))


def test_a_name_in_llms_txt_begins_no_link_of_its_own(workspace):
    with TestClient(application(workspace).asgi, "http://localhost") as client:
        lines = client.get("/llms.txt").text.splitlines()
        assert r"- [ok\](http://evil.example/x) \[y](/read/public/a): apples here" in lines
        assert "- [B](/read/public/b%5D%28http%3A//evil.example/%29%20%5Bc): pears here" in lines
        assert "- [C](/read/public/what%3F%23x%2541): plums here" in lines


def test_an_assistant_reads_by_the_addresses_that_it_is_given(workspace):
    answers = Answers(SearchService(workspace, "Fruit"))
    listed = answers.outline("", "", 4000)
    assert r"- ok\](http://evil.example/x) \[y [public/a]" in listed
    assert "- B [public/b%5D(http://evil.example/) %5Bc]" in listed
    assert "pears here" in answers.read("public/b%5D(http://evil.example/) %5Bc", True, 4000)
    assert "plums here" in answers.read("public/what?#x%41", True, 4000)
    for address in ("[public/what?#x%2541]", " public/what?#x%2541 ", "public/what?#x%2541#s0"):  # as it is printed
        assert "plums here" in answers.read(address, True, 4000)
        assert "- C [public/what?#x%2541]" in answers.outline(address, "", 4000)


def test_a_hidden_document_is_answered_as_one_that_is_not_there(workspace):
    answers = Answers(SearchService(workspace, "Fruit"))
    mark = ACCESS.set(Access("public", Filter(("public/*",))))
    try:
        for address in ("secret/dump#Merger", "secret/dump#Nothing", "secret/dump#s²", "secret/dump"):
            with pytest.raises(UsageError, match="no document") as told:
                answers.read(address, True, 4000)
            assert str(told.value) == f"no document {address!r}"
    finally:
        ACCESS.reset(mark)


def test_a_line_that_is_no_message_is_answered_by_an_error(workspace):
    lines = [
        '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "\\ud83d"}}}',
        '{"jsonrpc": "2.0", "id":',
        "[1]",
        '{"jsonrpc": "2.0", "id": "half \\ud83d", "method": "ping"}',
        '{"jsonrpc": "2.0", "id": "odd", "method": 5}',
        '{"jsonrpc": "2.0", "id": "last", "method": "ping"}',
    ]
    command = [sys.executable, "-m", "structformer", "mcp", "-w", str(workspace)]
    # A client waits for its answers: what is on its way when the input ends may be cut off.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:
        served.stdin.write("\n".join(lines) + "\n")
        served.stdin.flush()
        answers = [json.loads(served.stdout.readline()) for _ in lines]
        served.stdin.close()
    assert [(each["id"], each.get("error", {}).get("code")) for each in answers] == [
        (7, -32700),
        (None, -32700),
        (None, -32700),
        (None, -32700),
        ("odd", -32700),
        ("last", None),
    ]


def test_whoever_guesses_tokens_is_slowed_and_others_are_not(workspace, monkeypatch):
    monkeypatch.setattr("structformer_serve.http.guard._GUESS_SECONDS", 0.0)
    tokens = Tokens(((TOKEN, Access("public")),))
    with TestClient(application(workspace, tokens=tokens).asgi, "http://localhost") as client:
        wrong = [client.get("/api/status", headers={"authorization": f"Bearer wrong{n}"}) for n in range(60)]
        assert wrong[0].status_code == 401
        assert wrong[-1].status_code == 429
        assert int(wrong[-1].headers["retry-after"]) >= 1
        assert client.get("/api/status", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("path", ["/widget.js", "/static/icon.svg", "/openapi.json", "/llms.txt"])
def test_what_a_client_has_is_not_sent_again(workspace, path):
    with TestClient(application(workspace).asgi, "http://localhost") as client:
        first = client.get(path)
        again = client.get(path, headers={"if-none-match": f'"other", {first.headers["etag"]}'})
        assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert client.get(path, headers={"if-none-match": '"other"'}).content == first.content


def test_long_answers_are_packed_for_who_can_unpack_them(workspace):
    with TestClient(application(workspace).asgi, "http://localhost") as client:
        packed = client.get("/openapi.json")
        assert packed.headers["content-encoding"] == "gzip"
        for unable in ("identity", "gzip;q=0", "br, gzip; q=0.0, *"):
            plain = client.get("/openapi.json", headers={"accept-encoding": unable})
            assert (plain.json(), "content-encoding" in plain.headers) == (packed.json(), False)
        assert client.get("/openapi.json", headers={"accept-encoding": "gzip;q=0.5"}).headers["content-encoding"]


MANUAL = {
    "start.md": "---\ndescription: How to begin.\n---\n# Start\n\nInstall it first. Then run it.\n",
    "build.md": "# Build\n\nBuild it with make. It takes a minute.\n\n## Options\n\n```sh\nmake build --fast\n```\n",
    "bauen.md": "---\nlanguage: de\n---\n# Bauen\n\nDas Programm wird mit make gebaut, und das dauert nicht lange.\n",
}


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    write_pages(folder / "pages", MANUAL)
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    return folder / "w"


def test_a_page_is_also_markdown(manual):
    with TestClient(application(manual).asgi, "http://localhost") as client:
        asked = client.get("/read/build.md", headers={"accept": "text/markdown, text/html;q=0.5"})
        assert asked.headers["content-type"] == "text/markdown; charset=utf-8"
        assert asked.text.startswith("# Build\n\nBuild it with make. It takes a minute.\n\n## Options\n\n```sh\n")
        assert client.get("/read/build.md.md").text == asked.text
        assert 'href="/read/build.md.md">Markdown</a>' in client.get("/read/build.md").text
        assert client.get("/read/none.md.md").status_code == 404


def test_llms_txt_describes_pages_and_the_full_one_has_them_up_to_a_bound(manual, monkeypatch):
    with TestClient(application(manual).asgi, "http://localhost") as client:
        lines = client.get("/llms.txt").text.splitlines()
        assert "- [Start](/read/start.md): How to begin." in lines
        assert "- [Build](/read/build.md): Build it with make." in lines
        full = client.get("/llms-full.txt").text
        assert "# Start\n" in full
        assert "make build --fast" in full
        monkeypatch.setattr("structformer_serve.app._FULL_BYTES", 10)
        first = client.get("/llms-full.txt").text
        assert first.endswith("[More documents](/llms-full.txt?start=1)\n")
        assert "# Build" in client.get("/llms-full.txt?start=1").text + first


def test_the_api_has_a_page_for_people(manual):
    with TestClient(application(manual).asgi, "http://localhost") as client:
        page = client.get("/docs").text
        assert "GET /api/search" in page
        assert "At least one word or symbol" in page
        called = re.search(r'For example <a href="(.*?)">', page)
        assert called is not None
        assert client.get(html.unescape(called[1])).status_code == 200
        described = client.get("/openapi.json").json()
    operations = [its for methods in described["paths"].values() for its in methods.values()]
    assert [tag for each in operations for tag in each["tags"]] == sorted(
        ["Search"] * 2 + ["Read"] * 2 + ["Feedback"] + ["Server"] * 3,
        key=["Search", "Read", "Feedback", "Server"].index,
    )
    for each in operations:
        assert page.index(f">{each['tags'][0]}</h2>") < page.index(f'id="{each["operationId"]}"')
    bodies = {each["operationId"]: each["requestBody"]["content"] for each in operations if "requestBody" in each}
    for name, model in (("ask", AskRequest), ("feedback", FeedbackRequest)):
        assert model(**bodies[name]["application/json"]["example"])


def test_assistants_filter_by_language_metadata_and_code(manual):
    answers = Answers(SearchService(manual))

    def found(**asked: Any) -> list[str]:
        return [each.address for each in answers.found("make", 10, "", 3000, **asked)[1].sections]

    assert {"bauen.md", "build.md"} <= {each.partition("#")[0] for each in found()}
    assert found(where=["language=de"]) == ["bauen.md"]
    assert found(code=True) == ["build.md#s1"]
    for nothing in ({"where": ["language=xx"]}, {"where": ["version=9"]}):
        said, _ = answers.found("make", 10, "", 3000, **nothing)
        assert said == "Nothing was found for: make\nNo document fits the filter."
    assert "No page within the filter has: react." in answers.found("react", 10, "bauen.md", 3000)[0]
    with pytest.raises(UsageError, match="write key=value"):
        found(where=["language"])


def test_an_assistant_is_told_the_words_that_no_page_has(manual):
    doubt, _, found = Answers(SearchService(manual)).found("make react", 10, "", 3000)[0].partition("\n\n")
    assert doubt.startswith("No sure match. Closest pages:")
    assert doubt.endswith(" No page has: react.")
    assert found.startswith("1. ")


def test_an_assistant_gets_values_beside_the_text(manual):
    result = asyncio.run(mcp_server(SearchService(manual)).call_tool("search", {"query": "make build options"}))
    assert result.structured_content is not None
    first = result.structured_content["sections"][0]
    assert first["address"] == "build.md#s1"
    assert "make build --fast" in first["markdown"]
    assert f"[{first['address']}]" in result.content[0].text


@pytest.mark.parametrize(("likely", "whole"), [(0.9, 1), (0.6, 2), (0.2, 3), (None, 3)])
def test_the_surer_the_search_the_shorter_its_answer(manual, monkeypatch, likely, whole):
    service = SearchService(manual)
    search = View.search
    monkeypatch.setattr(View, "search", lambda *asked: search(*asked).model_copy(update={"likely": likely}))
    text, found = Answers(service).found("make it run", 10, "", 3000)
    assert sum(bool(each.markdown) for each in found.sections) == whole == text.count("\n## ")
    assert ("likelihood of about" in text) == (likely is not None)
