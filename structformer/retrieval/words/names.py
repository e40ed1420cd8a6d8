"""The names, phrases and spellings of a query as rows have them."""

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, product

import tantivy

from structformer.retrieval.words.rows import EXACT, LONGEST_PHRASE, NAMES, Rows, all_of, either
from structformer.text.id_marks import VERSION
from structformer.text.words import LONGEST, RUN, WRITTEN, bare_words, cut_text, names_of, normal, spaced

_JOINING = ("", "_", "-", ":", ".", "/", "::", "->")  # what words of a name are joined by
_NO_SIGNS = str.maketrans("", "", "".join(_JOINING))
_BEGUN = 1000  # names that begin as a word does
# Parts of a name, of which so many count, and what is between them.
_PART, _MOST_PARTS = re.compile(r"\w+(?:-\w+|\.\d+)*"), 16
_BETWEEN = (re.compile(r"->|[^\w.-]+"), re.compile(r"->|[^\w-]+"))  # a file's suffix keeps its dot
_MIXED = 3  # from so many gaps between words on, all have the same sign
_RARE = 3  # rows that have a name which a question asks about
_OF_A_RELEASE = 12  # rows that have a version: its heading and the parts below it
# What cannot be hyphenated prose, "and/or", a number or a file's suffix.
_NO_PROSE = re.compile(r"[^\w\s.]{0,3}-{1,2}[A-Za-z]|[^\s.]*[^\W\d][\w-]*(?:[_=@:\\$%]|->|\.(?=[^\W\d]{2}))|[/$%#@~]\w")
_CODE = re.compile("[a-z][A-Z]|[A-Za-z]{2}[0-9]|[A-Z][0-9]{2}")  # a word that cannot be prose either
# A number by which something is referred to: CVE-2031-1234, KB5001330. A page with the next one answers nothing.
REFERENCE = re.compile(r"(?<![\w-])(?:[A-Za-z]+[-_](?:\d+[-_])*\d{3,}|[A-Z]+\d{3,})(?![\w-])")
_NUMBERED = re.compile(r"([^\W\d][^\s\d]*)(?<![:._/-])[\s:._/-]+(\d\w*(?:[\s:._/-]+\d\w*)*)")  # RFC 2119, ISO 9001:2015
_OF_RELEASES = re.compile("(?:versions?|releases?|notes|change[sd]?|changelog)[?:]?", re.I)
_GOES_ON = re.compile(r"[-./\w]")  # after a part of a name that is not the end of it
_WHOLE, _AMONG_WORDS = 12.0, 4.0  # what a query's only name counts beside its words; what those in a longer query do
_PART_LETTERS = 3  # of each half of a word that others write in two
_SENTENCE = 4  # words, function words apart, that hardly stand in this order by chance
_KEPT_WORDS = 20_000
_AROUND = "?!.,;:()[]'\"`“”"
_LOOKED_UP = 2000  # rows in whose text a phrase of small words is looked up


