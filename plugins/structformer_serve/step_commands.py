"""The commands that make a search: each in a process of its own, and the steps before a page answers. Light to import,
so that the first of them begins at once.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

from structformer.cli import PROGRESS_LINES
from structformer.errors import StructformerError
from structformer.extras import TORCH, are_installed
from structformer.workspace import Workspace

from structformer_serve.step_progress import Say, Show, StepProgress

OPENING = {"reading": 0.55, "resolving links": 0.2, "words": 0.25}
_NICE = 10  # whoever searches goes first
END_SECONDS = 5.0  # that a command has to stop before it is killed
_ERROR = "error: "  # how a command begins the line that says why it failed
_ADVICE = ("next: ", "report: ")  # how lines begin that lead to other commands: a page needs none of them


def _prepare(polite: bool) -> None:
    """In the new process, before it becomes the command's."""
    if polite and os.name == "posix":
        os.nice(_NICE)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG: when its parent dies


def missing_exports(workspace: Workspace) -> list[str]:
    """Return the names of encoders that a server would load torch for, the one that the search uses first; none where
    nothing can export them.
    """
    from structformer.retrieval import ENCODER, UNTRAINED, Index, encoder_kind, searches_without_torch, trained_encoder

    if not are_installed("onnxruntime", "onnx", "onnxscript", *TORCH):
        return []
    try:
        index = Index(workspace)
        names = (ENCODER, UNTRAINED) if trained_encoder(workspace) else (UNTRAINED, ENCODER)
    except StructformerError:  # the server says what is wrong
        return []
    there = [name for name in names if index.has_vectors(name) and encoder_kind(workspace, name).exported]
    return [name for name in there if not searches_without_torch(workspace, name)]


def first_search(workspace: Workspace, read: Callable[[], object], index: Callable[[bool], object], say: Say) -> None:
    """The steps before a search page answers: read the files, and index their words, unless there is more already.
    read, index: do a step; `index` gets whether it is the first one, which knows words alone.
    """
    if not workspace.has("index"):
        read()
        index(True)
        return
    from structformer.retrieval import is_stale, unrepeatable  # slow to import

    if why := unrepeatable(workspace):
        say(why)
        return
    read()
    if is_stale(workspace):
        index(False)


class Command:
    """A command of ours in a process of its own, which goes when this one does. polite: whether others go first. Ctrl-C
    does not reach it: who began it ends it.
    """

    def __init__(self, *arguments: str, polite: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "structformer", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, PROGRESS_LINES: "1"},
            process_group=0 if os.name == "posix" else None,
            preexec_fn=(lambda: _prepare(polite)) if os.name == "posix" else None,
        )

    def run(self, told: Say) -> tuple[int, str]:
        """Wait for its end; gives its exit code and the last line that it said. told: is called with every such
        line, but for one that is the reason why it failed. Interrupted, it is stopped.
        """
        last = ""
        assert self._process.stdout is not None
        try:
            for line in map(str.strip, self._process.stdout):
                if line:
                    if last:
                        told(last)
                    last = line
            code = self._process.wait()
        except BaseException:
            self.end()
            raise
        finally:
            self._process.stdout.close()
        if last and not code:
            told(last)
        return code, last.removeprefix(_ERROR)

    def end(self) -> None:
        """Stop it: what it was writing is tidied away by the next one."""
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()


def follow(command: Command, progress: StepProgress, show: Show, say: Say) -> tuple[int, str]:
    """Wait for a command's end, showing how far it is; gives its exit code and the reason of a failure. say: is called
    with what it says beside that, but for what it advises to do next.
    """

    def told(line: str) -> None:
        if progress.told(line):
            show(progress)
        elif not line.startswith(_ADVICE):
            say(line)

    show(progress)
    return command.run(told)


def threads_given(threads: int | None) -> tuple[str, ...]:
    """Return the option of a command that computes with so many cores; none for all of them."""
    return () if threads is None else ("--threads", str(threads))
