"""What a server asks of an index's documents and links, at a million documents: facets, ids, filters, the list for
language models, the links of a page; each beside the look at every document that was its way before.

    python benchmarks/million.py                     # 1,000,000 documents, 10,000,000 links
    python benchmarks/million.py --documents 100000

Documents and links are made up; each figure is of a process of its own, seconds and the memory that it grew by. The
ratio is table against look; flat is what ten times fewer documents take against it."""

from __future__ import annotations

import argparse
import fnmatch
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from structformer.graph.resolution import EDGES, IncomingTask, gather, write_incoming
from structformer.retrieval.documents.metadata import MetadataTable, MetadataWriter, metadata_values, open_facets
from structformer.retrieval.documents.units import DOCUMENTS, IndexedDocument, IndexedDocuments, TableWriter

from structformer_serve.links import LinkTable

SHARDS = 64
LINKS = 10  # a document


def write(folder: Path, count: int) -> None:
    """Documents with metadata, and links among them, as an index and a graph have them."""
    metadata = MetadataWriter(folder)
    with TableWriter(folder / "documents.arrow", DOCUMENTS) as table:
        for number in range(count):
            values = {
                "status": ("released", "draft", "old")[number % 3],
                "version": number % 7,
                "url": f"https://docs.example.org/part-{number % 100:03}/page-{number:07}",
                "title": f"Page {number}",
            }
            document = IndexedDocument(
                f"part-{number % 100:03}/page-{number:07}.md", f"Page {number}", "", json.dumps(values)
            )
            table.add(document)
            metadata.add(document)
    (folder / "facets.json").write_text(json.dumps(metadata.close()))
    rng = np.random.default_rng(0)
    starts = [number * count // SHARDS for number in range(SHARDS + 1)]
    for shard in range(SHARDS):
        sources = np.repeat(np.arange(starts[shard], starts[shard + 1], dtype=np.int32), LINKS)
        zeros = np.zeros(len(sources), np.int32)
        targets = rng.integers(0, count, len(sources)).astype(np.int32)
        texts = np.char.add("see page ", targets.astype(str))
        columns = [sources, zeros, targets, zeros, np.full(len(sources), "hyperlink"), texts, zeros, zeros + 8]
        edges = pa.table([pa.array(each) for each in columns], schema=EDGES)
        pq.write_table(edges, folder / f"edges-{shard:02}.parquet", compression="zstd")
        gather(edges, folder / f"gathered-{shard:02}.parquet", [0])
    gathered = tuple(str(path) for path in sorted(folder.glob("gathered-*.parquet")))
    write_incoming(IncomingTask(gathered, 0, tuple(starts[:-1]), str(folder / "incoming.parquet")), lambda item: None)


class Graph:
    """The reference graph of the made-up links."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self.corpus = SimpleNamespace(starts=[number * count // SHARDS for number in range(SHARDS + 1)])

    def outgoing(self, shard: int) -> pa.Table:
        with pq.ParquetFile(self._folder / f"edges-{shard:02}.parquet") as file:
            return file.read()

    def incoming(self, shard: int) -> pa.Table:
        with pq.ParquetFile(self._folder / "incoming.parquet") as file:
            return file.read_row_group(shard)

    def rows(self) -> Any:
        for shard in range(SHARDS):
            for batch in self.outgoing(shard).to_batches(20_000):
                yield from batch.to_pylist()


def facets_by_table(folder: Path, count: int) -> Any:
    return [
        facet.counts(range(0, count, max(1, count // 300)))
        for facet in open_facets(folder, json.loads((folder / "facets.json").read_text()))
    ]


def facets_by_look(folder: Path, count: int) -> Any:
    found: dict[str, dict[int, list[str]]] = {}
    documents = list(IndexedDocuments(folder / "documents.arrow"))
    for number, document in enumerate(documents):
        for key, value in document.values().items():
            found.setdefault(key, {})[number] = [str(each) for each in metadata_values(value)]
    return documents, found


def id_by_table(folder: Path, count: int) -> Any:
    table = MetadataTable(folder, IndexedDocuments(folder / "documents.arrow"))
    return table.number(f"part-042/page-{42:07}.md")


def id_by_look(folder: Path, count: int) -> Any:
    documents = IndexedDocuments(folder / "documents.arrow")
    return {document.id: number for number, document in enumerate(documents)}


def filter_by_table(folder: Path, count: int) -> Any:
    table = MetadataTable(folder, IndexedDocuments(folder / "documents.arrow"))
    return table.matching(["part-0*", "*/page-*7.md"], {"status": "released", "version": 3})


def filter_by_look(folder: Path, count: int) -> Any:
    return {
        number
        for number, document in enumerate(IndexedDocuments(folder / "documents.arrow"))
        if any(fnmatch.fnmatchcase(document.id, pattern) for pattern in ("part-0*", "*/page-*7.md"))
        and document.values().get("status") == "released"
        and document.values().get("version") == 3
    }


def list_by_table(folder: Path, count: int) -> Any:
    table = IndexedDocuments(folder / "documents.arrow")
    return [(table[number].id, table[number].values()["url"]) for number in range(1000)]


def list_by_look(folder: Path, count: int) -> Any:
    return [(each.id, each.values()["url"]) for each in IndexedDocuments(folder / "documents.arrow")]


def links_by_table(folder: Path, count: int) -> Any:
    links = LinkTable(Graph(folder, count))  # type: ignore[arg-type]
    return list(links.incoming(count // 2)), list(links.outgoing(count // 2))


def links_by_look(folder: Path, count: int) -> Any:
    columns: dict[str, list[Any]] = {name: [] for name in EDGES.names}
    for row in Graph(folder, count).rows():
        for name, column in columns.items():
            column.append(row[name])
    return columns


PARTS: dict[str, tuple[Callable[[Path, int], Any], Callable[[Path, int], Any]]] = {
    "facets": (facets_by_table, facets_by_look),
    "a document's number": (id_by_table, id_by_look),
    "a new filter": (filter_by_table, filter_by_look),
    "/llms.txt": (list_by_table, list_by_look),
    "links of a page": (links_by_table, links_by_look),
}


def resident() -> float:
    """Return megabytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def _measure(work: Callable[[Path, int], Any], folder: Path, count: int, told: Connection) -> None:
    import pyarrow.compute  # noqa: F401  # what a server has loaded after its first filter

    before, begun = resident(), time.perf_counter()
    kept = work(folder, count)
    told.send((time.perf_counter() - begun, resident() - before))
    del kept


def measured(work: Callable[[Path, int], Any], folder: Path, count: int) -> tuple[float, float]:
    """Return (seconds, megabytes) of a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_measure, args=(work, folder, count, there))
    process.start()
    found: tuple[float, float] = here.recv()
    process.join()
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        counts = (arguments.documents // 10, arguments.documents)
        for count in counts:
            folder = Path(place) / str(count)
            folder.mkdir()
            begun = time.perf_counter()
            write(folder, count)
            print(f"{count:,} documents, {LINKS * count:,} links written in {time.perf_counter() - begun:.0f} s")
        print(f"{'':22}{'table':>18}{'look at all':>20}{'ratio':>8}{'a tenth':>18}")
        for name, (by_table, by_look) in PARTS.items():
            small = measured(by_table, Path(place) / str(counts[0]), counts[0])
            table, look = (measured(each, Path(place) / str(counts[1]), counts[1]) for each in (by_table, by_look))
            print(
                f"{name:22}{table[0]:8.3f} s {table[1]:5.0f} MB{look[0]:10.2f} s {look[1]:5.0f} MB"
                f"{table[0] / look[0]:8.4f}{small[0]:8.3f} s {small[1]:5.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
