"""Sentences that describe documents, kept as vectors of their own: what a document says of itself first, what others
say where they link to it, and sentences of it that stand alone.

A passage's vector mixes all that the passage says; a query is often near to one sentence alone. What others write about
a page where they link to it finds the page as its own text does: Koolen and Kamps, SIGIR 2010."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from structformer.corpus import Corpus
from structformer.errors import WorkspaceError
from structformer.graph import ReferenceGraph
from structformer.retrieval.documents.copies import Copies
from structformer.retrieval.documents.document_filter import Mask
from structformer.retrieval.documents.units import Units
from structformer.retrieval.questions import pseudo_queries
from structformer.storage.files import read_errors
from structformer.text.query_like import plain

Vectors = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
_SCHEMA = pa.schema([("document", pa.int32()), ("source", pa.string()), ("text", pa.string()), ("told_by", pa.int32())])
ITSELF = -1  # who tells what a document says of itself


def drawn_descriptions(corpus: Corpus, graph: ReferenceGraph, units: Units) -> list[pseudo_queries.PseudoQuery]:
    """Return all documents' descriptions, in the documents' order; at most 30,000, and as many that copies share."""
    copies = Copies.of(units)
    drawn = pseudo_queries.draw_pseudo_queries(corpus, graph, units, copies=copies)
    shared = (replace(each, document=other) for each in drawn for other in copies.others(each.document))
    return sorted([*drawn, *islice(shared, pseudo_queries.MOST_PSEUDO_QUERIES)], key=lambda each: each.document)


def write_descriptions(path: Path, drawn: Sequence[pseudo_queries.PseudoQuery]) -> None:
    """Write their texts."""
    columns = {name: [getattr(each, name) for each in drawn] for name in ("document", "source", "text")}
    told_by = [
        each.passed_over[0] if each.source == pseudo_queries.LINK and each.passed_over else ITSELF for each in drawn
    ]
    table = pa.table({**columns, "told_by": told_by}, _SCHEMA)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_table(table)


class Descriptions:
    """Descriptions with their vectors, read from where they lie beside an encoder's vectors."""

    def __init__(self, vectors: Path) -> None:
        """Raises WorkspaceError where they cannot be read."""
        path = vectors.with_stem(f"{vectors.stem}.descriptions")
        with read_errors(f"the descriptions beside {vectors}", OSError, ValueError, KeyError, pa.ArrowInvalid):
            self.vectors = np.load(path, mmap_mode="r", allow_pickle=False)
            self._table = pa.ipc.open_file(pa.memory_map(str(path.with_suffix(".arrow")))).read_all()
            # The document whose link says a description; ITSELF if a document says it of itself.
            self.told_by: Numbers = self._table["told_by"].to_numpy().astype(np.int64)
        self.owners: Numbers = self._table["document"].to_numpy().astype(np.int64)
        if len(self.vectors) != len(self.owners):
            raise WorkspaceError(f"the descriptions beside {vectors} are not of this index: run `structformer index`")
        self.documents, starts = np.unique(self.owners, return_index=True)
        self._starts = np.append(starts, len(self.owners))
        self._same: dict[str, list[int]] | None = None
        self._openings: Numbers = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.owners)

    def text(self, number: int) -> str:
        """Return a description."""
        return str(self._table["text"][number])

    def hidden(self, sources: Mask | None) -> Numbers:
        """Descriptions from documents outside the sources. sources: (documents,) those that may be seen; None: all."""
        if sources is None:
            return np.empty(0, np.int64)
        return np.flatnonzero((self.told_by != ITSELF) & ~sources[self.told_by])

    def best(self, vector: Vectors, without: Sequence[int] | Numbers = ()) -> tuple[Vectors, Numbers]:
        """(documents that have any,) the best cosine of a query's vector with a description of each, and that one's
        number. without: numbers of those that do not count; a document that has no other gets -inf.
        """
        cosines = np.asarray(self.vectors, np.float32) @ vector
        cosines[np.asarray(without, np.int64)] = -np.inf
        if not len(cosines):
            return np.empty(0, np.float32), np.empty(0, np.int64)
        best = np.maximum.reduceat(cosines, self._starts[:-1])
        at_best = np.flatnonzero(cosines == np.repeat(best, np.diff(self._starts)))
        _, first = np.unique(self.owners[at_best], return_index=True)
        return best, at_best[first]

    def saying(self, question: pseudo_queries.PseudoQuery) -> Numbers:
        """Descriptions that may not count for a pseudo-query: those with its very words; if one of these is an opening,
        the openings of all documents too, so that its own document is not the only one without.
        """
        if self._same is None:
            self._same = {}
            for number, text in enumerate(self._table["text"].to_pylist()):
                self._same.setdefault(plain(text), []).append(number)
            self._openings = np.flatnonzero(np.array(self._table["source"].to_pylist()) == pseudo_queries.OPENING)
        same = np.array(self._same.get(plain(question.text), []), np.int64)
        return np.union1d(same, self._openings) if np.isin(same, self._openings).any() else same

    def scores(
        self, best: Vectors, owners: Sequence[int] | Numbers, cosines: npt.NDArray[np.floating]
    ) -> npt.NDArray[np.float64]:
        """Return (units,) the document's value in `best`, else its units' best cosine. owners, cosines: (units,)."""
        owners = np.asarray(owners, np.int64)
        documents, places = np.unique(owners, return_inverse=True)
        scores = np.full(len(documents), -np.inf)
        np.maximum.at(scores, places, cosines)
        if len(self.documents):
            at = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
            has = (self.documents[at] == documents) & np.isfinite(best[at])
            scores[has] = best[at[has]]
        result: npt.NDArray[np.float64] = scores[places]
        return result
