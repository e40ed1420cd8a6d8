"""The names of documents and sections in SQLite tables, cut by a hash of the name so that no table is large: how links
find their targets, whatever the size of the corpus.

Two steps, each over many files side by side: every shard's names are sorted into partitions, then every partition's
become its table. Neither holds more than its own part in memory.
"""

import json
import mmap
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, takewhile
from operator import eq, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from structformer.corpus import Corpus
from structformer.corpus.shards import ShardInfo
from structformer.corpus.site import PAGE, Site
from structformer.engines import Engine, Work, mapped
from structformer.errors import WorkspaceError
from structformer.formats.generators import FILE
from structformer.formats.link_names import INDEX_STEMS, normalize, url_names, without_suffix
from structformer.formats.source import Limits
from structformer.storage.files import read_only, remove
from structformer.storage.parquet import parquet_writer
from structformer.text.headings import letters_and_digits

_DOCUMENTS_OF_A_PARTITION = 50_000
_MAX_PARTITIONS = 64  # each reader has one connection to every table, at half a megabyte
_MAX_ALIASES = 10  # in a chain
_CACHE_KB = 512
_NAMES_KEPT = 200_000  # with what they lead to, some forty megabytes
_PATH = "#{}"  # by a document's number, the alias that has its path: no link's name has a "#"
_NUMBERLESS = " "  # before the loose form of a name whose number is left out
_SEVERAL = ""  # sections
_RENDERERS_PREFIX = re.compile(r"^(?:user-content-|markdown-header-)")  # of GitHub and Bitbucket
_BITS, _BITS_OF_A_NAME = ".bits", 16
_NAME, _ANCHOR, _ALIAS, _FILE, _LOOSE = range(5)
_ENTRIES = pa.schema([("kind", pa.int8()), ("key", pa.string()), ("document", pa.int32()), ("value", pa.string())])
_TABLES = """
    CREATE TABLE names (name TEXT, document INTEGER, PRIMARY KEY (name, document)) WITHOUT ROWID;
    CREATE TABLE anchors (document INTEGER, anchor TEXT, section INTEGER, PRIMARY KEY (document, anchor)) WITHOUT ROWID;
    CREATE TABLE loose (document INTEGER, form TEXT, section INTEGER, PRIMARY KEY (document, form)) WITHOUT ROWID;
    CREATE TABLE aliases (name TEXT, target TEXT, PRIMARY KEY (name, target)) WITHOUT ROWID;
    CREATE TABLE files (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_TARGETS = "SELECT target FROM aliases WHERE name = ?"
Entry = tuple[int, str, int, str]  # kind, key, document, value


@dataclass(frozen=True, slots=True)
class GatherTask:
    """A worker's task: one shard's names, or with no shard the other files', sorted into partitions."""

    shard: ShardInfo | None
    corpus: str
    shards: str
    start: int  # number of the shard's first document
    site: Site
    partitions: int
    output: str


@dataclass(frozen=True, slots=True)
class TableTask:
    """A worker's task: the table of one partition."""

    gathered: tuple[str, ...]
    partition: int
    partitions: int
    output: str


