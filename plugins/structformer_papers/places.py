"""Where a document ranks when the corpus is searched with BM25."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tantivy
from structformer.sampling import PageTexts, title_and_head
from structformer.text import analyzer, any_term_query, spaced

_MOST = 1000  # documents that are looked at
_TEXT, _NUMBER = "text", "number"
_HEAP_BYTES = 64 * 1024 * 1024


def write_places(pages: PageTexts, folder: Path) -> None:
    """Index the documents that are not held out."""
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(_TEXT, tokenizer_name="words", index_option="freq")
    builder.add_unsigned_field(_NUMBER, stored=True, indexed=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    index.register_tokenizer("words", analyzer("en"))
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    for number in range(pages.count):
        if pages.head(number):
            document = tantivy.Document()
            document.add_text(_TEXT, spaced(title_and_head(pages, number)))
            document.add_unsigned(_NUMBER, number)
            writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


class Places:
    """The index, opened."""

    def __init__(self, folder: Path) -> None:
        self._index = tantivy.Index.open(str(folder))
        # The default watches the folder, with lock files that come while it is deleted.
        self._index.config_reader("Manual")
        self._analyzer = analyzer("en")
        self._index.register_tokenizer("words", self._analyzer)
        self._searcher = self._index.searcher()
        self._known: tuple[int, tantivy.DocAddress | None] = -1, None  # the last document that was asked for

    def of(self, query: Sequence[str], number: int) -> int | None:
        """The place of a document among the first thousand for a query, from 1; None where it is not among them."""
        parsed = any_term_query(self._index.schema, {_TEXT: self._analyzer}, " ".join(query), {_TEXT: 1.0})
        if parsed is None:
            return None
        hits = self._searcher.search(parsed, limit=_MOST, count=False).hits
        if not hits or (own := self._address(number)) is None:
            return None
        score = next((score for score, address in hits if address == own), None)
        if score is None:
            return None
        equal = [address for other, address in hits if other == score]
        before = sum(self._number(address) < number for address in equal) if len(equal) > 1 else 0
        better = sum(1 for other, _ in hits if other > score)
        return 1 + better + before

    def _number(self, address: tantivy.DocAddress) -> int:
        return int(self._searcher.doc(address)[_NUMBER][0])

    def _address(self, number: int) -> tantivy.DocAddress | None:
        """Where the index has a document, so that not every document that is found has to be read."""
        if number != self._known[0]:
            query = tantivy.Query.term_query(self._index.schema, _NUMBER, number)
            hits = self._searcher.search(query, limit=1, count=False).hits
            self._known = number, hits[0][1] if hits else None
        return self._known[1]
