"""BM25's parts, for texts outside the lexical index and exact scorers. Source: Robertson and Zaragoza, "The
Probabilistic Relevance Framework", 2009, eq. 3.15, with Lucene's idf.
"""

import math

K1, B = 1.2, 0.75  # tantivy's, which cannot be set there


def idf(containing: int, texts: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)) of a term in `found` of `texts` texts, never below zero."""
    return math.log(1 + (texts - containing + 0.5) / (containing + 0.5))


def saturation(frequency: int, words: int, average_words: float, *, k1: float = K1, b: float = B) -> float:
    """Return what a term's frequency counts: f (k1 + 1) / (f + k1 (1 - b + b words / average))."""
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * words / max(average_words, 1e-9)))
