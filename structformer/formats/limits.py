"""Limits: what one file, or one archive, may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one file may cost; one that exceeds a bound is reported and left out, never silently cut.

    seconds: processor time, not time on the clock, so that a busy machine loses no good file. A packed file counts by
    what it unpacks to: each member and each page of a dump may have `file_bytes`, an archive with all that is nested in
    it at most `archive_entries` members and `archive_bytes`, no more than `ratio` times its packed size (once over 100
    MB), and `seconds` and one more for every `bytes_per_second` that it unpacks to."""

    file_bytes: int = 32_000_000
    seconds: float = 60.0
    memory_bytes: int = 2 * 1024**3
    archive_entries: int = 200_000
    archive_bytes: int = 20_000_000_000
    bytes_per_second: int = 250_000
    ratio: int = 500
    nesting: int = 3
