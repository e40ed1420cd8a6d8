"""Drawing a corpus's Examples: shard by shard on all cores, each shard a part of the store, the same whatever the
number of workers.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.document import LinkKind
from structformer.engines import Engine, Work, mapped
from structformer.errors import UsageError, WorkspaceError
from structformer.formats.gc_pause import without_garbage_collection
from structformer.graph import ReferenceGraph
from structformer.parts import Part
from structformer.sampling.example import FROM_PASSAGES, Census, Example, SamplingOptions
from structformer.sampling.held_out import held_out_share, is_held_out
from structformer.sampling.negatives import PassageTable, write_passages
from structformer.sampling.neighbourhood import Neighbourhood, Reference, WordWeights
from structformer.sampling.pages import CollectionCounts, PageTable, write_collection, write_pages
from structformer.sampling.request import SampleRequest
from structformer.sampling.store import PartWriter, Samples
from structformer.sampling.task import Need, Task
from structformer.sampling.tasks import DEFAULT_TASKS, chosen_tasks, drawn_examples, generator
from structformer.sampling.tasks.harp import attention_requests
from structformer.sampling.view import DocumentView, is_short
from structformer.storage.files import building_folder, read_json, temporary_name, write_json
from structformer.workspace import Workspace

Progress = Callable[[int, int], None]
_SECONDS = 3600.0  # that one shard may take
_MEMORY_BYTES = 4 * 1024**3
_CENSUS = "census.json"
_BY_ATTENTION = "-attention"  # suffix of the parts that a model's attention drew
_AT_ONCE = 64  # documents whose attention is computed together
_KNOWN_ANCHORS = 2000  # whose targets are kept in memory: some have very many
_REFERRING = {LinkKind.HYPERLINK.value, LinkKind.XREF.value, LinkKind.CITATION.value}


@dataclass(frozen=True, slots=True)
class DrawTask:
    """A worker's task: one shard's page texts, or one shard's Examples."""

    workspace: str
    folder: str
    shard: int
    what: str  # "pages", "examples" or "attention"
    tasks: tuple[str, ...]
    options: SamplingOptions
    seed: int
    epoch: int
    held_out: float

    @property
    def output(self) -> Path:
        """The folder that the task makes."""
        folder = Path(self.folder) / "pages" if self.what == "pages" else Path(self.folder)
        return folder / f"{self.shard:05}{_BY_ATTENTION if self.what == 'attention' else ''}"


