"""Several processes that wait for the first of them, however long it takes.

A collective operation of torch ends a job after 10 minutes (NCCL) or 30 (gloo), so that a process that hangs is
noticed. What the first process does for all, drawing Examples or judging, may rightly take hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch.distributed
from accelerate import Accelerator

_NO_LIMIT = timedelta(days=365)


class Turns:
    """The processes of a run, in a group of their own whose time limit is lifted. It goes through the processors alone,
    so nothing is asked of the devices meanwhile. To be made by all processes at once; a process that dies ends the wait
    of the others.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self._first = accelerator.is_main_process
        several = accelerator.num_processes > 1 and torch.distributed.is_initialized()
        self._group = torch.distributed.new_group(backend="gloo", timeout=_NO_LIMIT) if several else None

    @contextmanager
    def first_then_others(self) -> Iterator[None]:
        """The block is run by the first process, and when that is done by the others."""
        if not self._first:
            self.wait()
        yield
        if self._first:
            self.wait()

    def wait(self) -> None:
        """Go on when all processes are here."""
        if self._group is not None:
            torch.distributed.barrier(group=self._group)
