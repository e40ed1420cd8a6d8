"""Index units: sections cut to passages that fit a ranker's window, with their paths and documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from structformer.corpus import Corpus
from structformer.corpus.rows import kept_metadata
from structformer.document import Document
from structformer.graph import ReferenceGraph
from structformer.storage.files import read_errors
from structformer.text import passages

UNITS = pa.schema(
    [
        ("document", pa.int32()),
        ("section", pa.int32()),
        ("document_id", pa.string()),
        ("title", pa.string()),
        ("path", pa.list_(pa.string())),
        ("anchor", pa.string()),
        ("text", pa.string()),
        ("incoming", pa.string()),
        ("no_prose", pa.list_(pa.int32())),
    ]
)
DOCUMENTS = pa.schema(
    [("id", pa.string()), ("title", pa.string()), ("overview", pa.string()), ("metadata", pa.string())]
)
_BATCH_ROWS = 1024
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a search: a passage of a section."""

    document: int
    section: int
    document_id: str
    title: str
    path: tuple[str, ...]
    """Titles from the document's to the section's."""
    anchor: str
    text: str
    incoming: str = ""
    """Anchor texts of the links that point to the section."""
    no_prose: tuple[int, ...] = ()
    """For each stretch of the text that is not prose: its kind (a place in NO_PROSE), its start and its end."""

    @property
    def stretches(self) -> tuple[passages.Stretch, ...]:
        """The parts of the text that are not prose: code, tables, formulas."""
        flat = self.no_prose
        return tuple(
            passages.Stretch(passages.NO_PROSE[flat[at]], flat[at + 1], flat[at + 2]) for at in range(0, len(flat), 3)
        )

    @property
    def prose(self) -> str:
        """The text with line ends in the place of what is not prose."""
        return passages.prose_of(self.text, self.stretches)

    @property
    def section_id(self) -> str:
        """The section's name in judgements: the document's id, # and the anchor, if it has one."""
        return f"{self.document_id}#{self.anchor}"

    @property
    def whole(self) -> str:
        """All that is found by words: the titles above, then the text."""
        return "\n".join((*(self.path or (self.title,)), self.text))

    @property
    def ranker_text(self) -> str:
        """The text for rankers: the path on a line of its own, then the passage."""
        return passages.with_path(" ".join(self.path), self.text)


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document of the index."""

    id: str
    title: str
    overview: str
    metadata: str
    """JSON, with the document's language."""

    def values(self) -> dict[str, Any]:
        """Return the metadata."""
        values: dict[str, Any] = json.loads(self.metadata)
        return values


def document_units(
    document: Document, number: int, incoming: dict[tuple[int, int], list[str]] | None = None
) -> Iterator[Unit]:
    """The units of one document: the passages of its sections. A heading without text of its own gives one that lists
    the headings below it, see-also links alone give none, and every document gives at least one.
    """
    sections = list(document.root.walk_with_path())
    for position, (section, path) in enumerate(sections):
        pieces = list(passages.section_passages(section))
        if not pieces and position == 0 and not any(other.text.strip() for other, _ in sections):
            pieces = [passages.Passage(" ".join(other.title for other, _ in sections))]
        elif not pieces and position == 0:
            pieces = [passages.Passage("")]  # the title alone can be what is looked for
        elif not pieces and section.title and not section.text.strip():
            pieces = [passages.Passage("\n".join(child.title for child in section.children))]
        titles = [document.title, *(step.title for step in path[1:])]
        if len(titles) > 1 and titles[0] == titles[1]:
            del titles[0]  # a page of several level-1 headings is called after the first of them
        texts = " \n ".join((incoming or {}).get((number, position), ()))
        for piece in pieces:
            yield Unit(
                number,
                position,
                document.id,
                section.title if position else document.title,
                tuple(title for title in titles if title),
                section.anchors[0] if section.anchors else "",
                piece.text,
                texts,
                tuple(number for kind, *span in piece.stretches for number in (passages.NO_PROSE.index(kind), *span)),
            )


