"""Drawing in parts: each draws from its own shards of the corpus; the merge puts the parts together.

Tasks that look at other documents need the page texts of all shards first: then the parts run twice, and the first
time each leaves its page texts for the others.
"""

import os
import shutil
from pathlib import Path

from structformer.corpus import Corpus
from structformer.engines import Engine
from structformer.engines.job_parts import Part, PartsFolder
from structformer.errors import WorkspaceError
from structformer.sampling.draw_examples import draw, stay_beside
from structformer.sampling.request import SampleRequest
from structformer.sampling.shard_drawing import Progress
from structformer.sampling.store import Samples
from structformer.sampling.tasks import chosen_tasks
from structformer.storage.files import is_temporary
from structformer.workspace import Workspace

COMMAND = "sample"
_DRAWN = "drawn"


def sample_part(
    part: Part,
    request: SampleRequest,
    workspace: str | Path | Workspace,
    *,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
) -> bool:
    """Draw from one part of the corpus's shards. False if only its page texts were made, as others' are missing: run it
    again once they are there. Raises UsageError if parts of another request are there, WorkspaceError without a corpus.
    """
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    chosen_tasks(request.tasks)  # a wrong name leaves no plan behind
    parts = PartsFolder(workspace, COMMAND)
    parts.begin(part, {"corpus": corpus.fingerprint, **request.description()})
    folder = parts.folder / _DRAWN
    folder.mkdir(exist_ok=True)
    whole = draw(request, workspace, folder, workers=workers, engine=engine, progress=progress, part=part)
    if whole:
        parts.end(part)
    return whole


def merge_samples(
    workspace: str | Path | Workspace,
    *,
    rest: bool = False,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
) -> Samples:
    """Make the Examples of what the parts drew. rest: draw here what is missing. Raises WorkspaceError naming the parts
    that have not ended, or if the corpus is another one by now.
    """
    workspace = Workspace(workspace)
    parts = PartsFolder(workspace, COMMAND)
    plan = parts.to_merge(rest=rest)
    if plan["corpus"] != Corpus.open(workspace).fingerprint:
        raise WorkspaceError(
            f"the parts in {parts.folder} were drawn from an earlier corpus: `structformer merge --drop` deletes them"
        )
    with workspace.publishing("structformer merge") as publication:
        folder = publication.folder("samples")
        if (parts.folder / _DRAWN).is_dir():
            shutil.copytree(
                parts.folder / _DRAWN,
                folder,
                copy_function=_linked,
                ignore=lambda _, names: list(filter(is_temporary, names)),
                dirs_exist_ok=True,
            )
        request = SampleRequest.of(plan)
        draw(request, workspace, folder, workers=workers, engine=engine, progress=progress)
        publication.beside["samples"] = stay_beside(request, workspace)
    parts.drop()
    return Samples.open(workspace, generation=workspace.folder("samples").name)


def _linked(source: str, target: str) -> None:
    """Link a file where the file system can, else copy it: the parts stay until the merge is done."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
