"""Making a served search better while it is served: vectors, training, exports, and what has changed in the sources.

Each step is a command in a process of its own, so that it takes nothing from the server and may be killed; the server
takes over what it leaves in the workspace."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from structformer.errors import StructformerError, WorkspaceError
from structformer.retrieval.index import Index, trained_encoder
from structformer.retrieval.pipeline import UNTRAINED
from structformer.serving.exports import missing_export
from structformer.serving.service import SearchService
from structformer.workspace import Workspace

_LEFT = re.compile(r"((?:\d+ (?:h|min|s) ?)+left)$")  # the end of a line of progress
_NICE = 10  # whoever searches goes first
# Children of a process take its niceness over, where there is such a thing.
_POLITE: dict[str, Any] = {"preexec_fn": lambda: os.nice(_NICE)} if os.name == "posix" else {}
Say = Callable[[str], object]


def structformer(*arguments: str, told: Say | None = None) -> tuple[int, str]:
    """Run a command; gives its exit code and the last line that it said. told: is called with every such line."""
    command = [sys.executable, "-m", "structformer", *arguments]
    last = ""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", **_POLITE
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            last = line.strip() or last
            if told is not None and line.strip():
                told(line.strip())
    return process.returncode, last


def has_vectors(workspace: Workspace) -> bool:
    """Whether the current index searches by meaning."""
    try:
        return Index(workspace).has_vectors(UNTRAINED)
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

    def end(self) -> None:
        """Begin nothing more."""
        self._ended.set()

    def run(self) -> None:
        self._improve()
        if self._watch:
            self._wait_for_changes()

    def _improve(self) -> None:
        try:
            if not has_vectors(self._workspace):
                self._step("Reading what the passages mean", "index")
            self._export()
            if self._train and not trained_encoder(self._workspace):
                self._step(f"Training on the documents, for up to {self._train}", "train", "--max-time", self._train)
                self._export()
        except WorkspaceError as error:
            self._say(str(error))
        finally:
            self._service.stage = ""

    def _export(self) -> None:
        name = missing_export(self._workspace)
        if name is not None:
            self._step("Preparing the encoder", "export", name, "--onnx", "--int8")

    def _step(self, stage: str, *arguments: str) -> None:
        """Run a command on the workspace. Raises WorkspaceError where it fails."""
        if self._ended.is_set():
            return
        self._service.stage = f"{stage} …"
        self._say(stage)

        def told(line: str) -> None:
            if left := _LEFT.search(line):
                self._service.stage = f"{stage}: {left[1]}"

        code, last = structformer(*arguments, "-w", str(self._workspace.path), "-v", told=told)
        if code:
            raise WorkspaceError(f"{stage}: {last.removeprefix('error: ')}")
        self._service.refresh()

    def _wait_for_changes(self) -> None:
        from watchfiles import watch

        ours = self._workspace.path.resolve()
        for changes in watch(*self._paths, stop_event=self._ended, debounce=1000, raise_interrupt=False):
            if all(Path(path).resolve().is_relative_to(ours) for _, path in changes):
                continue
            try:
                self._step("Reading what has changed", "ingest")
                self._step("Indexing it", "index")
            except WorkspaceError as error:
                self._say(str(error))
            finally:
                self._service.stage = ""
