"""Progress of a command that makes a served search better: which of its stages runs, and how much longer."""

import math
import re
import time
from collections import deque
from collections.abc import Callable, Mapping

_SAID_SECONDS = 15.0  # between two lines about a step
_COUNTED = re.compile(r"(?P<stage>[^:/]+?):? (?P<done>\d+)/(?P<total>\d+)(?=[,:]|$)")  # a line of progress
_BEGUN = re.compile(r"(?P<stage>[^:/]+) \.\.\.")  # a line that says what is done now, without counting it
_STEPS = "step"  # what training calls its own stage
_FOUNDED_SECONDS = 3.0  # that a stage is watched before its time left is said
_MOST_LATER = 1.5  # times the running stage that the stages after it may be, by their shares
_REMEMBERED = 8  # lines by which the speed is measured: what comes later may be slower than what came first
_MINUTE, _HOUR = 60, 3600


class StepProgress:
    """A step's progress by the lines that its commands print. The time left is that of the stage that runs, by the
    reader's clock, and of the stages after it if they are named. None is said that is more than twice an earlier one.
    """

    def __init__(
        self, step: str, clock: Callable[[], float] = time.monotonic, stages: Mapping[str, float] | None = None
    ) -> None:
        """step: what is done, in words. stages: how much of the step each one is, together 1. One that is not named
        takes half of what is left.
        """
        self.step = step
        self._clock = clock
        self._stages = stages or {}
        self._stage = ""
        self._total = 0
        self._part = 0.0  # how much of the step the stage is
        self._before = 0.0  # and how much of it was done when the stage began
        self._lines: deque[tuple[float, int]] = deque(maxlen=_REMEMBERED)
        self._least = math.inf  # seconds left, the fewest that were said of the work that is left

    def told(self, line: str) -> bool:
        """Take in a line that the command has printed; gives whether it was one of progress."""
        if counted := _COUNTED.match(line):
            stage, done, total = counted["stage"], int(counted["done"]), int(counted["total"])
            if (stage, total) != (self._stage, self._total):
                self._begin(stage, total)
            if not done:
                self._lines.clear()  # what it needed before it began does not count
            self._lines.append((self._clock(), done))
            if done >= total:
                self._begin("", 0)  # what comes next has not said its name yet
        elif begun := _BEGUN.fullmatch(line):
            self._begin(begun["stage"], 0)
        else:
            return False
        return True

    def _begin(self, stage: str, total: int) -> None:
        if not {stage, self._stage} & self._stages.keys():
            self._least = math.inf
        self._before = self.share
        left = 1.0 - self._before
        self._stage, self._total = stage, total
        self._part = min(left, self._stages.get(stage, left / 2)) if stage else 0.0
        self._lines.clear()

    @property
    def stage(self) -> str:
        """Which part of the step runs; "" where it has not said its name, or has none."""
        return "" if self._stage == _STEPS else self._stage

    @property
    def share(self) -> float:
        """How much of the step is done, from 0 to 1; never less than before."""
        done = self._lines[-1][1] / max(1, self._total) if self._lines else 0.0
        return min(1.0, self._before + self._part * min(1.0, done))

    @property
    def left(self) -> str:
        """Return how long the step still takes, as "about 20 s left"; "" if that is not known, or should have ended."""
        if len(self._lines) < 2:
            return ""
        (first, begun), (last, done) = self._lines[0], self._lines[-1]
        later = (1.0 - self._before) / self._part - 1.0 if self._stage in self._stages else 0.0
        if done <= begun or last - first < _FOUNDED_SECONDS or later > _MOST_LATER:
            return ""
        speed = (last - first) / (done - begun)
        left = _rounded(speed * (self._total * (1.0 + later) - done) - (self._clock() - last))
        if not 0 < left <= 2 * self._least:
            return "longer than expected" if left > 0 else ""
        self._least = min(left, self._least)
        return f"about {_in_words(left)} left"

    def __str__(self) -> str:
        details = ", ".join(filter(None, (self.stage, left := self.left)))
        return (f"{self.step}: {details}" if details else self.step) + ("" if left else " …")


Say = Callable[[str], object]
Show = Callable[[StepProgress | None], object]  # called whenever a step's progress changes, with None when it ends


def in_lines(say: Say, clock: Callable[[], float] = time.monotonic) -> Show:
    """Progress in lines: that a step begins, and then now and then how far it is."""
    shown: StepProgress | None = None
    last_said = 0.0

    def show(progress: StepProgress | None) -> None:
        nonlocal shown, last_said
        now, begins = clock(), progress is not shown
        if progress is not None and (begins or now - last_said >= _SAID_SECONDS):
            last_said = now
            say(progress.step if begins else str(progress))
        shown = progress

    return show


def _rounded(seconds: float) -> int:
    """Return seconds as they are said: a time that seldom changes, since a screen reader says each of them."""
    step = 10 if seconds <= _MINUTE - 10 else _MINUTE
    return step * math.ceil(seconds / step)


def _in_words(seconds: int) -> str:
    if seconds < _HOUR:
        return f"{seconds} s" if seconds < _MINUTE else f"{seconds // _MINUTE} min"
    return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} min"
