"""Making a served search better while it is served: vectors, training, exports, and what has changed in the sources.

Each step is a command in a process of its own, so that it takes nothing from the server and may be killed; the server
takes over what it leaves in the workspace."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from structformer.errors import StructformerError, WorkspaceError
from structformer.extras import TORCH, are_installed, needs
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.encoder_names import ENCODER
from structformer.retrieval.index import (
    Index,
    default_encoders,
    unrepeatable,
    would_lose_vectors,
)
from structformer.serving.exports import missing_exports
from structformer.serving.progress import StepProgress
from structformer.serving.service import SearchService
from structformer.workspace import Workspace

_NICE = 10  # whoever searches goes first
_SAID_SECONDS = 15.0  # between two lines about a step on the terminal
Say = Callable[[str], object]


def _prepare(polite: bool) -> None:
    """In the new process, before it becomes the command's."""
    if polite:
        os.nice(_NICE)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG: when its parent dies


class Command:
    """A command of ours in a process of its own, which goes when this one does. polite: whether others go first."""

    def __init__(self, *arguments: str, polite: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "structformer", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=(lambda: _prepare(polite)) if os.name == "posix" else None,
        )

    def run(self, told: Say) -> tuple[int, str]:
        """Wait for its end; gives its exit code and the last line that it said. told: is called with every such
        line.
        """
        last = ""
        assert self._process.stderr is not None
        with self._process:
            for line in map(str.strip, self._process.stderr):
                if line:
                    last = line
                    told(line)
        return self._process.returncode, last

    def end(self) -> None:
        """Stop it: what it was writing is tidied away by the next one."""
        self._process.terminate()


def has_vectors(workspace: Workspace) -> bool:
    """Whether the current index has the vectors of the bi-encoder that one made now would have, if any."""
    try:
        index = Index(workspace)
        return all(index.has_vectors(name) for name in default_encoders(workspace))
    except StructformerError:
        return False


class Improver(threading.Thread):
    """Goes through the steps that are not done yet, then waits for changes of the sources where that is wanted."""

    def __init__(
        self, service: SearchService, paths: Sequence[Path], *, train: str | None, watch: bool, say: Say
    ) -> None:
        """train: how long, as 5m; None for not at all."""
        super().__init__(name="improver", daemon=True)
        self._service = service
        self._workspace = service.workspace
        self._paths = list(paths)
        self._train = train
        self._watch = watch
        self._say = say
        self._ended = threading.Event()
        self._running: Command | None = None

    def end(self) -> None:
        """Stop what is running, and begin nothing more."""
        self._ended.set()
        if self._running is not None:
            self._running.end()

    def run(self) -> None:
        self._improve()
        if self._watch:
            self._wait_for_changes()

    def _improve(self) -> None:
        if not are_installed(*TORCH):
            if not would_lose_vectors(self._workspace):
                self._say(needs("a pretrained encoder beside what the documents themselves teach", TORCH))
            return
        try:
            if not has_vectors(self._workspace):
                self._step("Reading what the passages mean", "index")
            self._export()
            # One that was found no better is not trained again either, until it is deleted.
            if self._train and ENCODER not in trained_models(self._workspace):
                self._step(f"Training on the documents, for up to {self._train}", "train", "--max-time", self._train)
                if ENCODER in trained_models(self._workspace):
                    self._say(read_record(self._workspace, ENCODER).verdict)
                self._export()
        except WorkspaceError as error:
            self._say(str(error))
        finally:
            self._service.doing = None

    def _export(self) -> None:
        for name in missing_exports(self._workspace):
            self._step("Preparing the encoder", "export", name, "--onnx", "--int8")

    def _step(self, step: str, *arguments: str) -> None:
        """Run a command on the workspace, and say which of its stages runs: on the page always, on the terminal now and
        then. Raises WorkspaceError where it fails.
        """
        if self._ended.is_set():
            return
        progress = self._service.doing = StepProgress(step)
        self._say(step)
        said = time.monotonic()

        def told(line: str) -> None:
            nonlocal said
            progress.told(line)
            if (now := time.monotonic()) - said >= _SAID_SECONDS:
                said = now
                self._say(str(progress))

        self._running = Command(*arguments, "-w", str(self._workspace.path), "-v", polite=True)
        code, last = self._running.run(told)
        self._running = None
        if code and not self._ended.is_set():
            raise WorkspaceError(f"{step}: {last.removeprefix('error: ')}")
        self._service.refresh()

    def _wait_for_changes(self) -> None:
        from watchfiles import watch

        ours = self._workspace.path.resolve()
        for changes in watch(*self._paths, stop_event=self._ended, debounce=1000, raise_interrupt=False):
            if all(Path(path).resolve().is_relative_to(ours) for _, path in changes):
                continue
            if why := unrepeatable(self._workspace):
                self._say(why)
                continue
            try:
                self._step("Reading what has changed", "ingest")
                self._step("Indexing it", "index")
            except WorkspaceError as error:
                self._say(str(error))
            finally:
                self._service.doing = None
