"""Which file takes long: each worker notes its file in a file, which whoever waits for workers reads. So it works on a
cluster too, and for a worker caught in a single call of a library.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

from structformer.storage.files import remove, temporary_name

SECONDS = 5.0  # that a file may take before it is named
_LOOK_SECONDS = 1.0
Slow = Callable[[str, float], None]


@contextmanager
def noting(folder: str, started: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """`started`, which now also notes in a folder what this worker is at; "" for no folder."""
    with ExitStack() as stack:
        note = None
        with suppress(OSError):  # a cluster's worker may not see the folder
            if folder:
                place = Path(folder) / secrets.token_hex(8)
                note = stack.enter_context(place.open("wb", buffering=0))
                stack.callback(place.unlink, missing_ok=True)
        numbers = count()

        def noted(path: str) -> None:
            if note is not None:
                with suppress(OSError):
                    note.seek(0)
                    note.write(f"{next(numbers)} {path}\n".encode("utf-8", "backslashreplace"))
            started(path)

        yield noted


@contextmanager
def noticing(cache: Path, slow: Slow | None) -> Iterator[str]:
    """A folder for the notes, "" if nobody asks. slow: called once with a file's path and seconds, if over SECONDS."""
    if slow is None:
        yield ""
        return
    folder = cache / temporary_name()
    folder.mkdir(parents=True, exist_ok=True)
    ended = threading.Event()
    thread = threading.Thread(target=_look, args=(folder, slow, ended), daemon=True)
    thread.start()
    try:
        yield str(folder)
    finally:
        ended.set()
        thread.join()
        remove(folder)


def _look(folder: Path, slow: Slow, ended: threading.Event) -> None:
    seen: dict[str, tuple[str, float]] = {}  # what each worker is at, and since when
    named: set[str] = set()
    while not ended.wait(_LOOK_SECONDS):
        now = time.monotonic()
        for worker, at in _notes(folder).items():
            begun = seen[worker][1] if worker in seen and seen[worker][0] == at else now
            seen[worker] = at, begun
            path = at.partition(" ")[2]
            if now - begun > SECONDS and path not in named:
                named.add(path)
                slow(path, now - begun)


def _notes(folder: Path) -> dict[str, str]:
    notes: dict[str, str] = {}
    with suppress(OSError):  # another writer may have tidied up
        for note in list(folder.iterdir()):
            with suppress(OSError):
                line, end, _ = note.read_bytes().partition(b"\n")
                if end:
                    notes[note.name] = line.decode("utf-8", "replace")
    return notes
