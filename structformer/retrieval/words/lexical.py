"""The lexical first stage: BM25 in embedded tantivy indexes, one of the units and one of whole documents."""

import json
import math
import os
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import tantivy

from structformer.errors import WorkspaceError
from structformer.retrieval.documents.document_filter import Allowed, Mask, Names
from structformer.retrieval.documents.units import IndexedDocument, Unit
from structformer.retrieval.rankings.ranking import in_order
from structformer.retrieval.words.bm25 import idf, saturation
from structformer.retrieval.words.lone_characters import LoneCharacters
from structformer.storage.files import read_errors
from structformer.text.lexical_analysis import (
    Analyzer,
    Cut,
    analyzer,
    analyzer_of,
    any_term_query,
    lone_characters,
    query_terms,
    stemmed_words,
    weighed_terms,
)
from structformer.text.stop_words import function_words
from structformer.text.words import (
    LONGEST,
    RUN,
    WRITTEN,
    CutText,
    bare_words,
    cut_text,
    cut_together,
    names_of,
    normal,
    spaced,
    written_words,
)

# Boosts of the fields' BM25 scores, which are summed. Titles, paths and anchor texts are short, so their scores are
# high by themselves; with boosts near 1 they drown the text. A text counts by its stemmed words and, a third as much,
# by its words as they are: openings are found best so, and a stemmer alone throws "image" together with "imaging".
INCOMING = "incoming"  # what others call a section; not all that is in the index may be known to who asks
FIELDS: dict[str, float] = {"title": 0.1, "path": 0.1, "text": 0.75, "exact": 0.25, "names": 0.25, INCOMING: 0.2}
DOCUMENT_FIELDS = {"text": 0.75, "exact": 0.25}
_EXACT, _NAMES = "exact", "names"
# How fields are cut that have words as they stand; the others have their other forms too, and are stemmed.
_CUTS: dict[str, Cut] = {_EXACT: bare_words, _NAMES: names_of}
_OWN = {field: weight for field, weight in FIELDS.items() if field != INCOMING}
_JOINING = ("", "_", "-", ":", ".", "/", "::", "->")  # what words of a name are joined by
_NO_SIGNS = str.maketrans("", "", "".join(_JOINING))
_BEGUN = 1000  # names that begin as a word does
# Parts of a name, of which so many count, and what is between them.
_PART, _MOST_PARTS = re.compile(r"\w+(?:-\w+|\.\d+)*"), 16
_BETWEEN = (re.compile(r"->|[^\w.-]+"), re.compile(r"->|[^\w-]+"))  # a file's suffix keeps its dot
_MIXED = 3  # from so many gaps between words on, all have the same sign
_RARE = 3  # rows that have a name which a question asks about
# What cannot be hyphenated prose, "and/or", a number or a file's suffix.
_NO_PROSE = re.compile(r"[^\w\s.]{0,3}-{1,2}[A-Za-z]|[^\s.]*[^\W\d][\w-]*(?:[_=@:\\$%]|->|\.(?=[^\W\d]{2}))|[/$%#@~]\w")
_CODE = re.compile("[a-z][A-Z]|[A-Za-z]{2}[0-9]|[A-Z][0-9]{2}")  # a word that cannot be prose either
_WHOLE, _AMONG_WORDS = 12.0, 4.0  # what a query's only name counts beside its words; what those in a longer query do
_LONGEST_PHRASE = 64  # words
_SENTENCE = 4  # words, function words apart, that hardly stand in this order by chance
_CALLED = 1000  # units that are looked at for what others call them
_TERMS = 20_000  # documents that are named in a query; of more, what they are not is left out of what is found
_HEAP_BYTES = 128 * 1024 * 1024
_KEPT_WORDS = 20_000
_UNITS, _DOCUMENTS = "units", "documents"
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
    """What tantivy cuts each field's texts with. Of several languages it stems none: the texts come stemmed."""
    one = len(languages) == 1
    # Function words are half of all places: a phrase is found by the others, and their distance.
    unsaid = {_EXACT: set(map(bare_words, function_words(languages)))}
    return {
        field: analyzer(languages[0], stemmed=one and field not in _CUTS, without=unsaid.get(field, ()))
        for field in fields
    }


