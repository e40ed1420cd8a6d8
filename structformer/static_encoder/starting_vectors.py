"""Where learning starts from: the truncated SVD of the passages' weighted features (latent semantic analysis).

Sources: Deerwester et al., JASIS 1990; randomised subspace iteration: Halko, Martinsson and Tropp, SIAM Review 2011,
algorithm 4.4."""

import numpy as np
import numpy.typing as npt

from structformer.static_encoder.words import Table

_ITERATIONS = 3
_MORE = 10  # columns beyond those wanted
_AT_ONCE = 2048  # passages
Vectors = npt.NDArray[np.float32]


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
    for start in range(0, bags.shape[0], _AT_ONCE):
        part = bags[start : start + _AT_ONCE] @ table
        lengths[start : start + _AT_ONCE] = np.sqrt(np.asarray(part.multiply(part).sum(1)).ravel())
    return lengths
