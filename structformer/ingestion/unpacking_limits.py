"""Limits of a packed file: bytes, members, processor time, also by packed size: a small one can unpack for days."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from structformer.errors import ReadError
from structformer.formats.source import Limits

_RATIO_BYTES = 100_000_000  # from this size on the ratio counts: short files compress to nearly nothing
_LOST_MEMBERS = 2  # that may end their readers: the archive is begun again after each


def check_ratio(size: int, packed: int, limits: Limits, what: str = "") -> None:
    """Raises ReadError if `packed` bytes unpack to too many. what: the part skipped, as "the rest is" of a file."""
    if size > _RATIO_BYTES and size > limits.ratio * max(1, packed):
        raise ReadError(f"unpacks to over {limits.ratio} times its size: {what}skipped")


class Clock:
    """Processor time of this process, without what a caller takes between the documents that it was given."""

    def __init__(self) -> None:
        self._apart = 0.0

    def seconds(self) -> float:
        return time.process_time() - self._apart

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the block's time."""
        began = time.process_time()
        try:
            yield
        finally:
            self._apart += time.process_time() - began


class Budget:
    """Budget of one packed file, whatever is nested in it: bytes, also as a multiple of its packed size, members,
    and processor time (`Limits.seconds_for`). Once spent, nothing more is read. now: the processor time so far.
    """

    def __init__(self, limits: Limits, packed_size: int, now: Callable[[], float] = time.process_time) -> None:
        self._limits = limits
        self._packed = packed_size
        self._bytes = 0  # of members
        self._passed = 0  # of streams, also what became no member
        self._members = 0
        self._lost = 0
        self._now = now
        self._began = now()

    def spend(self, size: int = 0, members: int = 0) -> None:
        """Count an archive's members and their bytes. Raises ReadError when there are too many."""
        limits = self._limits
        self._bytes += size
        self._members += members
        if self._members > limits.archive_entries:
            raise ReadError(f"over {limits.archive_entries} members: the rest is skipped")
        if self._bytes > limits.archive_bytes:
            raise ReadError(f"over {limits.archive_bytes / 1e9:.1f} GB in all: the rest is skipped")
        check_ratio(self._bytes, self._packed, limits, "the rest is ")

    def lose(self) -> None:
        """Count a member that ended its reader."""
        self._lost += 1

    def check(self, member: str = "") -> None:
        """Raises ReadError when the time is spent, or too many members were lost. member: the next to be read."""
        if self._lost >= _LOST_MEMBERS:
            raise ReadError(f"{self._lost} members ended their readers: the rest is skipped")
        unpacked, allowed = self._allowed()
        if self._now() - self._began > allowed:
            skipped = f"skipped from {member} on" if member else "the rest is skipped"
            raise ReadError(
                f"took over {allowed:.0f} s of processor time in all, for {self._packed / 1e6:.2f} MB packed and "
                f"{unpacked / 1e6:.2f} MB unpacked: {skipped}"
            )

    def is_half_spent(self) -> bool:
        """Whether half of the time is spent."""
        return self._now() - self._began > self._allowed()[1] / 2

    def _allowed(self) -> tuple[int, float]:
        """Return (bytes unpacked so far, seconds that it may take for them)."""
        unpacked = max(self._bytes, self._passed)
        return unpacked, self._limits.seconds_for(unpacked, self._packed)

    def passed(self, size: int) -> None:
        """Count bytes of a stream. Raises ReadError when there are too many, or they took too long."""
        self._passed += size
        check_ratio(self._passed, self._packed, self._limits, "the rest is ")
        self.check()

    def metered(self, stream: BinaryIO) -> BinaryIO:
        """Return the stream, whose bytes count when they are read."""
        return cast(BinaryIO, _Metered(stream, self))


class _Metered:
    def __init__(self, stream: BinaryIO, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._budget.passed(len(data))
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
