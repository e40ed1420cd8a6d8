"""The static encoder: a text's vector is the sum of its words', each the sum of its features'.

Learning starts from the truncated SVD of the passages' weighted features (latent semantic analysis). Sources:
Deerwester et al., JASIS 1990; randomised subspace iteration: Halko, Martinsson and Tropp, SIAM Review 2011, algorithm
4.4."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError
from structformer.static_encoder.words import Features, Table, WordNumbers, narrowed
from structformer.storage.files import write_json

Vectors = npt.NDArray[np.float32]
KIND = "static-encoder"
FEATURES, VECTORS = "features.json", "vectors.npy"
_FORMAT = 1
_AT_ONCE = 512  # texts
_ITERATIONS = 3
_MORE = 10  # columns beyond those wanted
_PASSAGES_AT_ONCE = 2048  # passages


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