def sample(
    workspace: str | Path | Workspace = ".structformer",
    tasks: Iterable[str] = DEFAULT_TASKS,
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

    held_out: share of documents kept out for evaluation; None chooses by the corpus's size. weights: the attention that
    HARP's tasks draw words by. epoch: another one gives other random choices of the same seed.
    Raises UsageError on an unknown task or one of HARP's without weights, WorkspaceError when there is no corpus.
    """
    request = SampleRequest(tuple(tasks), options or SamplingOptions(), seed, epoch, held_out, weights)
    return draw_samples(request, workspace, workers=workers, engine=engine, progress=progress)


def draw_samples(
    request: SampleRequest,
    workspace: str | Path | Workspace,
    *,
    workers: int | None = None,
    engine: str | Engine = "local",
    progress: Progress | None = None,
) -> Samples:
    """Draw the Examples that are asked for and store them in the workspace. Raises what `sample` raises."""
    chosen = chosen_tasks(request.tasks)
    by_attention = [task.name for task in chosen if task.by_attention]
    if by_attention and request.weights is None:
        raise UsageError(
            f"{', '.join(by_attention)} draw words by a model's attention: name the model (--attention-model)"
        )
    request = replace(request, tasks=tuple(task.name for task in chosen))
    workspace = Workspace(workspace)
    with workspace.publishing("structformer sample") as publication:
        folder = publication.folder("samples")
        draw(request, workspace, folder, workers=workers, engine=engine, progress=progress)
    return Samples.open(workspace)


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
    """Draw Examples into a folder, which `Samples.at` opens. What is there already of the same request is kept.

    part: draw these shards' alone, and write no manifest; False where it must wait for the other parts' page
    texts.
    """
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    names, options, seed = request.tasks, request.options, request.seed
    share = held_out_share(corpus.document_count) if request.held_out is None else request.held_out
    chosen = chosen_tasks(names)
    by_attention = [task for task in chosen if task.by_attention]
    plain = tuple(task.name for task in chosen if not task.by_attention)
    beyond = any(task.in_corpus for task in chosen)
    base = DrawTask(str(workspace), str(folder), 0, "examples", plain, options, seed, request.epoch, share)
    drawn = [replace(base, shard=shard) for shard in range(len(corpus.shards))]
    own = list(part.of_tasks(drawn)) if part else drawn
    steps = _Steps(progress, len(own) * (beyond + bool(plain) + bool(by_attention)))
    if beyond:
        _run([replace(task, what="pages", tasks=names) for task in own], engine, workers, steps)
        if not all(page.exists() for page in _page_folders(folder, len(drawn))):
            return False
        if any(Need.COLLECTION in task.needs for task in chosen):
            write_collection(_page_folders(folder, len(drawn)), folder / "collection.json")
    if options.negatives_from in FROM_PASSAGES and not (folder / "passages").exists():
        with building_folder(folder) as building:
            write_passages(corpus, building.folder, seed=seed, held_out=share)
            building.become("passages")
    if plain:
        _run(own, engine, workers, steps)
    if by_attention:
        _draw_by_attention_all(own, corpus, graph, by_attention, request.weights, steps)
    if part is None:
        _finish(base, corpus, names, request.attention if by_attention else None)
    return True


def _finish(base: DrawTask, corpus: Corpus, names: Sequence[str], attention: str | None) -> None:
    """Write the manifest of all parts, and delete what only the drawing needed."""
    folder = Path(base.folder)
    suffixes = [""] * bool(base.tasks) + [_BY_ATTENTION] * any(task.by_attention for task in chosen_tasks(names))
    census = Census()
    parts: list[dict[str, Any]] = []
    for suffix in suffixes:
        for shard in range(len(corpus.shards)):
            name = f"{shard:05}{suffix}"
            part = Census.of(read_json(folder / name / _CENSUS))
            parts.append({"name": name, "examples": dict(sorted(part.examples.items()))})
            census.add(part)
    _clean(folder)
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
        "attention": attention,
        "census": census.as_dict(),
        "parts": parts,
    }
    write_json(folder / "manifest.json", manifest)


class _Steps:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def next(self) -> None:
        self._done += 1
        if self._progress:
            self._progress(self._done, self._total)


def _run(tasks: Sequence[DrawTask], engine: str | Engine, workers: int | None, steps: _Steps) -> None:
    """Make the parts of these tasks that are not there."""
    missing = [task for task in tasks if not task.output.exists()]
    for _ in range(len(tasks) - len(missing)):
        steps.next()
    work = Work(
        "structformer.sampling.draw_examples:draw_shard",
        workers=min(workers or os.cpu_count() or 1, max(1, len(missing))),
        seconds=_SECONDS,
        memory_bytes=_MEMORY_BYTES,
        lost=_give_up,
    )
    for _ in mapped(work, missing, engine):
        steps.next()


def _give_up(task: DrawTask, item: Any, reason: str) -> DrawTask:
    raise WorkspaceError(f"drawing the Examples of {item} {reason}")


def _clean(folder: Path) -> None:
    for name in ("pages", "passages"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("collection.json", "anchors.sqlite"):
        (folder / name).unlink(missing_ok=True)


def _page_folders(folder: Path, shards: int) -> list[Path]:
    return [folder / "pages" / f"{shard:05}" for shard in range(shards)]


def draw_shard(task: DrawTask, started: Callable[[str], None]) -> None:
    """A worker's job: one shard's page texts, or its Examples of the tasks that need no attention."""
    corpus = Corpus.open(task.workspace)
    with without_garbage_collection(), building_folder(task.output.parent) as building:
        if task.what == "pages":
            write_pages(
                corpus,
                task.shard,
                building.folder,
                seed=task.seed,
                held_out=task.held_out,
                min_words=task.options.min_words,
                min_document_words=task.options.min_document_words,
                count_words=any(Need.COLLECTION in each.needs for each in chosen_tasks(task.tasks)),
            )
        else:
            _draw(task, corpus, building.folder, started)
        building.become(task.output.name)


def _draw(task: DrawTask, corpus: Corpus, output: Path, started: Callable[[str], None]) -> None:
    chosen = chosen_tasks(task.tasks)
    folder = Path(task.folder)
    graph = ReferenceGraph.open(task.workspace, corpus)
    pages = PageTable(corpus, _page_folders(folder, len(corpus.shards)))
    collection = CollectionCounts(folder / "collection.json") if (folder / "collection.json").exists() else None
    table = PassageTable(folder / "passages", graph, task.options) if (folder / "passages").exists() else None
    census = Census()
    wants_graph = any(each.in_corpus for each in chosen)
    with PartWriter(output) as writer:
        for here in _neighbourhoods(task, corpus, graph, pages, wants_graph):
            started(here.view.document.id)
            writer.next_document()
            here.collection = collection
            document_id = here.view.document.id
            for each in chosen:
                place = here if each.in_corpus else here.view
                for example, rng in _redrawn(task, each, place, document_id, census):
                    writer.add(table.replaced(each, example, here.number, rng) if table is not None else example)
    census.examples.update(writer.counts)
    write_json(output / _CENSUS, census.as_dict())


def _redrawn(
    task: DrawTask, each: Task, place: Neighbourhood | DocumentView, document_id: str, census: Census
) -> Iterator[tuple[Example, Random]]:
    """A document's Examples of a task, drawn as often as the options say, each with the generator that drew it."""
    seen: set[tuple[tuple[str, str], ...]] = set()
    for draw in range(task.options.draws):
        rng = generator(task.seed, task.epoch + draw, each.name, document_id)
        counted = census if not draw else Census()  # what is dropped is so every time
        for example in drawn_examples(each, place, document_id, rng, counted):
            if task.options.draws > 1:
                pairs = list(zip(example.queries, example.documents, strict=True))
                key = (pairs[0], *sorted(pairs[1:]))
                if key in seen:
                    continue
                seen.add(key)
            yield example, rng


def _draw_by_attention_all(
    tasks: Sequence[DrawTask],
    corpus: Corpus,
    graph: ReferenceGraph,
    chosen: Sequence[Task],
    weights: WordWeights | None,
    steps: _Steps,
) -> None:
    """The parts of HARP's tasks, here: the model is loaded once."""
    missing = [each for each in (replace(task, what="attention") for task in tasks) if not each.output.exists()]
    if missing and weights is None:
        raise WorkspaceError(
            f"{len(missing)} parts that are drawn by a model's attention are not there: run `structformer sample` again"
        )
    anchors = Path(missing[0].folder) / "anchors.sqlite" if missing else None
    if anchors and any(Need.ANCHORS in task.needs for task in chosen) and not anchors.exists():
        temporary = anchors.with_name(temporary_name())
        _anchor_table(graph, corpus, temporary, missing[0].seed, missing[0].held_out)
        os.replace(temporary, anchors)
    for task in missing:
        assert weights is not None
        with building_folder(task.output.parent) as building:
            _draw_by_attention(task, corpus, graph, chosen, weights, anchors, building.folder)
            building.become(task.output.name)
    for _ in tasks:
        steps.next()


def _draw_by_attention(
    task: DrawTask,
    corpus: Corpus,
    graph: ReferenceGraph,
    tasks: Sequence[Task],
    weights: WordWeights,
    anchors: Path | None,
    output: Path,
) -> None:
    """A shard's Examples of HARP's tasks, attention computed for many documents at once."""
    folder = Path(task.folder)
    pages = PageTable(corpus, _page_folders(folder, len(corpus.shards)))
    census = Census()
    source = _neighbourhoods(task, corpus, graph, pages, True)
    with (
        PartWriter(output) as writer,
        closing(sqlite3.connect(anchors if anchors and anchors.exists() else ":memory:")) as database,
    ):
        known: dict[str, list[int]] = {}

        def targets(text: str) -> list[int]:
            key = _anchor_key(text)
            if key not in known:
                if len(known) > _KNOWN_ANCHORS:
                    known.clear()
                rows = database.execute("SELECT target FROM anchors WHERE text = ? ORDER BY target", (key,))
                known[key] = [number for (number,) in rows]
            return known[key]

        while some := list(islice(source, _AT_ONCE)):
            weights.prepare(list(dict.fromkeys(request for here in some for request in attention_requests(here))))
            for here in some:
                writer.next_document()
                here.weights = weights
                if anchors is not None and anchors.exists():
                    here.anchor_targets = targets
                for each in tasks:
                    for example, _ in _redrawn(task, each, here, here.view.document.id, census):
                        writer.add(example)
    census.examples.update(writer.counts)
    write_json(output / _CENSUS, census.as_dict())


def _neighbourhoods(
    task: DrawTask, corpus: Corpus, graph: ReferenceGraph, pages: PageTable, with_graph: bool
) -> Iterator[Neighbourhood]:
    """A shard's documents that are not held out, each with its references."""
    edges = graph.shard_edges(task.shard) if with_graph else iter(())
    edge = next(edges, None)
    for number, document in enumerate(
        corpus.shard_documents(task.shard, links=any(each.needs for each in chosen_tasks(task.tasks or ("srr",)))),
        corpus.starts[task.shard],
    ):
        references: list[Reference] = []
        while edge is not None and edge["source_document"] == number:
            if edge["kind"] in _REFERRING and edge["end"] > edge["start"]:
                references.append(
                    Reference(edge["source_section"], edge["start"], edge["end"], edge["text"], edge["target_document"])
                )
            edge = next(edges, None)
        if is_held_out(document.id, task.seed, task.held_out) or is_short(document, task.options.min_document_words):
            continue
        see_also = graph.see_also(number) if with_graph else ()
        named_by = graph.see_also_of(number) if with_graph else ()
        yield Neighbourhood(
            DocumentView(document, task.options), number, pages, see_also, references, named_by=named_by
        )


def _anchor_key(text: str) -> str:
    return " ".join(text.lower().split())


def _anchor_table(graph: ReferenceGraph, corpus: Corpus, path: Path, seed: int, held_out: float) -> None:
    """Which documents each anchor text leads to, in a table on disk."""
    held = {
        number for number, name in enumerate(corpus.document_ids()) if held_out and is_held_out(name, seed, held_out)
    }
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("CREATE TABLE anchors (text TEXT, target INTEGER, PRIMARY KEY (text, target)) WITHOUT ROWID")
        rows = (
            (_anchor_key(edge["text"]), edge["target_document"])
            for edge in graph.edges()
            if edge["kind"] in _REFERRING and edge["text"].strip() and edge["target_document"] not in held
        )
        database.executemany("INSERT OR IGNORE INTO anchors VALUES (?, ?)", rows)
        database.commit()
