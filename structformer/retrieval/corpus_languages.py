"""Which languages a corpus is in, and each of its documents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from structformer.corpus import Corpus
from structformer.retrieval.units import IndexedDocument, Unit
from structformer.text.languages import ENGLISH, declared_code, known_languages, language_of

LANGUAGE = "language"  # the key of a document's metadata
_SAMPLE = 100  # documents, where none declares its language
_SHARE = 0.05  # of the documents, at least, that are in a language which counts
_FEWEST = 3  # documents
_SURELY = 0.9  # a page of code is taken for many a language with less
_LOOKED_AT = 20  # units of a document
_LEAST_TEXT = 200  # characters that tell a language among many


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


def corpus_languages(corpus: Corpus) -> CorpusLanguages:
    """The languages that documents declare, or else that a sample of them is surely in; English where nothing tells.

    A language counts where a twentieth of the documents are in it.
    """
    rows = (row for shard in corpus.shards for row in corpus.rows(shard, "documents", ["language"]))
    found = Counter(declared_code(row["language"]) for row in rows)
    undeclared = found.pop("", 0)
    if undeclared > found.total():
        found = _sampled(corpus)
    if not found:
        return CorpusLanguages((ENGLISH,))
    ranked = sorted(found, key=lambda code: (-found[code], code))
    least = max(_FEWEST, _SHARE * found.total())
    return CorpusLanguages((ranked[0], *(code for code in ranked[1:] if found[code] >= least)))


def corpus_language(corpus: Corpus) -> str:
    """The language that most documents are in, as a two-letter code."""
    return corpus_languages(corpus).codes[0]


def _sampled(corpus: Corpus) -> Counter[str]:
    """The languages of a hundred documents, from all over the corpus."""
    count = corpus.document_count
    found: Counter[str] = Counter()
    unsure: Counter[str] = Counter()
    for number in range(0, count, max(1, count // _SAMPLE)):
        text = corpus.document_at(number).root.subtree_text()
        if len(text) >= _LEAST_TEXT and (language := language_of(text, surely=_SURELY)):
            found[language] += 1
        elif language := language_of(text):
            unsure[language] += 1
    return found or unsure
