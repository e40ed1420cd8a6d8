"""Limits: what one file, or one archive, may cost. They are kept by structformer.engines.worker, those of
archives by structformer.ingestion.unpacking_limits.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_OPENED = 10_000  # files that one document may take in, each as often as it does: inclusions multiply


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one file may cost; one that exceeds a bound is reported and left out, never silently cut.

    seconds: processor time, not time on the clock, so that a busy machine loses no good file. A packed file counts by
    what it unpacks to: each member and each page of a dump may have `file_bytes`, an archive with all that is nested in
    it at most `archive_entries` members and `archive_bytes`, no more than `ratio` times its packed size (once over 100
    MB), and the processor time of `seconds_for`; a dump has the ratio and the time."""

    file_bytes: int = 32_000_000
    seconds: float = 60.0
    memory_bytes: int = 2 * 1024**3
    archive_entries: int = 200_000
    archive_bytes: int = 20_000_000_000
    # A quarter of what the slowest format is read at: reStructuredText at 220,000 bytes a second, 41,000 packed by xz.
    bytes_per_second: int = 50_000
    packed_bytes_per_second: int = 10_000
    ratio: int = 500
    nesting: int = 3

    def seconds_for(self, unpacked: int, packed: int) -> float:
        """Processor time that a packed file may take in all: `seconds`, and one more for every `bytes_per_second` that
        it has unpacked to, but no more of these than its packed size allows by `packed_bytes_per_second`.
        """
        return self.seconds + min(unpacked / self.bytes_per_second, packed / self.packed_bytes_per_second)