def _schema(fields: dict[str, float]) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in fields:
        # Phrases are asked for of passages alone.
        option = "position" if field == _EXACT and fields is FIELDS else "freq"
        builder.add_text_field(field, tokenizer_name=field, index_option=option)
    builder.add_unsigned_field("number", stored=True, fast=True, indexed=True)
    builder.add_unsigned_field("document", indexed=True)
    return builder.build()


class _Writer:
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

    def add(self, words: dict[str, str], of_document: int, language: str) -> None:
        document = tantivy.Document()
        for field, its in words.items():
            by_language = self._several and field not in _CUTS
            document.add_text(field, stemmed_words(its, language) if by_language else its)
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


class LexicalWriter:
    """Writes the lexical index of units and documents as they pass by. languages: those of the corpus, see
    corpus_languages.py.
    """

    def __init__(self, folder: Path, languages: Sequence[str]) -> None:
        self._units = _Writer(folder / _UNITS, FIELDS, languages)
        self._documents = _Writer(folder / _DOCUMENTS, DOCUMENT_FIELDS, languages)

    def add(self, document: IndexedDocument, units: Sequence[Unit], language: str) -> None:
        """Index the next document with its units. language: its own, which counts where the corpus has several."""
        number, whole = self._documents.count, [cut_text(document.title)]
        for unit in units:
            title, text = cut_text(unit.title), cut_text(unit.text)
            self._units.add(_unit_words(unit, title, text), number, language)
            whole += title, text
        its = cut_together(whole)
        self._documents.add({"text": its.spaced, _EXACT: its.words}, number, language)

    def close(self) -> None:
        """Commit both."""
        self._units.close()
        self._documents.close()


