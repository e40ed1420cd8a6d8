"""Checking a workspace: every file that a command reads, compared with what was written."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from structformer.corpus import Corpus
from structformer.errors import WorkspaceError
from structformer.storage.files import fast_digest, is_temporary, read_json
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
    return [Problem(text, advice) for texts, advice in _looked_at(workspace) for text in texts]


def damage(workspace: str | Path | Workspace) -> WorkspaceError | None:
    """Explain a library's error by a damaged file of the workspace, with what to do; None if none is damaged."""
    workspace = Workspace(workspace)
    try:
        problems = check_workspace(workspace) if workspace.exists() else []
    except WorkspaceError as error:
        return error
    return next((WorkspaceError(f"{each.text}: {each.advice}") for each in problems), None)


def _looked_at(workspace: Workspace) -> Iterator[tuple[Iterable[str], str]]:
    """Yield what is wrong with each part of a workspace, and what to do."""
    current = workspace.state()["current"]
    if any((workspace.path / name).exists() for name in (BASE, SEAL)):
        yield Sealed(workspace.path, BASE_ADVICE).problems(), BASE_ADVICE
    for part in ADVICE:
        for folder in workspace.beside(part) if part in current else ():
            yield Sealed(folder, ADVICE[part]).problems(whole=True), f"{ADVICE[part]} again"
    if "corpus" in current:
        with suppress(WorkspaceError):  # a broken manifest is among the problems already
            yield Corpus.open(workspace).check(), "run `structformer ingest --fresh` again"
    for folder in (*sorted(workspace.models.glob("*")), *sorted(workspace.earlier_models.glob("*"))):
        is_model = any((folder / name).is_file() for name in (SEAL, MODEL_RECORD))
        if is_model and not is_temporary(folder.name):  # what a kill has left, the next writer deletes
            yield Sealed(folder, advice := f"train {folder.name} again").problems(), advice
    for state in (state for run in workspace.runs() for state in sorted(run.glob("*/state.json"))):
        yield _checkpoint_problems(state), "delete that checkpoint: --resume takes the one before it"
    for run in workspace.unfinished("run.json"):
        try:
            read_json(run / "run.json", digest=True)
        except WorkspaceError as error:
            yield [str(error)], "resume with the flags that the run was begun with"
    for folder in sorted(path.parent for path in workspace.cache.rglob(SEAL)):
        yield Sealed(folder, "").problems(), f"delete {folder}: it is made again"


def _checkpoint_problems(state: Path) -> Iterator[str]:
    try:
        digests = read_json(state, digest=True)["digests"]
        for name, digest in digests.items():
            if fast_digest(state.parent / name) != digest:
                yield f"{state.parent / name}: content differs from its recorded digest"
    except (WorkspaceError, OSError, KeyError, TypeError) as error:
        yield f"{state}: {error}"
