"""Rows of texts in an embedded tantivy index: its files, the terms of its fields, and what runs a query."""

import json
import math
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tantivy

from structformer.errors import WorkspaceError
from structformer.retrieval.documents.document_filter import Allowed, Mask
from structformer.retrieval.rankings.ranking import in_order
from structformer.retrieval.words.lone_characters import LoneCharacters
from structformer.storage.files import read_errors
from structformer.text import lexical_analysis as analysis
from structformer.text.stop_words import function_words
from structformer.text.words import bare_words, names_of, spaced

# Boosts of the fields' BM25 scores, which are summed. Titles, paths and anchor texts are short, so their scores are
# high by themselves; with boosts near 1 they drown the text. A text counts by its stemmed words and, a third as much,
# by its words as they are: openings are found best so, and a stemmer alone throws "image" together with "imaging".
INCOMING = "incoming"  # what others call a section; not all that is in the index may be known to who asks
FIELDS: dict[str, float] = {"title": 0.1, "path": 0.1, "text": 0.75, "exact": 0.25, "names": 0.25, INCOMING: 0.2}
DOCUMENT_FIELDS = {"text": 0.75, "exact": 0.25}
_PLACE = "place"  # where a document is: its path, file name and address
EXACT, NAMES = "exact", "names"
# How fields are cut that have words as they stand; the others have their other forms too, and are stemmed.
CUTS: dict[str, analysis.Cut] = {EXACT: bare_words, NAMES: names_of}
LONGEST_PHRASE = 64  # words
_TERMS = 20_000  # documents that are named in a query; of more, what they are not is left out of what is found
_HEAP_BYTES = 128 * 1024 * 1024
_LOCK = ".tantivy-meta.lock"


@dataclass(frozen=True, slots=True)
class Begun:
    """A word that is being typed."""

    word: str
    wrong: int = 0
    """How many of its letters may be wrong."""
    goes_on: bool = False
    """Whether more letters may follow."""


def _field_analyzers(fields: dict[str, float], languages: Sequence[str]) -> dict[str, tantivy.TextAnalyzer]:
    """Return tantivy's analyzers by field. Of several languages none stems: the texts come stemmed."""
    one = len(languages) == 1
    # Function words are half of all places: a phrase is found by the others, and their distance.
    unsaid = {EXACT: set(map(bare_words, function_words(languages)))}
    return {
        field: analysis.analyzer(languages[0], stemmed=one and field not in CUTS, without=unsaid.get(field, ()))
        for field in fields
    }


def _schema(fields: dict[str, float]) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in fields:
        # Phrases are asked for of passages alone.
        option = "position" if field == EXACT and fields is FIELDS else "freq"
        builder.add_text_field(field, tokenizer_name=field, index_option=option)
    builder.add_unsigned_field("number", stored=True, fast=True, indexed=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_text_field(_PLACE, tokenizer_name="raw", index_option="basic")
    return builder.build()


class RowWriter:
    """Adds rows of texts to one tantivy index, numbered in order."""

    def __init__(self, folder: Path, fields: dict[str, float], languages: Sequence[str]) -> None:
        folder.mkdir(parents=True)
        index = tantivy.Index(_schema(fields), path=str(folder))
        for field, words in _field_analyzers(fields, languages).items():
            index.register_tokenizer(field, words)
        self._folder = folder
        self._several = len(languages) > 1
        self._writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)  # one thread keeps the order and so the ties
        self.count = 0

    def add(self, words: dict[str, str], of_document: int, language: str, places: Sequence[str] = ()) -> None:
        """Append a row with each field's words. places: where its document is."""
        document = tantivy.Document()
        for field, text in words.items():
            by_language = self._several and field not in CUTS
            document.add_text(field, analysis.stemmed_words(text, language) if by_language else text)
        for place in places:
            document.add_text(_PLACE, place)
        document.add_unsigned("number", self.count)
        document.add_unsigned("document", of_document)
        self._writer.add_document(document)
        self.count += 1

    def close(self) -> None:
        self._writer.commit()
        self._writer.wait_merging_threads()
        _lock_nothing(self._folder)


def _lock_nothing(folder: Path) -> None:
    """Let an index be opened where it may only be read. What is published never changes and needs no lock, but tantivy
    takes one on a file that it opens for writing: on a link to the null device it can.
    """
    if sys.platform != "linux":  # elsewhere the null device may refuse to be locked
        return
    lock = folder / _LOCK
    try:
        lock.unlink(missing_ok=True)
        lock.symlink_to(os.devnull)
    except OSError:  # a file system without links
        lock.touch()