def partition_count(corpus: Corpus) -> int:
    """How many tables a corpus's names are cut into: by its size alone, so that equal corpora have equal tables."""
    return min(_MAX_PARTITIONS, 1 + corpus.document_count // _DOCUMENTS_OF_A_PARTITION)


def write_names(corpus: Corpus, folder: Path, *, engine: str | Engine = "local", workers: int = 1) -> None:
    """Write the tables of a corpus's names into a folder, which is made."""
    count = partition_count(corpus)
    folder.mkdir()
    gathered = folder / "gathered"
    gathered.mkdir()
    places = str(corpus.folder), str(corpus.shards_folder)
    shards: list[tuple[ShardInfo | None, int]] = [*zip(corpus.shards, corpus.starts, strict=False), (None, 0)]
    gathering = [
        GatherTask(shard, *places, start, corpus.site, count, str(gathered / f"{number:05}.parquet"))
        for number, (shard, start) in enumerate(shards)
    ]
    tables = [
        TableTask(tuple(task.output for task in gathering), number, count, str(_table(folder, number)))
        for number in range(count)
    ]
    for step, tasks in (("gather", gathering), ("write_table", tables)):
        work = graph_work(f"structformer.graph.name_tables:{step}", len(tasks), workers if count > 1 else 1)
        for _ in mapped(work, tasks, engine):
            pass
    remove(gathered)


def graph_work(function: str, tasks: int, workers: int) -> Work:
    """Return how a step of the graph is run."""
    limits, workers = Limits(), max(1, min(workers, tasks))
    return Work(function, workers, seconds=limits.seconds * 10, memory_bytes=limits.memory_bytes, lost=_give_up)


def _give_up(task: Any, item: Any, reason: str) -> Any:
    raise WorkspaceError(f"making the reference graph, at {item}: {reason}")


def _table(folder: Path, partition: int) -> Path:
    return folder / f"{partition:03}.sqlite"


def _hash(name: str) -> int:
    """Of 32 bits: the remainder by the number of tables names one, what is left of it a bit there."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


def gather(task: GatherTask, started: Callable[[str], None]) -> None:
    """A worker's job: one row group of entries for each partition."""
    rows: list[list[Entry]] = [[] for _ in range(task.partitions)]
    entries = _other_files(task) if task.shard is None else _shard_entries(task, task.shard)
    for entry in entries:
        kind, key, document, _ = entry
        of_document = kind in (_ANCHOR, _LOOSE)
        rows[document % task.partitions if of_document else _hash(key) % task.partitions].append(entry)
    with parquet_writer(Path(task.output), _ENTRIES) as writer:
        for part in rows:
            columns = list(zip(*part, strict=True)) or [(), (), (), ()]
            arrays = [pa.array(column, kind) for column, kind in zip(columns, _ENTRIES.types, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=_ENTRIES), row_group_size=max(1, len(part)))


def _other_files(task: GatherTask) -> Iterator[Entry]:
    corpus = Corpus(Path(task.corpus), Path(task.shards), [])
    known: set[str] = set()
    for path in corpus.other_files():
        yield _FILE, normalize(path), 0, ""
        yield from _folders(path, known)


def _folders(path: str, known: set[str]) -> Iterator[Entry]:
    """Yield a path's folders, those that are not known already."""
    folder = path.rpartition("/")[0]
    while folder and folder not in known:
        known.add(folder)
        yield _FILE, normalize(folder), 0, ""
        folder = folder.rpartition("/")[0]


def _shard_entries(task: GatherTask, shard: ShardInfo) -> Iterator[Entry]:
    corpus = Corpus(Path(), Path(task.shards), [shard])
    lying = replace(task.site, rule=FILE)
    for row in corpus.rows(shard, "documents", ["number", "id", "path", "names", "metadata"]):
        for name, rank in _ranked_names(row, task.site, lying).items():
            yield _NAME, name, task.start + row["number"], str(rank)
        if row["id"] == row["path"]:
            yield _ALIAS, _PATH.format(task.start + row["number"]), 0, row["path"]
    sections = corpus.rows(shard, "sections", ["document", "number", "title", "anchors"])
    for place, rows in groupby(sections, key=itemgetter("document")):
        yield from _places(task.start + place, rows)
    known: set[str] = set()
    for row in corpus.rows(shard, "sources", ["path", "aliases"]):
        yield from _folders(row["path"], known)
        for alias in row["aliases"] or ():
            yield _ALIAS, normalize(alias["name"]), 0, normalize(alias["target"])


def _ranked_names(row: Mapping[str, Any], site: Site, lying: Site) -> dict[str, int]:
    """A document's names with ranks: of all that share a name those of the lowest have it. A file goes by its path and
    address before what others make, HTML before its source, `guide` before the folder's page, README last.
    """
    id, path = row["id"], row["path"]
    names = dict.fromkeys((normalize(id), *url_names(lying.address_of(id, path, {}))[:1]), 0)
    address = site.address_of(id, path, json.loads(row["metadata"])) if site.is_known else ""
    folder, _, stem = normalize(without_suffix(path)).rpartition("/")
    of_folder = (4 if stem.lower() == "readme" else 2) if id == path and stem.lower() in INDEX_STEMS else 0
    for name in (*row["names"], *url_names(address)):
        by_folder = name.rpartition("/")[2] != stem if name.startswith("//") else name.strip("/") == (folder or ".")
        names.setdefault(name, (1 if PAGE.search(path) else 2) + of_folder * by_folder)
    return names


def _places(document: int, sections: Iterable[dict[str, Any]]) -> Iterator[Entry]:
    """Yield the anchors of a document, and the loose forms of these and of its titles that one section alone has."""
    loose: dict[str, str] = {}
    for row in sections:
        number = str(row["number"])
        names = row["anchors"] or ()
        for anchor in names:
            yield _ANCHOR, normalize(anchor), document, number
        for name in (row["title"] or "", *names):
            letters = letters_and_digits(normalize(name))
            # Some renderers leave out a number in front.
            rest = letters.lstrip("0123456789") if letters[:1].isdigit() else ""
            for form in filter(None, (letters, rest and _NUMBERLESS + rest)):
                loose[form] = number if loose.get(form, number) == number else _SEVERAL
    for form, number in sorted(loose.items()):
        if number != _SEVERAL:
            yield _LOOSE, form, document, number


def write_table(task: TableTask, started: Callable[[str], None]) -> None:
    """A worker's job: one partition's table, from its row group of every gathered file."""
    kinds: list[set[tuple[Any, ...]]] = [set(), set(), set(), set()]
    anchors: dict[tuple[int, str], int] = {}
    for path in task.gathered:
        for kind, key, document, value in _entries(Path(path), task.partition):
            if kind == _ANCHOR:
                section = int(value)
                anchors[document, key] = min(section, anchors.get((document, key), section))
            elif kind == _NAME:
                kinds[kind].add((key, int(value), document))
            elif kind != _LOOSE:
                kinds[kind].add((key, value) if kind == _ALIAS else (key,))
    with closing(sqlite3.connect(task.output)) as database:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("PRAGMA synchronous=OFF")
        database.executescript(_TABLES)
        database.executemany("INSERT INTO names VALUES (?, ?)", _first_ranked(kinds[_NAME]))
        rows = ((*key, section) for key, section in sorted(anchors.items()))
        database.executemany("INSERT INTO anchors VALUES (?, ?, ?)", rows)
        for path in task.gathered:  # once more, so that these are never held together
            entries = _entries(Path(path), task.partition)
            loose = ((document, form, int(section)) for kind, form, document, section in entries if kind == _LOOSE)
            database.executemany("INSERT INTO loose VALUES (?, ?, ?)", loose)
        database.executemany("INSERT INTO aliases VALUES (?, ?)", sorted(kinds[_ALIAS]))
        database.executemany("INSERT INTO files VALUES (?)", sorted(kinds[_FILE]))
        database.commit()
    known = {row[0] for kind in (_NAME, _ALIAS, _FILE) for row in kinds[kind]}
    Path(task.output).with_suffix(_BITS).write_bytes(_bits(known, task.partitions))


def _first_ranked(names: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, int]]:
    """Yield (name, document) of (name, rank, document): those of a name's lowest rank."""
    for name, entries in groupby(sorted(names), itemgetter(0)):
        _, first = next(groupby(entries, itemgetter(1)))
        yield from ((name, document) for *_, document in first)


