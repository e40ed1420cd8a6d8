"""LanceDB: an embedded engine, tables in a folder or in object storage."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from structformer.retrieval import Ranked, in_order

from structformer_engines.interface import APPROXIMATE_FROM, Documents, Kept, Units, Vector, one_line_errors

# A database may hold tables of others; those of these names are replaced.
_UNITS, _DOCUMENTS, _FACTS = "structformer_units", "structformer_documents", "structformer_facts"


class LanceIndex:
    """Tables of units, documents and facts in a LanceDB database."""

    def __init__(self, place: str) -> None:
        """place: a folder, or an address that LanceDB takes. Raises ImportError without lancedb."""
        import lancedb

        kinds = ValueError, OSError, RuntimeError, KeyError
        self._errors = partial(one_line_errors, f"LanceDB in {place}", *kinds)
        with self._errors():
            self._database: Any = lancedb.connect(place)

    def write(self, units: Units, documents: Documents, dimensions: int, facts: Mapping[str, Any]) -> None:
        numbers = {"number": pa.int64(), "document": pa.int64(), "vector": pa.list_(pa.float32(), dimensions)}
        schema = pa.schema({**numbers, "terms": pa.string(), "fields": pa.string()})
        with self._errors():
            for name in (_FACTS, _UNITS, _DOCUMENTS):
                self._database.drop_table(name, ignore_missing=True)
            rows = self._database.create_table(_UNITS, schema=schema)
            count = 0
            for batch in units:
                count += len(batch)
                listed = [
                    {
                        "number": unit.number,
                        "document": unit.document,
                        "vector": unit.vector.tolist(),
                        "terms": " ".join(unit.terms),
                        "fields": json.dumps(dict(unit.fields)),
                    }
                    for unit in batch
                ]
                rows.add(pa.Table.from_pylist(listed, schema=schema))
            _index_words(rows)
            if count >= APPROXIMATE_FROM:
                rows.create_index(metric="dot", vector_column_name="vector")
            whole = pa.schema([("number", pa.int64()), ("terms", pa.string())])
            texts = self._database.create_table(_DOCUMENTS, schema=whole)
            for some in documents:
                listed = [{"number": each.number, "terms": " ".join(each.terms)} for each in some]
                texts.add(pa.Table.from_pylist(listed, schema=whole))
            _index_words(texts)
            self._database.create_table(_FACTS, pa.table({"facts": [json.dumps(dict(facts))]}))

    def facts(self) -> dict[str, Any]:
        with self._errors():
            return dict(json.loads(self._database.open_table(_FACTS).to_arrow()["facts"][0].as_py()))

    def nearest(self, vector: Vector, k: int) -> Ranked:
        with self._errors():
            asked = (
                self._database.open_table(_UNITS)
                .search(vector.tolist(), vector_column_name="vector")
                .distance_type("dot")
            )
            # LanceDB's distance is one less the inner product.
            rows = asked.limit(k).select(["number", "_distance"]).to_arrow().to_pylist()
        return in_order((row["number"], 1.0 - row["_distance"]) for row in rows)

    def by_words(self, terms: Sequence[str], k: int, *, documents: bool = False) -> Ranked:
        if not terms:
            return []
        from lancedb import query

        with self._errors():
            any_term: Any = query.MatchQuery
            asked = self._database.open_table(_DOCUMENTS if documents else _UNITS).search(
                any_term(" ".join(terms), "terms"), query_type="fts"
            )
            rows = asked.limit(k).select(["number", "_score"]).to_arrow().to_pylist()
        return in_order((row["number"], row["_score"]) for row in rows)

    def units(self, numbers: Sequence[int]) -> dict[int, Kept]:
        if not numbers:
            return {}
        listed = ", ".join(str(int(number)) for number in numbers)
        with self._errors():
            asked = self._database.open_table(_UNITS).search().where(f"number IN ({listed})").limit(len(numbers))
            rows = asked.select(["number", "document", "vector", "fields"]).to_arrow().to_pylist()
        return {
            row["number"]: (row["document"], np.array(row["vector"], np.float32), json.loads(row["fields"]))
            for row in rows
        }

    def close(self) -> None:
        """Nothing is held between two calls."""


def _index_words(table: Any) -> None:
    from lancedb.index import FTS

    # Its own analysis is off in all: terms are ours.
    as_they_are = FTS(
        base_tokenizer="whitespace",
        max_token_length=None,
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        with_position=False,
    )
    table.create_index("terms", config=as_they_are)
