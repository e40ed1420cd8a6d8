"""The static encoder in numbers of 8 bits: the corpus's words, passages and overviews, in fewer dimensions."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from structformer.static_encoder import StaticEncoder, signed, unit, words_of

Floats = npt.NDArray[np.float32]
DIMENSIONS = 64
_ROWS = 20_000  # that the directions are taken from
_AT_ONCE = 8192  # words


@dataclass(frozen=True, slots=True)
class ShortVectors:
    """Vectors of few dimensions, all (n, dimensions) float32."""

    words: list[str]
    """The corpus's words in the order of UTF-16, in which JavaScript compares them."""
    of_words: Floats
    """Each word's share in the sum that is a text's vector."""
    passages: Floats
    """A vector of length one for each passage."""
    overviews: Floats
    """A vector of length one for each overview."""


def short_vectors(encoder: StaticEncoder, texts: Iterable[str], passages: Floats, overviews: Floats) -> ShortVectors:
    """Everything that a search in files needs of an encoder. texts: all that is searched, whose words are known."""
    words = sorted({word for text in texts for word in words_of(text)}, key=lambda word: word.encode("utf-16-be"))
    basis = _principal(np.concatenate([_evenly(passages), _evenly(overviews)]))
    parts = [encoder.words(words[start : start + _AT_ONCE]) @ basis for start in range(0, len(words), _AT_ONCE)]
    of_words = np.concatenate([*parts, np.empty((0, basis.shape[1]), np.float32)]).astype(np.float32)
    return ShortVectors(words, of_words, unit(passages @ basis), unit(overviews @ basis))


def _evenly(rows: Floats) -> Floats:
    return rows[:: max(1, math.ceil(len(rows) / _ROWS))]


def _principal(vectors: Floats) -> Floats:
    """(n, dimensions) the directions that vectors have most of. Their mean stays in: a sum of words' short vectors is
    to be the short vector of the sum.
    """
    _, directions = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    return signed(directions[:, ::-1][:, :DIMENSIONS].astype(np.float32))


def in_8_bits(vectors: Floats) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Return (n,) the greatest number of each row, and the rows as 127ths of it."""
    scales = np.abs(vectors).max(1, initial=0).astype(np.float32)
    return scales, np.round(vectors / np.maximum(scales, 1e-9)[:, None] * 127).astype(np.int8)


def word_rows(short: ShortVectors, size: int) -> Iterator[tuple[str, bytes]]:
    """The words in files of so many: (the first word, the content), which is the scales of the rows as float32, the
    rows, and the words, a line each.
    """
    for start in range(0, len(short.words), size):
        words = short.words[start : start + size]
        scales, rows = in_8_bits(short.of_words[start : start + size])
        text = "\n".join(words).encode()
        yield words[0], scales.astype("<f4").tobytes() + rows.tobytes() + text