def _bits(known: set[str], partitions: int) -> bytes:
    """A bit for each name, at a hash of it, among sixteen times as many: what is not there is mostly told by one."""
    count = 1 << max(10, (len(known) * _BITS_OF_A_NAME).bit_length())
    bits = np.zeros(count, np.uint8)
    bits[[_hash(name) // partitions & (count - 1) for name in known]] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def _entries(path: Path, partition: int) -> Iterable[Entry]:
    with pq.ParquetFile(path) as file:
        table = file.read_row_group(partition)
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


class NameTables:
    """Looks up documents by names, sections by anchors. has_files: whether there are folders or other files."""

    def __init__(self, folder: Path) -> None:
        """Raises WorkspaceError where there are no tables, or of an earlier version."""
        self._folder = folder
        self._tables: dict[int, sqlite3.Connection] = {}
        self._bits: dict[int, mmap.mmap] = {}
        self._count = sum(1 for _ in folder.glob("*.sqlite"))
        if not self._count:
            raise WorkspaceError(f"{folder} is missing: run `structformer ingest` again")
        # Links say the same names again and again.
        self.documents = lru_cache(maxsize=_NAMES_KEPT)(self._documents)
        # A dump has none, and millions of links that would be looked up among them.
        self.has_files = any(
            self._of(number).execute("SELECT 1 FROM files LIMIT 1").fetchone() for number in range(self._count)
        )

    def _of(self, partition: int) -> sqlite3.Connection:
        if partition not in self._tables:
            path = _table(self._folder, partition)
            self._tables[partition] = read_only(path)
            self._tables[partition].execute(f"PRAGMA cache_size=-{_CACHE_KB}")
        return self._tables[partition]

    def _table_of(self, name: str) -> int:
        """Return the one table that may have a name; -1 for most that none has, as most links out of a wiki."""
        hashed = _hash(name)
        partition = hashed % self._count
        bits = self._bits.get(partition)
        if bits is None:
            with _table(self._folder, partition).with_suffix(_BITS).open("rb") as file:
                bits = self._bits[partition] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        place = hashed // self._count & (len(bits) * 8 - 1)
        return partition if bits[place >> 3] >> (place & 7) & 1 else -1

    def _rows(self, question: str, name: str) -> list[Any]:
        partition = self._table_of(name)
        return self._of(partition).execute(question, (name,)).fetchall() if partition >= 0 else []

    def has(self, name: str) -> bool:
        """Whether a document has that name of its own."""
        return bool(self._rows("SELECT 1 FROM names WHERE name = ? LIMIT 1", name))

    def _documents(self, name: str) -> tuple[int, ...]:
        """Return numbers of a name's documents, two at most; without any, those of the shortest chain of aliases."""
        if self._table_of(name) < 0:
            return ()
        query = "SELECT document FROM names WHERE name = ? ORDER BY document LIMIT 2"
        level, known = {name}, {name}
        for _ in range(_MAX_ALIASES + 1):
            if documents := {row[0] for each in level for row in self._rows(query, each)}:
                return tuple(sorted(documents)[:2])
            level = {row[0] for each in level for row in self._rows(_TARGETS, each)} - known
            known |= level
        return ()

    def nearest(self, name: str, number: int) -> tuple[int, ...]:
        """Return the documents of a name that share most folders with a document, of these those in the fewest."""
        query = "SELECT document FROM names WHERE name = ? AND document {} ORDER BY document {} LIMIT 9"
        sides = (query.format(f">= {number}", "ASC"), query.format(f"< {number}", "DESC"))
        path, distances = self._path(number), dict[int, tuple[int, int]]()
        for (document,) in (row for side in sides for row in self._rows(side, name)):
            other = self._path(document)
            distances[document] = -sum(takewhile(bool, map(eq, path, other))), len(other)
        least = min(distances.values(), default=None)
        return tuple(each for each, distance in distances.items() if distance == least) or self.documents(name)

    def _path(self, document: int) -> list[str]:
        rows = self._rows(_TARGETS, _PATH.format(document))
        return rows[0][0].split("/") if rows else []

    def is_file(self, name: str) -> bool:
        """Whether that is the path of a folder, or of a file that is not a document."""
        return bool(self._rows("SELECT 1 FROM files WHERE name = ?", name))

    def section(self, document: int, anchor: str) -> int | None:
        """Number of the first section with that anchor; case is a second choice, as browsers and generators differ."""
        query = "SELECT section FROM anchors WHERE document = ? AND anchor = ?"
        return self._first(query, document, dict.fromkeys((anchor, anchor.lower())))

    def section_by_letters(self, document: int, anchor: str) -> int | None:
        """The section whose anchor or title has these letters and digits; of a path of headings (`A#B`) the last."""
        form = letters_and_digits(_RENDERERS_PREFIX.sub("", anchor.rpartition("#")[2]))
        query = "SELECT section FROM loose WHERE document = ? AND form = ?"
        return self._first(query, document, (form, _NUMBERLESS + form) if form else ())

    def _first(self, query: str, document: int, forms: Iterable[str]) -> int | None:
        """Return the section that a query finds by the first form that has one."""
        table = self._of(document % self._count)
        rows = (table.execute(query, (document, form)).fetchone() for form in forms)
        return next((int(row[0]) for row in rows if row is not None), None)

    def close(self) -> None:
        for table in self._tables.values():
            table.close()
        self._tables.clear()
