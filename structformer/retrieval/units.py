"""Index units: sections cut to passages that fit a ranker's window, each with its path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from structformer.corpus import Corpus
from structformer.document import Document
from structformer.errors import CorpusError
from structformer.graph import ReferenceGraph
from structformer.passages import PASSAGE_WORDS, passages, with_path

_SCHEMA = pa.schema(
    [
        ("document", pa.int32()),
        ("section", pa.int32()),
        ("document_id", pa.string()),
        ("title", pa.string()),
        ("path", pa.list_(pa.string())),
        ("anchor", pa.string()),
        ("text", pa.string()),
        ("incoming", pa.string()),
    ]
)
_BATCH_ROWS = 1024


@dataclass(frozen=True, slots=True)
class Unit:
    """What is searched: a passage of a section. path: titles from the document's to the section's. incoming: anchor
    texts of the links that point to the section."""

    document: int
    section: int
    document_id: str
    title: str
    path: tuple[str, ...]
    anchor: str
    text: str
    incoming: str = ""

    @property
    def ranker_text(self) -> str:
        """What rankers read: the path on a line of its own, then the passage."""
        return with_path(" ".join(self.path), self.text)


def document_units(document: Document, number: int, incoming: dict[tuple[int, int], list[str]] | None = None) -> Iterator[Unit]:
    """The units of one document. A section without text of its own, or with nothing but see-also links, gives none; every document gives
    at least one."""
    sections = list(document.root.walk_with_path())
    for position, (section, path) in enumerate(sections):
        # A list of other pages' titles would be found for what those pages say.
        pieces = [] if section.is_link_list else list(passages(section.text, PASSAGE_WORDS))
        if not pieces and position == 0 and not any(other.text.strip() for other, _ in sections):
            pieces = [" ".join(other.title for other, _ in sections)]
        elif not pieces and position == 0:
            pieces = [""]  # the title alone can be what is looked for
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
                piece,
                texts,
            )


def corpus_units(corpus: Corpus, graph: ReferenceGraph | None) -> Iterator[Unit]:
    """All units of a corpus in document order."""
    incoming = graph.incoming_texts() if graph else {}
    for number, document in enumerate(corpus.documents()):
        yield from document_units(document, number, incoming)


def write_units(units: Iterator[Unit], path: Path) -> Iterator[Unit]:
    """Store units as they pass by."""
    with pa.ipc.new_file(str(path), _SCHEMA) as writer:
        rows: list[dict[str, Any]] = []
        for unit in units:
            rows.append({name: getattr(unit, name) for name in _SCHEMA.names})
            if len(rows) == _BATCH_ROWS:
                writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=_SCHEMA))
                rows = []
            yield unit
        writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=_SCHEMA))


class Units:
    """Stored units by number, memory-mapped."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = pa.ipc.open_file(pa.memory_map(str(path)))
        except (OSError, pa.ArrowException) as error:
            raise CorpusError(f"{path} cannot be read ({error}): run `structformer index` again") from error
        batches = self._file.num_record_batches
        last = self._file.get_batch(batches - 1).num_rows if batches else 0
        self._count = (batches - 1) * _BATCH_ROWS + last if batches else 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Unit:
        batch = self._file.get_batch(number // _BATCH_ROWS).slice(number % _BATCH_ROWS, 1)
        row = batch.to_pylist()[0]
        return Unit(**{**row, "path": tuple(row["path"])})

    def __iter__(self) -> Iterator[Unit]:
        for number in range(self._file.num_record_batches):
            for row in self._file.get_batch(number).to_pylist():
                yield Unit(**{**row, "path": tuple(row["path"])})

    def column(self, name: str) -> list[Any]:
        """One field of all units."""
        return [value for number in range(self._file.num_record_batches) for value in self._file.get_batch(number).column(name).to_pylist()]
