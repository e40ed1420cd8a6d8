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
        self._schema = f"{_SCHEMA}_{name}" if name else _SCHEMA
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
            run = self._run
            run("SELECT pg_advisory_xact_lock(hashtext(%s))", self._schema)
            run("CREATE EXTENSION IF NOT EXISTS vector")
            run("CREATE SCHEMA IF NOT EXISTS {schema}")
            for table in tables:
                run("DROP TABLE IF EXISTS {schema}.{new}", new=_new(table))
            run(
                "CREATE TABLE {schema}.{new} (number int PRIMARY KEY, document int NOT NULL, "
                f"vector vector({int(dimensions)}) NOT NULL, fields text NOT NULL)",
                new=_new("units"),
            )
            words = _Postings(self, "unit", facts["terms_of_a_unit"])
            for batch in units:
                rows = (
                    (unit.number, unit.document, _literal(unit.vector), json.dumps(dict(unit.fields))) for unit in batch
                )
                self._copy("units", ("number", "document", "vector", "fields"), rows)
                for unit in batch:
                    words.add(unit.number, unit.terms)
                count += len(batch)
            words.close()
            if count >= APPROXIMATE_FROM and dimensions <= _INDEXED_DIMENSIONS:
                run("CREATE INDEX ON {schema}.{new} USING hnsw (vector vector_ip_ops)", new=_new("units"))
            words = _Postings(self, "document", facts["terms_of_a_document"])
            for some in documents:
                for document in some:
                    words.add(document.number, document.terms)
            words.close()
            run("CREATE TABLE {schema}.{new} AS SELECT %s::text AS facts", json.dumps(dict(facts)), new=_new("facts"))
            for table in tables:
                run("DROP TABLE IF EXISTS {schema}.{table}", table=table)
                run("ALTER TABLE {schema}.{new} RENAME TO {table}", new=_new(table), table=table)

    def facts(self) -> dict[str, Any]:
        with self._errors():
            [[text]] = self._run("SELECT facts FROM {schema}.facts")
        return dict(json.loads(text))

    def nearest(self, vector: Vector, k: int) -> Ranked:
        with self._errors(), self._connection().transaction():
            # Its index finds no more than it looks at.
            self._run("SELECT set_config('hnsw.ef_search', %s, true)", str(min(_MOST_LOOKED_AT, max(40, 2 * k))))
            rows = self._run(
                "SELECT number, -(vector <#> %s::vector) FROM {schema}.units ORDER BY vector <#> %s::vector LIMIT %s",
                *(_literal(vector), _literal(vector), k),
            )
        return in_order((number, float(score)) for number, score in rows)

    def by_words(self, terms: Sequence[str], k: int, *, documents: bool = False) -> Ranked:
        if not terms:
            return []
        what = "document" if documents else "unit"
        with self._errors():
            rows = self._run(
                "SELECT number, sum(weight * idf) AS score FROM ("
                "  SELECT idf, unnest(numbers) AS number, unnest(weights) AS weight"
                "  FROM {schema}.{words} JOIN {schema}.{idf} USING (term) WHERE term = ANY(%s)"
                ") AS found GROUP BY number ORDER BY score DESC, number LIMIT %s",
                *(list(dict.fromkeys(map(_text, terms))), k),
                words=f"{what}_words",
                idf=f"{what}_idf",
            )
        return in_order((number, float(score)) for number, score in rows)

    def units(self, numbers: Sequence[int]) -> dict[int, Kept]:
        with self._errors():
            rows = self._run(
                "SELECT number, document, vector::text, fields FROM {schema}.units WHERE number = ANY(%s)",
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

    def _run(self, statement: str, *values: Any, **names: str) -> list[tuple[Any, ...]]:
        cursor = self._connection().execute(self._composed(statement, **names), values)
        return list(cursor.fetchall()) if cursor.description else []

    def _copy(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        listed = self._psycopg.sql.SQL(", ").join(map(self._psycopg.sql.Identifier, columns))
        statement = self._composed("COPY {schema}.{new} ({columns}) FROM STDIN", new=_new(table), columns=listed)
        with self._connection().cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    def _composed(self, statement: str, **names: Any) -> Any:
        """Return a statement with names put in as names, however they are written."""
        sql = self._psycopg.sql
        quoted = {key: sql.Identifier(name) if isinstance(name, str) else name for key, name in names.items()}
        return sql.SQL(statement).format(schema=sql.Identifier(self._schema), **quoted)


class _Postings:
    """The postings of units or documents: for a term, numbers and what BM25 gives each but its idf. A term has a row
    for each time that the postings at hand were sent, so memory stays flat.
    """

    def __init__(self, index: PostgresIndex, what: str, average: float) -> None:
        self._index, self._what, self._average = index, what, average
        self._texts = self._held = 0
        self._postings: dict[str, tuple[list[int], list[float]]] = {}
        index._run(
            "CREATE TABLE {schema}.{new} (term text NOT NULL, numbers int[] NOT NULL, weights real[] NOT NULL)",
            new=_new(f"{what}_words"),
        )

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
        self._index._copy(f"{self._what}_words", ("term", "numbers", "weights"), rows)
        self._postings.clear()
        self._held = 0

    def close(self) -> None:
        """Send the last, and count how many texts have each term: Lucene's idf (bm25.py)."""
        self._send()
        words, idf = _new(f"{self._what}_words"), _new(f"{self._what}_idf")
        self._index._run("CREATE INDEX ON {schema}.{words} (term)", words=words)
        self._index._run(
            "CREATE TABLE {schema}.{idf} AS SELECT term, ln(1 + (%s - found + 0.5) / (found + 0.5))::real AS idf"
            " FROM (SELECT term, sum(cardinality(numbers))::float AS found FROM {schema}.{words} GROUP BY term) AS t",
            self._texts,
            words=words,
            idf=idf,
        )
        self._index._run("ALTER TABLE {schema}.{idf} ADD PRIMARY KEY (term)", idf=idf)


def _new(table: str) -> str:
    return f"{table}_new"


def _literal(vector: Vector) -> str:
    return json.dumps([float(each) for each in vector])


def _text(term: str) -> str:
    """Return a term as PostgreSQL takes it: without what UTF-8 cannot write."""
    return term.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
