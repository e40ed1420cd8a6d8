"""The static encoder: a text's vector is the sum of its words', each the sum of its features': itself and its n-grams
of letters (Bojanowski et al., TACL 2017, section 3.2).

Learning starts from the truncated SVD of the passages' weighted features (latent semantic analysis): Deerwester et al.,
JASIS 1990; randomised subspace iteration: Halko, Martinsson and Tropp, SIAM Review 2011, algorithm 4.4."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from structformer.document import MARKS, UNSPACED
from structformer.errors import ModelError
from structformer.storage.files import write_json
from structformer.text.words import normal

Vectors = npt.NDArray[np.float32]
KIND = "static-encoder"
FEATURES, VECTORS = "features.json", "vectors.npy"
_FORMAT = 1
_AT_ONCE = 512  # texts
_ITERATIONS = 3
_MORE = 10  # columns beyond those wanted
_PASSAGES_AT_ONCE = 2048  # passages
LENGTHS = (3, 4, 5)  # of n-grams, in characters, the blanks before and after a word among them
LONGEST = 40  # characters of a word; what is longer is a digest or a path
SATURATION = 1.5  # a word that occurs c times in a text counts c (1 + this) / (c + this), as in BM25
_WORD = re.compile(f"[\\w{MARKS}]+")
_RUN, _PARTS = re.compile(f"[{UNSPACED}]"), re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_COUNTED_AT_ONCE = 4096  # texts
_FEWEST_TEXTS = 2  # that have a feature which is learned
# Marks that keep whole words, and characters of scripts without spaces, apart from n-grams.
_WHOLE, OF_UNSPACED = "\1", "\2"
Table = Any  # scipy.sparse.csr_matrix of float32, which has no types


def words_of(text: str) -> list[str]:
    """Words in lower case; of Hangul and scripts without spaces characters and neighbouring pairs, each marked."""
    words: list[str] = []
    for word in _WORD.findall(normal(text)):
        for part in [word] if word.isascii() else _PARTS.findall(word):
            if _RUN.match(part):
                words += [OF_UNSPACED + character for character in part]
                words += [OF_UNSPACED + part[at : at + 2] for at in range(len(part) - 1)]
            else:
                words.append(part[:LONGEST])
    return words


def features_of(word: str) -> list[str]:
    """Return a word itself, and its n-grams with a blank at either end; itself alone in a script without spaces."""
    if word[0] == OF_UNSPACED:
        return [word]
    spaced = f" {word} "
    grams = [spaced[at : at + length] for length in LENGTHS for at in range(len(spaced) - length + 1)]
    return [*grams, _WHOLE + word]


class WordNumbers:
    """Words by number, in the order in which they were first read."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def bags(self, texts: Iterable[str]) -> Table:
        """Return (texts, words so far) how much every word counts in every text; new words get numbers."""
        bags = _counted((Counter(words_of(text)) for text in texts), self._numbers)
        bags.data = bags.data * np.float32(1 + SATURATION) / (bags.data + np.float32(SATURATION))
        return bags


def _counted(rows: Iterable[Mapping[str, int]], numbers: dict[str, int]) -> Table:
    """Return (rows, names so far) how often every row has every name. numbers: of the names; new ones get theirs."""
    places: list[int] = [0]
    columns: list[int] = []
    counts: list[int] = []
    for row in rows:
        columns += [numbers.setdefault(name, len(numbers)) for name in row]
        counts += row.values()
        places.append(len(columns))
    held = np.array(counts, np.float32), np.array(columns, np.int32), np.array(places, np.int64)
    return csr_matrix(held, (len(places) - 1, len(numbers)))


def stacked(tables: Sequence[Table], columns: int) -> Table:
    """Return tables one under another, with so many columns."""
    wide = [csr_matrix((each.data, each.indices, each.indptr), (each.shape[0], columns)) for each in tables]
    return vstack(wide, "csr")


