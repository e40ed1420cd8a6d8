"""How many things may go on at once."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol


class _Gauge(Protocol):
    def set(self, value: float) -> None: ...


class Slots:
    """A number of slots, all free at first. gauge: shows how many are taken."""

    def __init__(self, most: int, gauge: _Gauge) -> None:
        self._most = most
        self._gauge = gauge
        self._taken = 0

    @property
    def full(self) -> bool:
        """Whether none is free."""
        return self._taken >= self._most

    def take(self) -> Slot:
        """Take one, even where none is free: whoever asks looks at `full` first."""
        self._change(1)
        return Slot(self)

    def _change(self, by: int) -> None:
        self._taken += by
        self._gauge.set(self._taken)


class Slot:
    """A taken slot, given back once: early by `give_back`, at the latest at the end of its block."""

    def __init__(self, slots: Slots | None) -> None:
        self._slots = slots

    def give_back(self) -> None:
        """Free the slot; more than once is harmless."""
        slots, self._slots = self._slots, None
        if slots is not None:
            slots._change(-1)

    def __enter__(self) -> Slot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()
