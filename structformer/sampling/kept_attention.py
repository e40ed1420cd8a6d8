"""The attention that HARP's tasks draw words by, computed shard by shard in several processes and kept on disk.

A file holds what one shard asks: a list of float16 numbers for each request, in the order of asking, and is named by a
digest of what is asked. So a file that is there is right, and a drawing that was stopped goes on where it was. Which
texts go through the model together depends on the shard alone, so what is drawn is the same whatever the number of
processes.
"""

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from structformer.sampling.neighbourhood import Request, Row, WordWeights
from structformer.sampling.store import BATCH_ROWS, open_arrow
from structformer.storage.files import remove, remove_temporaries, temporary_name, writing_errors

PAGES_AT_ONCE = 256
_NUMBERS = pa.schema([("weights", pa.list_(pa.float16()))])
_OPEN_FILES = 256


def kept(
    weights: WordWeights, groups: Callable[[], Iterable[Sequence[Request]]], started: Callable[[str], None]
) -> Path:
    """The file of the weights of these groups, computed unless there. started: called with each group's beginning."""
    digest = hashlib.blake2b(digest_size=16)
    for group in groups():
        for text, start, end in group:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(encoded)}/{start}/{end}/".encode() + encoded)
        digest.update(b"/")  # groups go through the model one after another
    path = weights.folder / f"{digest.hexdigest()}.arrow"
    if path.exists():
        return path
    with writing_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(temporary_name())
        try:
            _write(temporary, _computed(weights, groups(), started))
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    return path


def _computed(
    weights: WordWeights, groups: Iterable[Sequence[Request]], started: Callable[[str], None]
) -> Iterator[Row]:
    for group in groups:
        if group:
            started(group[0][0][:80])
        yield from weights.compute(group)


def _write(path: Path, rows: Iterator[Row]) -> None:
    with pa.ipc.new_file(str(path), _NUMBERS) as writer:
        while some := list(islice(rows, BATCH_ROWS)):
            ends = np.cumsum([0, *map(len, some)], dtype=np.int32)
            column = pa.ListArray.from_arrays(ends, pa.array(np.concatenate(some), pa.float16()))
            writer.write_batch(pa.RecordBatch.from_arrays([column], schema=_NUMBERS))


class KeptRows:
    """The rows of such files by their numbers. starts: the number of each file's first row, as of a shard's first
    document.
    """

    def __init__(self, files: Sequence[Path], starts: Sequence[int] = (0,)) -> None:
        self._starts = starts
        self._files = lru_cache(maxsize=_OPEN_FILES)(lambda place: open_arrow(files[place]))

    def __getitem__(self, number: int) -> Row:
        place = bisect_right(self._starts, number) - 1
        batch, row = divmod(number - self._starts[place], BATCH_ROWS)
        kept: Row = self._files(place).get_batch(batch).column(0)[row].values.to_numpy()
        return kept


def forget_others(folder: Path, used: Iterable[Path]) -> None:
    """Delete files of earlier drawings that this one did not use."""
    names = {path.name for path in used}
    remove_temporaries(folder)
    for path in folder.glob("*.arrow") if folder.is_dir() else ():
        if path.name not in names:
            remove(path)