class _Searcher:
    def __init__(self, folder: Path, fields: dict[str, float], languages: Sequence[str]) -> None:
        _check_lock(folder)
        try:
            self._links, index = _opened(folder)
            index.config_reader("Manual")  # what is published never changes, so nothing need watch it
            by_field = _field_analyzers(fields, languages)
            for field, words in by_field.items():
                index.register_tokenizer(field, words)
            several: dict[str, Analyzer] = {field: analyzer_of(languages) for field in fields if field not in _CUTS}
            self._analyzers: dict[str, Analyzer] = {**by_field, **(several if len(languages) > 1 else {})}
            self._searcher = index.searcher()
        except (ValueError, OSError) as error:
            raise WorkspaceError(
                f"the lexical index in {folder} cannot be opened ({error}): run `structformer index` again"
            ) from error
        self._schema = index.schema
        self._fields = fields
        self._folder = folder
        self._lone = LoneCharacters(self._searcher, self._schema)
        self.analyzer = self._analyzers["text"]
        # A search asks for the parts of each of its words several times.
        self._in_parts: Callable[[str], dict[str, int]] = lru_cache(_KEPT_WORDS)(self._look_for_parts)

    def score(self, query: str, texts: dict[str, str], average: dict[str, float]) -> float:
        """The BM25 score that a row of these texts would have. average: mean number of words by field."""
        count = self._searcher.num_docs
        lone = lone_characters(query)
        total = 0.0
        for field, text in texts.items():
            cut = _CUTS.get(field, spaced)
            words = self._analyzers[field].analyze(cut(text))
            length = len(words) if field in _CUTS else len(cut(text).split())
            for term, weight in weighed_terms(self._analyzers[field], query, cut).items():
                if term in lone:
                    its = self._lone.score(field, term, words, length, average[field])
                elif frequency := words.count(term):
                    found = self._searcher.doc_freq(field, term)
                    its = idf(found, count) * saturation(frequency, length, average[field])
                else:
                    continue
                total += self._fields[field] * weight * its
        return total

    def search(
        self, query: str, k: int, documents: Collection[int] | None, fields: dict[str, float] | None = None
    ) -> list[tuple[int, float]]:
        parsed = self._any_term(query, fields or self._fields)
        if fields is None and parsed is not None and (name := self._name(query)) is not None:
            parsed = _either((parsed, name))
        return self._run(parsed, k, documents)

    def _name(self, query: str) -> tantivy.Query | None:
        """Rows that have the name that a query is, but for function words: written so, or in its parts ("set timeout"
        for setTimeout). Of a longer query rows with a name in it that few have, and that cannot be a word of prose, or
        with words of it in a row. Either counts more than words.
        """
        if _NAMES not in self._fields:
            return None
        chunks = query.split()[:_LONGEST_PHRASE]
        telling = [chunk for chunk in chunks if names_of(chunk) or self._telling(chunk)]
        codes = self._held(normal(word) for chunk in chunks for word in WRITTEN.findall(chunk) if _CODE.search(word))
        if len(chunks) == 1 or len(telling) == 1:
            [chunk] = telling or chunks
            words, (name, _) = bare_words(chunk), self._known(chunk)
            ways = [name] if name else [*self._spellings(chunk), *self._spellings(query), *codes]
            named = names_of(chunk) or spaced(chunk) != words or (" " in words and not RUN.search(chunk))
            if (named or (len(chunks) > 1 and not ways)) and words != bare_words(name):
                ways.append(chunk)  # the words in a longer name, with an apostrophe, or among function words
            its = [*filter(None, map(self.literal, ways))]
            return tantivy.Query.boost_query(tantivy.Query.disjunction_max_query(its), _WHOLE) if its else None
        known = [self._known(chunk) for chunk in chunks if len(chunk) <= LONGEST and _NO_PROSE.match(chunk)]
        names = [name for name, count in (*known, *codes.items()) if 0 < count <= _RARE]
        names += [*self.spellings(query), *self._sayings(query)]
        its = [*filter(None, map(self.literal, names))]
        return tantivy.Query.boost_query(_either(its), _AMONG_WORDS) if its else None

    def _sayings(self, query: str) -> Iterator[str]:
        """What of a query hardly stands in this order by chance."""
        words = bare_words(query).split()[:_LONGEST_PHRASE]
        telling = [place for place, word in enumerate(words) if self._analyzers[_EXACT].analyze(word)]
        count = max(_SENTENCE, len(telling) if RUN.search(query) else 0)  # a pair of characters says little
        for first, last in zip(telling, telling[count - 1 :], strict=False):
            yield " ".join(words[first : last + 1])

    def _known(self, chunk: str) -> tuple[str, int]:
        """The name that a chunk of a query is; else, of the longest parts of it that are names here, as they are
        written before those with other signs, the one that the fewest rows have; and how many do: "" and 0 where none
        has. A sign is no part of a name.
        """
        names = {name for name in names_of(chunk).split() if any(map(str.isalnum, name)) or not bare_words(chunk)}
        whole = normal(chunk[:LONGEST])
        for way in {whole, *(each.sub(sign, whole) for sign in _JOINING[4:] for each in _BETWEEN)}:
            parts = [part.span() for part in _PART.finditer(way)][:_MOST_PARTS]
            names |= {way[start:end] for at, (start, _) in enumerate(parts) for _, end in parts[at:]}
        held = self._held(name for name in names if not name.isalnum())
        longest = [name for name in held if not any(name != other and name in other for other in held)]
        name = min(longest, key=lambda name: (name not in whole, held[name], -len(name), name), default="")
        return name, held.get(name, 0)

    def spellings(self, query: str) -> dict[str, int]:
        """Other ways in which rows have a query, or one of its words that none has as it is, and how many do."""
        return dict(ChainMap(self._spellings(query), *self._parted(query).values()))

    def respelt(self, query: str) -> str:
        """A query with parts for words that no row has as they are."""
        parts = self._parted(query)
        return " ".join(next(iter(parts.get(chunk, ())), chunk) for chunk in query.split())

    def _parted(self, query: str) -> dict[str, dict[str, int]]:
        """What `_in_parts` says of each word of a query."""
        return {chunk: self._in_parts(normal(chunk)) for chunk in query.split()[:_LONGEST_PHRASE] if chunk.isalnum()}

    def _spellings(self, query: str) -> dict[str, int]:
        """The names whose parts a query is, and how many rows have each."""
        its = cut_text(query)
        words = its.words.split()
        if len(words) == 1:
            if found := self._in_parts(words[0]):
                return found
            words = its.forms.split()
        if not 1 < len(words) <= _LONGEST_PHRASE:
            return {}
        gaps = len(words) - 1
        ways = product(_JOINING, repeat=gaps) if gaps < _MIXED else ((sign,) * gaps for sign in _JOINING)
        names = ["".join(chain.from_iterable(zip(words, (*signs, ""), strict=True))) for signs in ways]
        return self._held(names) or self._held(
            [*(f"{name}s" for name in names), *(name.removesuffix("s") for name in names)]
        )

    def _look_for_parts(self, word: str) -> dict[str, int]:
        """How rows have a word that none has as it is, in parts (`nodejs` Node.js, `5GHz` 5 GHz, `usa` U.S.A.), and how
        many do.
        """
        count, places = self._searcher.doc_freq, range(1, len(word))
        if len(word) > _LONGEST_PHRASE or count(_EXACT, word) or not self._telling(word):
            return {}
        begun = [word[:at] + sign for at in places for sign in _JOINING[1:]]
        named = chain.from_iterable(self._searcher.terms_with_prefix(_NAMES, start, limit=_BEGUN) for start in begun)
        if found := {name: rows for name, rows in named if name.translate(_NO_SIGNS) == word}:
            return found
        pairs = ((word[:at], word[at:]) for at in places)
        known = [pair for pair in pairs if all((len(its) > 1 or its.isdigit()) and count(_EXACT, its) for its in pair)]
        return {text: rows for text in map(" ".join, known) if (rows := len(self.holding(text)))}

    def _held(self, names: Iterable[str]) -> dict[str, int]:
        """Those of some names, and words, that rows have, and how many do."""
        count = self._searcher.doc_freq
        return {name: rows for name in names if (rows := count(_NAMES, name) or count(_EXACT, name))}

    def _any_term(self, query: str, fields: dict[str, float]) -> tantivy.Query | None:
        return any_term_query(self._schema, self._analyzers, query, fields, self._lone.query, _CUTS)

    def literal(self, text: str) -> tantivy.Query | None:
        """Rows that have a text as it is written: the name that it is, else its words one after another."""
        name = "" if len(text.split()) > 1 else names_of(text).split(" ")[0]
        words = bare_words(text).split()[:_LONGEST_PHRASE]
        if name and self._searcher.doc_freq(_NAMES, name):
            its = tantivy.Query.term_query(self._schema, _NAMES, name)
            if bare_words(name).split() == words:
                return its
            if not any(map(str.isalnum, name)) and (beside := self.literal(" ".join(words))) is not None:
                return tantivy.Query.boolean_query([(tantivy.Occur.Must, its), (tantivy.Occur.Must, beside)])
        if name and len(words) < 2:
            return None  # the signs are what it is
        telling = [(place, word) for place, word in enumerate(words) if self._analyzers[_EXACT].analyze(word)]
        if len(telling) > 1:
            return tantivy.Query.phrase_query(
                self._schema, _EXACT, [(at - telling[0][0], word) for at, word in telling]
            )
        if telling:
            return tantivy.Query.term_query(self._schema, _EXACT, telling[0][1])
        terms = self.analyzer.analyze(" ".join(words))
        each = [tantivy.Query.term_query(self._schema, "text", term) for term in terms]
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, its) for its in each]) if each else None

    def holding(self, text: str, rows: Collection[int] | None = None) -> list[int]:
        """The rows, of all or of these, that have a text as it is written."""
        query = self.literal(text)
        return [] if query is None else list(self._weighed([(query, 1.0)], rows))

    def presence(self, query: str, rows: Sequence[int]) -> dict[int, float]:
        """What of a query rows have as it is written, weighed by idf, as a share of all of it."""
        atoms: list[tuple[tantivy.Query, float]] = []
        for chunk in list(dict.fromkeys(query.split()))[:_LONGEST_PHRASE]:
            atoms += self._atoms(chunk)
        if ways := self._spellings(query):
            joined, parts = filter(None, map(self.literal, ways)), sum(weight for _, weight in atoms)
            atoms.append((_either(joined), max(parts, idf(sum(ways.values()), self._searcher.num_docs))))
        total = sum(weight for _, weight in atoms) or 1.0
        return {row: score / total for row, score in self._weighed(atoms, rows).items()}

    def coverage(self, query: str, documents: Collection[int] | None) -> float:
        """The most that a row has of a query's words, in any form, function words apart, weighed by idf, as a share; 1
        of a query without such words.
        """
        atoms = [(self._any(terms), idf(found, self._searcher.num_docs)) for terms, found in self._said(query)]
        best = self._run(_any_of(atoms), 1, documents) if atoms else []
        return best[0][1] / sum(weight for _, weight in atoms) if best else float(not atoms)

    def share(self, query: str, row: int, score: float) -> float:
        """A row's score as a share of the idf of a query's words, function words apart: 0 where no row has any of them,
        at least 1 where this one has all, or there are none. A word that no row has is as rare as one that one row has.
        """
        said = self._said(query)
        counts = [found for _, found in said]
        worth = sum(idf(max(found, 1), self._searcher.num_docs) for found in counts)
        share = score / worth if any(counts) else float(not counts)
        if not counts or share >= 1:
            return share
        its = [tantivy.Query.term_query(self._schema, "number", row)]
        its += [self._any(terms, ("title", "path", "text")) for terms, _ in said]
        has_all = self._run(tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in its]), 1, None)
        return 1.0 if has_all else share

    def _said(self, query: str) -> list[tuple[list[str], int]]:
        """The terms of each of a query's words, function words apart, and how many rows have it. Of a script without
        spaces no pair of characters that is rarer than those on both sides: it is of two words.
        """
        terms = {word: query_terms(self.analyzer, word) for word in self._telling(query)}
        counts = {
            word: max(self._searcher.doc_freq("text", its) for its in them) for word, them in terms.items() if them
        }
        words = bare_words(query).split()[:_LONGEST_PHRASE]
        for before, pair, after in zip(words, words[1:], words[2:], strict=False):
            if pair not in counts or before[1:] + after[:1] != pair or not RUN.fullmatch(pair):
                continue
            if counts[pair] < min(counts.get(before, math.inf), counts.get(after, math.inf)):
                terms.pop(pair, None)
        return [(terms[word], count) for word, count in counts.items() if word in terms]

    def _any(self, terms: Iterable[str], fields: Sequence[str] = ("text",)) -> tantivy.Query:
        each = [tantivy.Query.term_query(self._schema, field, term) for field in fields for term in terms]
        return _either(each)

    def _telling(self, query: str) -> list[str]:
        """A query's words without function words."""
        return list(self._analyzers[_EXACT].analyze(bare_words(query))[:_LONGEST_PHRASE])

    def called(self, query: str, documents: Collection[int]) -> Iterator[tuple[str, float, list[int]]]:
        """The query's terms without function words, what each is worth, and the rows that others call so: of these
        documents, or all where they are few.
        """
        for term, weight in weighed_terms(self.analyzer, " ".join(self._telling(query))).items():
            if count := self._searcher.doc_freq(INCOMING, term):
                asked = tantivy.Query.term_query(self._schema, INCOMING, term)
                rows = [row for row, _ in self._run(asked, _CALLED, documents if count > _CALLED else None)]
                yield term, weight * idf(self._searcher.doc_freq("text", term), self._searcher.num_docs), rows

    def _atoms(self, chunk: str) -> Iterator[tuple[tantivy.Query, float]]:
        """A name as a whole; else words, and that they stand together as much as they are worth."""
        total, (name, found) = self._searcher.num_docs, self._known(chunk)
        words = self._analyzers[_EXACT].analyze(bare_words(chunk))
        weights = [idf(self._searcher.doc_freq(_EXACT, word), total) for word in words]
        if found:
            yield tantivy.Query.term_query(self._schema, _NAMES, name), idf(found, total)
        if not found or bare_words(name) != bare_words(chunk):
            for word, weight in zip(words, weights, strict=True):
                yield tantivy.Query.term_query(self._schema, _EXACT, word), weight
            if (len(words) > 1 or names_of(chunk)) and (together := self.literal(chunk)) is not None:
                yield together, sum(weights)

    def _weighed(self, atoms: Sequence[tuple[tantivy.Query, float]], rows: Collection[int] | None) -> dict[int, float]:
        """The rows, of all or of these, that have any of what is asked for, with the sums of its weights."""
        if not atoms or (rows is not None and not len(rows)):
            return {}
        parsed = _any_of(atoms)
        if rows is not None:
            parsed = self._among(parsed, "number", map(int, rows))
        return dict(self._found(parsed, max(1, self._searcher.num_docs if rows is None else len(rows))))

    def holds(self, word: str, documents: Collection[int] | None) -> bool:
        """Whether any row's text has this word."""
        if documents is not None:
            return bool(self.search(word, 1, documents, {"text": 1.0}))
        terms = query_terms(self.analyzer, word)
        return any(self._searcher.doc_freq("text", term) for term in terms) or self._lone.is_in(
            "text", lone_characters(word)
        )

    def average_words(self, field: str) -> float:
        """Mean number of words of a field, as the scores have it."""
        begun = self._searcher.terms_with_prefix(field, "", limit=1)
        if not begun:
            return 1.0
        query = tantivy.Query.term_query(self._schema, field, begun[0][0])
        [(_, address)] = self._searcher.search(query, limit=1, count=False).hits
        return _explained(json.loads(query.explain(self._searcher, address).to_json()), "avgdl") or 1.0

    def beginnings(
        self,
        words: Sequence[Begun],
        k: int,
        documents: Collection[int] | None,
        every: bool,
        fields: dict[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        """Rows with each of the words, or with any of them."""
        fields = fields or self._fields
        occur = tantivy.Occur.Must if every else tantivy.Occur.Should
        clauses = []
        for begun in words:
            # The word itself, by BM25, in any of its forms.
            itself = self._any_term(begun.word, fields)
            forms = [] if itself is None else [itself]
            for field, boost in fields.items() if begun.goes_on or begun.wrong else ():
                near = tantivy.Query.fuzzy_term_query(
                    self._schema, field, begun.word, distance=begun.wrong, prefix=begun.goes_on
                )
                forms.append(tantivy.Query.boost_query(near, boost))
            clauses.append((occur, _either(forms)))
        return self._run(tantivy.Query.boolean_query(clauses) if clauses else None, k, documents)

    def _run(self, parsed: tantivy.Query | None, k: int, documents: Collection[int] | None) -> list[tuple[int, float]]:
        if parsed is None or k <= 0 or (documents is not None and not documents):
            return []
        if isinstance(documents, Allowed) and len(documents) > _TERMS:
            rows = documents.units if len(documents.units) == self._searcher.num_docs else documents.documents
            return self._run_and_leave_out(parsed, k, rows)
        if documents is not None:
            parsed = self._among(parsed, "document", documents)
        return self._found(parsed, k)

    def _among(self, parsed: tantivy.Query, field: str, numbers: Iterable[int]) -> tantivy.Query:
        among = tantivy.Query.const_score_query(tantivy.Query.term_set_query(self._schema, field, sorted(numbers)), 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in (parsed, among)])

    def _run_and_leave_out(self, parsed: tantivy.Query, k: int, rows: Mask) -> list[tuple[int, float]]:
        """The best of many rows: of all that are found, those that are not among them are left out."""
        limit = 2 * k * math.ceil(len(rows) / max(1, int(np.count_nonzero(rows))))
        while True:
            found = self._found(parsed, limit)
            kept = [each for each in found if rows[each[0]]]
            if len(kept) >= k or len(found) < limit:
                return kept[:k]
            limit *= 4

    def _found(self, parsed: tantivy.Query, k: int) -> list[tuple[int, float]]:
        with read_errors(f"the lexical index in {self._folder}", ValueError, OSError):
            hits = self._searcher.search(parsed, limit=k, count=False).hits
            numbers = self._searcher.fast_field_values("number", [address for _, address in hits])
            found = [(int(number or 0), float(score)) for number, (score, _) in zip(numbers, hits, strict=True)]
        return in_order(found)


def _any_of(atoms: Sequence[tuple[tantivy.Query, float]]) -> tantivy.Query:
    """What scores the sum of the weights of those that a row answers."""
    return _either(tantivy.Query.const_score_query(each, weight) for each, weight in atoms)


def _either(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in queries])


