"""A token that sees some documents, against a server that never held the others: every door gives the same."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index

from conftest import write_pages
from structformer_serve.app import Application
from structformer_serve.http.access import read_tokens
from structformer_serve.http.options import ServerOptions
from structformer_serve.service import SearchService

SHOWN = {
    f"public/p{number}.md": f"---\ntags: [t{number % 2}]\nlanguage: en\n---\n# Page {number}\n\nApples and walruses "
    f"{number}, see [next](p{(number + 1) % 6}.md).\n\n## Install\n\nHow the number {number} is installed.\n"
    for number in range(6)
}
HIDDEN = {
    f"secret/s{number}.md": f"---\ntags: [zanzibar{number % 3}]\nteam: skunkworks\nlanguage: de\n---\n# Merger {number}\n\n"
    f"Der Zusammenschluss mit Xylophonic, vexillology {number}; [walrus facts](../public/p1.md).\n\n## Layoffs\n\nE-SECRET-4.\n"
    for number in range(20)
}
HINTS = re.compile(
    r"merger|xylophonic|vexillology|zanzibar|skunkworks|zusammen|layoffs|e-secret|secret/", re.IGNORECASE
)
WORDS = [
    *"apples walrus merger xylofonic vexilology layoffs install number zanzibar1 E-SECRET-4 skunkworks s1.md".split(),
    *("secret/s1", "public page", "walrus facts", "team:skunkworks", "me", "xy", "z", '"apples and"', "walrus -apples"),
]
PATHS = [
    *"/ /?folder=secret /?folder=public /llms.txt /llms-full.txt /api/status /docs /openapi.json /icon".split(),
    *"/read/secret/s1.md /read/public/p1.md /read/public/p1.md.md /read/secret/s1.md.md".split(),
    *"/api/document/public/p1.md /api/document/secret/s1.md /api/section/public/p1.md /api/section/secret/s1.md".split(),
    *"/preview/secret/s1.md?section=0 /preview/public/p1.md?section=0".split(),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((method, {}) for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list")),
    ("tools/call", {"name": "read", "arguments": {"address": "secret/s1.md"}}),
    ("tools/call", {"name": "contents", "arguments": {"folder": "secret"}}),
    ("resources/read", {"uri": "structformer://secret/s1.md"}),
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> tuple[TestClient, TestClient]:
    """Of all documents, asked with a token for some; and of these alone."""

    def server(name: str, pages: dict[str, str]) -> TestClient:
        folder = tmp_path_factory.mktemp(name)
        ingest(write_pages(folder / "docs", pages), folder / "w", workers=1)
        build_index(folder / "w", encoders=[])
        tokens = folder / "tokens.toml"
        tokens.write_text('[[tokens]]\ntoken = "a-token-for-public-pages"\npaths = ["public/*"]\n')
        app = Application(SearchService(folder / "w", "T"), ServerOptions(tokens=read_tokens(tokens)), watch=False)
        return TestClient(
            app.asgi, base_url="http://127.0.0.1", headers={"authorization": "Bearer a-token-for-public-pages"}
        )

    return server("all", {**SHOWN, **HIDDEN}), server("some", SHOWN)


def asked() -> list[tuple[str, str, Any, str]]:
    searches = ["/api/search?q={}", "/api/search?q={}&typing=true", "/api/search?q={}&group=true", "/?q={}"]
    searches += ["/api/search?q={}&where=team=skunkworks", "/api/search?q={}&path=secret/*"]
    found = [("GET", each.format(word), None, "json") for word in WORDS for each in searches]
    found += [("GET", path, None, kind) for path in PATHS for kind in ("json", "html")]
    calls = [*CALLS, *(("tools/call", {"name": "search", "arguments": {"query": word}}) for word in WORDS)]
    found += [
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": name, "params": its}, "json") for name, its in calls
    ]
    query = [{"indexName": "x", "query": word} for word in WORDS]
    return [*found, ("POST", "/1/indexes/x/queries", {"requests": query}, "json")]


def test_a_limited_token_gets_what_a_server_gives_that_never_held_the_rest(servers):
    accepted = {"json": "application/json, text/event-stream", "html": "text/html"}
    differ = []
    with servers[0] as all_documents, servers[1] as some:
        for method, path, body, kind in asked():
            one, other = (
                server.request(method, path, json=body, headers={"accept": accepted[kind]})
                for server in (all_documents, some)
            )
            hints = [sorted(set(map(str.lower, HINTS.findall(each.text)))) for each in (one, other)]
            if one.status_code != other.status_code or hints[0] != hints[1]:
                differ.append((path, json.dumps(body), one.status_code, other.status_code, *hints))
            elif path.startswith("/api/search") and _facets(one.json()) != _facets(other.json()):
                differ.append((path, _facets(one.json()), _facets(other.json())))
            elif re.findall(r'<\w+[^>]* lang="[^"]*"', one.text) != re.findall(r'<\w+[^>]* lang="[^"]*"', other.text):
                differ.append((path, "lang"))
    assert not differ


def _facets(answer: dict[str, Any]) -> Any:
    return [facet["name"] for facet in answer.get("facets", ())]
