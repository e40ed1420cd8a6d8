"""How far a command is, in lines; on a terminal, `Output` draws bars."""

import os
import time
from collections.abc import Callable

import click

# In a command's environment: a line twice a second, however short the work is, for the program that began it.
PROGRESS_LINES = "STRUCTFORMER_PROGRESS_LINES"
_LONG_SECONDS = 15.0  # between lines of progress outside a terminal
_OFTEN_SECONDS = 0.5  # between them for the program that asked for lines
Report = Callable[[int, int], None]  # called with what is done, and the total
StageReport = Callable[[str, int, int], None]  # called with the stage's name too


def progress_lines(what: str, quiet: bool, verbose: bool) -> Report:
    """A line every tenth of the way, without `verbose` only if it takes long; time left as from the first report."""
    begun = last = time.monotonic()
    shown, before = 0, -1
    often = PROGRESS_LINES in os.environ

    def show(done: int, total: int) -> None:
        nonlocal begun, shown, before, last
        if before < 0 or not done:
            begun, before = time.monotonic(), done
        tenth = 10 * done // max(1, total)
        now = time.monotonic()
        wanted = tenth > shown and (verbose or now - last > _LONG_SECONDS)
        if quiet or not (wanted or (often and (done >= total or now - last > _OFTEN_SECONDS))):
            return
        shown, last = tenth, now
        left = duration((now - begun) / (done - before) * (total - done)) if done > before else ""
        click.echo(f"{what}: {done}/{total}{f', {left} left' if left else ''}", err=True)

    return show


def duration(seconds: float) -> str:
    """Return seconds in words: 3 min 5 s."""
    whole = int(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
