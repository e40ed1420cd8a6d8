"""Checking a workspace: every file that a command reads, compared with what was written."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from structformer.corpus import Corpus
from structformer.errors import WorkspaceError
from structformer.storage.digests import fast_digest
from structformer.storage.files import is_temporary, read_json
from structformer.storage.seal import SEAL, Sealed
from structformer.workspace import ADVICE, Workspace
from structformer.workspace.workspace import BASE, BASE_ADVICE, MODEL_RECORD


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is not as it was written, and what to do."""

    text: str
    advice: str


def check_workspace(workspace: str | Path | Workspace) -> list[Problem]:
    """List files that are not as they were written. Raises WorkspaceError if the folder is not a workspace."""
    workspace = Workspace(workspace)
    workspace.state()
    return list(_problems(workspace))


def damage(workspace: str | Path | Workspace) -> WorkspaceError | None:
    """Explain a library's error by a damaged file of the workspace, with what to do; None if none is damaged."""
    workspace = Workspace(workspace)
    try:
        problems = check_workspace(workspace) if workspace.exists() else []
    except WorkspaceError as error:
        return error
    return next((WorkspaceError(f"{each.text}: {each.advice}") for each in problems), None)


def _problems(workspace: Workspace) -> Iterator[Problem]:
    current = workspace.state()["current"]
    if any((workspace.path / name).exists() for name in (BASE, SEAL)):
        for text in Sealed(workspace.path, BASE_ADVICE).problems():
            yield Problem(text, BASE_ADVICE)
    for part in ADVICE:
        if part in current:
            for folder in workspace.beside(part):
                for text in Sealed(folder, ADVICE[part]).problems(whole=True):
                    yield Problem(text, f"{ADVICE[part]} again")
    if "corpus" in current:
        with suppress(WorkspaceError):  # a broken manifest is among the problems already
            for text in Corpus.open(workspace).check():
                yield Problem(text, "run `structformer ingest --fresh` again")
    for folder in (*sorted(workspace.models.glob("*")), *sorted(workspace.earlier_models.glob("*"))):
        is_model = any((folder / name).is_file() for name in (SEAL, MODEL_RECORD))
        if is_model and not is_temporary(folder.name):  # what a kill has left, the next writer deletes
            for text in Sealed(folder, advice := f"train {folder.name} again").problems():
                yield Problem(text, advice)
    for state in (state for run in workspace.runs() for state in sorted(run.glob("*/state.json"))):
        for text in _checkpoint_problems(state):
            yield Problem(text, "delete that checkpoint: --resume takes the one before it")
    for run in workspace.unfinished("run.json"):
        try:
            read_json(run / "run.json", digest=True)
        except WorkspaceError as error:
            yield Problem(str(error), "resume with the flags that the run was begun with")
    for folder in sorted(path.parent for path in workspace.cache.rglob(SEAL)):
        for text in Sealed(folder, "").problems():
            yield Problem(text, f"delete {folder}: it is made again")


def _checkpoint_problems(state: Path) -> Iterator[str]:
    try:
        digests = read_json(state, digest=True)["digests"]
        for name, digest in digests.items():
            if fast_digest(state.parent / name) != digest:
                yield f"{state.parent / name}: content differs from its recorded digest"
    except (WorkspaceError, OSError, KeyError, TypeError) as error:
        yield f"{state}: {error}"