class Names:
    """Looks for what a query has as it is written, or spelt otherwise."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        # A search asks for the parts of each of its words several times.
        self._in_parts: Callable[[str], dict[str, int]] = lru_cache(_KEPT_WORDS)(self._look_for_parts)

    def name(self, query: str) -> tantivy.Query | None:
        """Rows that have the name that a query is, but for function words: written so, or in its parts ("set timeout"
        for setTimeout). Of a longer query rows with a name in it that few have, and that cannot be a word of prose, or
        with words of it in a row. Either counts more than words.
        """
        chunks = query.split()[:LONGEST_PHRASE]
        telling = self._telling(chunks)
        codes = self._codes(chunks)
        if len(chunks) == 1 or len(telling) == 1:
            [chunk] = telling or chunks
            words, (name, _) = bare_words(chunk), self.known(chunk)
            ways = [name] if name else [*self.whole_spellings(chunk), *self.whole_spellings(query), *codes]
            named = names_of(chunk) or spaced(chunk) != words or (" " in words and not RUN.search(chunk))
            if (named or (len(chunks) > 1 and not ways)) and words != bare_words(name) and not self.hides_words(chunk):
                ways.append(chunk)  # the words in a longer name, with an apostrophe, or among function words
            ways += self._parted_word(chunk)
            queries = [*filter(None, map(self.literal, ways))]
            return tantivy.Query.boost_query(tantivy.Query.disjunction_max_query(queries), _WHOLE) if queries else None
        known = [self.known(chunk) for chunk in chunks if len(chunk) <= LONGEST and _NO_PROSE.match(chunk)]
        releases = map(self.known, filter(VERSION.fullmatch, chunks))
        names = [name for name, count in (*known, *codes.items()) if 0 < count <= _RARE]
        names += [name for name, count in releases if 0 < count <= _OF_A_RELEASE]
        names += [*self.spellings(query), *self._sayings(query)]
        queries = [*filter(None, map(self.literal, names))]
        return tantivy.Query.boost_query(either(queries), _AMONG_WORDS) if queries else None

    def literal(self, text: str) -> tantivy.Query | None:
        """Return rows that have a text as it is written: the name that it is, else its words one after another."""
        name = "" if len(text.split()) > 1 else names_of(text).split(" ")[0]
        words = bare_words(text).split()[:LONGEST_PHRASE]
        if name and self._rows.searcher.doc_freq(NAMES, name):
            named = self._rows.term(NAMES, name)
            if bare_words(name).split() == words:
                return named
            if not any(map(str.isalnum, name)) and (beside := self.literal(" ".join(words))) is not None:
                return all_of((named, beside))
        if name and len(words) < 2:
            return None  # the signs are what it is
        telling = [(place, word) for place, word in enumerate(words) if self._rows.analyzers[EXACT].analyze(word)]
        if len(telling) > 1:
            phrase: list[str | tuple[int, str]] = [(at - telling[0][0], word) for at, word in telling]
            return tantivy.Query.phrase_query(self._rows.schema, EXACT, phrase)
        if telling:
            return self._rows.term(EXACT, telling[0][1])
        terms = dict.fromkeys(self._rows.analyzer.analyze(" ".join(words)))
        return all_of(self._rows.any_of_terms([term], ("text", "title", "path")) for term in terms) if terms else None

    def holding(self, text: str) -> list[int]:
        """Return the rows that have a text as it is written; of one with small words the first that may have it."""
        if (query := self.literal(text)) is None:
            return []
        many = _LOOKED_UP if self.has_small_words(text) else max(1, self._rows.searcher.num_docs)
        return [row for row, _ in self._rows.ranked(query, many)]

    def hides_words(self, chunk: str) -> bool:
        """Whether all but one word of a chunk are function words: `back-up` is not a way to write "back"."""
        return self.has_small_words(chunk) and len(self._rows.telling(chunk)) < 2

    def _parted_word(self, word: str) -> list[str]:
        """Return a word that rows have, and the two words that others write for it: `filesystem`, "file system"."""
        word = normal(word)
        if not word.isalnum() or len(word) > LONGEST_PHRASE or not self._rows.searcher.doc_freq(EXACT, word):
            return []
        count = self._rows.searcher.doc_freq
        pairs = ((word[:at], word[at:]) for at in range(_PART_LETTERS, len(word) - _PART_LETTERS + 1))
        ways = [f"{one} {other}" for one, other in pairs if count(EXACT, one) and count(EXACT, other)]
        held = [way for way in ways if self._rows.telling(way) == way.split() and self.holding(way)]
        return [word, *held] if held else []

    def has_small_words(self, text: str) -> bool:
        """Whether a text of several words has function words, whose places the index does not know."""
        words = bare_words(text).split()
        return len(words) > 1 and len(self._rows.telling(text)) < len(words[:LONGEST_PHRASE])

    def absent(self, query: str) -> str:
        """Return the name that a query is, stop words ignored, or the only reference number in it, if no row has all of
        it, or the name at its end or before a value; of a word and numbers, if no row has them together; else "".
        """
        chunks = self._telling(query.split()[:LONGEST_PHRASE])
        whole = " ".join(chunks).strip(_AROUND)
        if len(chunks) > 1 and (parts := _NUMBERED.fullmatch(whole)) and not RUN.search(whole):
            return "" if self.whole_spellings(whole) or self._beside(parts[1], parts[2].split()) else whole
        is_listed = all(map(REFERENCE.fullmatch, chunks))
        names = chunks if len(chunks) == 1 or is_listed else REFERENCE.findall(whole)
        return next(filter(self._lacks, names), "").strip(_AROUND) if is_listed or len(names) == 1 else ""

    def _lacks(self, name: str) -> bool:
        """Whether no row has a name that is written as no prose is."""
        name = name.strip(_AROUND)
        written = _NO_PROSE.match(name) or name.isupper() or any(map(str.isdigit, name))
        if RUN.search(name) or not (REFERENCE.fullmatch(name) or (written and len(bare_words(name).split()) > 1)):
            return False
        around = {part: normal(name).partition(part)[::2] for part in names_of(name).split()}
        ends = [part for part, (at, rest) in around.items() if not (at.endswith("@") or _GOES_ON.match(rest))]
        held = self._held(ends) or self.whole_spellings(name) or self._codes([name])
        return not (held or (not self.has_small_words(name) and self.holding(name)))

    def _beside(self, word: str, numbers: Iterable[str]) -> list[tuple[int, float]]:
        """Return a row that has a word, in any form, and numbers as they are written."""
        terms = self._rows.analyzer.analyze(spaced(word))
        parts = [self._rows.any_of_terms(terms, ("text", "title", "path"))] if terms else []
        return self._rows.ranked(all_of([*parts, *filter(None, map(self.literal, numbers))]), 1)

    def _telling(self, chunks: Iterable[str]) -> list[str]:
        """Return those that are more than function words, or than "release notes" beside a version."""
        telling = [chunk for chunk in chunks if names_of(chunk) or self._rows.telling(chunk)]
        versions = any(map(VERSION.fullmatch, telling))
        return [chunk for chunk in telling if not (versions and _OF_RELEASES.fullmatch(chunk))]

    def _codes(self, chunks: Iterable[str]) -> dict[str, int]:
        """Return the words of chunks that cannot be prose and that rows have, and how many do."""
        return self._held(normal(word) for chunk in chunks for word in WRITTEN.findall(chunk) if _CODE.search(word))

    def known(self, chunk: str) -> tuple[str, int]:
        """(name, rows): the chunk if it is an indexed name, else its longest indexed part, as written before other
        signs, rarest first; ("", 0) if none. A sign is not part of a name.
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
        """Return other ways in which rows have a query, or one of its words that none has as it is, and how many do."""
        return dict(ChainMap(self.whole_spellings(query), *self._parted(query).values()))

    def respelt(self, query: str) -> str:
        """Return a query with parts for words that no row has as they are."""
        parts = self._parted(query)
        return " ".join(next(iter(parts.get(chunk, ())), chunk) for chunk in query.split())

    def _sayings(self, query: str) -> Iterator[str]:
        """Return the parts of a query that hardly have this order by chance."""
        words = bare_words(query).split()[:LONGEST_PHRASE]
        telling = [place for place, word in enumerate(words) if self._rows.analyzers[EXACT].analyze(word)]
        count = max(_SENTENCE, len(telling) if RUN.search(query) else 0)  # a pair of characters says little
        for first, last in zip(telling, telling[count - 1 :], strict=False):
            yield " ".join(words[first : last + 1])

    def _parted(self, query: str) -> dict[str, dict[str, int]]:
        """Return `_in_parts` of each word of a query."""
        return {chunk: self._in_parts(normal(chunk)) for chunk in query.split()[:LONGEST_PHRASE] if chunk.isalnum()}

    def whole_spellings(self, query: str) -> dict[str, int]:
        """Return the names whose parts a query is, and how many rows have each."""
        cut = cut_text(query)
        words = cut.words.split()
        if len(words) == 1:
            if spellings := self._in_parts(words[0]):
                return spellings
            words = cut.forms.split()
        if not 1 < len(words) <= LONGEST_PHRASE:
            return {}
        gaps = len(words) - 1
        ways = product(_JOINING, repeat=gaps) if gaps < _MIXED else ((sign,) * gaps for sign in _JOINING)
        names = ["".join(chain.from_iterable(zip(words, (*signs, ""), strict=True))) for signs in ways]
        return self._held(names) or self._held(
            [*(f"{name}s" for name in names), *(name.removesuffix("s") for name in names)]
        )

    def _look_for_parts(self, word: str) -> dict[str, int]:
        """How rows write a word in parts (`nodejs` Node.js, `5GHz` 5 GHz, `usa` U.S.A.), and in how many rows."""
        count, places = self._rows.searcher.doc_freq, range(1, len(word))
        if len(word) > LONGEST_PHRASE or count(EXACT, word) or not self._rows.telling(word):
            return {}
        begun = [word[:at] + sign for at in places for sign in _JOINING[1:]]
        named = chain.from_iterable(
            self._rows.searcher.terms_with_prefix(NAMES, start, limit=_BEGUN) for start in begun
        )
        if written := {name: rows for name, rows in named if name.translate(_NO_SIGNS) == word}:
            return written
        pairs = ((word[:at], word[at:]) for at in places)
        known = [pair for pair in pairs if all((len(end) > 1 or end.isdigit()) and count(EXACT, end) for end in pair)]
        return {text: rows for text in map(" ".join, known) if (rows := len(self.holding(text)))}

    def _held(self, names: Iterable[str]) -> dict[str, int]:
        """Return those of some names, and words, that rows have, and how many do."""
        count = self._rows.searcher.doc_freq
        return {name: rows for name in names if (rows := count(NAMES, name) or count(EXACT, name))}
