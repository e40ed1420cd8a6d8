"""Drawing a corpus's Examples, shard by shard on all cores if it is large, the same whatever the number of workers.

In parts, each draws from its own shards; the merge puts the parts together. Tasks that look at other documents need the
page texts of all shards first: then the parts run twice, and the first time each leaves its page texts for the others.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.did_you_mean import checked_options
from structformer.engines import Engine
from structformer.engines.job_parts import Part, PartsFolder
from structformer.errors import UsageError, WorkspaceError
from structformer.formats.builder import without_garbage_collection
from structformer.graph import ReferenceGraph
from structformer.sampling.by_attention import draw_by_attention, weigh_pages
from structformer.sampling.collection import CollectionCounts, left_out, with_stop_words, write_collection
from structformer.sampling.example import FROM_PASSAGES, Census, SamplingOptions
from structformer.sampling.held_out import held_out_share
from structformer.sampling.negatives import PassageTable, write_passages
from structformer.sampling.neighbourhood import WordWeights
from structformer.sampling.sets import SampleRequest, set_digest, staying
from structformer.sampling.shard_drawing import (
    BY_ATTENTION,
    CENSUS,
    DrawTask,
    Progress,
    Steps,
    neighbourhoods,
    page_folders,
    redrawn,
    run_tasks,
)
from structformer.sampling.store import PageTable, PartWriter, Samples, write_pages
from structformer.sampling.tasks import Ground, Need, Task, chosen_tasks, default_tasks
from structformer.storage.files import become, building_folder, is_temporary, read_json, remove, write_json
from structformer.workspace import Workspace

_SURVEYS = "surveys"
_SECTIONS = 400  # from which a process draws for about as long as it takes to begin
_SHARD = f"{__name__}:draw_shard"
COMMAND = "sample"
_DRAWN = "drawn"


@checked_options(task="tasks", jobs="workers")
def sample(
    workspace: str | Path | Workspace = ".structformer",
    tasks: Iterable[str] | None = None,
    *,
    options: SamplingOptions | None = None,
    seed: int = 0,
    epoch: int = 0,
    held_out: float | None = None,
    weights: WordWeights | None = None,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
) -> Samples:
    """Draw the Examples of the tasks from the workspace's corpus and store them there.

    tasks: None for the default ones. held_out: share of documents kept out for evaluation; None chooses by the corpus's
    size. weights: the attention that HARP's tasks draw words by. epoch: another one gives other random choices of the
    same seed.
    Raises UsageError on an unknown task or one of HARP's without weights, WorkspaceError without a corpus.
    """
    names = default_tasks() if tasks is None else tuple(tasks)
    request = SampleRequest(names, options or SamplingOptions(), seed, epoch, held_out, weights)
    return draw_samples(request, workspace, workers=workers, engine=engine, progress=progress)


def draw_samples(
    request: SampleRequest,
    workspace: str | Path | Workspace,
    *,
    add: bool = False,
    wait: float = 0.0,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
) -> Samples:
    """Draw the Examples asked for and store them beside the sets of other options. add: to those of their set, which
    they else replace. wait: seconds for another writer. Returns those drawn now. Raises as `sample`.
    """
    chosen = chosen_tasks(request.tasks)
    by_attention = [task.name for task in chosen if task.by_attention]
    if by_attention and request.weights is None:
        raise UsageError(
            f"{', '.join(by_attention)} draw words by a model's attention: name the model (--attention-model)"
        )
    request = replace(request, tasks=tuple(task.name for task in chosen))
    workspace = Workspace(workspace)
    with workspace.publishing("structformer sample", wait=wait) as publication:
        folder = publication.folder("samples")
        draw(request, workspace, folder, workers=workers, engine=engine, progress=progress)
        publication.beside["samples"] = stay_beside(request, workspace, add=add)
    return Samples.open(workspace, generation=workspace.folder("samples").name)


def stay_beside(request: SampleRequest, workspace: Workspace, *, add: bool = False) -> list[str]:
    """Return the generations of Examples that stay beside those of a request."""
    corpus = Corpus.open(workspace)
    return staying(workspace, corpus, set_digest(corpus, request.chosen()), request.tasks if add else None)


def draw(
    request: SampleRequest,
    workspace: Workspace,
    folder: Path,
    *,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
    part: Part | None = None,
) -> bool:
    """Draw Examples into a folder, which `Samples.at` opens, keeping those there of the same request. part: draw these
    shards' alone, without a manifest; False if it must wait for other parts' page texts.
    """
    corpus = Corpus.open(workspace)
    names, options, seed = request.tasks, with_stop_words(request.options, corpus), request.seed
    share = held_out_share(corpus.document_count) if request.held_out is None else request.held_out
    chosen = chosen_tasks(names)
    by_attention = [task for task in chosen if task.drawn_by_attention]
    plain = tuple(task.name for task in chosen if not task.drawn_by_attention)
    beyond = any(task.in_corpus for task in chosen)
    base = DrawTask(str(workspace), str(folder), 0, "examples", plain, options, seed, request.epoch, share)
    drawn = [replace(base, shard=shard) for shard in range(len(corpus.shards))]
    own = list(part.of_tasks(drawn)) if part else drawn
    count = workers or (min(os.cpu_count() or 1, 1 + corpus.section_count // _SECTIONS) if engine == "local" else None)
    readers = workers or (1 if corpus.section_count < _SECTIONS else None)  # None: as the model's devices allow
    weights = request.weights
    steps = Steps(progress, len(own) * (beyond + bool(plain) + (bool(by_attention) and 1 + bool(weights))))
    if beyond:
        run_tasks(_SHARD, [replace(task, what="pages", tasks=names) for task in own], engine, count, steps)
        if by_attention and weights:
            weigh_pages(own, weights, engine, readers, steps)
        if not all(page.exists() for page in page_folders(folder, len(drawn))):
            return False
        if any(Need.COLLECTION in task.needs for task in chosen):
            write_collection(page_folders(folder, len(drawn)), folder / "collection.json")
        _survey(base, corpus, chosen, weights)
    if options.negatives_from in FROM_PASSAGES and not (folder / "passages").exists():
        with building_folder(folder) as building:
            write_passages(corpus, building, seed=seed, held_out=share)
            become(building, "passages")
    if plain:
        run_tasks(_SHARD, own, engine, count, steps)
    if by_attention:
        if weights:
            weigh_pages(drawn, weights, engine, readers, Steps(None, 0))  # those that other parts lack
        asking = [replace(task, tasks=tuple(each.name for each in by_attention)) for task in own]
        draw_by_attention(asking, weights, engine, readers, steps)
    if part is None:
        _finish(base, corpus, names, request)
    return True


def _finish(base: DrawTask, corpus: Corpus, names: Sequence[str], request: SampleRequest) -> None:
    """Write the manifest of all parts, and delete what only the drawing needed."""
    folder = Path(base.folder)
    suffixes = [""] * bool(base.tasks) + [BY_ATTENTION] * any(task.drawn_by_attention for task in chosen_tasks(names))
    census = Census()
    parts: list[dict[str, Any]] = []
    for suffix in suffixes:
        for shard in range(len(corpus.shards)):
            name = f"{shard:05}{suffix}"
            part = Census.of(read_json(folder / name / CENSUS))
            parts.append({"name": name, "examples": dict(sorted(part.examples.items()))})
            census.add(part)
    for name in ("pages", "passages", "weights", _SURVEYS, "collection.json", "anchors.sqlite"):
        remove(folder / name)
    for name in names:
        census.examples.setdefault(name, 0)
    manifest = {
        "corpus": corpus.fingerprint,
        "tool_version": __version__,
        "tasks": list(names),
        "seed": base.seed,
        "epoch": base.epoch,
        "held_out": base.held_out,
        "options": asdict(base.options),
        "attention": request.attention if any(task.by_attention for task in chosen_tasks(names)) else None,
        "set": set_digest(corpus, request.chosen()),
        "census": census.as_dict(),
        "parts": parts,
    }
    write_json(folder / "manifest.json", manifest)


def _survey(base: DrawTask, corpus: Corpus, tasks: Sequence[Task], weights: WordWeights | None) -> None:
    """Make the surveys of these tasks that are not there."""
    folder = Path(base.folder)
    for task in tasks:
        if task.survey is None or (folder / _SURVEYS / task.survey.name).exists():
            continue
        if task.by_attention and weights is None:
            raise WorkspaceError(
                f"{task.name} asks a model's attention of the whole corpus first: run `structformer sample` again"
            )
        pages = PageTable(corpus, page_folders(folder, len(corpus.shards)))
        ground = Ground(pages, base.options, base.seed, weights, _collection(folder), base.workspace)
        with building_folder(folder / _SURVEYS) as building:
            task.survey.write(ground, building)
            become(building, task.survey.name)


def _collection(folder: Path) -> CollectionCounts | None:
    return CollectionCounts(folder / "collection.json") if (folder / "collection.json").exists() else None


def draw_shard(task: DrawTask, started: Callable[[str], None]) -> None:
    """A worker's job: one shard's page texts, or its Examples of the tasks that need no attention."""
    corpus = Corpus.open(task.workspace)
    with without_garbage_collection(), building_folder(task.output.parent) as building:
        if task.what == "pages":
            write_pages(
                corpus,
                task.shard,
                building,
                seed=task.seed,
                held_out=task.held_out,
                options=task.options,
                counted=left_out(task.options.stop_words)
                if any(Need.COLLECTION in each.needs for each in chosen_tasks(task.tasks))
                else None,
            )
        else:
            _draw(task, corpus, building, started)
        become(building, task.output.name)


def _draw(task: DrawTask, corpus: Corpus, output: Path, started: Callable[[str], None]) -> None:
    chosen = chosen_tasks(task.tasks)
    folder = Path(task.folder)
    graph = ReferenceGraph.open(task.workspace, corpus)
    pages = PageTable(corpus, page_folders(folder, len(corpus.shards)))
    collection = _collection(folder)
    surveys = {each.survey.name: each.survey for each in chosen if each.survey}
    surveyed = {name: survey.read(folder / _SURVEYS / name) for name, survey in surveys.items()}
    table = PassageTable(folder / "passages", graph, task.options) if (folder / "passages").exists() else None
    census = Census()
    wants_graph = any(each.in_corpus for each in chosen)
    with PartWriter(output) as writer:
        for here in neighbourhoods(task, corpus, graph, pages, wants_graph):
            started(here.view.document.id)
            writer.next_document()
            here.collection = collection
            for each in chosen:
                here.surveyed = surveyed[each.survey.name] if each.survey else None
                place = here if each.in_corpus else here.view
                for example, rng in redrawn(task, each, place, here.view.document.id, census):
                    writer.add(table.replaced(each, example, here.number, rng) if table is not None else example)
    census.examples.update(writer.counts)
    write_json(output / CENSUS, census.as_dict())


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
