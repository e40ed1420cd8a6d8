"""Which of a corpus's languages each of its documents is in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from structformer.retrieval.units import IndexedDocument, Unit
from structformer.text.languages import declared_code, known_languages, language_of

LANGUAGE = "language"  # the key of a document's metadata
_LOOKED_AT = 20  # units of a document


@dataclass(frozen=True, slots=True)
class CorpusLanguages:
    """codes: two-letter codes, that of most documents first."""

    codes: tuple[str, ...]

    def of(self, document: IndexedDocument, units: Sequence[Unit]) -> str:
        """A document's language: what it declares, else which of the corpus's languages its text is in."""
        if declared := declared_code(document.values().get(LANGUAGE)):
            return declared
        text = "\n".join(unit.text for unit in units[:_LOOKED_AT])
        return language_of(text, known_languages(self.codes)) or self.codes[0]

    def declared(self, document: IndexedDocument, language: str) -> IndexedDocument:
        """The document with its language among its metadata, so that it can be filtered by."""
        values = document.values()
        if values.get(LANGUAGE):
            return document
        return replace(document, metadata=json.dumps({**values, LANGUAGE: language}, ensure_ascii=False))
