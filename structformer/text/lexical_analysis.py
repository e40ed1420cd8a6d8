"""Words as lexical search sees them: cut, lower-cased and stemmed by language; Chinese, Japanese, Korean, Thai and
other scripts without spaces as pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import tantivy

from structformer.word_counts import UNSPACED

_STEMMED = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
_MAX_QUERY_TERMS = 512
_UNSPACED = re.compile(f"[{UNSPACED}]+")


def spaced(text: str) -> str:
    """The text with runs of scripts without spaces as overlapping pairs of characters, which serve as words."""
    return text if text.isascii() else _UNSPACED.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    characters = run.group()
    return f" {' '.join(characters[place : place + 2] for place in range(max(1, len(characters) - 1)))} "


def analyzer(language: str, *, stemmed: bool = True) -> tantivy.TextAnalyzer:
    """Words in lower case, stemmed by the language's stemmer where there is one and it is wanted."""
    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(60))
        .filter(tantivy.Filter.lowercase())
    )
    if stemmed and (stemmer := _STEMMED.get(language)) is not None:
        builder = builder.filter(tantivy.Filter.stemmer(stemmer))
    return builder.build()


def query_terms(words: tantivy.TextAnalyzer, query: str) -> list[str]:
    """The query's distinct terms in order; of an overlong query the first _MAX_QUERY_TERMS."""
    return list(dict.fromkeys(words.analyze(spaced(query[:200_000]))))[:_MAX_QUERY_TERMS]


def any_term_query(
    schema: tantivy.Schema, analyzers: Mapping[str, tantivy.TextAnalyzer], query: str, boosts: Mapping[str, float]
) -> tantivy.Query | None:
    """A query for any of the terms in any of the fields, their BM25 scores times the fields' boosts summed; None
    without a term.

    analyzers: each field's.
    """
    clauses = [
        (tantivy.Occur.Should, tantivy.Query.boost_query(tantivy.Query.term_query(schema, field, term, "freq"), boost))
        for field, boost in boosts.items()
        for term in query_terms(analyzers[field], query)
    ]
    return tantivy.Query.boolean_query(clauses) if clauses else None
