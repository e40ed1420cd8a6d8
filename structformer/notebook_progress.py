"""Progress of long work in a notebook: a bar below the cell, where the caller asked for nothing else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from structformer.notebook_html import text

_PAUSE = 0.2  # seconds between two drawings
Progress = Callable[[str, int, int], None]


def notebook_progress(progress: Progress | None = None) -> Progress | None:
    """The caller's progress; without one, a bar where a notebook runs this, else none."""
    return progress or (Bars() if in_notebook() else None)


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this process. IPython on a terminal is none; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


class Bars:
    """A bar for each stage, drawn again at most five times a second."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}
        self._drawn = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        now = time.monotonic()
        if stage in self._bars and done < total and now - self._drawn < _PAUSE:
            return
        self._drawn = now
        self.show(stage, done, total)

    def show(self, stage: str, done: int, total: int, said: str = "") -> None:
        """Draw a stage's bar, with what is said beside it in the place of its share."""
        share = 1.0 if total <= 0 else min(1.0, done / total)
        ipython = import_module("IPython.display")
        shown = ipython.HTML(
            f'<div><progress max="1" value="{share:.3f}"></progress> {text(stage)} {text(said or f"{share:.0%}")}</div>'
        )
        if stage in self._bars:
            self._bars[stage].update(shown)
        else:
            self._bars[stage] = ipython.display(shown, display_id=True)
