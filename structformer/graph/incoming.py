"""The links that lead to each section, gathered where the links are and written where they lead.

Every shard's edges are left by groups of target shards; then every group's are put together, in order of their targets.
What links say of a section, and from where they come, is so read shard by shard, and never held whole. The names that
redirect to a document follow the links to it; nothing is their source.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from structformer.corpus import Corpus
from structformer.graph.name_tables import partition_count
from structformer.storage.files import read_errors
from structformer.storage.parquet import numbers, parquet_writer

EDGES = pa.schema(
    [
        ("source_document", pa.int32()),
        ("source_section", pa.int32()),
        ("target_document", pa.int32()),
        ("target_section", pa.int32()),
        ("kind", pa.string()),
        ("text", pa.string()),  # the anchor text
        ("start", pa.int32()),  # its span in the source section's text
        ("end", pa.int32()),
    ]
)
NOWHERE = -1  # the source of a redirect's name


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of neighbouring target shards."""

    first_shards: tuple[int, ...]
    """The number of each group's first shard."""
    bounds: tuple[int, ...]
    """The number of each group's first document."""

    @classmethod
    def of(cls, corpus: Corpus) -> Groups:
        """As many groups as the names have tables, or as there are shards."""
        shards = len(corpus.shards)
        count = max(1, min(shards, partition_count(corpus)))
        firsts = tuple(number * shards // count for number in range(count))
        return cls(firsts, tuple(corpus.starts[first] for first in firsts))

    def of_shard(self, shard: int) -> tuple[int, int]:
        """Return (a shard's group, its place in it)."""
        group = bisect_right(self.first_shards, shard) - 1
        return group, shard - self.first_shards[group]


@dataclass(frozen=True, slots=True)
class IncomingTask:
    """A worker's task: the links to one group."""

    gathered: tuple[str, ...]
    group: int
    starts: tuple[int, ...]
    """The number of the first document of each of the group's shards."""
    output: str


def gather(edges: pa.Table, path: Path, bounds: Sequence[int]) -> None:
    """Write edges between documents by target group, in order. bounds: the number of each group's first document."""
    elsewhere = np.flatnonzero(numbers(edges["source_document"]) != numbers(edges["target_document"]))
    _write(path, edges.take(pa.array(elsewhere)), bounds)


def write_incoming(task: IncomingTask, started: Callable[[str], None]) -> None:
    """Write the links to one group, a row group for each of its shards, in order of their sources. A worker's job."""
    tables = [EDGES.empty_table()]
    for path in task.gathered:
        with pq.ParquetFile(path) as file:
            tables.append(file.read_row_group(task.group))
    table = pa.concat_tables(tables)
    order = np.lexsort((numbers(table["target_section"]), numbers(table["target_document"])))
    _write(Path(task.output), table.take(pa.array(order)), task.starts)


def _write(path: Path, table: pa.Table, bounds: Sequence[int]) -> None:
    """A row group for the targets from each of these documents on."""
    part = np.searchsorted(np.array(bounds), numbers(table["target_document"]), side="right") - 1
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(len(bounds)), side="right")
    table = table.take(pa.array(order))
    with parquet_writer(path, EDGES) as writer:
        start = 0
        for end in ends.tolist():
            writer.write_table(table.slice(start, end - start), row_group_size=max(1, end - start))
            start = end


def read_incoming(path: Path, place: int) -> pa.Table:
    """Return links to the shard at a place of its group, rows of EDGES by target. Raises WorkspaceError."""
    again = ": run `structformer ingest` again"
    with read_errors(path, OSError, pa.ArrowException, advice=again), pq.ParquetFile(path) as file:
        return file.read_row_group(place)


def incoming_texts(table: pa.Table) -> dict[tuple[int, int], list[str]]:
    """Return the anchor texts of links by (target document, target section), each once, in order of the sources."""
    by_section: dict[tuple[int, int], dict[str, None]] = {}
    columns = (table[name].to_pylist() for name in ("target_document", "target_section", "text"))
    for document, section, text in zip(*columns, strict=True):
        if text:
            by_section.setdefault((document, section), {})[text] = None
    return {target: list(texts) for target, texts in by_section.items()}
