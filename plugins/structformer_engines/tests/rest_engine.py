"""A stand-in for OpenSearch and Elasticsearch: what their documentation says of the requests that we send, and nothing
else. It was written from the documentation; neither engine was run.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from structformer.text.lexical_analysis import idf, saturation


class NotThere(Exception):
    """What an engine answers with 404."""


class Refused(Exception):
    """What an engine answers with 400."""


class StandIn:
    """Indices and aliases. kind: which of the two engines' ways with vectors it has."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.mappings: dict[str, dict[str, Any]] = {}
        self.rows: dict[str, dict[str, dict[str, Any]]] = {}
        self.aliases: dict[str, str] = {}
        self.authorization: set[str | None] = set()
        self.full = False  # bulk requests are then refused item by item, as from a full disk

    def answer(self, method: str, path: str, text: str) -> Any:
        path, _, parameters = path.partition("?")
        if path == "/_aliases":
            return self._change_aliases(json.loads(text)["actions"])
        if matched := re.fullmatch(r"/_alias/([^/]+)", path):
            if matched[1] not in self.aliases:
                raise NotThere(f"alias [{matched[1]}] missing")
            return {self.aliases[matched[1]]: {"aliases": {matched[1]: {}}}}
        matched = re.fullmatch(r"/([^/_][^/]*)(/_\w+)?", path)
        assert matched, path
        name, action = self.aliases.get(matched[1], matched[1]), matched[2]
        if (method, action) == ("PUT", None):
            return self._create(name, json.loads(text))
        if name not in self.rows and action == "/_mget":
            error = {"type": "index_not_found_exception", "reason": f"no such index [{name}]"}
            return {"docs": [{"_index": name, "_id": each, "error": error} for each in json.loads(text)["ids"]]}
        if name not in self.rows:
            raise NotThere(f"no such index [{name}]")
        if (method, action) == ("DELETE", None):
            del self.rows[name], self.mappings[name]
            return {"acknowledged": True}
        if (method, action) == ("GET", "/_mapping"):
            return {name: {"mappings": self.mappings[name]}}
        if action == "/_bulk":
            return self._bulk(name, [json.loads(line) for line in text.splitlines()])
        if action == "/_refresh":
            return {"_shards": {"failed": 0}}
        if action == "/_mget":
            assert parameters == "_source_includes=kept"
            return {"docs": [self._got(name, each) for each in json.loads(text)["ids"]]}
        assert (method, action) == ("POST", "/_search"), (method, action)
        return self._search(name, json.loads(text))

    def _create(self, name: str, body: dict[str, Any]) -> Any:
        assert set(body) == {"settings", "mappings"}
        properties = body["mappings"]["properties"]
        assert properties["terms"] == {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
        if vector := properties.get("vector"):
            if self.kind == "opensearch":
                assert body["settings"]["index"]["knn"] is True
                assert (vector["type"], vector["method"]["space_type"]) == ("knn_vector", "innerproduct")
                assert isinstance(vector["dimension"], int)
            else:
                assert (vector["type"], vector["similarity"]) == ("dense_vector", "max_inner_product")
                assert isinstance(vector["dims"], int)
        self.mappings[name], self.rows[name] = body["mappings"], {}
        return {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _bulk(self, name: str, lines: list[Any]) -> Any:
        if self.full:
            error = {"type": "cluster_block_exception", "reason": "disk usage exceeded flood-stage watermark"}
            return {"errors": True, "items": [{"index": {"_id": "0", "status": 429, "error": error}}]}
        for action, row in zip(lines[::2], lines[1::2], strict=True):
            self.rows[name][action["index"]["_id"]] = row
        return {"errors": False, "items": []}

    def _change_aliases(self, actions: list[Any]) -> Any:
        for action in actions:
            [(kind, what)] = action.items()
            if kind == "remove_index":
                del self.rows[what["index"]], self.mappings[what["index"]]
            else:
                assert kind == "add"
                if what["alias"] in self.rows:
                    raise Refused(f"an index exists with the same name as the alias [{what['alias']}]")
                self.aliases[what["alias"]] = what["index"]
        return {"acknowledged": True}

    def _got(self, name: str, number: str) -> Any:
        if number not in self.rows[name]:
            return {"_index": name, "_id": number, "found": False}
        return {"_id": number, "found": True, "_source": {"kept": self.rows[name][number]["kept"]}}

    def _search(self, name: str, body: dict[str, Any]) -> Any:
        assert body["_source"] is False
        if "match" in body.get("query", {}):
            scores = self._by_words(name, body["query"]["match"]["terms"]["query"].split(" "))
        else:
            scores = self._by_vector(name, self._vector_of(body))
        best = sorted(scores.items(), key=lambda each: -each[1])[: body["size"]]
        return {"hits": {"hits": [{"_index": name, "_id": number, "_score": score} for number, score in best]}}

    def _vector_of(self, body: dict[str, Any]) -> list[float]:
        if self.kind == "opensearch":
            assert set(body["query"]["knn"]["vector"]) == {"vector", "k"}
            return body["query"]["knn"]["vector"]["vector"]
        assert set(body["knn"]) == {"field", "query_vector", "k", "num_candidates"}
        assert body["knn"]["k"] <= body["knn"]["num_candidates"] <= 10_000
        return body["knn"]["query_vector"]

    def _by_vector(self, name: str, vector: list[float]) -> dict[str, float]:
        products = {number: float(np.dot(row["vector"], vector)) for number, row in self.rows[name].items()}
        return {number: 1 + each if each >= 0 else 1 / (1 - each) for number, each in products.items()}

    def _by_words(self, name: str, terms: list[str]) -> dict[str, float]:
        texts = {number: Counter(row["terms"].split()) for number, row in self.rows[name].items()}
        average = sum(text.total() for text in texts.values()) / max(1, len(texts))
        weight = {term: idf(sum(term in text for text in texts.values()), len(texts)) for term in set(terms)}
        scores = {
            number: sum(weight[term] * saturation(text[term], text.total(), average) / 2.2 for term in terms)
            for number, text in texts.items()
        }
        return {number: score for number, score in scores.items() if score}


@contextmanager
def serving(stand_in: StandIn) -> Iterator[str]:
    """The address that a stand-in answers at."""

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            stand_in.authorization.add(self.headers.get("Authorization"))
            try:
                status, answer = 200, stand_in.answer(self.command, self.path, text)
            except NotThere as error:
                status, answer = 404, {"error": {"type": "index_not_found_exception", "reason": str(error)}}
            except Refused as error:
                status, answer = 400, {"error": {"type": "invalid_alias_name_exception", "reason": str(error)}}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = _do

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
