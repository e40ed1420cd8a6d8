"""The corpus on disk: shards of documents listed by a manifest, read as a stream, checked by digest; its languages."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from structformer import notebook
from structformer.corpus.rows import Row, rows_document
from structformer.corpus.shards import TABLES, ShardInfo, is_shard_name, read_rows, read_shard, read_table
from structformer.corpus.site import Navigation, Site, read_site
from structformer.document import Document
from structformer.errors import WorkspaceError
from structformer.storage.files import sha256_of, write_bytes
from structformer.storage.seal import Sealed, Stamps, compared
from structformer.text.languages import ENGLISH, declared_code, language_of
from structformer.workspace import Hold, Workspace

FORMAT_VERSION = 3

_AGAIN, _FRESH = "run `structformer ingest` again", "run `structformer ingest --fresh` again"
_OTHER_FILES = "other-files.txt"
_SAMPLE = 100  # documents, where none declares its language
_SHARE = 0.05  # of the documents, at least, that are in a language which counts
_FEWEST = 3  # documents
_SURELY = 0.9  # a page of code is taken for many a language with less
_LEAST_TEXT = 200  # characters that tell a language among many


def manifest_value(shards: list[ShardInfo], tool_version: str) -> dict[str, Any]:
    """Return the manifest's content: nothing that depends on the machine, the time or the way the corpus came about."""
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": tool_version,
        "shards": [asdict(shard) for shard in shards],
    }


def write_other_files(folder: Path, paths: Iterable[str]) -> None:
    """Keep the paths of files that are not documents; a line each, since no path as we name it has a line end."""
    write_bytes(folder / _OTHER_FILES, "".join(f"{path}\n" for path in paths).encode("utf-8", "backslashreplace"))


class Corpus:
    """An ingested corpus. Documents are numbered from 0 in the order of their sources' paths."""

    def __init__(self, folder: Path, shards_folder: Path, shards: list[ShardInfo], hold: Hold | None = None) -> None:
        self.folder = folder
        self.shards_folder = shards_folder
        self.shards = shards
        self._hold = hold
        self.starts = [0]
        for shard in shards:
            self.starts.append(self.starts[-1] + shard.documents)

    @classmethod
    def open(cls, workspace: str | Path | Workspace = ".structformer") -> Corpus:
        """Open a workspace's corpus. Raises WorkspaceError when there is none or it is of another format version."""
        workspace = Workspace(workspace)
        folder, hold = workspace.hold("corpus")
        return cls.at(workspace, folder, hold)

    @classmethod
    def indexed(cls, workspace: str | Path | Workspace) -> Corpus:
        """Open the corpus that the current index was made of, however new the latest is. Raises WorkspaceError."""
        workspace = Workspace(workspace)
        folder, hold = workspace.hold("corpus", workspace.indexed("corpus"))
        return cls.at(workspace, folder, hold)

    @classmethod
    def at(cls, workspace: Workspace, folder: Path, hold: Hold | None = None) -> Corpus:
        """Return a generation of the corpus by its folder. Raises WorkspaceError."""
        manifest = Sealed(folder, _AGAIN, workspace.stamps).json("manifest.json")
        if manifest.get("format_version") != FORMAT_VERSION:
            raise WorkspaceError(
                f"{folder} has format version {manifest.get('format_version')}, this version reads "
                f"{FORMAT_VERSION}; {_AGAIN}"
            )
        shards = [ShardInfo(**{**shard, "digests": tuple(shard["digests"])}) for shard in manifest["shards"]]
        if wrong := next((shard.key for shard in shards if not is_shard_name(shard.key)), None):
            raise WorkspaceError(f"{folder} lists {wrong!r}, which is not the name of a shard: {_AGAIN}")
        return cls(folder, workspace.shards, shards, hold)

    def __repr__(self) -> str:
        return f"Corpus({self.document_count} documents, {self.section_count} sections, {str(self.folder)!r})"

    def _repr_html_(self) -> str:
        columns = ["id", "title", "format", "sections"]
        every = chain.from_iterable(self.rows(shard, "documents", columns) for shard in self.shards)
        rows = [
            [notebook.code(row["id"]), *(notebook.text(row[name]) for name in columns[1:])]
            for row in islice(every, notebook.ROWS)
        ]
        documents = notebook.count_of(self.document_count, "document")
        return notebook.box(
            f"Corpus of {documents}, {notebook.count_of(self.section_count, 'section')}",
            notebook.table(columns, rows) if rows else "",
            notebook.more(self.document_count - len(rows), "documents"),
        )

    @property
    def document_count(self) -> int:
        return self.starts[-1]

    @property
    def section_count(self) -> int:
        return sum(shard.sections for shard in self.shards)

    @property
    def fingerprint(self) -> str:
        """A digest of the corpus's whole content; what was made from another content has another one."""
        digests: list[Any] = [shard.digests for shard in self.shards]
        titles = {id: title for id, title in self.navigation.titles.items() if title}
        return hashlib.sha256(json.dumps(digests + [titles] * bool(titles)).encode()).hexdigest()[:16]

    def shard_folder(self, shard: ShardInfo) -> Path:
        return self.shards_folder / shard.key

    def documents(self) -> Iterator[Document]:
        """Yield all documents in number order, read as a stream."""
        for number in range(len(self.shards)):
            yield from self.shard_documents(number)

    def shard_documents(self, number: int, *, links: bool = True) -> Iterator[Document]:
        """Read the documents of one shard, from number `starts[number]` on. links=False: faster, without links."""
        for row, section_rows in read_shard(self._compared(self.shards[number]), links=links):
            yield self.navigation.titled(rows_document(row, section_rows))

    def document_ids(self) -> Iterator[str]:
        """Yield ids in number order, without reading the sections."""
        for shard in self.shards:
            yield from (row["id"] for row in self.rows(shard, "documents", ["id"]))

    def document(self, document_id: str) -> Document:
        """Return one document by its id. Raises WorkspaceError when there is none of that id."""
        for number, name in enumerate(self.document_ids()):
            if name == document_id:
                return self.document_at(number)
        raise WorkspaceError(f"no document {document_id!r} in {self.folder}")

    def document_at(self, number: int) -> Document:
        """Return one document by its number."""
        return next(self.documents_at([number]))

    def documents_at(self, numbers: Sequence[int]) -> Iterator[Document]:
        """Yield documents by their numbers, which ascend: each shard is read once."""
        for shard, of_shard in groupby(numbers, lambda number: bisect_right(self.starts, number) - 1):
            places = {number - self.starts[shard] for number in of_shard}
            for place, rows in enumerate(islice(read_shard(self._compared(self.shards[shard])), max(places) + 1)):
                if place in places:
                    yield self.navigation.titled(rows_document(*rows))

    def rows(self, shard: ShardInfo, table: str, columns: list[str] | None = None) -> Iterator[Row]:
        """Return the rows of one table of a shard. Raises WorkspaceError when the file is not as it was written."""
        return read_rows(self._compared(shard, (table,)) / f"{table}.parquet", columns)

    def table(self, shard: ShardInfo, table: str, columns: list[str]) -> pa.Table:
        """Columns of one table of a shard, whole. Raises WorkspaceError when the file is not as it was written."""
        return read_table(self._compared(shard, (table,)) / f"{table}.parquet", columns)

    def _compared(self, shard: ShardInfo, tables: Sequence[str] = ("documents", "sections")) -> Path:
        folder = self.shard_folder(shard)
        for table in tables:
            path = folder / f"{table}.parquet"
            try:
                is_as_written = _compared_files.matches(path, shard.digests[TABLES.index(table)])
            except OSError as error:
                raise WorkspaceError(f"{path} cannot be read ({error.strerror or error}); {_FRESH}") from error
            if not is_as_written:
                raise WorkspaceError(f"{path} has changed since it was written: {_FRESH}")
        return folder

    def sources(self) -> Iterator[dict[str, Any]]:
        """Yield one row per source file: path, format, sha256, size, status, documents, messages."""
        for shard in self.shards:
            yield from self.rows(shard, "sources")

    @property
    def site(self) -> Site:
        """Where its pages are read."""
        return self._site[0]

    @property
    def navigation(self) -> Navigation:
        """The order of the site's pages, and the titles of its navigation."""
        return self._site[1]

    @cached_property
    def _site(self) -> tuple[Site, Navigation]:
        return read_site(self.folder)

    def other_files(self) -> Iterator[str]:
        """Yield paths of the ingested files that are not documents: images, code, what no format reads."""
        path = compared(self.folder, _OTHER_FILES, _AGAIN)
        if path is not None:
            with path.open(encoding="utf-8") as lines:
                yield from (line.rstrip("\n") for line in lines)

    def check(self) -> list[str]:
        """Return problems found by comparing every file with its recorded digest; empty when all is well."""
        problems: list[str] = []
        for shard in self.shards:
            for table, digest in zip(TABLES, shard.digests, strict=True):
                path = self.shard_folder(shard) / f"{table}.parquet"
                if not path.exists():
                    problems.append(f"{path}: missing")
                elif sha256_of(path) != digest:
                    problems.append(f"{path}: content differs from its recorded sha256")
        return problems


