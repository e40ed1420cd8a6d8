"""Examples on disk: memory-mapped Arrow files with random access by row, one part per shard of the corpus. And every
document's first texts, for the samplers that look beyond one document.

A part holds one file per task and one of texts, so that parts can be written by any number of processes and a text that
several Examples use is stored once."""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from structformer.corpus import Corpus
from structformer.sampling.collection import ShardCounts, document_words
from structformer.sampling.example import Census, Example, SamplingOptions
from structformer.sampling.held_out import is_held_out
from structformer.sampling.sets import chosen_set
from structformer.sampling.view import document_abstract, document_text, is_short
from structformer.storage.files import read_errors, read_json
from structformer.storage.seal import Sealed
from structformer.workspace import Hold, Workspace

_EXAMPLE = pa.schema(
    [
        ("queries", pa.list_(pa.string())),
        ("documents", pa.list_(pa.int32())),  # rows of the part's texts
        ("document_id", pa.string()),
        ("sections", pa.list_(pa.int32())),
    ]
)
_TEXT = pa.schema([("text", pa.string())])
BATCH_ROWS = 1024
_OPEN_FILES = 512
_HEAD_CHARACTERS = 3000
_ABSTRACT_CHARACTERS = 2000
_COLUMNS = ("head", "abstract", "title")
_OPEN_TEXTS = 256


class TextWriter:
    """Texts, or rows of another schema, in batches of equal size, so that a row's batch is known from its number."""

    def __init__(self, path: Path, schema: pa.Schema = _TEXT) -> None:
        self._schema = schema
        self._writer = pa.ipc.new_file(str(path), schema)
        self._rows: list[tuple[Any, ...]] = []
        self.count = 0

    def add(self, *values: Any) -> int:
        """Append a row and give its number."""
        self._rows.append(values)
        self.count += 1
        if len(self._rows) == BATCH_ROWS:
            self._flush()
        return self.count - 1

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


