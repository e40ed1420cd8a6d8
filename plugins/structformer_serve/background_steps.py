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
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from structformer.cli import PROGRESS_LINES
from structformer.corpus import Corpus
from structformer.errors import WorkspaceError
from structformer.extras import TORCH, are_installed, needs
from structformer.models import trained_models
from structformer.retrieval import (
    ENCODER,
    STRUCTURE,
    UNTRAINED,
    default_encoders,
    encoders_advice,
    has_vectors,
    is_stale,
    training_verdict,
    unrepeatable,
    would_lose_vectors,
)
from structformer.workspace import Workspace

from structformer_serve.missing_exports import missing_exports
from structformer_serve.service import SearchService
from structformer_serve.step_progress import Say, Show, StepProgress, in_lines

_NICE = 10  # whoever searches goes first
_LOOK_AGAIN = 200  # milliseconds between two looks at what has changed
_END_SECONDS = 5.0  # that a command has to stop before it is killed
_ERROR = "error: "  # how a command begins the line that says why it failed
_ADVICE = ("next: ", "report: ")  # how lines begin that lead to other commands: a page needs none of them
# How much of its step each stage is, by the time it takes.
_STAGES = {"words": 0.1, f"vectors of {UNTRAINED}": 0.9, STRUCTURE: 0.8, "questions": 0.1, "step": 0.9}
OPENING = {"reading": 0.55, "resolving links": 0.2, "words": 0.25}


def _prepare(polite: bool) -> None:
    """In the new process, before it becomes the command's."""
    if polite and os.name == "posix":
        os.nice(_NICE)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG: when its parent dies


def first_search(workspace: Workspace, read: Callable[[], object], index: Callable[[bool], object], say: Say) -> None:
    """The steps before a search page answers: read the files, and index their words, unless there is more already.
    read, index: do a step; `index` gets whether it is the first one, which knows words alone.
    """
    if why := unrepeatable(workspace):
        say(why)
        return
    read()
    if not workspace.has("index"):
        index(True)
    elif is_stale(workspace):
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
            self._process.wait(_END_SECONDS)
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
    try:
        return command.run(told)
    finally:
        show(None)


def threads_given(threads: int | None) -> tuple[str, ...]:
    """The option of a command that computes with so many cores; none for all of them."""
    return () if threads is None else ("--threads", str(threads))


class Changes:
    """What changes below some paths from now on, kept until it is asked for, so that nothing is missed meanwhile."""

    def __init__(self, paths: Sequence[Path], workspace: Workspace) -> None:
        """workspace: what changes in it is ours, and no change."""
        from watchfiles import watch

        self._ours = workspace.path.resolve()
        self._ended = threading.Event()
        self._found = watch(
            *paths,
            stop_event=self._ended,
            debounce=1000,
            rust_timeout=_LOOK_AGAIN,
            yield_on_timeout=True,  # so that the first one returns, and it watches from here on
            raise_interrupt=False,
        )
        self._first = next(self._found, set())

    def __iter__(self) -> Iterator[None]:
        """One for each time that something has changed, until the end."""
        for changed in chain([self._first], self._found):
            if any(not Path(path).resolve().is_relative_to(self._ours) for _, path in changed):
                yield

    def end(self) -> None:
        """Watch no more."""
        self._ended.set()


