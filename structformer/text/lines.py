"""The lines of a text file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from structformer.errors import UsageError


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, packed with gzip or not, without their ends. Raises UsageError when it cannot be
    read.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("utf-8-sig")
    except (EOFError, zlib.error) as error:
        raise UsageError(f"{path} is not whole ({error})") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from error
    yield from text.split("\n") if "\r" not in text else text.splitlines()
