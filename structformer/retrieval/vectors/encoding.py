"""Encoding the texts of an index: each once, kept from the index before, and from a run that was killed."""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

_CHUNK = 1024  # texts that are encoded, and kept, together: ten seconds on a slow machine
_DIGEST_BYTES = 8
_MOST_READ = 1024  # characters of a text that an encoder reads, about
Vectors = npt.NDArray[np.float32]
Vector = npt.NDArray[np.floating]  # float16 or float32
FLOAT_TYPES: dict[int, type[np.floating]] = {16: np.float16, 32: np.float32}  # by bits


class Encoder(Protocol):
    """Protocol of an encoder of texts as vectors."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def encode_documents(self, documents: Sequence[str]) -> Vectors:
        """Return (documents, dimensions) float32, unit length."""
        ...


class KeepsTokens(Protocol):
    """Protocol of a store that keeps the vectors of texts' tokens (second_look.py)."""

    def __contains__(self, digest: bytes) -> bool:
        """Whether those of a text of that digest are there."""
        ...

    def encode(self, encoder: Any, digests: Sequence[bytes], texts: Sequence[str]) -> Vectors:
        """Return the texts' own vectors; those of their tokens are kept."""
        ...

    def write(self, digests: Sequence[bytes]) -> None:
        """Write those of the next texts."""
        ...


def product(left: Any, right: Any) -> Any:
    """Of two matrices, in the left one's type; rows of 16 bits are widened first, since a CPU multiplies float32 many
    times faster. By torch where it runs: numpy's own threads would wait for those of the encoder that has just run.
    """
    torch = sys.modules.get("torch")
    # While another thread imports it, half of it is there, and a call into it would hold both threads for ever.
    if torch is None or getattr(torch.__spec__, "_initializing", False):
        return left @ right.astype(left.dtype, copy=False)
    ours = torch.from_numpy(left)
    return torch.mm(ours, torch.from_numpy(right).to(ours.dtype)).numpy()


class KnownVectors:
    """An earlier index's vectors by text digests; of the same type only, as a corpus must give the same vectors."""

    def __init__(self, path: Path, bits: int = 32) -> None:
        self._rows: dict[bytes, int] = {}
        self._vectors: Vector | None = None
        try:
            digests = np.load(digest_path(path), allow_pickle=False)
            vectors: Vector = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, EOFError, ValueError):
            return
        if len(digests) == len(vectors) and vectors.dtype == FLOAT_TYPES[bits]:
            self._vectors = vectors
            self._rows = {digest.tobytes(): row for row, digest in enumerate(digests)}

    def get(self, digest: bytes) -> Vector | None:
        """Return the vector of a text of that digest, None where there is none."""
        row = self._rows.get(digest)
        return None if row is None or self._vectors is None else self._vectors[row]


class VectorJournal:
    """Vectors as they are made, in a file for the next run; rows from the first damaged one on are dropped."""

    def __init__(self, path: Path, dimensions: int, elsewhere: Sequence[Path] = ()) -> None:
        """elsewhere: files that other processes wrote, which are read and left as they are."""
        self._row = np.dtype([("digest", "u1", _DIGEST_BYTES), ("vector", "<f4", dimensions), ("check", "<u4")])
        self._path = path.with_name(f"{path.name}-{dimensions}.journal")
        self._elsewhere = elsewhere
        self._rows: dict[bytes, tuple[npt.NDArray[np.void], int]] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> VectorJournal:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        for path in self._elsewhere:
            self._read(path)
        whole = self._read(self._path) if self._path.exists() else 0
        self._file = self._path.open("ab")
        self._file.truncate(whole * self._row.itemsize)
        return self

    def _read(self, path: Path) -> int:
        """Take a file's rows up to the first that is damaged; returns how many these are."""
        whole = path.stat().st_size // self._row.itemsize
        if not whole:
            return 0
        rows = np.memmap(path, self._row, "r", shape=(whole,))
        for number, row in enumerate(rows):
            if _check(row) != int(row["check"]):
                return number
            self._rows[row["digest"].tobytes()] = rows, number
        return whole

    def __exit__(self, *raised: object) -> None:
        self._rows.clear()
        if self._file is not None:
            self._file.close()

    def get(self, digest: bytes) -> Vectors | None:
        """Return the vector of a text of that digest that a killed run has made, None where there is none."""
        row = self._rows.get(digest)
        return None if row is None else row[0][row[1]]["vector"]

    def add(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Keep a chunk's vectors."""
        rows = np.zeros(len(digests), self._row)
        rows["digest"] = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, _DIGEST_BYTES)
        rows["vector"] = vectors
        rows["check"] = [_check(row) for row in rows]
        assert self._file is not None
        self._file.write(rows.tobytes())
        self._file.flush()

    def remove(self) -> None:
        """Delete the file, once its vectors are in the index."""
        self._path.unlink(missing_ok=True)


