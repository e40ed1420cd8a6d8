"""The lines of a text file, and the numbers in them."""

import gzip
import math
import re
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from structformer.errors import UsageError

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, packed with gzip or not, without their ends. Raises UsageError if unreadable."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("utf-8-sig")
    except (EOFError, zlib.error) as error:
        raise UsageError(f"{path} is not whole ({error})") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from error
    yield from text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def as_number(text: str) -> float:
    """A number in a table. Raises ValueError, also where Python would know one: 1_000, inf, 1e999, other digits."""
    if not _NUMBER.fullmatch(text.strip()) or not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]!r} is not a number")
    return value


def columns(line: str, numbers: Collection[int]) -> list[str]:
    """A line's cells between tabs, if as many as allowed, else between blanks; so too if TREC's columns are there."""
    cells, words = [cell.strip() for cell in line.split("\t")], line.split()
    is_trec = len(words) == max(numbers) and words[1].upper() in ("0", "Q0")
    return cells if len(cells) in numbers and not is_trec else words
