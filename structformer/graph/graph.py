"""The reference graph: raw link targets resolved to edges between sections over a whole corpus, shards side by side by
worker processes, with the names in SQLite tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from structformer import notebook
from structformer.corpus import Corpus
from structformer.corpus.shards import read_rows, read_table
from structformer.document import LinkKind
from structformer.engines import Engine, get_engine, mapped
from structformer.errors import WorkspaceError
from structformer.graph.name_tables import NameTables, graph_work, write_names
from structformer.graph.resolution import Groups, IncomingTask, Resolution, ResolveTask, incoming_texts, read_incoming
from structformer.storage.files import remove, write_json
from structformer.storage.seal import Sealed
from structformer.workspace import Hold, Workspace

FORMAT_VERSION = 3


def write_graph(
    corpus: Corpus,
    folder: Path,
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReferenceGraph:
    """Resolve a corpus's links into a folder, in parallel; no step holds more than a shard or a partition."""
    workers = workers or os.cpu_count() or 1
    write_names(corpus, folder / "names", engine=engine, workers=workers)
    gathered = folder / "gathered"
    for made in (folder / "edges", folder / "incoming", gathered):
        made.mkdir()
    groups = Groups.of(corpus)
    tasks = [
        ResolveTask(
            shard,
            str(corpus.shards_folder),
            start,
            str(folder / "names"),
            corpus.site,
            groups.bounds,
            str(folder / "edges" / f"{number:05}.parquet"),
            (str(gathered / f"anchors-{number:05}.parquet"), str(gathered / f"redirects-{number:05}.parquet")),
        )
        for number, (shard, start) in enumerate(zip(corpus.shards, corpus.starts, strict=False))
    ]
    total = Resolution()
    resolving = graph_work("structformer.graph.resolution:resolve_shard", len(tasks), workers)
    for number, part in enumerate(get_engine(engine).map(resolving, tasks), 1):
        total.add(part)
        if progress:
            progress(number, len(tasks))
    _write_incoming(corpus, folder, groups, tasks, engine, workers)
    remove(gathered)
    manifest = {"corpus": corpus.fingerprint, "format_version": FORMAT_VERSION, **total.as_dict()}
    write_json(folder / "manifest.json", manifest)
    return ReferenceGraph(folder, corpus, manifest)


def _write_incoming(
    corpus: Corpus, folder: Path, groups: Groups, resolved: list[ResolveTask], engine: str | Engine, workers: int
) -> None:
    gathered = tuple(task.incoming[which] for which in (0, 1) for task in resolved)
    ends = [*groups.first_shards[1:], len(corpus.shards)]
    tasks = [
        IncomingTask(gathered, group, tuple(corpus.starts[first:end]), str(folder / "incoming" / f"{group:03}.parquet"))
        for group, (first, end) in enumerate(zip(groups.first_shards, ends, strict=True))
    ]
    work = graph_work("structformer.graph.resolution:write_incoming", len(tasks), workers)
    for _ in mapped(work, tasks, engine):
        pass


