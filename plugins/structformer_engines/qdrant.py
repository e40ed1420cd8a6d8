"""Qdrant: a server, or embedded in a folder. Its words are sparse vectors whose idf Qdrant keeps itself."""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from structformer.retrieval import Ranked, in_order, saturation

from structformer_engines.interface import Documents, Kept, Units, Vector, one_line_errors

_PREFIX = "structformer"  # a server may hold collections of others; those that begin so are replaced
_MEANING, _WORDS = "meaning", "words"
_SERVER = re.compile(r"https?://")


class QdrantIndex:
    """Collections of units, documents and facts in Qdrant."""

    def __init__(self, place: str) -> None:
        """place: a folder, or a server's address and collections' name. Raises ImportError without qdrant-client."""
        from qdrant_client import QdrantClient, models

        self._models: Any = models
        # The client's errors have no class in common.
        self._errors = partial(one_line_errors, f"Qdrant in {place}", Exception)
        where: dict[str, Any] = {"path": place}
        name = ""
        if _SERVER.match(place):
            address, _, name = place.rpartition("/") if place.count("/") > 2 else (place, "", "")
            where = {"url": address}
        self._name = f"{_PREFIX}-{name}" if name else _PREFIX
        with self._errors():
            self._client: Any = QdrantClient(**where)

    def write(self, units: Units, documents: Documents, dimensions: int, facts: Mapping[str, Any]) -> None:
        """The facts name the mean number of terms of units and documents, which BM25 needs before the first of them."""
        models = self._models
        sparse = {_WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)}
        dense = {_MEANING: models.VectorParams(size=dimensions, distance=models.Distance.DOT)}
        with self._errors():
            for suffix, vectors, words in (("facts", {}, {}), ("units", dense, sparse), ("documents", {}, sparse)):
                name = f"{self._name}-{suffix}"
                if self._client.collection_exists(name):
                    self._client.delete_collection(name)
                self._client.create_collection(name, vectors_config=vectors, sparse_vectors_config=words)
            for batch in units:
                points = [
                    models.PointStruct(
                        id=unit.number,
                        vector={
                            _MEANING: unit.vector.tolist(),
                            _WORDS: self._sparse(unit.terms, facts["terms_of_a_unit"]),
                        },
                        payload={"document": unit.document, "fields": dict(unit.fields)},
                    )
                    for unit in batch
                ]
                self._client.upsert(f"{self._name}-units", points)
            for some in documents:
                whole = [
                    models.PointStruct(
                        id=each.number, vector={_WORDS: self._sparse(each.terms, facts["terms_of_a_document"])}
                    )
                    for each in some
                ]
                self._client.upsert(f"{self._name}-documents", whole)
            self._client.upsert(f"{self._name}-facts", [models.PointStruct(id=0, vector={}, payload=dict(facts))])

    def _sparse(self, terms: Sequence[str], average: float) -> Any:
        """BM25's share of each term but its idf. Terms are named by a hash; of those that share one the sum counts."""
        weights: Counter[int] = Counter()
        for term, frequency in Counter(terms).items():
            weights[_term(term)] += saturation(frequency, len(terms), average)  # type: ignore[assignment]
        return self._models.SparseVector(indices=list(weights), values=[float(each) for each in weights.values()])

    def facts(self) -> dict[str, Any]:
        with self._errors():
            points = self._client.retrieve(f"{self._name}-facts", [0])
            if not points:
                raise ValueError("no index of ours")
        return dict(points[0].payload)

    def nearest(self, vector: Vector, k: int) -> Ranked:
        return self._ranked("units", vector.tolist(), _MEANING, k)

    def by_words(self, terms: Sequence[str], k: int, *, documents: bool = False) -> Ranked:
        if not terms:
            return []
        numbers = list(dict.fromkeys(map(_term, terms)))
        asked = self._models.SparseVector(indices=numbers, values=[1.0] * len(numbers))
        return self._ranked("documents" if documents else "units", asked, _WORDS, k)

    def _ranked(self, what: str, query: Any, using: str, k: int) -> Ranked:
        with self._errors():
            points = self._client.query_points(f"{self._name}-{what}", query=query, using=using, limit=k).points
        return in_order((int(point.id), float(point.score)) for point in points)

    def units(self, numbers: Sequence[int]) -> dict[int, Kept]:
        with self._errors():
            points = self._client.retrieve(
                f"{self._name}-units", [int(each) for each in numbers], with_vectors=[_MEANING]
            )
        return {
            int(point.id): (
                int(point.payload["document"]),
                np.array(point.vector[_MEANING], np.float32),
                point.payload["fields"],
            )
            for point in points
        }

    def close(self) -> None:
        """Let others open the folder."""
        self._client.close()


def _term(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))