def _check(row: np.void) -> int:
    return zlib.crc32(row["vector"].tobytes(), zlib.crc32(row["digest"].tobytes())) or 1  # a row of zeros is none


def in_context(encoder: Encoder, passages: Iterable[str], documents: Iterable[int]) -> Iterable[str]:
    """Return passages as an encoder reads them, in their documents' context if it can. documents: of each, in order."""
    made = getattr(encoder, "in_context", None)
    return passages if made is None else made(passages, documents)


def _kept(key: bytes, kept: Iterable[KnownVectors | VectorJournal]) -> Vector | None:
    """Return the vector of the first that has it."""
    return next((vector for each in kept if (vector := each.get(key)) is not None), None)


def efforts(
    texts: Iterable[str], known: KnownVectors, journal: VectorJournal, tokens: KeepsTokens | None
) -> Iterator[int]:
    """Yield what each text costs `encode_texts`, in characters that are read; next to nothing where it is known."""
    for text in texts:
        is_kept = _kept(key := _digest(text), (known, journal)) is not None and (tokens is None or key in tokens)
        yield 1 if is_kept else 1 + min(len(text), _MOST_READ)


def encode_missing(
    texts: Sequence[str], encoder: Encoder, known: Sequence[KnownVectors], journal: VectorJournal
) -> int:
    """Put the vectors of the texts that have none yet into a journal; returns how many these were."""
    missing: dict[bytes, str] = {}
    for text in texts:
        key = _digest(text)
        if _kept(key, (journal, *known)) is None:
            missing[key] = text
    keys = list(missing)
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        journal.add(chunk, encoder.encode_documents([missing[key] for key in chunk]))
    return len(keys)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def encode_texts(
    texts: Iterable[str],
    count: int,
    encoder: Encoder,
    path: Path,
    known: KnownVectors,
    journal: VectorJournal,
    *,
    tokens: KeepsTokens | None = None,
    bits: int = 32,
    progress: Callable[[int], object] = lambda done: None,
) -> int:
    """Write (count, dimensions) vectors and digests; returns how many were encoded. tokens: keeps token vectors."""
    kind = FLOAT_TYPES[bits]
    vectors = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(count, encoder.dimensions))
    digests = np.lib.format.open_memmap(digest_path(path), mode="w+", dtype=np.uint8, shape=(count, _DIGEST_BYTES))
    remaining = iter(texts)
    done = encoded = 0
    while chunk := list(islice(remaining, _CHUNK)):
        keys = [_digest(text) for text in chunk]
        missing: list[int] = []
        for place, key in enumerate(keys):
            vector = _kept(key, (known, journal))
            if vector is None or (tokens is not None and key not in tokens):
                missing.append(place)
            else:
                vectors[done + place] = vector
        if missing:
            some, its_keys = [chunk[place] for place in missing], [keys[place] for place in missing]
            fresh = encoder.encode_documents(some) if tokens is None else tokens.encode(encoder, its_keys, some)
            journal.add(its_keys, fresh)
            vectors[[done + place for place in missing]] = fresh
        if tokens is not None:
            tokens.write(keys)
        digests[done : done + len(chunk)] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, _DIGEST_BYTES)
        done += len(chunk)
        encoded += len(missing)
        progress(done)
    vectors.flush()
    digests.flush()
    return encoded


def digests_of(texts: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Return (texts, 8) the digests by which texts are known."""
    return np.frombuffer(b"".join(map(_digest, texts)), np.uint8).reshape(-1, _DIGEST_BYTES)


def new_share(texts: Iterable[str], path: Path) -> float:
    """Return the share of texts whose digests do not lie beside a file; 1 where none do."""
    try:
        known = {each.tobytes() for each in np.load(digest_path(path), allow_pickle=False)}
    except (OSError, EOFError, ValueError):
        return 1.0
    known_texts = [_digest(text) in known for text in texts]
    return 1 - sum(known_texts) / max(1, len(known_texts))


def digest_path(path: Path) -> Path:
    """Return where the digests of the texts lie beside their vectors."""
    return path.with_name(f"{path.stem}.digests.npy")