def shard_units(
    corpus: Corpus, graph: ReferenceGraph | None, shard: int
) -> Iterator[tuple[IndexedDocument, list[Unit]]]:
    """Yield each document of a shard with its units, in document order."""
    incoming = graph.incoming_texts(shard) if graph else {}
    site, navigation = corpus.site, corpus.navigation
    for number, document in enumerate(corpus.shard_documents(shard), corpus.starts[shard]):
        if title := navigation.other_title(document):  # the navigation is a page of links, too
            incoming[number, 0] = [title, *incoming.get((number, 0), ())]
        values = kept_metadata(document.metadata)  # of an earlier version's corpus too
        if document.language:
            values["language"] = document.language
        if url := site.address(document):
            values["url"] = url
        metadata = json.dumps(values, ensure_ascii=False)
        indexed = IndexedDocument(document.id, document.title, passages.document_overview(document), metadata)
        yield indexed, list(document_units(document, number, incoming))


class TableWriter:
    """Writes dataclass objects into an Arrow file, batch by batch."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pa.ipc.new_file(str(path), schema)
        self._rows: list[dict[str, Any]] = []

    def add(self, item: Any) -> None:
        """Append one object whose fields are the schema's."""
        self._rows.append({name: getattr(item, name) for name in self._schema.names})
        if len(self._rows) == _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
        self._rows = []

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self._flush()
        self._writer.close()


class _Table(Generic[Row]):
    """Stored rows by number, memory-mapped."""

    _made: Callable[..., Row]
    """Gives the object of a row's values."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with read_errors(path, OSError, pa.ArrowException):
            self._file = pa.ipc.open_file(pa.memory_map(str(path)))
        batches = self._file.num_record_batches
        last = self._file.get_batch(batches - 1).num_rows if batches else 0
        self._count = (batches - 1) * _BATCH_ROWS + last if batches else 0
        self._batch = lru_cache(maxsize=64)(self._file.get_batch)
        # A search asks for its hits' several times.
        self._recent = lru_cache(maxsize=256)(partial(_row, self._batch, self._made))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Row:
        if not 0 <= number < self._count:
            raise IndexError(number)
        return self._recent(number)

    def __iter__(self) -> Iterator[Row]:
        return (self._made(**row) for batch in self._batches() for row in batch.to_pylist())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return map(self._file.get_batch, range(self._file.num_record_batches))

    def value(self, number: int, name: str) -> Any:
        """Return one field of one row, without the others."""
        return self._batch(number // _BATCH_ROWS).column(name)[number % _BATCH_ROWS].as_py()

    def numbers(self, name: str) -> npt.NDArray[np.int64]:
        """Return a column of numbers."""
        return self.columns_of_numbers(name)[0]

    def columns_of_numbers(self, *names: str) -> list[npt.NDArray[np.int64]]:
        """Return several of them at once: opening the batches is what takes time."""
        with read_errors(self.path, OSError, pa.ArrowException):
            batches = list(self._batches())
        # pyarrow's own to_numpy loads pandas where it is installed, for a quarter of a search's whole time.
        return [
            np.concatenate([np.empty(0, np.int64), *(np.from_dlpack(batch.column(name)) for batch in batches)]).astype(
                np.int64
            )
            for name in names
        ]

    def column_batches(self, name: str) -> Iterator[pa.Array]:
        """Return one field of all rows, batch by batch."""
        return (batch.column(name) for batch in self._batches())


def _row(batch: Callable[[int], pa.RecordBatch], made: Callable[..., Row], number: int) -> Row:
    return made(**batch(number // _BATCH_ROWS).slice(number % _BATCH_ROWS, 1).to_pylist()[0])


def _unit(*, path: list[str], no_prose: list[int], **values: Any) -> Unit:
    return Unit(path=tuple(path), no_prose=tuple(no_prose), **values)


class Units(_Table[Unit]):
    """An index's units by number."""

    _made = staticmethod(_unit)

    def ranker_texts(self, numbers: Sequence[int]) -> list[str]:
        """Return the texts of these units for rankers."""
        return [self[number].ranker_text for number in numbers]


class IndexedDocuments(_Table[IndexedDocument]):
    """An index's documents by number."""

    _made = IndexedDocument