class Texts:
    """The texts that a TextWriter wrote, by number."""

    def __init__(self, path: Path) -> None:
        self._file = open_arrow(path)

    def __getitem__(self, number: int) -> str:
        return str(self._file.get_batch(number // BATCH_ROWS).column(0)[number % BATCH_ROWS].as_py())


class PartWriter:
    """Writes one part's Examples into a folder, which is made."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._texts = TextWriter(folder / "texts.arrow")
        self._tasks: dict[str, TextWriter] = {}
        self._known: dict[str, int] = {}
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self._texts.close()
        for table in self._tasks.values():
            table.close()

    def next_document(self) -> None:
        """Forget which texts are stored already, so that memory stays flat."""
        self._known.clear()

    def add(self, example: Example) -> None:
        table = self._tasks.get(example.task)
        if table is None:
            table = self._tasks[example.task] = TextWriter(self._folder / f"{example.task}.arrow", _EXAMPLE)
        texts, known = _once(example.documents), self._known
        for text in texts:
            if text not in known:
                known[text] = self._texts.add(text)
        rows = [known[text] for text in texts]
        table.add(_once(example.queries), rows, example.document_id, example.sections)
        self.counts[example.task] += 1


def _once(texts: tuple[str, ...]) -> Sequence[str]:
    """Return a column of equal texts as one; `Samples` repeats it."""
    return texts[:1] if texts.count(texts[0]) == len(texts) else texts


class Samples:
    """A workspace's Examples, read by number without loading them."""

    def __init__(
        self, folder: Path, manifest: dict[str, Any], sealed: Sealed | None = None, hold: Hold | None = None
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self._sealed = sealed
        self._hold = hold
        self._parts: dict[str, list[str]] = {}
        self._ends: dict[str, list[int]] = {}
        for part in manifest["parts"]:
            for task, count in part["examples"].items():
                ends = self._ends.setdefault(task, [])
                ends.append((ends[-1] if ends else 0) + count)
                self._parts.setdefault(task, []).append(part["name"])
        self.counts: dict[str, int] = {task: self._ends[task][-1] for task in manifest["tasks"] if task in self._ends}
        self._files: dict[str, pa.ipc.RecordBatchFileReader] = {}
        self._elsewhere: dict[str, Samples] = {}

    @classmethod
    def open(
        cls,
        workspace: str | Path | Workspace = ".structformer",
        part: str = "samples",
        *,
        chosen: Mapping[str, Any] | None = None,
        generation: str = "",
    ) -> Samples:
        """Open a workspace's Examples, or its "judged" ones; of several sets the default options', else the one drawn
        last. chosen: options of another set, by the names of SetOptions; generation: one drawn at once. Raises
        WorkspaceError without any.
        """
        workspace = Workspace(workspace)
        if part == "samples" and not generation and (names := chosen_set(workspace, chosen)):
            members = [cls.open(workspace, generation=name) for name in names]
            return cls.joined({task: each for each in members for task in each.manifest["tasks"]})
        sealed, hold = workspace.sealed(part, generation or None)
        return cls(sealed.folder, sealed.json("manifest.json"), sealed, hold)

    @classmethod
    def joined(cls, by_task: Mapping[str, Samples]) -> Samples:
        """Return examples of one set that were not drawn at once, each task's from where it is."""
        members = list({id(each): each for each in by_task.values()}.values())
        first = members[0]
        if len(members) == 1 and list(by_task) == first.manifest["tasks"]:
            return first
        census = Census()
        for member in members:
            own = [task for task, each in by_task.items() if each is member]
            census.add(Census.of(member.manifest["census"]).of_tasks(own))
        attention = next((each.manifest["attention"] for each in members if each.manifest.get("attention")), None)
        joint = {"tasks": list(by_task), "parts": [], "census": census.as_dict(), "attention": attention}
        samples = cls(first.folder, {**first.manifest, **joint})
        samples.counts = {task: each.counts[task] for task, each in by_task.items() if task in each.counts}
        samples._elsewhere = dict(by_task)
        return samples

    @classmethod
    def at(cls, folder: Path) -> Samples:
        """Return examples that were drawn into a folder of their own."""
        return cls(folder, read_json(folder / "manifest.json"))

    @property
    def fingerprint(self) -> str:
        """A digest of what decided the Examples: corpus, options, seed, weights; not of tasks drawn later."""
        if digest := self.manifest.get("set"):
            decided = {"set": digest, "attention": self.manifest["attention"]}
        else:
            decided = {name: value for name, value in self.manifest.items() if name not in ("tool_version", "census")}
        return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Example]:
        for task, count in self.counts.items():
            for number in range(count):
                yield self.example(task, number)

    def example(self, task: str, number: int) -> Example:
        """Example `number` of a task, in the order of the corpus."""
        if task in self._elsewhere:
            return self._elsewhere[task].example(task, number)
        ends = self._ends[task]
        place = bisect_right(ends, number)
        part = self._parts[task][place]
        row = number - (ends[place - 1] if place else 0)
        batch = self._file(part, task).get_batch(row // BATCH_ROWS)
        queries, documents, document_id, sections = (
            batch.column(column)[row % BATCH_ROWS].as_py() for column in range(4)
        )
        texts = self._file(part, "texts")
        read = [texts.get_batch(text // BATCH_ROWS).column(0)[text % BATCH_ROWS].as_py() for text in documents]
        # Of equal texts one is kept.
        asked, given = (tuple(each) * (len(sections) // len(each)) for each in (queries, read))
        return Example(task, asked, given, document_id, tuple(sections))

    def _file(self, part: str, table: str) -> pa.ipc.RecordBatchFileReader:
        key = f"{part}/{table}"
        if key not in self._files:
            if len(self._files) >= _OPEN_FILES:  # a big corpus has more parts than a process may have files open
                self._files.pop(next(iter(self._files)))
            name = f"{key}.arrow"
            # Of a machine's processes that train together, which read the same parts, one compares digests.
            sealed = self._sealed if os.environ.get("LOCAL_RANK", "0") == "0" else None
            self._files[key] = open_arrow(sealed.path(name) if sealed else self.folder / name)
        return self._files[key]


def open_arrow(path: Path) -> pa.ipc.RecordBatchFileReader:
    """Return a memory-mapped Arrow file. Raises WorkspaceError on a broken one."""
    with read_errors(path, OSError, pa.ArrowException, advice="; run `structformer sample` again"):
        return pa.ipc.open_file(pa.memory_map(str(path)))


def write_examples(folder: Path, examples: Iterable[Example]) -> dict[str, int]:
    """Write Examples into a folder as a single part; returns their number by task."""
    with PartWriter(folder) as writer:
        for example in examples:
            writer.next_document()
            writer.add(example)
    return dict(writer.counts)


def write_pages(
    corpus: Corpus,
    shard: int,
    folder: Path,
    *,
    seed: int,
    held_out: float,
    options: SamplingOptions,
    counted: frozenset[str] | None,
) -> None:
    """Write a shard's page texts, and its word counts unless `counted`, the stop words that are left out of them, is
    None. The texts of a document that is held out, or has fewer than `min_document_words`, are empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    columns = {name: TextWriter(folder / f"{name}.arrow") for name in _COLUMNS}
    counts = ShardCounts()
    for document in corpus.shard_documents(shard):
        if is_held_out(document.id, seed, held_out) or is_short(document, options.min_document_words):
            texts = dict.fromkeys(_COLUMNS, "")
        else:
            texts = {
                "head": document_text(document, _HEAD_CHARACTERS),
                "abstract": document_abstract(document, _ABSTRACT_CHARACTERS, options.min_words),
                "title": document.title or document.id,
            }
            if counted is not None:
                counts.add(document_words(document, counted))
        for name, text in texts.items():
            columns[name].add(text)
    for writer in columns.values():
        writer.close()
    if counted is not None:
        counts.write(folder)


class PageTable:
    """The texts that `write_pages` wrote for all shards, by document number."""

    def __init__(self, corpus: Corpus, folders: list[Path]) -> None:
        self._starts = corpus.starts
        # A big corpus has more parts than a process may have files open.
        self._texts = lru_cache(maxsize=_OPEN_TEXTS)(lambda shard, name: Texts(folders[shard] / f"{name}.arrow"))

    @property
    def count(self) -> int:
        return self._starts[-1]

    def head(self, number: int) -> str:
        return self._text("head", number)

    def abstract(self, number: int) -> str:
        return self._text("abstract", number)

    def title(self, number: int) -> str:
        return self._text("title", number)

    def _text(self, column: str, number: int) -> str:
        shard = bisect_right(self._starts, number) - 1
        return self._texts(shard, column)[number - self._starts[shard]]
