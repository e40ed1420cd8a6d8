"""Several processes that wait for the first of them, however long it takes: torch's collective operations end a job
after 10 minutes (NCCL) or 30 (gloo), but drawing or judging may rightly take hours.
"""

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch.distributed
from accelerate import Accelerator, PartialState

from structformer.errors import StructformerError

_NO_LIMIT = timedelta(days=365)
Made = TypeVar("Made")


class Turns:
    """The processes of a run, in a group without a time limit, by the processors alone. To be made by all at once; a
    process that dies ends the wait of the others.
    """

    def __init__(self, accelerator: Accelerator | PartialState) -> None:
        self._first = accelerator.is_main_process
        several = accelerator.num_processes > 1 and torch.distributed.is_initialized()
        self._group = torch.distributed.new_group(backend="gloo", timeout=_NO_LIMIT) if several else None
        if self._group is not None:
            atexit.register(_leave, self._group)

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

    def made_by_first(self, make: Callable[[], Made]) -> Made:
        """Give all processes what `make` gives the first (picklable). Its StructformerError is raised in all."""
        if self._group is None:
            return make()
        told: list[Any] = [None, None]
        if self._first:
            try:
                told[0] = make()
            except StructformerError as error:
                told[1] = error
        torch.distributed.broadcast_object_list(told, src=0, group=self._group, device=torch.device("cpu"))
        made: Made = told[0]
        if told[1] is not None:
            raise told[1]
        return made


def _leave(group: Any) -> None:
    """Gloo's threads must end before the process does, which would else abort. NCCL's groups are left to torch: leaving
    one waits for the other processes, and one of them may have died.
    """
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group(None if torch.distributed.get_backend() == "gloo" else group)


def made_by_first(make: Callable[[], Made]) -> Made:
    """Return the same before a run begins; without a launcher that started several processes, `make` is just called."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return make()
    return Turns(PartialState(cpu=not torch.cuda.is_available())).made_by_first(make)