# Hashed once in a process, until a file's size, time of change or inode is another.
_compared_files = Stamps(None, sha256_of)


def corpus_languages(corpus: Corpus) -> tuple[str, ...]:
    """Codes of the languages that documents declare, else that a sample is surely in, else English. That of most
    documents is first; of the others those of a twentieth of the documents.
    """
    return tuple(that_count(counted_languages(corpus))) or (ENGLISH,)


def counted_languages(corpus: Corpus) -> dict[str, int]:
    """Return how many documents declare each language, by its code, or else of a sample how many are surely in it."""
    rows = (row for shard in corpus.shards for row in corpus.rows(shard, "documents", ["language"]))
    counts = Counter(declared_code(row["language"]) for row in rows)
    undeclared = counts.pop("", 0)
    if undeclared > counts.total():
        counts = _sampled(corpus)
    return dict(counts)


def that_count(counts: Mapping[str, int]) -> list[str]:
    """Return the most frequent language, then those of a twentieth of the documents. counts: documents by language."""
    ranked = sorted(counts, key=lambda code: (-counts[code], code))
    least = max(_FEWEST, _SHARE * sum(counts.values()))
    return [*ranked[:1], *(code for code in ranked[1:] if counts[code] >= least)]


def corpus_language(corpus: Corpus) -> str:
    """Return the language that most documents are in, as a two-letter code."""
    return corpus_languages(corpus)[0]


def _sampled(corpus: Corpus) -> Counter[str]:
    """Return the languages of a hundred documents, from all over the corpus."""
    count = corpus.document_count
    counts: Counter[str] = Counter()
    unsure: Counter[str] = Counter()
    for document in corpus.documents_at(range(0, count, max(1, count // _SAMPLE))):
        text = document.root.subtree_text()
        if len(text) >= _LEAST_TEXT and (language := language_of(text, surely=_SURELY)):
            counts[language] += 1
        elif language := language_of(text):
            unsure[language] += 1
    return counts or unsure
