"""The reference graph: raw link targets resolved to edges between sections, over a whole corpus.

Names live in an SQLite table, not in memory; shards are resolved side by side by worker processes.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from structformer.corpus import Corpus
from structformer.corpus.shards import ShardInfo, read_rows
from structformer.document import Document, Link, LinkKind
from structformer.engines import Engine, Work, get_engine
from structformer.errors import UsageError, WorkspaceError
from structformer.formats.limits import Limits
from structformer.plugins import load_plugins
from structformer.storage.files import write_json
from structformer.storage.parquet import parquet_writer
from structformer.storage.seal import Sealed
from structformer.text.names import is_external, normalize, path_candidates, url_names
from structformer.workspace import Hold, Workspace

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
_EXAMPLES = 5
_MAX_ALIASES = 10  # in a chain
_FAILURES = ("unresolved", "ambiguous", "dead_anchor")
_OUTCOMES = ("resolved", "external", "file", *_FAILURES)


@dataclass(slots=True)
class Resolution:
    """The outcomes of links, per kind: resolved (of these, dead_anchor: the page is there, the anchor isn't), external,
    file (there, but no document: an image, a folder), unresolved, ambiguous; with a few examples of each failure as
    (document id, target)."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    examples: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def count(self, kind: str, outcome: str, document_id: str, target: str) -> None:
        """Count one link's outcome and keep it as an example while there are few."""
        self.counts.setdefault(kind, Counter())[outcome] += 1
        examples = self.examples.setdefault(outcome, [])
        if outcome in _FAILURES and len(examples) < _EXAMPLES:
            examples.append((document_id, target))

    def add(self, other: Resolution) -> None:
        """Merge another part's counts and examples."""
        for kind, counts in other.counts.items():
            self.counts.setdefault(kind, Counter()).update(counts)
        for outcome, examples in other.examples.items():
            mine = self.examples.setdefault(outcome, [])
            mine += examples[: _EXAMPLES - len(mine)]

    def as_dict(self) -> dict[str, Any]:
        """The counts and examples as JSON types."""
        return {
            "links": {
                kind: {outcome: counts[outcome] for outcome in _OUTCOMES}
                for kind, counts in sorted(self.counts.items())
            },
            "examples": {
                outcome: [list(example) for example in self.examples.get(outcome, [])] for outcome in _FAILURES
            },
        }


@dataclass(frozen=True, slots=True)
class ResolveTask:
    """One worker's task: resolve the links of one shard."""

    shard: ShardInfo
    shards: str  # the folder of all shards
    start: int  # number of its first document
    names: str
    output: str


def build_graph(
    workspace: str | Path | Workspace, *, workers: int | None = None, progress: Callable[[int, int], None] | None = None
) -> ReferenceGraph:
    """Resolve every link of the workspace's corpus again and publish the graph; `ingest` does so by itself."""
    workspace = Workspace(workspace)
    with workspace.publishing("building the reference graph") as publication:
        write_graph(Corpus.open(workspace), publication.folder("graph"), workers=workers, progress=progress)
    return ReferenceGraph.open(workspace)


def write_graph(
    corpus: Corpus,
    folder: Path,
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReferenceGraph:
    """Resolve every link of a corpus into a folder."""
    _write_names(corpus, folder / "names.sqlite")
    (folder / "edges").mkdir()
    tasks = [
        ResolveTask(
            shard,
            str(corpus.shards_folder),
            start,
            str(folder / "names.sqlite"),
            str(folder / "edges" / f"{number:05}.parquet"),
        )
        for number, (shard, start) in enumerate(zip(corpus.shards, corpus.starts, strict=False))
    ]
    work = Work(
        "structformer.graph.graph:resolve_shard",
        workers=min(workers or os.cpu_count() or 1, max(1, len(tasks))),
        seconds=Limits().seconds * 10,
        memory_bytes=Limits().memory_bytes,
        lost=_give_up,
    )
    total = Resolution()
    for number, part in enumerate(get_engine(engine).map(work, tasks), 1):
        total.add(part)
        if progress:
            progress(number, len(tasks))
    manifest = {"corpus": corpus.fingerprint, **total.as_dict()}
    write_json(folder / "manifest.json", manifest)
    return ReferenceGraph(folder, corpus, manifest)


def _give_up(task: ResolveTask, item: Any, reason: str) -> ResolveTask:
    raise WorkspaceError(f"resolving the links of {item} {reason}")


def _write_names(corpus: Corpus, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("PRAGMA synchronous=OFF")
        database.execute("CREATE TABLE names (name TEXT, document INTEGER)")
        database.execute("CREATE TABLE anchors (document INTEGER, anchor TEXT, section INTEGER)")
        site = corpus.site
        for start, shard in zip(corpus.starts, corpus.shards, strict=False):
            for row in corpus.rows(shard, "documents", ["number", "id", "path", "names", "metadata"]):
                number = start + row["number"]
                address = site.address_of(row["id"], row["path"], json.loads(row["metadata"])) if site.is_known else ""
                names = dict.fromkeys((normalize(row["id"]), *row["names"], *url_names(address)))
                database.executemany("INSERT INTO names VALUES (?, ?)", [(name, number) for name in names])
            for row in corpus.rows(shard, "sections", ["document", "number", "anchors"]):
                if row["anchors"]:
                    number = start + row["document"]
                    rows = [(number, normalize(anchor), row["number"]) for anchor in row["anchors"]]
                    database.executemany("INSERT INTO anchors VALUES (?, ?, ?)", rows)
        database.execute("CREATE INDEX by_name ON names (name, document)")
        _write_aliases(corpus, database)
        _write_files(corpus, database)
        database.execute("CREATE INDEX by_anchor ON anchors (document, anchor, section)")
        database.commit()


def _write_files(corpus: Corpus, database: sqlite3.Connection) -> None:
    """The paths of files that are no documents, and of all folders."""
    database.execute("CREATE TABLE files (name TEXT PRIMARY KEY) WITHOUT ROWID")
    folders: set[str] = set()
    paths = corpus.other_files()
    for path in paths:
        database.execute("INSERT OR IGNORE INTO files VALUES (?)", (normalize(path),))
        folders.add(path.rpartition("/")[0])
    for shard in corpus.shards:
        folders |= {row["path"].rpartition("/")[0] for row in corpus.rows(shard, "sources", ["path"])}
    for folder in folders:
        while folder and database.execute("INSERT OR IGNORE INTO files VALUES (?)", (normalize(folder),)).rowcount:
            folder = folder.rpartition("/")[0]


def _write_aliases(corpus: Corpus, database: sqlite3.Connection) -> None:
    """Give documents the further names that their sources said, over chains of aliases as far as they lead."""
    database.execute("CREATE TABLE aliases (name TEXT, target TEXT)")
    for shard in corpus.shards:
        for row in corpus.rows(shard, "sources", ["aliases"]):
            if row["aliases"]:
                pairs = [(normalize(alias["name"]), normalize(alias["target"])) for alias in row["aliases"]]
                database.executemany("INSERT INTO aliases VALUES (?, ?)", pairs)
    database.execute("CREATE INDEX by_target ON aliases (target, name)")
    found = "SELECT DISTINCT aliases.name, names.document FROM aliases JOIN names ON names.name = aliases.target"
    fresh = f"{found} WHERE NOT EXISTS (SELECT 1 FROM names AS known WHERE known.name = aliases.name)"
    for _ in range(_MAX_ALIASES):
        if not database.execute(f"INSERT INTO names {fresh}").rowcount:
            break
    database.execute("DROP TABLE aliases")


class Names:
    """Looks names up: which documents have a name, which section of a document has an anchor."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)

    def documents(self, name: str) -> list[int]:
        """Numbers of the documents of that name, two at most: more than one is ambiguous anyway."""
        rows = self._database.execute("SELECT DISTINCT document FROM names WHERE name = ? LIMIT 2", (name,))
        return [number for (number,) in rows]

    def is_file(self, name: str) -> bool:
        """Whether that is the path of a folder, or of a file that is not a document."""
        return self._database.execute("SELECT 1 FROM files WHERE name = ?", (name,)).fetchone() is not None

    def section(self, document: int, anchor: str) -> int | None:
        """Number of the first section with that anchor; case is a second choice, as browsers and generators differ."""
        for form in dict.fromkeys((anchor, anchor.lower())):
            row = self._database.execute(
                "SELECT MIN(section) FROM anchors WHERE document = ? AND anchor = ?", (document, form)
            ).fetchone()
            if row[0] is not None:
                return int(row[0])
        return None

    def close(self) -> None:
        self._database.close()


def resolve_shard(task: ResolveTask, started: Callable[[str], None]) -> Resolution:
    """A worker's job: the edges of one shard's links into a Parquet file, and their outcomes."""
    corpus = Corpus(Path(), Path(task.shards), [task.shard])
    names = Names(Path(task.names))
    resolution = Resolution()
    rows: list[dict[str, Any]] = []
    with closing(names), parquet_writer(Path(task.output), EDGES) as writer:
        for number, document in enumerate(corpus.shard_documents(0), task.start):
            started(document.id)
            rows += _document_edges(number, document, names, resolution)
            if len(rows) > 20_000:
                writer.write_table(pa.Table.from_pylist(rows, schema=EDGES))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema=EDGES))
    return resolution


def _document_edges(number: int, document: Document, names: Names, resolution: Resolution) -> Iterator[dict[str, Any]]:
    resolved: dict[tuple[str, str], tuple[str, int, int]] = {}
    for section_number, section in enumerate(document.sections()):
        for link in section.links:
            key = (link.kind.value if link.kind is LinkKind.CITATION else "", link.target)
            if key not in resolved:
                resolved[key] = resolve_link(link, document, number, names)
            outcome, target, target_section = resolved[key]
            if outcome == "dead_anchor":
                resolution.count(link.kind.value, "dead_anchor", document.id, link.target)
                outcome = "resolved"
            resolution.count(link.kind.value, outcome, document.id, link.target)
            if outcome == "resolved":
                yield {
                    "source_document": number,
                    "source_section": section_number,
                    "target_document": target,
                    "target_section": target_section,
                    "kind": link.kind.value,
                    "text": link.text,
                    "start": link.start,
                    "end": link.end,
                }


def resolve_link(link: Link, document: Document, number: int, names: Names) -> tuple[str, int, int]:
    """(outcome, target document, target section); -1 where there is no target."""
    ambiguous = False
    without_anchor = -1
    elsewhere: bool | None = None  # an address is the first thing it may mean
    for candidate in _format_of(document).resolve(link, document):
        if elsewhere is None:
            elsewhere = candidate.startswith("//")
        name, _, anchor = candidate.partition("#")
        found = [number] if name == document.id else names.documents(name)
        if len(found) > 1 and number in found and not anchor:
            found = [number]
        if len(found) > 1:
            ambiguous = True
        if len(found) != 1:
            continue
        if not anchor or anchor.lower() == "top":
            return "resolved", found[0], 0
        section = names.section(found[0], anchor)
        if section is not None:
            return "resolved", found[0], section
        without_anchor = found[0] if without_anchor < 0 else without_anchor
    if without_anchor >= 0:
        return "dead_anchor", without_anchor, 0
    if ambiguous:
        return "ambiguous", -1, -1
    if elsewhere or is_external(link.target):
        return "external", -1, -1
    at_place = path_candidates(document.source.path, link.target)
    return ("file" if any(names.is_file(name) for name in at_place) else "unresolved"), -1, -1


def _format_of(document: Document) -> Any:
    try:
        return load_plugins().format(document.source.format)
    except UsageError as error:
        raise WorkspaceError(
            f"{document.id} was read by the format {document.source.format!r}, whose plugin is gone"
        ) from error


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
        self._see_also: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]] | None = None
        self._see_also_back: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]] | None = None

    @classmethod
    def open(cls, workspace: str | Path | Workspace, corpus: Corpus | None = None) -> ReferenceGraph:
        """Open a workspace's graph. Raises WorkspaceError when it is missing or belongs to another corpus."""
        workspace = Workspace(workspace)
        corpus = corpus or Corpus.open(workspace)
        sealed, hold = workspace.sealed("graph")
        manifest = sealed.json("manifest.json")
        if manifest.get("corpus") != corpus.fingerprint:
            raise WorkspaceError(
                f"the reference graph in {sealed.folder} is of another corpus: run `structformer ingest` again"
            )
        return cls(sealed.folder, corpus, manifest, sealed, hold)

    def _edge_files(self) -> list[Path]:
        return [self._file(f"edges/{path.name}") for path in sorted((self.folder / "edges").glob("*.parquet"))]

    def _file(self, name: str) -> Path:
        return self._sealed.path(name) if self._sealed else self.folder / name

    def edges(self) -> Iterator[dict[str, Any]]:
        """All edges as rows of the schema EDGES, in order of their source."""
        for path in self._edge_files():
            yield from read_rows(path)

    def shard_edges(self, shard: int) -> Iterator[dict[str, Any]]:
        """The edges whose source is in a shard of the corpus, in order of their source."""
        yield from read_rows(self._file(f"edges/{shard:05}.parquet"))

    def see_also_of(self, document: int) -> list[int]:
        """Documents whose see-also lists name a document, ascending."""
        if self._see_also_back is None:
            starts, targets = self._see_also_arrays()
            sources = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
            order = np.lexsort((sources, targets))
            counts = np.bincount(targets, minlength=self.corpus.document_count)
            self._see_also_back = np.concatenate([[0], np.cumsum(counts)]), sources[order]
        starts, sources = self._see_also_back
        return [int(source) for source in sources[starts[document] : starts[document + 1]]]

    def see_also(self, document: int) -> list[int]:
        """Documents that a document names in its see-also lists: its neighbours in the see-also graph, ascending."""
        starts, targets = self._see_also_arrays()
        return [int(target) for target in targets[starts[document] : starts[document + 1]]]

    @property
    def see_also_edges(self) -> int:
        """Number of directed see-also edges between distinct documents."""
        return len(self._see_also_arrays()[1])

    def incoming_texts(self) -> dict[tuple[int, int], list[str]]:
        """Anchor texts by (target document, target section), each once, in order of their sources; and of redirects the
        names that lead to a document.
        """
        found: dict[tuple[int, int], dict[str, None]] = {}
        for edge in self.edges():
            if edge["text"] and edge["source_document"] != edge["target_document"]:
                found.setdefault((edge["target_document"], edge["target_section"]), {})[edge["text"]] = None
        for document, name in self._redirected():
            found.setdefault((document, 0), {})[name] = None
        return {key: list(texts) for key, texts in found.items()}

    def _redirected(self) -> Iterator[tuple[int, str]]:
        """(document, name) of the names that sources redirect to it, over chains as far as they lead."""
        targets: dict[str, str] = {}
        written: dict[str, str] = {}
        for shard in self.corpus.shards:
            for row in self.corpus.rows(shard, "sources", ["aliases"]):
                for alias in row["aliases"] or ():
                    name = normalize(alias["name"])
                    targets[name] = normalize(alias["target"].partition("#")[0])
                    written[name] = alias["name"].rpartition(":")[2]  # without the wiki and the namespace
        if not targets:
            return
        numbers: dict[str, int] = {}
        for start, shard in zip(self.corpus.starts, self.corpus.shards, strict=False):
            for row in self.corpus.rows(shard, "documents", ["number", "names"]):
                for name in row["names"]:
                    numbers.setdefault(name, start + row["number"])
        for name, target in targets.items():
            for _ in range(_MAX_ALIASES):
                if target in numbers or target not in targets:
                    break
                target = targets[target]
            if target in numbers and name not in numbers:
                yield numbers[target], written[name]

    def _see_also_arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        if self._see_also is None:
            pairs = [np.empty((0, 2), np.int32)]
            for path in self._edge_files():
                table = pq.read_table(path, columns=["source_document", "target_document", "kind"])
                table = table.filter(pc.equal(table["kind"], LinkKind.SEE_ALSO.value))
                pairs.append(
                    np.stack([table["source_document"].to_numpy(), table["target_document"].to_numpy()], axis=1)
                )
            edges = np.concatenate(pairs)
            edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
            counts = np.bincount(edges[:, 0], minlength=self.corpus.document_count)
            self._see_also = np.concatenate([[0], np.cumsum(counts)]), edges[:, 1]
        return self._see_also
