"""An index's documents by id and by metadata, as tables on disk and bitmaps, so that neither a filter nor a facet looks
at all documents.

    documents.sqlite   ids with their numbers; every metadata value with the documents that have it
    facets.npy         (facets, documents) uint16: which of a facet's values each document has, a bit for each
"""

from __future__ import annotations

import datetime
import re
import sqlite3
import threading
import unicodedata
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from structformer.retrieval.documents.document_filter import Mask
from structformer.retrieval.documents.translations import LANGUAGE, language_names
from structformer.retrieval.documents.units import IndexedDocument, IndexedDocuments
from structformer.storage.files import bytes_digest, read_errors, read_only
from structformer.storage.parquet import numbers

TABLE, FACETS = "documents.sqlite", "facets.npy"
PATH = "path"
Scalar = str | bool | int | float
_MOST_FACETS, _MOST_VALUES = 5, 12
_SHARE = 0.1  # of the documents that have a facet's property, at least
_LONGEST_SHOWN = 40  # characters of a facet's value
_LONGEST = 200  # characters of a value that is kept as it is; of a longer one its digest
_KEYS = 500  # metadata keys among which facets are looked for
_LIKE = str.maketrans({"*": "%", "?": "_", "%": r"\%", "_": r"\_"})  # patterns of the shell as SQL has them
_NOT_SHOWN = frozenset({PATH, "url", "id", "title", "description", "date", "updated", "created", "summary", "keywords"})


def metadata_values(value: Any) -> list[Scalar]:
    """Return a metadata value as what can be compared: itself, or each element of a list."""
    if isinstance(value, (list, tuple)):
        return [each for element in value for each in metadata_values(element)]
    return [] if value is None else [value if isinstance(value, str | bool | int | float) else str(value)]


def shown_value(value: Scalar) -> str:
    """Return a value as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _stored(value: Scalar) -> str:
    """Return a value as the table has it: equal for what is equal, and other for another kind."""
    if isinstance(value, bool):
        return f"b:{shown_value(value)}"
    if isinstance(value, int | float):
        return f"n:{int(value) if isinstance(value, float) and value.is_integer() else value}"
    return f"t:{value}" if len(value) <= _LONGEST else f"d:{bytes_digest(value.encode('utf-8', 'surrogatepass'))}"


def _stored_forms(wanted: Any) -> list[str]:
    """How a table may hold a wanted value: a text also as a number or truth value written so, others as they are."""
    if isinstance(wanted, bool | int | float):
        return [_stored(wanted)]
    text = wanted.isoformat() if isinstance(wanted, datetime.date | datetime.time) else str(wanted)
    forms = [_stored(text)]
    if text.lower() in ("true", "false"):
        forms.append(f"b:{text.lower()}")
    with suppress(ValueError):
        forms.append(_stored(int(text) if text.lstrip("+-").isdigit() else float(text)))
    return forms


@dataclass(frozen=True, slots=True)
class Facet:
    """A property of documents by which a search can be narrowed."""

    name: str
    """The metadata's key, or "path" for the first folder."""
    values: tuple[str, ...]
    bits: npt.NDArray[np.uint16]
    """(documents,) uint16, the values that each document has."""

    def counts(self, documents: Iterable[int]) -> list[tuple[str, int]]:
        """Return how many of these documents have each value, most first."""
        bits = self.bits[np.fromiter(documents, np.int64)]
        counted = [(value, int(np.count_nonzero(bits & (1 << bit)))) for bit, value in enumerate(self.values)]
        return sorted(((value, count) for value, count in counted if count), key=lambda item: (-item[1], item[0]))

    def tells(self, documents: Mask) -> bool:
        """Whether it tells some of these documents apart, as the facets of an index do all."""
        bits = self.bits[: len(documents)][documents[: len(self.bits)]]
        several = int(np.bitwise_or.reduce(bits, initial=0)).bit_count() >= 2
        return bool(several and np.count_nonzero(bits) >= _SHARE * np.count_nonzero(documents))


