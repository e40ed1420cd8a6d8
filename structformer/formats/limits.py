"""Limits on the cost of one file or archive; engines.worker and ingestion.unpacking_limits keep to them."""

from dataclasses import dataclass

MAX_OPENED = 10_000  # files that one document may take in, each as often as it does: inclusions multiply


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one file may cost; one that exceeds a bound is reported and left out, never silently cut."""

    file_bytes: int = 32_000_000
    """Of a file, and of each member of an archive or page of a dump, unpacked."""
    seconds: float = 60.0
    """Processor time, not time on the clock, so that a busy machine loses no good file; of packed files see
    `seconds_for`."""
    memory_bytes: int = 2 * 1024**3
    archive_entries: int = 200_000
    """Members of an archive, with all that is nested in it."""
    archive_bytes: int = 20_000_000_000
    """Of all these members, unpacked."""
    # A quarter of what the slowest format is read at: reStructuredText at 220,000 bytes a second, 41,000 packed by xz.
    bytes_per_second: int = 50_000
    packed_bytes_per_second: int = 10_000
    ratio: int = 500
    """An archive or a dump unpacks to at most so many times its packed size, once it is over 100 MB."""
    nesting: int = 3

    def seconds_for(self, unpacked: int, packed: int) -> float:
        """Processor time for a packed file: `seconds` and more by its unpacked size, limited by its packed size."""
        return self.seconds + min(unpacked / self.bytes_per_second, packed / self.packed_bytes_per_second)
