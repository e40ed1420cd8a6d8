"""PostgreSQL with the extension pgvector. It has no BM25: words are a table of postings, which one query sums."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from structformer.errors import UsageError
from structformer.retrieval import Ranked, in_order, saturation

from structformer_engines.interface import APPROXIMATE_FROM, Documents, Kept, Units, Vector, one_line_errors

_SCHEMA = "structformer"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_POSTINGS = 2_000_000  # held before they are sent, some 100 MB
_INDEXED_DIMENSIONS = 2_000  # the most that pgvector's index takes
_MOST_LOOKED_AT = 1_000  # the most that its search takes


class PostgresIndex:
    """Tables in a schema of their own, `structformer`, or `structformer_NAME` with #NAME behind the address."""

    def __init__(self, place: str) -> None:
        """place: an address that PostgreSQL's clients take, with #NAME behind it for one index of several. Raises
        UsageError for what is none, ImportError without psycopg.
        """
        import psycopg

        self._address, _, name = place.partition("#")
        if name and not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot be an index's name: write small letters, digits and _")
        self._schema = f"{_SCHEMA}_{name}" if name else _SCHEMA  # of letters that need no quotes in a statement
        self._psycopg = psycopg
        self._connected: Any = None
        try:
            known = psycopg.conninfo.conninfo_to_dict(self._address)
        except psycopg.Error as error:
            raise UsageError(
                "pgvector takes an address of PostgreSQL's: pgvector:postgresql://USER@HOST/DATABASE"
            ) from error
        # Messages name the place without its password.
        place = f"{known.get('dbname', 'the default database')} on {known.get('host', 'this machine')}"
        self._errors = partial(one_line_errors, f"PostgreSQL, {place}", psycopg.Error)

    def write(self, units: Units, documents: Documents, dimensions: int, facts: Mapping[str, Any]) -> None:
        """One transaction: whoever searches meanwhile finds what was there before."""
        count = 0
        tables = ("units", "unit_words", "unit_idf", "document_words", "document_idf", "facts")
        with self._errors(), self._connection().transaction():
            run, schema = self._run, self._schema
            run("SELECT pg_advisory_xact_lock(hashtext(%s))", schema)
            run("CREATE EXTENSION IF NOT EXISTS vector")
            run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            for table in tables:
                run(f"DROP TABLE IF EXISTS {schema}.{table}_new")
            run(
                f"CREATE TABLE {schema}.units_new (number int PRIMARY KEY, document int NOT NULL, "
                f"vector vector({int(dimensions)}) NOT NULL, fields text NOT NULL)"
            )
            words = _Postings(self, "unit", facts["terms_of_a_unit"])
            for batch in units:
                rows = (
                    (unit.number, unit.document, _literal(unit.vector), json.dumps(dict(unit.fields))) for unit in batch
                )
                self._copy("units_new (number, document, vector, fields)", rows)
                for unit in batch:
                    words.add(unit.number, unit.terms)
                count += len(batch)
            words.close()
            if count >= APPROXIMATE_FROM and dimensions <= _INDEXED_DIMENSIONS:
                run(f"CREATE INDEX ON {schema}.units_new USING hnsw (vector vector_ip_ops)")
            words = _Postings(self, "document", facts["terms_of_a_document"])
            for some in documents:
                for document in some:
                    words.add(document.number, document.terms)
            words.close()
            run(f"CREATE TABLE {schema}.facts_new AS SELECT %s::text AS facts", json.dumps(dict(facts)))
            for table in tables:
                run(f"DROP TABLE IF EXISTS {schema}.{table}")
                run(f"ALTER TABLE {schema}.{table}_new RENAME TO {table}")

    def facts(self) -> dict[str, Any]:
        with self._errors():
            [[text]] = self._run(f"SELECT facts FROM {self._schema}.facts")
        return dict(json.loads(text))

    def nearest(self, vector: Vector, k: int) -> Ranked:
        with self._errors(), self._connection().transaction():
            # Its index finds no more than it looks at.
            self._run("SELECT set_config('hnsw.ef_search', %s, true)", str(min(_MOST_LOOKED_AT, max(40, 2 * k))))
            rows = self._run(
                f"SELECT number, -(vector <#> %s::vector) FROM {self._schema}.units "
                "ORDER BY vector <#> %s::vector LIMIT %s",
                *(_literal(vector), _literal(vector), k),
            )
        return in_order((number, float(score)) for number, score in rows)

    def by_words(self, terms: Sequence[str], k: int, *, documents: bool = False) -> Ranked:
        if not terms:
            return []
        table = f"{self._schema}.{'document' if documents else 'unit'}"
        with self._errors():
            rows = self._run(
                "SELECT number, sum(weight * idf) AS score FROM ("
                "  SELECT idf, unnest(numbers) AS number, unnest(weights) AS weight"
                f"  FROM {table}_words JOIN {table}_idf USING (term) WHERE term = ANY(%s)"
                ") AS found GROUP BY number ORDER BY score DESC, number LIMIT %s",
                *(list(dict.fromkeys(map(_text, terms))), k),
            )
        return in_order((number, float(score)) for number, score in rows)

    def units(self, numbers: Sequence[int]) -> dict[int, Kept]:
        with self._errors():
            rows = self._run(
                f"SELECT number, document, vector::text, fields FROM {self._schema}.units WHERE number = ANY(%s)",
                [int(number) for number in numbers],
            )
        return {
            number: (document, np.array(json.loads(vector), np.float32), json.loads(fields))
            for number, document, vector, fields in rows
        }

    def close(self) -> None:
        """End the connection; the next call begins another."""
        if self._connected is not None:
            self._connected.close()

    def _connection(self) -> Any:
        """Return the connection, made again where it was ended."""
        if self._connected is None or self._connected.closed:
            self._connected = self._psycopg.connect(self._address, autocommit=True)
        return self._connected

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection().execute(statement, values)
        return list(cursor.fetchall()) if cursor.description else []

    def _copy(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Send rows to a table, named with its columns."""
        with self._connection().cursor() as cursor, cursor.copy(f"COPY {self._schema}.{table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


class _Postings:
    """The postings of units or documents: for a term, numbers and what BM25 gives each but its idf. A term has a row
    for each time that the postings at hand were sent, so memory stays flat.
    """

    def __init__(self, index: PostgresIndex, what: str, average: float) -> None:
        self._index, self._what, self._average = index, what, average
        self._texts = self._held = 0
        self._postings: dict[str, tuple[list[int], list[float]]] = {}
        table = f"{index._schema}.{what}_words_new"
        index._run(f"CREATE TABLE {table} (term text NOT NULL, numbers int[] NOT NULL, weights real[] NOT NULL)")

    def add(self, number: int, terms: Sequence[str]) -> None:
        self._texts += 1
        for term, frequency in Counter(terms).items():
            numbers, weights = self._postings.setdefault(_text(term), ([], []))
            numbers.append(number)
            weights.append(saturation(frequency, len(terms), self._average))
            self._held += 1
        if self._held >= _POSTINGS:
            self._send()

    def _send(self) -> None:
        rows = ((term, numbers, weights) for term, (numbers, weights) in sorted(self._postings.items()))
        self._index._copy(f"{self._what}_words_new (term, numbers, weights)", rows)
        self._postings.clear()
        self._held = 0

    def close(self) -> None:
        """Send the last, and count how many texts have each term: Lucene's idf (lexical_analysis.py)."""
        self._send()
        table = f"{self._index._schema}.{self._what}"
        self._index._run(f"CREATE INDEX ON {table}_words_new (term)")
        self._index._run(
            f"CREATE TABLE {table}_idf_new AS SELECT term, ln(1 + (%s - found + 0.5) / (found + 0.5))::real AS idf"
            f" FROM (SELECT term, sum(cardinality(numbers))::float AS found FROM {table}_words_new GROUP BY term) AS t",
            self._texts,
        )
        self._index._run(f"ALTER TABLE {table}_idf_new ADD PRIMARY KEY (term)")


def _literal(vector: Vector) -> str:
    return json.dumps([float(each) for each in vector])


def _text(term: str) -> str:
    """Return a term as PostgreSQL takes it: without what UTF-8 cannot write."""
    return term.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
