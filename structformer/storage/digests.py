"""Digests: sha256 where a name is made of one, XXH3 where a file is compared with what was written."""

import hashlib
from pathlib import Path

import xxhash


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fast_digest(path: Path) -> str:
    """Return the XXH3 digest (128 bits) of a file: it tells damage, at the speed of memory, but resists no attacker."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()


def bytes_digest(data: bytes) -> str:
    """Return the XXH3 digest (128 bits) of bytes."""
    return xxhash.xxh3_128_hexdigest(data)
