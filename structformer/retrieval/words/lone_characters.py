"""A query's characters that stand alone, in scripts without spaces. The index has the pairs of a run, so that such a
character asks for the pairs that begin or end with it.

It scores as BM25 scores a word: by the texts that have it in any pair, and by how often its best pair is in a text; its
other pairs add a tenth each, since one occurrence is mostly in two of them. The commonest pairs are asked for one by
one, and what has only other ones comes after."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import tantivy

from structformer.text.lexical_analysis import idf, neighbours, saturation

_PAIRS = 64  # that are asked for one by one
_OTHERS = 0.1  # what a pair adds that is not a text's best
_RARE = 0.1  # of the character's idf, for a text that has none of the commonest pairs
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Asked:
    """A character in a field."""

    texts: int
    """How many texts have it."""
    idf: float
    weights: tuple[tuple[str, float], ...]
    """The terms that hold it, the commonest first, each with the factor that makes its idf the character's."""


class LoneCharacters:
    """Asks the fields of one tantivy index for characters."""

    def __init__(self, searcher: tantivy.Searcher, schema: tantivy.Schema) -> None:
        self._searcher, self._schema = searcher, schema
        self._asked = lru_cache(_KEPT)(self._ask)

    def query(self, field: str, character: str) -> tantivy.Query:
        """Return texts whose field has the character."""
        asked = self._asked(field, character)
        clauses = [
            tantivy.Query.boost_query(tantivy.Query.term_query(self._schema, field, term, "freq"), weight)
            for term, weight in asked.weights
        ]
        rare = tantivy.Query.const_score_query(self._any(field, character), _RARE * asked.idf)
        return tantivy.Query.disjunction_max_query([*clauses, rare], _OTHERS)

    def score(self, field: str, character: str, words: Sequence[str], length: int, average: float) -> float:
        """Return what `query` would score a text of these words."""
        holding = [word for word in words if character in word]
        if not holding:
            return 0.0
        asked = self._asked(field, character)
        scores = [_RARE * asked.idf]
        for term, weight in asked.weights:
            if frequency := holding.count(term):
                count = self._searcher.doc_freq(field, term)
                scores.append(weight * idf(count, self._searcher.num_docs) * saturation(frequency, length, average))
        return max(scores) + _OTHERS * (sum(scores) - max(scores))

    def are_in_text(self, characters: Collection[str]) -> bool:
        """Whether any text has one of the characters."""
        return any(self._asked("text", character).texts for character in characters)

    def _any(self, field: str, character: str) -> tantivy.Query:
        return tantivy.Query.regex_query(self._schema, field, f"{character}.?|.{character}")

    def _ask(self, field: str, character: str) -> _Asked:
        counted: Any = self._searcher.search(self._any(field, character), limit=1)
        texts = int(counted.count)
        total = self._searcher.num_docs
        own = idf(texts, total)
        if not texts:
            return _Asked(0, own, ())
        terms = {term for term, _ in self._searcher.terms_with_prefix(field, character) if len(term) <= 2}
        terms.update(other + character for other in neighbours(character))
        counts = ((self._searcher.doc_freq(field, term), term) for term in terms)
        commonest = sorted((-count, term) for count, term in counts if count)[:_PAIRS]
        return _Asked(texts, own, tuple((term, own / idf(-count, total)) for count, term in commonest))
