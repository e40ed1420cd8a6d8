"""The lines of a text file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from structformer.errors import UsageError


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends. Raises UsageError when it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from error
    yield from text.split("\n") if "\r" not in text else text.splitlines()