class ReferenceGraph:
    """The edges of a corpus. Documents and sections are named by their numbers."""

    def __init__(
        self,
        folder: Path,
        corpus: Corpus,
        manifest: dict[str, Any],
        sealed: Sealed | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.folder = folder
        self.corpus = corpus
        self.statistics = manifest
        self._sealed = sealed
        self._hold = hold

    @classmethod
    def open(cls, workspace: str | Path | Workspace, corpus: Corpus | None = None) -> ReferenceGraph:
        """Open the graph of a workspace's corpus, or of the one that the index was made of. Raises WorkspaceError when
        it is missing or belongs to another corpus.
        """
        workspace = Workspace(workspace)
        corpus = corpus or Corpus.open(workspace)
        sealed, hold = workspace.sealed("graph")
        if sealed.json("manifest.json").get("corpus") != corpus.fingerprint and workspace.indexed("graph"):
            sealed, hold = workspace.sealed("graph", workspace.indexed("graph"))
        manifest = sealed.json("manifest.json")
        expected = {"format_version": ("version", FORMAT_VERSION), "corpus": ("corpus", corpus.fingerprint)}
        for name, (what, value) in expected.items():
            if manifest.get(name) != value:
                raise WorkspaceError(
                    f"the reference graph in {sealed.folder} is of another {what}: run `structformer ingest` again"
                )
        return cls(sealed.folder, corpus, manifest, sealed, hold)

    def __repr__(self) -> str:
        return f"ReferenceGraph({self.see_also_edges} see-also edges, {str(self.folder)!r})"

    def _repr_html_(self) -> str:
        links, missing = self.statistics["links"], self.statistics["examples"]["unresolved"][: notebook.ROWS]
        outcomes = [name for name in next(iter(links.values()), {}) if any(counts[name] for counts in links.values())]
        rows = [
            [notebook.text(kind.replace("_", " ")), *(f"{counts[name]:,}" for name in outcomes)]
            for kind, counts in links.items()
        ]
        heads = ["links", *(name.replace("_", " ") for name in outcomes)]
        parts = [notebook.table(heads, rows) if rows else notebook.note("no links")]
        if missing:
            nowhere = [[notebook.code(document), notebook.code(target)] for document, target in missing]
            count = sum(counts["unresolved"] for counts in links.values())
            parts.append(notebook.table(["document", "a link that leads nowhere"], nowhere))
            parts.append(notebook.more(count - len(nowhere), "of these"))
        documents = notebook.count_of(self.corpus.document_count, "document")
        edges = notebook.count_of(self.see_also_edges, "see-also edge")
        return notebook.box(f"Reference graph of {documents}, {edges}", *parts)

    def _file(self, name: str) -> Path:
        return self._sealed.path(name) if self._sealed else self.folder / name

    def names(self) -> NameTables:
        """Looks names up; to be closed. Raises WorkspaceError where a table is not as it was written."""
        if self._sealed:
            self._sealed.paths(name for name in self._sealed.names() if name.startswith("names/"))
        return NameTables(self.folder / "names")

    def edges(self) -> Iterator[dict[str, Any]]:
        """Yield all edges as rows of the schema EDGES, in order of their source."""
        for shard in range(len(self.corpus.shards)):
            yield from self.shard_edges(shard)

    def shard_edges(self, shard: int) -> Iterator[dict[str, Any]]:
        """Yield the edges whose source is in a shard of the corpus, in order of their source."""
        yield from read_rows(self._file(f"edges/{shard:05}.parquet"))

    def see_also_of(self, document: int) -> list[int]:
        """Return documents whose see-also lists name a document, ascending."""
        return _other_ends(self._see_also[1], document)

    def see_also(self, document: int) -> list[int]:
        """Documents that a document names in its see-also lists: its neighbours in the see-also graph, ascending."""
        return _other_ends(self._see_also[0], document)

    @property
    def see_also_edges(self) -> int:
        """Number of directed see-also edges between distinct documents."""
        return len(self._see_also[0][0])

    def incoming(self, shard: int) -> pa.Table:
        """The edges from other documents to those of a shard, as rows of EDGES in the order of their targets, then
        sources. Then the names that redirect to a document, whose source is NOWHERE.
        """
        group, place = Groups.of(self.corpus).of_shard(shard)
        return read_incoming(self._file(f"incoming/{group:03}.parquet"), place)

    def outgoing(self, shard: int) -> pa.Table:
        """Return the edges whose source is in a shard of the corpus, as rows of EDGES in order of their source."""
        return read_table(self._file(f"edges/{shard:05}.parquet"))

    def incoming_texts(self, shard: int | None = None) -> dict[tuple[int, int], list[str]]:
        """Anchor texts by (target document, section) of a shard or all, each once, in order; and redirects' names."""
        shards = range(len(self.corpus.shards)) if shard is None else [shard]
        return {key: texts for each in shards for key, texts in incoming_texts(self.incoming(each)).items()}

    @cached_property
    def _see_also(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The see-also edges as sources above their targets, in order, and as targets above their sources."""
        import pyarrow.compute as pc  # takes 40 ms, which no search need wait for

        pairs = [np.empty((0, 2), np.int32)]
        ends = ["source_document", "target_document"]
        for path in [self._file(f"edges/{shard:05}.parquet") for shard in range(len(self.corpus.shards))]:
            table = pq.read_table(path, columns=[*ends, "kind"])
            table = table.filter(pc.equal(table["kind"], LinkKind.SEE_ALSO.value))
            pairs.append(np.stack([table[end].to_numpy() for end in ends], axis=1))
        edges = np.concatenate(pairs)
        edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0).T
        return np.ascontiguousarray(edges), np.ascontiguousarray(edges[::-1, np.lexsort(edges)])


def _other_ends(edges: npt.NDArray[np.int32], document: int) -> list[int]:
    start, end = np.searchsorted(edges[0], (document, document + 1))
    return [int(other) for other in edges[1, start:end]]