def _explained(value: Any, name: str) -> float:
    """A figure of how a score came about, by the beginning of its description."""
    if value.get("description", "").startswith(name):
        return float(value["value"])
    return next((found for each in value.get("details") or () if (found := _explained(each, name))), 0.0)


def _unit_words(unit: Unit, title: CutText, text: CutText) -> dict[str, str]:
    both = cut_together((title, text))
    return {
        "title": title.spaced,
        "path": spaced(" ".join(unit.path)),
        "text": text.spaced,
        _EXACT: both.words,
        _NAMES: both.names,
        INCOMING: spaced(unit.incoming),
    }


def document_text(title: str, units: Sequence[Unit]) -> str:
    """A whole document as its lexical index has it."""
    return "\n".join([title, *(text for unit in units for text in (unit.title, unit.text))])


def _has(text: str, begun: Begun) -> bool:
    """Whether a text has a word as far as it is written."""
    if lone_characters(begun.word) == [begun.word]:
        return begun.word in text
    words = written_words(text)
    return any(word.startswith(begun.word) if begun.goes_on else word == begun.word for word in words)


class LexicalIndex:
    """Searches a lexical index."""

    def __init__(self, folder: Path, languages: Sequence[str]) -> None:
        self._units = _Searcher(folder / _UNITS, FIELDS, languages)
        self._documents = _Searcher(folder / _DOCUMENTS, DOCUMENT_FIELDS, languages)
        # Snippets ask for the terms of every word that they pass, most of them again and again.
        self.word_terms: Callable[[str], frozenset[str]] = lru_cache(_KEPT_WORDS)(
            lambda word: frozenset(self.words(word))
        )

    def terms(self, query: str) -> list[str]:
        """The query's distinct terms in order, as many as count."""
        return query_terms(self._units.analyzer, query)

    def spellings(self, query: str) -> list[str]:
        """Other ways in which units have a query, or one of its words that none has as it is: names, words, phrases."""
        return list(self._units.spellings(query))

    def words(self, text: str) -> list[str]:
        """All terms of a text, in order."""
        found: list[str] = self._units.analyzer.analyze(spaced(text))
        return found

    def held(self, query: str, text: str) -> set[str]:
        """The terms of a text, with the characters that stand alone in a query where the text has them."""
        return {*self.words(text), *(character for character in lone_characters(query) if character in text)}

    def search(self, query: str, k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Up to k (unit number, score), best first; equal scores in unit order. documents: only units of these."""
        if not isinstance(documents, Allowed) or documents.names is None:
            return self._units.search(query, k, documents)
        found = dict(self._units.search(query, k, documents, _OWN))
        called = self._called(query, documents, documents.names)
        if others := [unit for unit in called if unit not in found]:
            theirs = self._units.search(query, _CALLED, documents.owners_of(others), _OWN)
            found.update({unit: score for unit, score in theirs if unit in called})
        return in_order((unit, found.get(unit, 0.0) + called.get(unit, 0.0)) for unit in {**found, **called})[:k]

    def _called(self, query: str, documents: Allowed, names: Names) -> dict[int, float]:
        """What link texts that the asker may see add to the scores of units, where they have a word of the query."""
        units = [unit for unit, _ in self._units.search(query, _CALLED, documents, {INCOMING: FIELDS[INCOMING]})]
        scores = {unit: self._score_called(query, text) for unit, text in zip(units, names(units), strict=True)}
        return {unit: score for unit, score in scores.items() if score > 0}

    def _score_called(self, query: str, text: str) -> float:
        return self._units.score(query, {INCOMING: text}, {INCOMING: self._average_called})

    @cached_property
    def _average_called(self) -> float:
        return self._units.average_words(INCOMING)

    def holding(self, text: str) -> list[int]:
        """The units that have a text as it is written, whatever its case and its marks of Unicode's."""
        return self._units.holding(text)

    def presence(self, query: str, units: Sequence[int]) -> npt.NDArray[np.float32]:
        """(units,) how much of a query each of these units has as it is typed: the share of its names, as wholes, and
        words, weighed by how rare they are (idf); 1 where it has all of them.
        """
        found = self._units.presence(query, units)
        return np.array([found.get(int(unit), 0.0) for unit in units], np.float32)

    def coverage(self, query: str, documents: Collection[int] | None = None) -> float:
        """The most that a document, of these, has of a query's words, function words apart: between 0 and 1, weighed by
        how rare they are.
        """
        return self._documents.coverage(self._units.respelt(query), documents)

    def share(self, query: str, unit: int, score: float) -> float | None:
        """A unit's score as a share of what the query's words are worth by how rare they are; at least 1 where it has
        all of them. None of a script without spaces, whose pairs of characters are often of two words.
        """
        return None if RUN.search(query) else self._units.share(self._units.respelt(query), unit, score)

    def called(
        self, query: str, owners: npt.NDArray[np.int64], documents: Collection[int], names: Names | None = None
    ) -> dict[int, float]:
        """By document, of these: the sum over the query's words, by how rare they are, that others call it by, where
        they link to it. owners: (units,) the document of each; names: what of that the asker may see, where
        it is not all.
        """
        totals: dict[int, float] = {}
        for term, worth, rows in self._units.called(query, documents):
            units = [row for row in rows if int(owners[row]) in documents]
            if names is not None:
                units = [unit for unit, text in zip(units, names(units), strict=True) if term in self.words(text)]
            for document in set(owners[units].tolist()):
                totals[document] = totals.get(document, 0.0) + worth
        return totals

    def beginnings(
        self, words: Sequence[Begun], k: int, documents: Collection[int] | None = None, *, every: bool = True
    ) -> list[tuple[int, float]]:
        """Up to k (unit number, score) of units that hold every one of these words as far as they are written; with
        `every` false, one of them. documents: only units of these.
        """
        if not isinstance(documents, Allowed) or documents.names is None:
            return self._units.beginnings(words, k, documents, every)
        found = dict(self._units.beginnings(words, k, documents, every, _OWN))
        others = [unit for unit, _ in self._units.beginnings(words, k, documents, every) if unit not in found]
        query = " ".join(begun.word for begun in words)
        for unit, text in zip(others, documents.names(others), strict=True):
            # Without slips of the finger, and not where one word is the unit's own and the next one is in a link.
            if (all if every else any)(_has(text, begun) for begun in words):
                found[unit] = FIELDS[INCOMING] + self._score_called(query, text)
        return in_order(found.items())[:k]

    def holds(self, word: str, documents: Collection[int] | None = None) -> bool:
        """Whether any text has this word, in any of its forms. documents: only units of these."""
        return self._units.holds(word, documents)

    def score_document(self, query: str, text: str) -> float:
        """The score that a document of this text would have."""
        return self._documents.score(query, dict.fromkeys(DOCUMENT_FIELDS, text), self._document_averages)

    @cached_property
    def _document_averages(self) -> dict[str, float]:
        return {field: self._documents.average_words(field) for field in DOCUMENT_FIELDS}

    def search_documents(self, query: str, k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Up to k (document number, BM25 score of its whole text), best first; of all documents or of these."""
        return self._documents.search(query, k, documents)