def narrowed(columns: int, *tables: Table) -> tuple[npt.NDArray[np.int64], list[Table]]:
    """Return the columns that any of the tables has a value in, and the tables with these alone."""
    used = np.unique(np.concatenate([each.indices for each in tables]))
    places = np.zeros(columns, np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    narrow = [csr_matrix((each.data, places[each.indices], each.indptr), (each.shape[0], len(used))) for each in tables]
    return used, narrow


class Features:
    """Features with vectors, by number. names: of the features; weights: (features,) what each counts in a word."""

    def __init__(self, names: Sequence[str], weights: npt.NDArray[np.float32]) -> None:
        self.names = list(names)
        self.weights = weights
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def table(self, words: Iterable[str]) -> Table:
        """Return (words, features) how much each feature counts in each word."""
        known = (Counter(filter(self._numbers.__contains__, features_of(word))) for word in words)
        table = _counted(known, self._numbers)
        table.data *= self.weights[table.indices]
        return table


def chosen_features(bags: Table, words: Iterable[str], *, most: int) -> Features:
    """The features to learn: of those that at least two texts have and at most half of them, the `most` that occur in
    the most texts, in that order, weighted by ln((1 + texts) / (1 + texts that have it)) + 1.

    bags: (texts, words) as `WordNumbers.bags` gives them; words: those of its columns, and maybe more."""
    names: dict[str, int] = {}
    held = _counted((dict.fromkeys(features_of(word), 1) for word in islice(words, bags.shape[1])), names)
    texts = np.zeros(len(names), np.int64)
    for start in range(0, bags.shape[0], _COUNTED_AT_ONCE):
        part = bags[start : start + _COUNTED_AT_ONCE] @ held
        texts += np.bincount(part.indices, minlength=len(names))
    possible = np.flatnonzero((texts >= _FEWEST_TEXTS) & (texts <= max(1, bags.shape[0] // 2)))
    every = list(names)
    order = sorted(possible.tolist(), key=lambda number: (-texts[number], every[number]))[:most]
    weights = np.log((1 + bags.shape[0]) / (1 + texts[order])) + 1
    return Features([every[number] for number in order], weights.astype(np.float32))


class StaticEncoder:
    """Encodes texts by sums of words' and n-grams' vectors, without order. vectors: (features, dimensions) floats."""

    kind = KIND

    def __init__(self, features: Features, vectors: npt.NDArray[np.floating]) -> None:
        self.features = features
        self.vectors = vectors

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    @classmethod
    def load(cls, location: str | Path) -> StaticEncoder:
        """Return a saved encoder, its vectors memory-mapped. Raises ModelError."""
        folder = Path(location)
        try:
            value = json.loads((folder / FEATURES).read_bytes())
            if value["format"] != _FORMAT:
                raise ModelError(f"{folder / FEATURES} is of another version: run `structformer index` again")
            vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            features = Features(value["names"], np.array(value["weights"], np.float32))
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{folder} is not a static encoder ({error})") from error
        is_table = isinstance(vectors, np.ndarray) and vectors.ndim == 2
        if not is_table or not len(vectors) == len(features) == len(features.weights):
            raise ModelError(f"{folder} is not a static encoder: {FEATURES} and {VECTORS} are not of one length")
        return cls(features, vectors)

    def save(self, folder: str | Path) -> None:
        """Write the features and their vectors, the latter in 16 bits."""
        folder = Path(folder)
        largest = float(np.abs(self.vectors).max(initial=0)) or 1.0  # the numbers of 16 bits lie close below 1
        np.save(folder / VECTORS, (self.vectors / largest).astype(np.float16))
        weights = [round(float(weight), 5) for weight in self.features.weights]
        write_json(folder / FEATURES, {"format": _FORMAT, "names": self.features.names, "weights": weights})

    def encode_queries(self, queries: Sequence[str]) -> Vectors:
        """Return (queries, dimensions) float32, unit length; zeros for one without a known feature."""
        return self.encode_documents(queries)

    def encode_documents(self, documents: Iterable[str]) -> Vectors:
        """Return (documents, dimensions) float32, unit length; zeros for one without a known feature."""
        texts, parts = iter(documents), [np.empty((0, self.dimensions), np.float32)]
        while chunk := list(islice(texts, _AT_ONCE)):
            words = WordNumbers()
            bags = words.bags(chunk)
            parts.append(unit(bags @ self.words(words)))
        return np.concatenate(parts)

    def words(self, words: Iterable[str]) -> Vectors:
        """Return (words, dimensions) float32: the vectors of words, as they count in a text's sum."""
        used, [table] = narrowed(len(self.features), self.features.table(words))
        vectors: Vectors = table @ np.asarray(self.vectors[used], np.float32)
        return vectors

    def for_bulk(self) -> StaticEncoder:
        """Itself, its vectors in memory: made for many texts."""
        return StaticEncoder(self.features, np.asarray(self.vectors, np.float32))

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Vectors:
        """Return (pairs,) float32: the cosine of queries[i] and documents[i]."""
        scores: Vectors = (self.encode_queries(queries) * self.encode_documents(documents)).sum(1)
        return scores

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> Vectors:
        """Return (queries, documents) float32: the cosines of all pairs."""
        return self.encode_queries(queries) @ self.encode_documents(documents).T


def unit(vectors: npt.NDArray[Any]) -> Vectors:
    """Return vectors of length one; zeros stay."""
    lengths = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    units: Vectors = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
    return units


def starting_vectors(bags: Table, table: Table, dimensions: int, *, seed: int) -> Vectors:
    """Return (features, dimensions) float32: the right singular vectors of the passages' rows, each made of length one.

    bags: (passages, words); table: (words, features). Where there are fewer passages, words or features than
    dimensions, the last columns are zeros. Passages are never multiplied out but a chunk at a time."""
    rows = bags.multiply(1 / np.maximum(_lengths(bags, table), 1e-9)[:, None]).tocsr().astype(np.float32)
    width = min(dimensions + _MORE, *bags.shape, table.shape[1])
    basis = np.random.default_rng(seed).standard_normal((table.shape[1], width), np.float32)
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(rows @ (table @ basis))[0].astype(np.float32)  # a basis of the columns' space
        basis = np.linalg.qr(table.T @ (rows.T @ basis))[0].astype(np.float32)
    projected = (rows @ (table @ basis)).astype(np.float64)
    _, directions = np.linalg.eigh(projected.T @ projected)
    vectors = (basis @ directions[:, ::-1].astype(np.float32))[:, :dimensions]
    result = np.zeros((table.shape[1], dimensions), np.float32)
    result[:, : vectors.shape[1]] = signed(vectors)
    return result


def signed(directions: Vectors) -> Vectors:
    """The columns, each with the sign that makes its largest number positive: directions have none of their own."""
    largest = directions[np.abs(directions).argmax(0), np.arange(directions.shape[1])]
    return directions * np.where(largest < 0, np.float32(-1), np.float32(1))


def _lengths(bags: Table, table: Table) -> npt.NDArray[np.float32]:
    """Return (passages,) the lengths of the passages' rows of features."""
    lengths = np.empty(bags.shape[0], np.float32)
    for start in range(0, bags.shape[0], _PASSAGES_AT_ONCE):
        part = bags[start : start + _PASSAGES_AT_ONCE] @ table
        lengths[start : start + _PASSAGES_AT_ONCE] = np.sqrt(np.asarray(part.multiply(part).sum(1)).ravel())
    return lengths
