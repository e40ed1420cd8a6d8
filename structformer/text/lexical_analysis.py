"""Words as lexical search sees them (see words.py), stemmed by language: each text by its own (`stemmed_words`), and a
query by all, since three words do not tell their language.

And BM25's parts, for texts outside the lexical index and exact scorers. Source: Robertson and Zaragoza, "The
Probabilistic Relevance Framework", 2009, eq. 3.15, with Lucene's idf."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Protocol

import tantivy

from structformer.document import ALPHABETS
from structformer.text.words import MOST_ASKED, RUN, bare_words, spaced

_STEMMED = dict(
    pair.split("=")
    for pair in """ar=arabic da=danish de=german el=greek en=english es=spanish fi=finnish fr=french hu=hungarian
    it=italian nl=dutch no=norwegian pt=portuguese ro=romanian ru=russian sv=swedish ta=tamil tr=turkish""".split()
)
_MAX_QUERY_TERMS = 512
_KEPT_FORMS = 20_000  # words whose stems are known already
_OTHER_FORM = 0.3  # of a word's weight
_MOST_LONE = 12  # characters that stand alone in a query: each has many pairs
_ALPHABET, _HANGUL = re.compile(f"[{ALPHABETS}]"), re.compile("[\uac00-\ud7a3]")
Cut = Callable[[str], str]
K1, B = 1.2, 0.75  # tantivy's, which cannot be set there


class Analyzer(Protocol):
    """Cuts a text into its terms, in order."""

    def analyze(self, text: str) -> list[str]: ...


def lone_characters(query: str) -> list[str]:
    """The characters of scripts without spaces that stand alone in a query; of more than a few the first ones."""
    if query.isascii():
        return []
    runs = RUN.findall(query[:MOST_ASKED])
    return list(dict.fromkeys(run for run in runs if len(run) == 1))[:_MOST_LONE]


def neighbours(character: str) -> tuple[str, ...]:
    """Return characters of its script that may precede it: of Chinese and Japanese those of Unicode's first 65,536."""
    return _of_script(_script(character))


def _script(character: str) -> str:
    """Return which alphabet, by where it begins; Hangul; or "", Chinese and Japanese."""
    if _ALPHABET.match(character):
        return chr(ord(character) & ~0x7F)
    return "hangul" if _HANGUL.match(character) else ""


@cache
def _of_script(script: str) -> tuple[str, ...]:
    characters = map(chr, range(0x10000))
    return tuple(each for each in characters if RUN.match(each) and _script(each) == script)


def analyzer(language: str, *, stemmed: bool = True, without: Iterable[str] = ()) -> tantivy.TextAnalyzer:
    """Cuts at the blanks of words.py, and stems if wanted and possible. without: words that leave a gap."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    if stemmed and (stemmer := _STEMMED.get(language)) is not None:
        builder = builder.filter(tantivy.Filter.stemmer(stemmer))
    if without:
        builder = builder.filter(tantivy.Filter.custom_stopword(sorted(without)))
    return builder.build()


class AllForms:
    """Every form that the stemmers of several languages give a text's words."""

    def __init__(self, languages: Iterable[str]) -> None:
        self._stemmed = [analyzer(language) for language in dict.fromkeys(languages)]
        self._forms = lru_cache(_KEPT_FORMS)(self._forms_of)

    def analyze(self, text: str) -> list[str]:
        """Return the terms, each word's forms side by side."""
        return [form for word in text.split() for form in self._forms(word)]

    def _forms_of(self, word: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(form for stemmed in self._stemmed for form in stemmed.analyze(word)))


def analyzer_of(languages: Sequence[str]) -> Analyzer:
    """Return what cuts texts of these languages, and queries that may be in any of them."""
    return analyzer(languages[0]) if len(languages) == 1 else AllForms(languages)


def stemmed_words(words: str, language: str) -> str:
    """Words with blanks between them, stemmed by their own language, for a field whose own analyzer stems nothing."""
    return " ".join(_analyzer(language).analyze(words))


_analyzer = cache(analyzer)


def query_terms(words: Analyzer, query: str, cut: Cut = spaced) -> list[str]:
    """Return the query's distinct terms in order; of an overlong query the first _MAX_QUERY_TERMS."""
    return list(dict.fromkeys(words.analyze(cut(query[:MOST_ASKED]))))[:_MAX_QUERY_TERMS]


def weighed_terms(words: Analyzer, query: str, cut: Cut = spaced) -> dict[str, float]:
    """Return the query's terms with what each counts: less where it is another form of a word."""
    terms = query_terms(words, query, cut)
    own = frozenset(terms if cut is not spaced else query_terms(words, query, bare_words))
    return {term: 1.0 if term in own else _OTHER_FORM for term in terms}


def any_term_query(
    schema: tantivy.Schema,
    analyzers: Mapping[str, Analyzer],
    query: str,
    boosts: Mapping[str, float],
    lone: Callable[[str, str], tantivy.Query] | None = None,
    cuts: Mapping[str, Cut] = MappingProxyType({}),
) -> tantivy.Query | None:
    """Return a query for any of the terms in any of the fields, their BM25 scores times the fields' boosts summed; None
    without a term.

    analyzers: each field's. lone: gives what asks a field for a character that stands alone in the query; without it,
    such a character is a term like others. cuts: of fields that are not cut by `spaced`.
    """
    alone = frozenset(lone_characters(query) if lone else ())

    def asks(field: str, term: str) -> tantivy.Query:
        return lone(field, term) if lone and term in alone else tantivy.Query.term_query(schema, field, term, "freq")

    clauses = [
        (tantivy.Occur.Should, tantivy.Query.boost_query(asks(field, term), boost * weight))
        for field, boost in boosts.items()
        for term, weight in weighed_terms(analyzers[field], query, cuts.get(field, spaced)).items()
    ]
    return tantivy.Query.boolean_query(clauses) if clauses else None


def idf(containing: int, texts: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)) of a term in `found` of `texts` texts, never below zero."""
    return math.log(1 + (texts - containing + 0.5) / (containing + 0.5))


def saturation(frequency: int, words: int, average_words: float, *, k1: float = K1, b: float = B) -> float:
    """Return what a term's frequency counts: f (k1 + 1) / (f + k1 (1 - b + b words / average))."""
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * words / max(average_words, 1e-9)))
