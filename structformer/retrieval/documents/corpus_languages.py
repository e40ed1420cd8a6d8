"""Which of a corpus's languages each of its documents is in."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from structformer.retrieval.documents.units import IndexedDocument, Unit
from structformer.text.languages import declared_code, declared_variant, known_languages, language_of

LANGUAGE = "language"  # the key of a document's metadata
_LOOKED_AT = 20  # units of a document


@dataclass(frozen=True, slots=True)
class CorpusLanguages:
    """The languages of a corpus."""

    codes: tuple[str, ...]
    """Two-letter codes, that of most documents first."""

    def of(self, document: IndexedDocument, units: Sequence[Unit]) -> str:
        """The corpus's language to read a document in: the declared one, else its text's; if another, the first."""
        if self._declared(document):
            return self.read_in(document)
        text = "\n".join(unit.text for unit in units[:_LOOKED_AT])
        return language_of(text, known_languages(self.codes)) or self.codes[0]

    def read_in(self, document: IndexedDocument) -> str:
        """Return the same by what an index says of a document: there all declare their language where it matters."""
        declared = self._declared(document)
        return declared if declared in self.codes else self.codes[0]

    def _declared(self, document: IndexedDocument) -> str:
        language = document.values().get(LANGUAGE)
        return declared_code(language if isinstance(language, str) else "")

    def declared(self, document: IndexedDocument, language: str) -> IndexedDocument:
        """Return the document with its language among its metadata, so that it can be filtered by."""
        values = document.values()
        if values.get(LANGUAGE):
            return document
        return replace(document, metadata=json.dumps({**values, LANGUAGE: language}, ensure_ascii=False))


def language_names(declared: str) -> tuple[str, ...]:
    """Names by which a filter finds a declared language: the variant (zh-TW), the code (zh); () if it is none."""
    return tuple(dict.fromkeys(filter(None, [declared_variant(declared), declared_code(declared)])))
