"""The lexical first stage: BM25 in an embedded tantivy index over title, path, text and incoming anchor texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import tantivy

from structformer.errors import CorpusError
from structformer.retrieval.units import Unit

# Boosts of the fields' BM25 scores, which are summed. Titles, paths and anchor texts are short, so their scores are high by
# themselves; with boosts near 1 they drown the text.
FIELDS = {"title": 0.1, "path": 0.1, "text": 1.0, "incoming": 0.2}
_STEMMED = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
_MAX_QUERY_TERMS = 512
_HEAP_BYTES = 128 * 1024 * 1024


def analyzer(language: str) -> tantivy.TextAnalyzer:
    """Words in lower case, stemmed by the language's stemmer where there is one."""
    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.remove_long(60)).filter(tantivy.Filter.lowercase())
    )
    if (stemmer := _STEMMED.get(language)) is not None:
        builder = builder.filter(tantivy.Filter.stemmer(stemmer))
    return builder.build()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in FIELDS:
        builder.add_text_field(field, tokenizer_name="words", index_option="freq")
    builder.add_unsigned_field("unit", stored=True, fast=True)
    return builder.build()


def build_lexical_index(units: Iterable[Unit], folder: Path, language: str) -> Iterator[Unit]:
    """Index units, numbered in order, as they pass by."""
    folder.mkdir(parents=True)
    index = tantivy.Index(_schema(), path=str(folder))
    index.register_tokenizer("words", analyzer(language))
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)  # one thread keeps the order and so the ties
    for number, unit in enumerate(units):
        document = tantivy.Document()
        for field, text in (("title", unit.title), ("path", " ".join(unit.path)), ("text", unit.text), ("incoming", unit.incoming)):
            document.add_text(field, text)
        document.add_unsigned("unit", number)
        writer.add_document(document)
        yield unit
    writer.commit()
    writer.wait_merging_threads()


class LexicalIndex:
    """Searches a lexical index."""

    def __init__(self, folder: Path, language: str) -> None:
        try:
            self._index = tantivy.Index.open(str(folder))
        except (ValueError, OSError) as error:
            raise CorpusError(f"the lexical index in {folder} cannot be opened ({error}): run `structformer index` again") from error
        self._analyzer = analyzer(language)
        self._index.register_tokenizer("words", self._analyzer)
        self._searcher = self._index.searcher()
        self._schema = self._index.schema

    def terms(self, query: str) -> list[str]:
        """The query's distinct terms in order; of an overlong query the first _MAX_QUERY_TERMS."""
        found = dict.fromkeys(self._analyzer.analyze(query[:200_000]))
        return list(found)[:_MAX_QUERY_TERMS]

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Up to k (unit number, score), best first; equal scores in unit order."""
        terms = self.terms(query)
        if not terms or k < 1:
            return []
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.boost_query(tantivy.Query.term_query(self._schema, field, term, "freq"), boost))
            for field, boost in FIELDS.items()
            for term in terms
        ]
        hits = self._searcher.search(tantivy.Query.boolean_query(clauses), limit=k, count=False).hits
        found = [(int(self._searcher.doc(address)["unit"][0]), float(score)) for score, address in hits]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))
