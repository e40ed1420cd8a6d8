"""Making a served search better while it is served: vectors, training, exports, and what has changed in the sources.

Each step is a command in a process of its own, so that it takes nothing from the server and may be killed; the server
takes over what it leaves in the workspace."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from structformer.corpus import Corpus
from structformer.errors import StructformerError, WorkspaceError
from structformer.extras import TORCH, are_installed
from structformer.models import pretrained_offer, trained_models
from structformer.retrieval import (
    ENCODER,
    STRUCTURE,
    UNTRAINED,
    default_encoders,
    encoders_advice,
    has_vectors,
    pretrained_here,
    training_verdict,
    unrepeatable,
    would_lose_vectors,
)
from structformer.workspace import Workspace

from structformer_serve.service import SearchService
from structformer_serve.step_commands import END_SECONDS, Command, follow, missing_exports, threads_given
from structformer_serve.step_progress import Say, Show, StepProgress, in_lines

_LOOK_AGAIN = 200  # milliseconds between two looks at what has changed
# How much of its step each stage is, by the time it takes; what the documents teach is nearly all of its own step.
_VECTORS = {f"vectors of {UNTRAINED}": 0.9, f"vectors of {STRUCTURE}": 0.02}
STAGES = {"words": 0.05, **_VECTORS, STRUCTURE: 0.05, "questions": 0.1, "step": 0.9}
_LEARNING = {**STAGES, "words": 0.1, STRUCTURE: 0.8}


class Changes:
    """Changes below some paths from now on, kept until they are asked for, so that nothing is missed meanwhile."""

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
        """Yield one for each time that something has changed, until the end."""
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
            self.join(END_SECONDS)  # so that nothing is shown after it

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
            with_torch = are_installed(*TORCH)
            if not with_torch and not pretrained_here(self._workspace):
                if not would_lose_vectors(self._workspace):
                    self._say(pretrained_offer())
                return True
            encoders = default_encoders(self._workspace)
            if not has_vectors(self._workspace, encoders):
                corpus = Corpus.open(self._workspace)
                if self._advice and (advice := encoders_advice(self._workspace, corpus, encoders, self._advice)):
                    self._say(advice)
                self._step("Reading what the passages mean", "index", *self._limit, say=self._say)
            self._export()
            if not with_torch:
                return True
            # One that was found no better is not trained again either, until it is deleted.
            before = ENCODER in trained_models(self._workspace)
            if self._train and not before:
                self._learn(f"Training on the documents, for up to {self._train}", "--max-time", self._train)
            if not self._ended.is_set() and (verdict := training_verdict(self._workspace)):
                self._say(f"{'Trained before' if before else 'Trained'}. {verdict}")
            self._export()
        except StructformerError as error:
            if not self._ended.is_set():
                self._say(str(error))
            return False
        finally:
            self._service.doing = None
        return True

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
        progress = self._service.doing = StepProgress(step, stages=_LEARNING if STRUCTURE in arguments else STAGES)
        self._running = Command(*arguments, "-w", str(self._workspace.path), "-v", polite=True)
        try:
            code, why = follow(self._running, progress, self._show, say)
        finally:
            self._show(None)
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
            except StructformerError as error:
                self._say(str(error))
            finally:
                self._service.doing = None
