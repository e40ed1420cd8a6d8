"""Facets: the few properties of documents by which a search can be narrowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from structformer.retrieval.hits import metadata_texts
from structformer.retrieval.units import IndexedDocument

PATH = "path"
_MOST = 5
_MOST_VALUES = 12
_SHARE = 0.1  # of the documents that have a property, at least
_LONGEST = 40  # characters of a value
_NOT_SHOWN = frozenset({"url", "id", "title", "description", "date", "updated", "created", "summary", "keywords"})


@dataclass(frozen=True, slots=True)
class Facet:
    """A property of documents. name: the metadata's key, or "path" for the first folder; of_document: its values by
    document number.
    """

    name: str
    of_document: Mapping[int, tuple[str, ...]]

    def counts(self, documents: Iterable[int]) -> list[tuple[str, int]]:
        """How many of these documents have each value, most first."""
        found = Counter(value for document in documents for value in self.of_document.get(document, ()))
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_MOST_VALUES]


def facets_of(documents: Sequence[IndexedDocument]) -> list[Facet]:
    """Up to five facets: metadata with a handful of short values, and the first folder of the documents' ids."""
    values: dict[str, dict[int, tuple[str, ...]]] = {}
    for number, document in enumerate(documents):
        folder, slash, _ = document.id.partition("/")
        if slash:
            values.setdefault(PATH, {})[number] = (folder,)
        for key, value in document.values().items():
            texts = tuple(metadata_texts(value))
            if key.lower() not in _NOT_SHOWN and texts and all(0 < len(text) <= _LONGEST for text in texts):
                values.setdefault(key, {})[number] = texts
    found = []
    for name, of_document in values.items():
        distinct = {text for texts in of_document.values() for text in texts}
        if 2 <= len(distinct) <= max(_MOST_VALUES, 2) and len(of_document) >= _SHARE * len(documents):
            found.append(Facet(name, of_document))
    return sorted(found, key=lambda facet: (facet.name != PATH, -len(facet.of_document), facet.name))[:_MOST]
