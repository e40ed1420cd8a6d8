"""The links of single documents, both ways, read from the reference graph a shard at a time; a few shards are kept."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from structformer.graph import NOWHERE, ReferenceGraph
from structformer.retrieval import Mask
from structformer.storage import numbers

_TABLES = 16  # of shards, that are kept
_TEXTS = 4096  # of sections, that are kept for one who asks
_COUNTED = 3_000_000  # links at most among which the pages that most lead to are counted
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


class _Table:
    """The edges from a shard's documents or to them, as columns, in order of one of these."""

    def __init__(self, graph: ReferenceGraph, shard: int, by: str) -> None:
        table = (graph.outgoing if by == "source_document" else graph.incoming)(shard)
        self._numbers: dict[str, npt.NDArray[np.int32]] = {name: numbers(table[name]) for name in _COLUMNS}
        self._order = self._numbers[by]
        self._kinds, self._texts = table["kind"].combine_chunks(), table["text"].combine_chunks()

    def edges(self, document: int) -> Iterator[Edge]:
        """Yield those of one document, in order of their sources."""
        first, last = np.searchsorted(self._order, [document, document + 1])
        by_source = first + np.argsort(self._numbers["source_document"][first:last], kind="stable")
        for number in by_source.tolist():
            places = (int(self._numbers[name][number]) for name in _COLUMNS)
            yield Edge._make((*places, str(self._kinds[number]), str(self._texts[number])))


class LinkTable:
    """The edges of a corpus, looked up by their sources and by their targets. Threads may share it."""

    def __init__(self, graph: ReferenceGraph) -> None:
        self._graph = graph
        # Not of a method, which would hold the graph until Python looks for circles.
        self._table = lru_cache(_TABLES)(partial(_Table, graph))

    def outgoing(self, document: int) -> Iterator[Edge]:
        """Return the links of a document, in the order of its text."""
        return self._edges(document, "source_document")

    def incoming(self, document: int) -> Iterator[Edge]:
        """Return the links of other documents that lead to a document or a section of it."""
        return (edge for edge in self._edges(document, "target_document") if edge.source_document != NOWHERE)

    def texts(self, document: int, section: int, sources: Mask) -> list[str]:
        """Return a section's names in links of these documents, each text once, in order of their sources; then the
        names that redirect to it, which belong to itself. sources: (documents,)
        """
        return list(
            dict.fromkeys(
                edge.text
                for edge in self._edges(document, "target_document")
                if edge.target_section == section
                and edge.text
                and (edge.source_document == NOWHERE or sources[edge.source_document])
            )
        )

    def most_linked(self, seen: Mask, count: int) -> list[int]:
        """The documents that most others link to, most first: documents that may be seen, by those that may. None of a
        corpus with more links than are counted.
        """
        pairs = self._pairs
        pairs = pairs[seen[pairs[:, 0]] & seen[pairs[:, 1]]]
        counts = np.bincount(pairs[:, 1], minlength=len(seen))
        best = np.argsort(-counts, kind="stable")[:count]
        return [int(number) for number in best if counts[number]]

    @cached_property
    def _pairs(self) -> npt.NDArray[np.int32]:
        """(links, 2) documents that link to others, with these, each pair once."""
        tables = [np.empty((0, 2), np.int32)]
        total = 0
        for shard in range(len(self._graph.corpus.shards)):
            table = self._graph.outgoing(shard)
            if (total := total + len(table)) > _COUNTED:
                return tables[0]
            tables.append(np.stack([numbers(table[name]) for name in ("source_document", "target_document")], axis=1))
        pairs = np.unique(np.concatenate(tables), axis=0)
        linked: npt.NDArray[np.int32] = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs >= 0).all(axis=1)]
        return linked

    def _edges(self, document: int, by: str) -> Iterator[Edge]:
        return self._table(bisect_right(self._graph.corpus.starts, document) - 1, by).edges(document)


def visible_names(
    links: LinkTable, sources: Mask, owners: npt.NDArray[np.int64], sections: npt.NDArray[np.int64]
) -> Callable[[Sequence[int]], list[str]]:
    """Gives what units are called by the links that somebody may see. sources: (documents,) whose links may be seen;
    owners, sections: (units,) each one's document and section.
    """

    @lru_cache(_TEXTS)
    def called(document: int, section: int) -> str:
        return " \n ".join(links.texts(document, section, sources))

    return lambda units: [called(int(owners[unit]), int(sections[unit])) for unit in units]
