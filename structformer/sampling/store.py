"""Examples on disk: memory-mapped Arrow files with random access by row, each text stored once per shard of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from structformer.corpus.storage import read_json
from structformer.errors import CorpusError
from structformer.sampling.example import Example

_EXAMPLE = pa.schema(
    [
        ("queries", pa.list_(pa.string())),
        ("documents", pa.list_(pa.int64())),  # rows of the texts file
        ("document_id", pa.string()),
        ("sections", pa.list_(pa.int32())),
    ]
)
_TEXT = pa.schema([("text", pa.string())])
_BATCH_ROWS = 1024


class _Table:
    """An Arrow file being written in batches of equal size, so that a row's batch is known from its number."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pa.ipc.new_file(str(path), schema)
        self._rows: list[dict[str, Any]] = []
        self.count = 0

    def add(self, row: dict[str, Any]) -> int:
        """Append a row and give its number."""
        self._rows.append(row)
        self.count += 1
        if len(self._rows) == _BATCH_ROWS:
            self._flush()
        return self.count - 1

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


class SampleWriter:
    """Writes Examples into a folder, one file per task and one of texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts = _Table(folder / "texts.arrow", _TEXT)
        self._tasks: dict[str, _Table] = {}
        self._known: dict[str, int] = {}

    def __enter__(self) -> SampleWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for table in (self._texts, *self._tasks.values()):
            table.close()

    def next_shard(self) -> None:
        """Forget which texts are stored already, so that memory stays flat; called between shards of the corpus."""
        self._known = {}

    def add(self, example: Example) -> None:
        table = self._tasks.get(example.task)
        if table is None:
            table = self._tasks[example.task] = _Table(self._folder / f"{example.task}.arrow", _EXAMPLE)
        table.add(
            {
                "queries": _once(example.queries),
                "documents": [self._text(text) for text in _once(example.documents)],
                "document_id": example.document_id,
                "sections": list(example.sections),
            }
        )

    def _text(self, text: str) -> int:
        number = self._known.get(text)
        if number is None:
            number = self._known[text] = self._texts.add({"text": text})
        return number


def _once(texts: tuple[str, ...]) -> list[str]:
    """A column of equal texts as one; `Samples` repeats it."""
    return list(texts[:1]) if len(set(texts)) == 1 else list(texts)


class Samples:
    """A workspace's Examples, read by number without loading them."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.counts: dict[str, int] = {task: count for task, count in manifest["census"]["examples"].items() if count}
        self._files: dict[str, pa.ipc.RecordBatchFileReader] = {}

    @classmethod
    def open(cls, workspace: str | Path = ".structformer") -> Samples:
        """Open a workspace's Examples. Raises CorpusError when there are none."""
        folder = Path(workspace) / "samples"
        if not (folder / "manifest.json").exists():
            raise CorpusError(f"no Examples in {workspace}: run `structformer sample` first")
        return cls(folder, read_json(folder / "manifest.json"))

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Example]:
        for task in self.counts:
            for number in range(self.counts[task]):
                yield self.example(task, number)

    def example(self, task: str, number: int) -> Example:
        """Example `number` of a task, in the order of the corpus."""
        row = self._row(task, number)
        size = len(row["sections"])
        documents = [self._row("texts", text)["text"] for text in row["documents"]]
        return Example(task, _repeat(row["queries"], size), _repeat(documents, size), row["document_id"], tuple(row["sections"]))

    def _row(self, table: str, number: int) -> dict[str, Any]:
        if table not in self._files:
            try:
                self._files[table] = pa.ipc.open_file(pa.memory_map(str(self.folder / f"{table}.arrow")))
            except (OSError, pa.ArrowException) as error:
                raise CorpusError(f"{self.folder / table}.arrow cannot be read ({error}); run `structformer sample` again") from error
        batch = self._files[table].get_batch(number // _BATCH_ROWS)
        row: dict[str, Any] = batch.slice(number % _BATCH_ROWS, 1).to_pylist()[0]
        return row


def _repeat(texts: list[str], size: int) -> tuple[str, ...]:
    return tuple(texts) if len(texts) == size else tuple(texts) * size
