"""Shards: a folder of three Parquet tables (sections, documents, sources), named by a digest of what went into it.
Equal inputs give the same name and bytes, so a shard that exists is never made again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from structformer.corpus.rows import DOCUMENTS, SECTIONS, SOURCES, Row
from structformer.storage.files import read_errors, sha256_of
from structformer.storage.parquet import parquet_writer

TABLES = ("sections", "documents", "sources")
_ROW_GROUP_CHARACTERS = 4_000_000
_ROW_GROUP_ROWS = 20_000
_SHARD_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{20}-(?:0|[0-9a-f]{10})")


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """A shard as the manifest lists it. `first` and `last` are its sources' paths in walking order."""

    key: str
    first: str
    last: str
    sources: int
    documents: int
    sections: int
    digests: tuple[str, ...]  # sha256 of each table's file, in the order of TABLES


class _Table:
    """One Parquet table being written, its rows gathered into row groups of bounded size."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._rows: list[Row] = []
        self._characters = 0

    def add(self, row: Row, characters: int = 100) -> None:
        self._rows.append(row)
        self._characters += characters
        if self._characters >= _ROW_GROUP_CHARACTERS or len(self._rows) >= _ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._writer.schema))
            self._rows, self._characters = [], 0


class ShardWriter:
    """Takes the rows of a shard."""

    def __init__(self, sections: _Table, documents: _Table, sources: _Table) -> None:
        self._sections, self._documents, self._sources = sections, documents, sources
        self.documents = 0

    def add_document(self, row: Row, section_rows: list[Row]) -> None:
        self._documents.add({**row, "number": self.documents})
        for section_row in section_rows:
            self._sections.add({**section_row, "document": self.documents}, len(section_row["text"]) + 200)
        self.documents += 1

    def add_source(self, row: Row) -> None:
        self._sources.add(row)


@contextmanager
def shard_writer(folder: Path) -> Iterator[ShardWriter]:
    """Writes a shard's tables into a folder."""
    with ExitStack() as stack:
        schemas = zip(TABLES, (SECTIONS, DOCUMENTS, SOURCES), strict=True)
        writers = [parquet_writer(folder / f"{name}.parquet", schema) for name, schema in schemas]
        tables = [_Table(stack.enter_context(writer)) for writer in writers]
        yield ShardWriter(*tables)
        for table in tables:
            table.flush()


def read_rows(path: Path, columns: list[str] | None = None) -> Iterator[Row]:
    """Yield a table's rows, one row group in memory at a time. Raises WorkspaceError on a broken file."""
    with _reading(path), pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group, columns=columns).to_pylist()


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Return columns of a table, whole, all with None. Raises WorkspaceError on a broken file."""
    with _reading(path), pq.ParquetFile(path) as file:  # pq.read_table loads what reads data sets of many files
        return file.read(columns=columns)


def _reading(path: Path) -> AbstractContextManager[None]:
    return read_errors(path, OSError, pa.ArrowException, advice="; run `structformer ingest --fresh` again")


def read_shard(folder: Path, *, links: bool = True) -> Iterator[tuple[Row, list[Row]]]:
    """Yield each document's row with its sections' rows, without links=True these are without links and anchors."""
    columns = None if links else ["document", "number", "parent", "level", "title", "text"]
    section_rows = read_rows(folder / "sections.parquet", columns)
    for row in read_rows(folder / "documents.parquet"):
        yield row, [next(section_rows) for _ in range(row["sections"])]


def describe_shard(folder: Path) -> ShardInfo:
    """Return a finished shard's entry for the manifest."""
    paths = [row["file"] for row in read_rows(folder / "sources.parquet", ["file"])]

    def rows(table: str) -> int:
        return int(pq.read_metadata(folder / f"{table}.parquet").num_rows)

    return ShardInfo(
        key=folder.name,
        first=paths[0] if paths else "",
        last=paths[-1] if paths else "",
        sources=len(dict.fromkeys(paths)),
        documents=rows("documents"),
        sections=rows("sections"),
        digests=tuple(sha256_of(folder / f"{table}.parquet") for table in TABLES),
    )


def is_shard_name(name: str) -> bool:
    """Whether a folder's name is that of a shard: three digests in hexadecimal."""
    return _SHARD_NAME.fullmatch(name) is not None
