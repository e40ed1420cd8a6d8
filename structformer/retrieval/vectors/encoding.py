"""Encoding the texts of an index: each once, kept from the index before, and from a run that was killed."""

from __future__ import annotations

import hashlib
import struct
import sys
import zlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

CHUNK = 1024  # texts that are encoded, and kept, together: ten seconds on a slow machine
DIGEST_BYTES = 8
_RECORD = struct.Struct(f"<{DIGEST_BYTES}sII")  # a text's digest, the bytes that are kept of it, the check sum
Vectors = npt.NDArray[np.float32]
Vector = npt.NDArray[np.floating]  # float16 or float32
FLOAT_TYPES: dict[int, type[np.floating]] = {16: np.float16, 32: np.float32}  # by bits


class Encoder(Protocol):
    """Protocol of an encoder of texts as vectors."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def encode_documents(self, documents: Sequence[str]) -> Vectors:
        """Return (documents, dimensions) float32, unit length."""


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
    """Vectors as they are made, in a file for the next run; records from the first damaged one on are dropped."""

    def __init__(self, path: Path, dimensions: int, elsewhere: Sequence[Path] = (), *, tokens: bool = False) -> None:
        """elsewhere: files that other processes wrote, which are read and left as they are. tokens: of each text the
        vectors of its tokens in 8 bits, which the run that makes them reads too.
        """
        self._kind, suffix = ("i1", "tokens") if tokens else ("<f4", "journal")
        self._path = path.with_name(f"{path.name}-{dimensions}.{suffix}")
        self._elsewhere, self._reads_own = elsewhere, tokens
        self._places: dict[bytes, tuple[IO[bytes], int, int]] = {}

    def __enter__(self) -> VectorJournal:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opened:
            for path in self._elsewhere:
                self._read(opened.enter_context(path.open("rb")))
            self._file = opened.enter_context(self._path.open("a+b"))
            self._end = self._read(self._file)
            self._file.truncate(self._end)
            self._opened = opened.pop_all()
        return self

    def _read(self, file: IO[bytes]) -> int:
        """Take a file's records up to the first that is cut off or damaged; returns where these end."""
        length, end = file.seek(0, 2), file.seek(0)
        while len(head := file.read(_RECORD.size)) == _RECORD.size:
            digest, size, check = _RECORD.unpack(head)
            body = file.read(min(size, length))
            if len(body) < size or zlib.crc32(digest + body) != check:
                break
            self._places[digest] = file, end + _RECORD.size, size
            end += _RECORD.size + size
        return end

    def __exit__(self, *raised: object) -> None:
        self._places.clear()
        self._opened.close()

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._places

    def get(self, digest: bytes) -> npt.NDArray[Any] | None:
        """Return what a killed run has made for a text of that digest, as one row; None where there is none."""
        if digest not in self._places:
            return None
        file, start, size = self._places[digest]
        file.seek(start)
        return np.frombuffer(file.read(size), self._kind)

    def add(self, digests: Sequence[bytes], vectors: Iterable[npt.NDArray[np.floating]]) -> None:
        """Keep the vectors of some texts."""
        for digest, vector in zip(digests, vectors, strict=True):
            body = vector.astype(self._kind).tobytes()
            self._file.write(_RECORD.pack(digest, len(body), zlib.crc32(digest + body)) + body)
            if self._reads_own:
                self._places[digest] = self._file, self._end + _RECORD.size, len(body)
            self._end += _RECORD.size + len(body)
        self._file.flush()


def in_context(encoder: Encoder, passages: Iterable[str], documents: Iterable[int]) -> Iterable[str]:
    """Return passages as an encoder reads them, in their documents' context if it can. documents: of each, in order."""
    made = getattr(encoder, "in_context", None)
    return passages if made is None else made(passages, documents)


def kept_vector(key: bytes, kept: Iterable[KnownVectors | VectorJournal]) -> Vector | None:
    """Return the vector of the first that has it."""
    return next((vector for each in kept if (vector := each.get(key)) is not None), None)


def encode_missing(
    texts: Sequence[str], encoder: Encoder, known: Sequence[KnownVectors], journal: VectorJournal
) -> int:
    """Put the vectors of the texts that have none yet into a journal; returns how many these were."""
    missing: dict[bytes, str] = {}
    for text in texts:
        key = text_digest(text)
        if kept_vector(key, (journal, *known)) is None:
            missing[key] = text
    keys = list(missing)
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        journal.add(chunk, encoder.encode_documents([missing[key] for key in chunk]))
    return len(keys)


def text_digest(text: str) -> bytes:
    """Return 64 bits by which a text is known."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def digests_of(texts: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Return (texts, 8) the digests by which texts are known."""
    return np.frombuffer(b"".join(map(text_digest, texts)), np.uint8).reshape(-1, DIGEST_BYTES)


def new_share(texts: Iterable[str], path: Path) -> float:
    """Return the share of texts whose digests do not lie beside a file; 1 where none do."""
    try:
        known = {each.tobytes() for each in np.load(digest_path(path), allow_pickle=False)}
    except (OSError, EOFError, ValueError):
        return 1.0
    known_texts = [text_digest(text) in known for text in texts]
    return 1 - sum(known_texts) / max(1, len(known_texts))


def digest_path(path: Path) -> Path:
    """Return where the digests of the texts lie beside their vectors."""
    return path.with_name(f"{path.stem}.digests.npy")