def _check_lock(folder: Path) -> None:
    """Raise WorkspaceError where tantivy's lock would open, or make, a file elsewhere."""
    lock = folder / _LOCK
    if lock.is_symlink() and os.readlink(lock) != os.devnull:
        raise WorkspaceError(f"{lock} leads out of the index: run `structformer index` again")


def _opened(folder: Path) -> tuple[TemporaryDirectory[str] | None, tantivy.Index]:
    """An index, and, of a copy without that link that may only be read, the folder of links that it is opened in."""
    if (folder / _LOCK).is_symlink() or os.access(folder, os.W_OK):
        return None, tantivy.Index.open(str(folder))
    links = TemporaryDirectory(prefix="structformer-")
    for file in folder.iterdir():
        if file.name != _LOCK:
            Path(links.name, file.name).symlink_to(file.absolute())
    _lock_nothing(Path(links.name))
    return links, tantivy.Index.open(links.name)


class Rows:
    """Searches one tantivy index."""

    def __init__(self, folder: Path, fields: dict[str, float], languages: Sequence[str]) -> None:
        _check_lock(folder)
        try:
            self._links, index = _opened(folder)
            index.config_reader("Manual")  # what is published never changes, so nothing need watch it
            by_field = _field_analyzers(fields, languages)
            for field, words in by_field.items():
                index.register_tokenizer(field, words)
            several: dict[str, analysis.Analyzer] = {
                field: analysis.analyzer_of(languages) for field in fields if field not in CUTS
            }
            self.analyzers: dict[str, analysis.Analyzer] = {**by_field, **(several if len(languages) > 1 else {})}
            self.searcher = index.searcher()
        except (ValueError, OSError) as error:
            raise WorkspaceError(
                f"the lexical index in {folder} cannot be opened ({error}): run `structformer index` again"
            ) from error
        self.schema = index.schema
        self.languages = languages
        self._fields = fields
        self._folder = folder
        self.lone = LoneCharacters(self.searcher, self.schema)
        self._average_words = cache(self._read_average_words)
        self.analyzer = self.analyzers["text"]

    def score(self, query: str, texts: dict[str, str]) -> float:
        """Return the BM25 score that a row of these texts, by field, would have."""
        count, lone, total = self.searcher.num_docs, analysis.lone_characters(query), 0.0
        for field, text in texts.items():
            cut = CUTS.get(field, spaced)
            words = self.analyzers[field].analyze(cut(text))
            length = len(words) if field in CUTS else len(cut(text).split())
            average = self._average_words(field)
            for term, weight in analysis.weighed_terms(self.analyzers[field], query, cut).items():
                if term in lone:
                    score = self.lone.score(field, term, words, length, average)
                else:
                    rows = self.searcher.doc_freq(field, term)
                    score = analysis.idf(rows, count) * analysis.saturation(words.count(term), length, average)
                total += self._fields[field] * weight * score
        return total

    def search(
        self,
        query: str,
        k: int,
        documents: Collection[int] | None,
        fields: dict[str, float] | None = None,
        beside: tantivy.Query | None = None,
    ) -> list[tuple[int, float]]:
        """Return up to k (row, score) that have any of a query's words, or answer the query beside them."""
        parsed = self.any_term(query, fields or self._fields)
        if parsed is not None and beside is not None:
            parsed = either((parsed, beside))
        return self.run(parsed, k, documents)

    def holds(self, word: str, documents: Collection[int] | None) -> bool:
        """Whether any row's text has this word."""
        if documents is not None:
            return bool(self.search(word, 1, documents, {"text": 1.0}))
        terms = analysis.query_terms(self.analyzer, word)
        in_words = any(self.searcher.doc_freq("text", term) for term in terms)
        return in_words or self.lone.are_in_text(analysis.lone_characters(word))

    def at_place(self, place: str) -> list[int]:
        """Return the rows of a path, file name or address, in order."""
        count = self.searcher.doc_freq(_PLACE, place)
        asked = tantivy.Query.term_query(self.schema, _PLACE, place, "basic")
        return [row for row, _ in self.ranked(asked, count)] if count else []

    def _read_average_words(self, field: str) -> float:
        """Return the mean number of words of a field, as the scores have it."""
        begun = self.searcher.terms_with_prefix(field, "", limit=1)
        if not begun:
            return 1.0
        query = self.term(field, begun[0][0])
        [(_, address)] = self.searcher.search(query, limit=1, count=False).hits
        return _explained(json.loads(query.explain(self.searcher, address).to_json()), "avgdl") or 1.0

    def beginnings(
        self,
        words: Sequence[Begun],
        k: int,
        documents: Collection[int] | None,
        every: bool,
        fields: dict[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        """Return rows with each of the words, or with any of them."""
        fields = fields or self._fields
        asked = []
        for begun in words:
            # The word itself, by BM25, in any of its forms.
            itself = self.any_term(begun.word, fields)
            forms = [] if itself is None else [itself]
            for field, boost in fields.items() if begun.goes_on or begun.wrong else ():
                near = tantivy.Query.fuzzy_term_query(
                    self.schema, field, begun.word, distance=begun.wrong, prefix=begun.goes_on
                )
                forms.append(tantivy.Query.boost_query(near, boost))
            asked.append(either(forms))
        return self.run((all_of if every else either)(asked) if asked else None, k, documents)

    def term(self, field: str, term: str) -> tantivy.Query:
        """Return rows whose field has a term."""
        return tantivy.Query.term_query(self.schema, field, term)

    def any_of_terms(self, terms: Iterable[str], fields: Sequence[str] = ("text",)) -> tantivy.Query:
        """Return rows that have one of the terms in one of the fields."""
        return either([self.term(field, term) for field in fields for term in terms])

    def telling(self, query: str) -> list[str]:
        """Return a query's words without function words."""
        return list(self.analyzers[EXACT].analyze(bare_words(query))[:LONGEST_PHRASE])

    def any_term(self, query: str, fields: dict[str, float]) -> tantivy.Query | None:
        return analysis.any_term_query(self.schema, self.analyzers, query, fields, self.lone.query, CUTS)

    def weighed(self, atoms: Sequence[tuple[tantivy.Query, float]], rows: Collection[int]) -> dict[int, float]:
        """Return those of the rows that have any of what is asked for, with the sums of its weights."""
        asked = self.among(any_of(atoms), "number", map(int, rows)) if atoms and len(rows) else None
        return {} if asked is None else dict(self.ranked(asked, len(rows)))

    def run(self, parsed: tantivy.Query | None, k: int, documents: Collection[int] | None) -> list[tuple[int, float]]:
        if parsed is None or k <= 0 or (documents is not None and not documents):
            return []
        if isinstance(documents, Allowed) and len(documents) > _TERMS:
            rows = documents.units if len(documents.units) == self.searcher.num_docs else documents.documents
            return self._run_and_leave_out(parsed, k, rows)
        if documents is not None:
            parsed = self.among(parsed, "document", documents)
        return self.ranked(parsed, k)

    def among(self, parsed: tantivy.Query, field: str, numbers: Iterable[int]) -> tantivy.Query:
        numbered = tantivy.Query.term_set_query(self.schema, field, sorted(numbers))
        return all_of((parsed, tantivy.Query.const_score_query(numbered, 0.0)))

    def _run_and_leave_out(self, parsed: tantivy.Query, k: int, rows: Mask) -> list[tuple[int, float]]:
        """Return the best of many rows: of all that are found, those that are not among them are left out."""
        limit = 2 * k * math.ceil(len(rows) / max(1, int(np.count_nonzero(rows))))
        while True:
            ranked = self.ranked(parsed, limit)
            kept = [each for each in ranked if rows[each[0]]]
            if len(kept) >= k or len(ranked) < limit:
                return kept[:k]
            limit *= 4

    def ranked(self, parsed: tantivy.Query, k: int) -> list[tuple[int, float]]:
        with read_errors(f"the lexical index in {self._folder}", ValueError, OSError):
            hits = self.searcher.search(parsed, limit=k, count=False).hits
            numbers = self.searcher.fast_field_values("number", [address for _, address in hits])
            ranked = [(int(number or 0), float(score)) for number, (score, _) in zip(numbers, hits, strict=True)]
        return in_order(ranked)


def any_of(atoms: Sequence[tuple[tantivy.Query, float]]) -> tantivy.Query:
    """Return a query that sums the weights of those that a row answers."""
    return either(tantivy.Query.const_score_query(each, weight) for each, weight in atoms)


def either(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in queries])


def all_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in queries])


def _explained(value: Any, name: str) -> float:
    """Return a figure of how a score came about, by the beginning of its description."""
    if value.get("description", "").startswith(name):
        return float(value["value"])
    return next((value_there for each in value.get("details") or () if (value_there := _explained(each, name))), 0.0)