class MetadataWriter:
    """Writes both files of an index as its documents pass by."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database = sqlite3.connect(folder / TABLE)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE ids (id TEXT, number INTEGER)")
        self._database.execute("CREATE TABLE facts (key TEXT, value TEXT, number INTEGER)")
        self._facets = _FacetCounter()
        self._count = 0

    def add(self, document: IndexedDocument) -> None:
        """Take in the next document."""
        number, self._count = self._count, self._count + 1
        self._database.execute("INSERT INTO ids VALUES (?, ?)", (_text(document.id), number))
        folder, slash, _ = document.id.partition("/")
        if slash:
            self._facets.add(PATH, [folder], number)
        for key, value in document.values().items():
            values = metadata_values(value)
            names = {each: language_names(str(each)) for each in values} if key == LANGUAGE else {}
            found_by = [name for each in values for name in (each, *names.get(each, ()))]
            stored = dict.fromkeys(_stored(each) for each in found_by)
            facts = ((_text(key), _text(each), number) for each in stored)
            self._database.executemany("INSERT INTO facts VALUES (?, ?, ?)", facts)
            texts = [next(iter(names.get(each, ())), shown_value(each)) for each in values]
            if key.lower() not in _NOT_SHOWN and texts and all(0 < len(text) <= _LONGEST_SHOWN for text in texts):
                self._facets.add(key, texts, number)

    def close(self) -> list[dict[str, Any]]:
        """Finish both; gives what the index's manifest says of its facets."""
        with closing(self._database):
            self._database.execute("CREATE INDEX by_id ON ids (id)")
            self._database.execute("CREATE INDEX by_value ON facts (key, value, number)")
            self._database.commit()
        chosen = self._facets.chosen(self._count)
        bits = np.zeros((len(chosen), self._count), np.uint16)
        for row, (_, _, column) in enumerate(chosen):
            bits[row, : len(column)] = np.frombuffer(column, np.uint16)
        np.save(self._folder / FACETS, bits)
        return [{"name": name, "values": list(values)} for name, values, _ in chosen]


class _FacetCounter:
    """Which values each property has, as long as they are few."""

    def __init__(self) -> None:
        # The values by name, and by document a bit for each that it has; None: there are too many.
        self._facets: dict[str, tuple[dict[str, int], array[int]] | None] = {}

    def add(self, name: str, texts: Sequence[str], number: int) -> None:
        if name not in self._facets and len(self._facets) < _KEYS:
            self._facets[name] = {}, array("H")
        if (facet := self._facets.get(name)) is None:
            return
        values, column = facet
        column.extend([0] * (number + 1 - len(column)))
        for text in texts:
            column[number] |= 1 << values.setdefault(text, len(values))
            if len(values) > _MOST_VALUES:
                self._facets[name] = None
                return

    def chosen(self, documents: int) -> list[tuple[str, tuple[str, ...], array[int]]]:
        """Return (name, values, column) of up to five: the first folder, then what most documents have."""
        told = [(name, *facet) for name, facet in self._facets.items() if facet is not None and len(facet[0]) >= 2]
        rows = [(name != PATH, -np.count_nonzero(column), name, tuple(values), column) for name, values, column in told]
        return [row[2:] for row in sorted(rows) if -row[1] >= _SHARE * documents][:_MOST_FACETS]


