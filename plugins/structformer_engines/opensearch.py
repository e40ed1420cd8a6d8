"""OpenSearch and Elasticsearch, by the REST interface that they share; they differ in vectors."""

import base64
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from structformer.errors import UsageError, WorkspaceError
from structformer.retrieval import Ranked, in_order

from structformer_engines.interface import Documents, EngineUnit, Kept, Units, Vector

AUTHORIZATION = "STRUCTFORMER_ENGINE_AUTHORIZATION"  # the header's value, such as "ApiKey ..." or "Bearer ..."
_PREFIX = "structformer"  # a cluster holds indices of others; those behind our names are replaced, and begin so
_PLACE = re.compile(r"(https?://[^/?#]+)/?([a-z0-9][a-z0-9_-]{0,60})?/?")
_SECONDS = 120.0  # for one answer: making an index's last segments can take long
_MOST_CANDIDATES = 10_000  # that either looks at


class OpenSearchIndex:
    """OpenSearch with its k-NN plugin, which its distributions have: two indices, of units and of documents, behind two
    aliases that change hands at once when both are whole.
    """

    kind = "opensearch"
    settings: Mapping[str, Any] = MappingProxyType({"index": {"knn": True}})

    def __init__(self, place: str) -> None:
        """place: the cluster's address, USER:PASSWORD@ in it where it wants them, and the index's name. Raises
        UsageError for what is none, ImportError without httpx.
        """
        import httpx

        matched = _PLACE.fullmatch(place)
        if not matched:
            raise UsageError(
                f"{self.kind} takes an address and a name in small letters: {self.kind}:http://HOST:9200/NAME"
            )
        address, name = matched.groups()
        self._name = f"{_PREFIX}-{name}" if name else _PREFIX
        self._errors_of_client = httpx.HTTPError
        self._place = address.rpartition("@")[2].rpartition("/")[2]  # told without its password
        headers = {"Authorization": os.environ[AUTHORIZATION]} if AUTHORIZATION in os.environ else {}
        self._client = httpx.Client(base_url=address, headers=headers, timeout=_SECONDS)

    def write(self, units: Units, documents: Documents, dimensions: int, facts: Mapping[str, Any]) -> None:
        """Whoever searches meanwhile finds what was there before; what is not finished is taken away again."""
        made = {what: f"{self._alias(what)}-{secrets.token_hex(6)}" for what in ("units", "documents")}
        properties = {
            "units": {
                "terms": _TERMS,
                "vector": self._vector_field(dimensions),
                # Vectors are returned from here: clusters differ in whether they keep those that they index.
                "kept": {"type": "object", "enabled": False},
            },
            "documents": {"terms": _TERMS},
        }
        try:
            for what, index in made.items():
                mappings = {"dynamic": False, "_meta": {"facts": dict(facts)}, "properties": properties[what]}
                self._ask("PUT", f"/{index}", {"settings": dict(self.settings), "mappings": mappings})
            for batch in units:
                self._send(made["units"], ((unit.number, _row(unit)) for unit in batch))
            for some in documents:
                self._send(made["documents"], ((each.number, {"terms": " ".join(each.terms)}) for each in some))
            for index in made.values():
                self._ask("POST", f"/{index}/_refresh")
            earlier = [
                index
                for alias in map(self._alias, made)
                for index in sorted(self._ask("GET", f"/_alias/{alias}", or_none=True))
                if index.startswith(f"{alias}-")  # one of ours
            ]
            add = [{"add": {"index": index, "alias": self._alias(what)}} for what, index in made.items()]
            self._ask("POST", "/_aliases", {"actions": [{"remove_index": {"index": old}} for old in earlier] + add})
        except BaseException:
            for index in made.values():
                with suppress(WorkspaceError):
                    self._ask("DELETE", f"/{index}")
            raise

    def facts(self) -> dict[str, Any]:
        answer = self._ask("GET", f"/{self._alias('units')}/_mapping")
        return dict(next(iter(answer.values()))["mappings"]["_meta"]["facts"])

    def nearest(self, vector: Vector, k: int) -> Ranked:
        rows = self._search("units", self._nearest_query(vector.tolist(), k))
        # Both give 1 + x for an inner product x that is not negative, else 1 / (1 - x).
        return in_order((number, score - 1 if score >= 1 else 1 - 1 / score) for number, score in rows)

    def by_words(self, terms: Sequence[str], k: int, *, documents: bool = False) -> Ranked:
        if not terms:
            return []
        body = {"size": k, "query": {"match": {"terms": {"query": " ".join(terms)}}}}
        # Every shard counts all shards' texts, so that scores do not depend on how many there are.
        return in_order(self._search("documents" if documents else "units", body, "?search_type=dfs_query_then_fetch"))

    def units(self, numbers: Sequence[int]) -> dict[int, Kept]:
        if not numbers:
            return {}
        path = f"/{self._alias('units')}/_mget?_source_includes=kept"
        answer = self._ask("POST", path, {"ids": [str(int(each)) for each in numbers]})
        for each in answer["docs"]:
            if "error" in each:  # the answer as a whole succeeds, even without the index
                self._fail(_reason(each))
        kept = {int(each["_id"]): each["_source"]["kept"] for each in answer["docs"] if each.get("found")}
        return {
            number: (each["document"], np.frombuffer(base64.b64decode(each["vector"]), "<f4"), each["fields"])
            for number, each in kept.items()
        }

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _vector_field(self, dimensions: int) -> dict[str, Any]:
        """Return the mapping of the field of vectors."""
        method = {"name": "hnsw", "engine": "faiss", "space_type": "innerproduct"}
        return {"type": "knn_vector", "dimension": dimensions, "method": method}

    def _nearest_query(self, vector: list[float], k: int) -> dict[str, Any]:
        """Return the body of a search for a vector's nearest."""
        return {"size": k, "query": {"knn": {"vector": {"vector": vector, "k": k}}}}

    def _alias(self, what: str) -> str:
        return f"{self._name}-{what}"

    def _search(self, what: str, body: dict[str, Any], parameters: str = "") -> list[tuple[int, float]]:
        answer = self._ask("POST", f"/{self._alias(what)}/_search{parameters}", {**body, "_source": False})
        return [(int(hit["_id"]), float(hit["_score"])) for hit in answer["hits"]["hits"]]

    def _send(self, index: str, rows: Iterator[tuple[int, dict[str, Any]]]) -> None:
        lines = [line for number, row in rows for line in ({"index": {"_id": str(number)}}, row)]
        answer = self._ask("POST", f"/{index}/_bulk", lines=lines)
        if answer.get("errors"):
            refused = (next(iter(item.values())) for item in answer["items"])
            self._fail(next(_reason(each) for each in refused if "error" in each))

    def _ask(
        self, method: str, path: str, body: Any = None, *, lines: list[Any] | None = None, or_none: bool = False
    ) -> dict[str, Any]:
        """Return a request's answer. lines: one JSON value each, for a body. or_none: {} if it is not there."""
        text = "" if body is None else json.dumps(body)
        if lines is not None:
            text = "".join(json.dumps(line) + "\n" for line in lines)
        headers = {"Content-Type": "application/json" if lines is None else "application/x-ndjson"} if text else {}
        try:
            response = self._client.request(method, path, content=text.encode() or None, headers=headers)
            answer = response.json()
        except (self._errors_of_client, ValueError) as error:
            self._fail(str(error) or type(error).__name__, error)
        if or_none and response.status_code == 404:
            return {}
        if response.is_error or not isinstance(answer, dict):
            self._fail(_reason(answer) if isinstance(answer, dict) else f"status {response.status_code}")
        return answer

    def _fail(self, reason: str, error: BaseException | None = None) -> NoReturn:
        first = (reason.splitlines() or ["no answer"])[0]
        raise WorkspaceError(f"{self.kind}, {self._place}: {first}; write it with structformer export") from error


class ElasticsearchIndex(OpenSearchIndex):
    """Elasticsearch from 8.11 on, which has inner products of vectors of any length; the rest is as in OpenSearch."""

    kind = "elasticsearch"
    settings = MappingProxyType({})

    def _vector_field(self, dimensions: int) -> dict[str, Any]:
        return {"type": "dense_vector", "dims": dimensions, "index": True, "similarity": "max_inner_product"}

    def _nearest_query(self, vector: list[float], k: int) -> dict[str, Any]:
        looked_at = min(_MOST_CANDIDATES, max(100, 2 * k))
        return {"size": k, "knn": {"field": "vector", "query_vector": vector, "k": k, "num_candidates": looked_at}}


# Terms come stemmed and apart by spaces; how often one stands in a text counts, where does not.
_TERMS = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}


def _row(unit: EngineUnit) -> dict[str, Any]:
    exact = base64.b64encode(np.asarray(unit.vector, "<f4").tobytes()).decode()
    return {
        "terms": " ".join(unit.terms),
        "vector": unit.vector.tolist(),
        "kept": {"document": unit.document, "vector": exact, "fields": dict(unit.fields)},
    }


def _reason(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    return str(error.get("reason") or error.get("type")) if isinstance(error, dict) else str(error or answer)
