"""The steps of `up` as the terminal shows them: a bar for the one that runs, and lines that stay for what it found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from structformer.cli import Output, printable

from structformer_serve.step_progress import StepProgress, in_lines

if TYPE_CHECKING:
    from rich.progress import Progress

_WIDE = 100  # columns that a bar's stage and time need beside it


class StepsView:
    """Shows the progress of steps, one after the other. Where there is no terminal, or a log is written to it, progress
    is said in lines.
    """

    def __init__(self, out: Output, *, bars: bool = True) -> None:
        self._out = out
        self._lines = None if bars and not out.quiet and sys.stderr.isatty() else in_lines(self.say)
        self._shown: StepProgress | None = None
        self._bar: Progress | None = None

    def say(self, text: str) -> None:
        """A line that stays, above the bar where there is one."""
        if self._bar is None:
            self._out.note(printable(text))
        elif not self._out.quiet:
            from structformer.cli import log, named

            log(text)
            self._bar.console.print(named(printable(text)), markup=False, highlight=False, soft_wrap=True)

    def __call__(self, progress: StepProgress | None) -> None:
        """Show how far a step is; None: it has ended."""
        if self._lines is not None:
            self._lines(progress)
            return
        if progress is not self._shown:
            self.close()
            self._shown = progress
            if progress is not None:
                self.say(progress.step)
                self._bar = _bar()
        if self._bar is not None and progress is not None:
            self._bar.update(
                self._bar.task_ids[0],
                description=progress.stage,
                total=1.0,
                completed=progress.share,
                left=progress.left,
                percent=f"{progress.share:.0%}",
            )

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (
        BarColumn(40 if console.width >= _WIDE else 20),
        TextColumn("{task.fields[percent]:>4}"),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[left]}", style="dim"),
    )
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    bar.add_task("", total=None, left="", percent="")
    bar.start()
    return bar