class MetadataTable:
    """Looks documents up in an index's files. Threads may share it."""

    def __init__(self, folder: Path, documents: IndexedDocuments) -> None:
        """Raises WorkspaceError where the table cannot be opened."""
        self._folder = folder
        self._documents = documents
        self._lock = threading.Lock()
        with read_errors(folder / TABLE, sqlite3.Error):
            self._database = read_only(folder / TABLE)
            self._database.execute("SELECT number FROM ids LIMIT 1").fetchone()

    def number(self, document_id: str) -> int | None:
        """Return the number of the document of an id."""
        rows = self._rows("SELECT number FROM ids WHERE id = ?", (_text(document_id),))
        return rows[0][0] if rows else None

    def matching(self, paths: Sequence[str], metadata: Mapping[str, Any]) -> Mask:
        """(documents,) whether an id matches a pattern, if there are any, and all metadata, alone or in a list."""
        mask = np.ones(len(self._documents), bool)
        if paths:
            mask &= self._with_paths(paths)
        for key, wanted in metadata.items():
            having = np.zeros(len(mask), bool)
            for stored in _stored_forms(wanted):
                rows = self._rows("SELECT number FROM facts WHERE key = ? AND value = ?", (_text(key), _text(stored)))
                having[np.fromiter((number for (number,) in rows), np.int64, len(rows))] = True
            mask &= having
        return mask

    def keys(self) -> list[str]:
        """Return the keys of all documents' metadata, in order."""
        return [key for (key,) in self._rows("SELECT DISTINCT key FROM facts ORDER BY key", ())]

    def values(self, key: str, most: int) -> list[str]:
        """Up to so many values that documents have for a key, in order; without those too long to be kept whole."""
        rows = self._rows(
            "SELECT DISTINCT value FROM facts WHERE key = ? AND value NOT LIKE 'd:%' ORDER BY value LIMIT ?",
            (_text(key), most),
        )
        return [value.partition(":")[2] for (value,) in rows]

    def folders(self, most: int) -> list[str]:
        """Return up to so many first folders of documents' ids, in order."""
        first = "substr(id, 1, instr(id, '/') - 1)"
        rows = self._rows(
            f"SELECT DISTINCT {first} FROM ids WHERE instr(id, '/') > 1 ORDER BY {first} LIMIT ?", (most,)
        )
        return [folder for (folder,) in rows]

    def _with_paths(self, paths: Sequence[str]) -> Mask:
        mask = np.zeros(len(self._documents), bool)
        patterns = []
        for path in dict.fromkeys(paths):
            if not path.isascii() or any(character in path for character in "*?["):
                patterns.append(unicodedata.normalize("NFC", path))
            elif (number := self.number(path)) is not None:
                mask[number] = True
        start = 0
        for ids in self._documents.column_batches("id") if patterns else ():
            for pattern in patterns:
                mask[start : start + len(ids)] |= _matched(ids, pattern)
            start += len(ids)
        return mask

    def _rows(self, statement: str, values: tuple[str | int, ...]) -> list[Any]:
        with read_errors(self._folder / TABLE, sqlite3.Error), self._lock:
            return self._database.execute(statement, values).fetchall()


def open_facets(folder: Path, listed: Sequence[Mapping[str, Any]]) -> list[Facet]:
    """Return an index's facets. listed: as its manifest has them. Raises WorkspaceError."""
    with read_errors(folder / FACETS, OSError, ValueError, LookupError, TypeError):
        bits = np.load(folder / FACETS, mmap_mode="r", allow_pickle=False)
        return [Facet(each["name"], tuple(each["values"]), bits[row]) for row, each in enumerate(listed)]


def _matched(ids: pa.Array, pattern: str) -> Mask:
    """Return which of these ids a pattern of the shell matches, both in Unicode's form NFC."""
    import pyarrow.compute as pc  # a search without a filter need not wait for it

    if not pattern.isascii():
        ids = pc.utf8_normalize(ids, "NFC")
        # A terminal's byte that is no UTF-8 is written as ids have it: \xe9.
        pattern = pattern.encode("utf-8", "backslashreplace").decode().replace(r"\udc", r"\x")
    if "[" in pattern or "\\" in pattern:  # SQL has no classes of characters, and Arrow mistakes a backslash after %
        match = re.compile(translate(pattern)).match
        return np.array([match(each) is not None for each in ids.to_pylist()], bool)
    return numbers(pc.match_like(ids, pattern.translate(_LIKE)).cast(pa.uint8())).astype(bool)


def _text(text: str) -> str:
    """Return text that a table can hold: halves of surrogate pairs written out."""
    return text.encode("utf-8", "backslashreplace").decode()
