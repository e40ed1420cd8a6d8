"""The links of single documents, both ways, looked up in the reference graph's edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from structformer.graph import ReferenceGraph

_COLUMNS = ("source_document", "source_section", "target_document", "target_section", "start", "end")


class Edge(NamedTuple):
    """A link between two sections of the corpus; [start, end) is its place in the source section's text."""

    source_document: int
    source_section: int
    target_document: int
    target_section: int
    start: int
    end: int
    kind: str
    text: str


class LinkTable:
    """All edges of a corpus as columns, by their sources and by their targets."""

    def __init__(self, graph: ReferenceGraph) -> None:
        rows: dict[str, list[int]] = {name: [] for name in _COLUMNS}
        kinds: list[str] = []
        texts: list[str] = []
        for row in graph.edges():
            for name in _COLUMNS:
                rows[name].append(row[name])
            kinds.append(row["kind"])
            texts.append(row["text"])
        self._columns: dict[str, npt.NDArray[np.int32]] = {
            name: np.array(values, np.int32) for name, values in rows.items()
        }
        self._kinds, self._texts = pa.array(kinds, pa.string()).dictionary_encode(), pa.array(texts, pa.string())
        # Edges come in the order of their sources.
        self._by_target = np.argsort(self._columns["target_document"], kind="stable")
        self._targets = self._columns["target_document"][self._by_target]

    def __len__(self) -> int:
        return len(self._targets)

    def outgoing(self, document: int) -> Iterator[Edge]:
        """The links of a document, in the order of its text."""
        first, last = np.searchsorted(self._columns["source_document"], [document, document + 1])
        for number in range(int(first), int(last)):
            yield self._edge(number)

    def incoming(self, document: int) -> Iterator[Edge]:
        """The links of other documents that lead to a document or a section of it."""
        first, last = np.searchsorted(self._targets, [document, document + 1])
        for place in range(int(first), int(last)):
            number = int(self._by_target[place])
            if self._columns["source_document"][number] != document:
                yield self._edge(number)

    def _edge(self, number: int) -> Edge:
        source, section, target, target_section, start, end = (int(self._columns[name][number]) for name in _COLUMNS)
        kind, text = str(self._kinds[number]), str(self._texts[number])
        return Edge(source, section, target, target_section, start, end, kind, text)
