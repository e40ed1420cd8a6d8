"""Negatives from other documents, random or by a lexical first stage, with guards against false negatives."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import tantivy

from structformer.corpus import Corpus
from structformer.document import word_count
from structformer.graph import ReferenceGraph
from structformer.sampling.example import Example, SamplingOptions
from structformer.sampling.held_out import is_held_out
from structformer.sampling.tasks import Form, Task
from structformer.sampling.view import DocumentView, holds, nearly_equal, word_set
from structformer.text.lexical_analysis import analyzer, any_term_query
from structformer.text.passages import section_passages, with_path
from structformer.text.words import spaced

_FIELD = "text"
_BOOSTS = {_FIELD: 1.0, "path": 0.2}
_MAX_CANDIDATES = 4  # hits per negative wanted
_HEAP_BYTES = 64 * 1024 * 1024


def write_passages(corpus: Corpus, folder: Path, *, seed: int, held_out: float) -> None:
    """Index the passages of all documents that are not held out, for PassageTable."""
    folder.mkdir(parents=True, exist_ok=True)
    builder = tantivy.SchemaBuilder()
    for field in (_FIELD, "path"):
        builder.add_text_field(field, tokenizer_name="words", index_option="freq")
    builder.add_bytes_field("shown", stored=True)
    builder.add_unsigned_field("document", stored=True)
    builder.add_unsigned_field("number", stored=True, indexed=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    index.register_tokenizer("words", analyzer("en"))
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    count = 0
    for number, document in enumerate(corpus.documents()):
        if is_held_out(document.id, seed, held_out):
            continue
        view = DocumentView(document, SamplingOptions())
        for place, section in enumerate(view.sections):
            for piece in (each.text for each in section_passages(section)):
                passage = tantivy.Document()
                passage.add_text(_FIELD, spaced(piece))
                passage.add_text("path", spaced(view.path_text(place)))
                passage.add_bytes("shown", f"{view.path_text(place)}\0{piece}".encode("utf-8", "surrogatepass"))
                passage.add_unsigned("document", number)
                passage.add_unsigned("number", count)
                count += 1
                writer.add_document(passage)
    writer.commit()
    writer.wait_merging_threads()


class PassageTable:
    """The corpus's passages, found by words or at random."""

    def __init__(self, folder: Path, graph: ReferenceGraph, options: SamplingOptions) -> None:
        self._index = tantivy.Index.open(str(folder))
        # The default watches the folder, with lock files that come while it is deleted.
        self._index.config_reader("Manual")
        self._analyzer = analyzer("en")
        self._index.register_tokenizer("words", self._analyzer)
        self._searcher = self._index.searcher()
        self._graph = graph
        self._options = options

    def replaced(self, task: Task, example: Example, number: int, rng: Random) -> Example:
        """The Example with other documents' negatives for its own, as far as there are any: never passages of the
        document itself (`number`) or its see-also neighbours, near copies of the positive, or with the query verbatim.
        """
        if not task.replaceable or len(set(example.queries)) > 1:
            return example
        query, positive = example.queries[0], example.documents[0]
        wanted, positive_words = self._options.wanted_negatives, word_set(positive)
        excluded = {number, *self._graph.see_also(number), *self._graph.see_also_of(number)}
        taken: list[str] = []
        for document, path, text in self._candidates(query, rng, _MAX_CANDIDATES * wanted):
            shown = with_path(path, text) if task.form is Form.PATH else text
            if (
                document in excluded
                or word_count(text) < self._options.min_words
                or holds(text, query)
                or nearly_equal(positive_words, word_set(shown))
                or shown in taken
            ):
                continue
            taken.append(shown)
            if len(taken) >= wanted:
                break
        if not taken:
            return example
        size = len(taken) + 1
        return replace(
            example,
            queries=(query,) * size,
            documents=(positive, *taken),
            sections=(example.sections[0], *(-1,) * len(taken)),
        )

    def search(self, query: str, count: int) -> Iterator[tuple[int, str, str]]:
        """(document number, path, text) of up to `count` passages, best first, ties in the order of the corpus."""
        parsed = any_term_query(self._index.schema, dict.fromkeys(_BOOSTS, self._analyzer), query, _BOOSTS)
        if parsed is not None:
            yield from self._found(parsed, count)

    def _candidates(self, query: str, rng: Random, count: int) -> Iterator[tuple[int, str, str]]:
        if self._options.negatives_from == "random":
            total = self._searcher.num_docs
            for place in rng.sample(range(total), min(total, count)):
                yield from self._found(tantivy.Query.term_query(self._index.schema, "number", place), 1)
        else:
            yield from self.search(query, count)

    def _found(self, query: tantivy.Query, count: int) -> Iterator[tuple[int, str, str]]:
        hits = self._searcher.search(query, limit=count, count=False).hits
        scored = [(-score, self._searcher.doc(address)) for score, address in hits]
        for _, passage in sorted(scored, key=lambda hit: (hit[0], hit[1]["number"][0])):
            path, _, text = bytes(passage["shown"][0]).decode("utf-8", "surrogatepass").partition("\0")
            yield int(passage["document"][0]), path, text