class Improver(threading.Thread):
    """Goes through the steps that are not done yet, then waits for changes of the sources where that is wanted."""

    def __init__(
        self,
        service: SearchService,
        *,
        train: str | None,
        changes: Changes | None,
        threads: int | None = None,
        say: Say,
        show: Show | None = None,
        advice: str = "",
    ) -> None:
        """train: how long, as 5m; None for not at all. changes: what to wait for when all is done. threads: cores that
        indexing and training take; None: all. say: is called with what was found; show: with the progress of the step
        that runs, None when it ends; by default it is said now and then. advice: the line to run where an encoder of
        many languages would serve better.
        """
        super().__init__(name="improver", daemon=True)
        self._service = service
        self._workspace = service.workspace
        self._train = train
        self._changes = changes
        self._limit = threads_given(threads)
        self._say = say
        self._show = show or in_lines(say)
        self._advice = advice
        self._ended = threading.Event()
        self._running: Command | None = None

    def end(self) -> None:
        """Stop what is running, and begin nothing more."""
        self._ended.set()
        if self._changes is not None:
            self._changes.end()
        if (running := self._running) is not None:
            running.end()
        if self.is_alive() and threading.current_thread() is not self:
            self.join(_END_SECONDS)  # so that nothing is shown after it

    def run(self) -> None:
        if self._improve() and not self._ended.is_set():
            then = "" if self._changes is None else ": changed files are read as they change"
            self._say(f"Nothing is left to do{then}.")
        if self._changes is not None:
            self._follow(self._changes)

    def _improve(self) -> bool:
        """Go through the steps; gives whether all that is wanted is done."""
        try:
            if not self._service.current.searches_by_meaning:
                self._step("Learning meaning from the documents", "index", *self._limit, "--encoder", STRUCTURE)
            if not are_installed(*TORCH):
                if not would_lose_vectors(self._workspace):
                    self._say(needs("a pretrained encoder beside what the documents themselves teach", TORCH))
                return True
            if not has_vectors(self._workspace, default_encoders(self._workspace)):
                self._advise()
                self._step("Reading what the passages mean", "index", *self._limit, say=self._say)
            self._export()
            # One that was found no better is not trained again either, until it is deleted.
            before = ENCODER in trained_models(self._workspace)
            if self._train and not before:
                self._learn(f"Training on the documents, for up to {self._train}", "--max-time", self._train)
            if not self._ended.is_set() and (verdict := training_verdict(self._workspace)):
                self._say(f"{'Trained before' if before else 'Trained'}. {verdict}")
            self._export()
        except WorkspaceError as error:
            if not self._ended.is_set():
                self._say(str(error))
            return False
        finally:
            self._service.doing = None
        return True

    def _advise(self) -> None:
        """Say where the encoder that follows does not read the documents."""
        encoders = default_encoders(self._workspace)
        corpus = Corpus.open(self._workspace)
        if self._advice and (said := encoders_advice(self._workspace, corpus, encoders, self._advice)):
            self._say(said)

    def _learn(self, step: str, *limit: str) -> None:
        """Train, from where a run was stopped where it can be gone on with."""
        if any(folder.name == ENCODER for folder in self._workspace.runs()):
            with suppress(WorkspaceError):  # as when the documents are others by now
                self._step(step, "train", *limit, *self._limit, "--resume", "--name", ENCODER)
                return
        self._step(step, "train", *limit, *self._limit)

    def _export(self) -> None:
        for name in missing_exports(self._workspace):
            self._step("Preparing the encoder", "export", name, "--onnx", "--int8")

    def _step(self, step: str, *arguments: str, say: Say = lambda line: None) -> None:
        """Run a command on the workspace, and show which of its stages runs. say: is called with the rest of its lines.
        Raises WorkspaceError where it fails.
        """
        if self._ended.is_set():
            return
        progress = self._service.doing = StepProgress(step, stages=_STAGES)
        self._running = Command(*arguments, "-w", str(self._workspace.path), "-v", polite=True)
        code, why = follow(self._running, progress, self._show, say)
        self._running = None
        if code and not self._ended.is_set():
            raise WorkspaceError(f"{step}: {why or 'it failed'}")
        self._service.refresh()

    def _follow(self, changes: Changes) -> None:
        for _ in changes:
            if why := unrepeatable(self._workspace):
                self._say(why)
                continue
            try:
                self._step("Reading what has changed", "ingest", say=self._say)
                self._step("Indexing it", "index", *self._limit, say=self._say)
            except WorkspaceError as error:
                self._say(str(error))
            finally:
                self._service.doing = None
