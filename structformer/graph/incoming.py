"""The anchor texts of the links that lead to each section, gathered where the links are and written where they lead.

Every shard's links leave their texts by groups of target shards; then every group's are put together. What a corpus is
indexed with is so read shard by shard, and never held whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from structformer.corpus import Corpus
from structformer.errors import WorkspaceError
from structformer.graph.names import partition_count
from structformer.storage.parquet import parquet_writer

_TEXTS = pa.schema([("document", pa.int32()), ("section", pa.int32()), ("text", pa.string())])
Texts = dict[tuple[int, int], dict[str, None]]  # by target document and section, each text once, in order


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of neighbouring target shards. first_shards: the number of each group's first shard; bounds: that of its
    first document.
    """

    first_shards: tuple[int, ...]
    bounds: tuple[int, ...]

    @classmethod
    def of(cls, corpus: Corpus) -> Groups:
        """As many groups as the names have tables, or as there are shards."""
        shards = len(corpus.shards)
        count = max(1, min(shards, partition_count(corpus)))
        firsts = tuple(number * shards // count for number in range(count))
        return cls(firsts, tuple(corpus.starts[first] for first in firsts))

    def of_shard(self, shard: int) -> tuple[int, int]:
        """(a shard's group, its place in it)."""
        group = bisect_right(self.first_shards, shard) - 1
        return group, shard - self.first_shards[group]


@dataclass(frozen=True, slots=True)
class IncomingTask:
    """A worker's task: the texts of one group. starts: the number of the first document of each of its shards."""

    gathered: tuple[str, ...]
    group: int
    starts: tuple[int, ...]
    output: str


class IncomingWriter:
    """Gathers what one shard's links say of their targets. Anchor texts stand before the names of redirects."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self._bounds = bounds
        self._texts: tuple[Texts, Texts] = ({}, {})

    def add(self, document: int, section: int, text: str, *, redirect: bool = False) -> None:
        """Note a text that leads to a section."""
        self._texts[redirect].setdefault((document, section), {})[text] = None

    def write(self, anchors: Path, redirects: Path) -> None:
        """Write both, a row group for each group of targets."""
        for path, texts in zip((anchors, redirects), self._texts, strict=True):
            _write(path, texts, self._bounds)


def _write(path: Path, texts: Texts, bounds: Sequence[int]) -> None:
    """A row group for the targets from each of these documents on, in their order."""
    rows: list[list[tuple[int, int, str]]] = [[] for _ in bounds]
    for (document, section), its in sorted(texts.items()):
        rows[bisect_right(bounds, document) - 1] += [(document, section, text) for text in its]
    with parquet_writer(path, _TEXTS) as writer:
        for part in rows:
            columns = list(zip(*part, strict=True)) or [(), (), ()]
            arrays = [pa.array(column, kind) for column, kind in zip(columns, _TEXTS.types, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=_TEXTS), row_group_size=max(1, len(part)))


def write_incoming(task: IncomingTask, started: Callable[[str], None]) -> None:
    """A worker's job: one group's texts, in order of their sources, a row group for each of its shards."""
    texts: Texts = {}
    for path in task.gathered:
        with pq.ParquetFile(path) as file:
            table = file.read_row_group(task.group)
        for document, section, text in zip(*(column.to_pylist() for column in table.columns), strict=True):
            texts.setdefault((document, section), {})[text] = None
    _write(Path(task.output), texts, task.starts)


def read_incoming(path: Path, place: int) -> dict[tuple[int, int], list[str]]:
    """The texts of one shard by (target document, target section). place: the shard's in its group. Raises
    WorkspaceError.
    """
    try:
        with pq.ParquetFile(path) as file:
            table = file.read_row_group(place)
    except (OSError, pa.ArrowException) as error:
        raise WorkspaceError(f"{path} cannot be read ({error}): run `structformer ingest` again") from error
    found: dict[tuple[int, int], list[str]] = {}
    for document, section, text in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault((document, section), []).append(text)
    return found
