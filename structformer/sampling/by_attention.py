"""Drawing with a model's attention (HARP's tasks): by processes that can share its weights, else here."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

from structformer.corpus import Corpus
from structformer.engines import Engine
from structformer.errors import WorkspaceError
from structformer.formats.gc_pause import without_garbage_collection
from structformer.graph import ReferenceGraph
from structformer.sampling.example import Census
from structformer.sampling.held_out import is_held_out
from structformer.sampling.kept_attention import (
    PAGES_AT_ONCE,
    KeptPages,
    KeptRows,
    Request,
    SharedWeights,
    forget_others,
    kept,
)
from structformer.sampling.neighbourhood import Neighbourhood, WordWeights
from structformer.sampling.pages import PageTable
from structformer.sampling.shard_drawing import (
    CENSUS,
    REFERRING,
    DrawTask,
    Steps,
    neighbourhoods,
    page_folders,
    redrawn,
    run_tasks,
)
from structformer.sampling.store import PartWriter
from structformer.sampling.task import Need
from structformer.sampling.tasks import chosen_tasks
from structformer.sampling.tasks.harp import attention_requests
from structformer.storage.files import building_folder, read_json, temporary_name, write_json
from structformer.text.query_like import plain

_AT_ONCE = 64  # documents whose attention is computed together
_KNOWN_ANCHORS = 2000  # whose targets are kept in memory: some have very many
_MEMORY_BYTES = 64 * 1024**3  # a device's driver takes far more addresses than memory
_FILE = "file.json"


def weigh_pages(
    tasks: Sequence[DrawTask], weights: WordWeights | None, engine: str | Engine, workers: int | None, steps: Steps
) -> None:
    """Compute what [CLS] gives to the words of these shards' pages, where processes share the work."""
    if not isinstance(weights, SharedWeights):
        for _ in tasks:
            steps.next()
        return
    chosen = [replace(task, what="weights", weights=weights) for task in tasks]
    before = weights.computed
    done = run_tasks(
        f"{__name__}:weigh_shard", chosen, engine, weights.processes(workers), steps, _MEMORY_BYTES, keep=False
    )
    weights.computed = before + sum(done)  # where one process does it, it is this one


def weigh_shard(task: DrawTask, started: Callable[[str], None]) -> int:
    """Compute the weights of one shard's pages, a worker's job. Returns how many were computed."""
    assert isinstance(task.weights, SharedWeights)
    weights, before = task.weights, task.weights.computed
    weights.place = task.shard
    corpus = Corpus.open(task.workspace)
    pages = PageTable(corpus, page_folders(Path(task.folder), len(corpus.shards)))
    numbers = range(corpus.starts[task.shard], corpus.starts[task.shard + 1])

    def groups() -> Iterator[list[Request]]:
        remaining = iter(numbers)
        while some := list(islice(remaining, PAGES_AT_ONCE)):
            yield [(pages.abstract(number), 0, 0) for number in some]

    with building_folder(task.output.parent) as building:
        write_json(building.folder / _FILE, kept(weights, groups, started).name)
        building.become(task.output.name)
    return weights.computed - before


def draw_by_attention(
    tasks: Sequence[DrawTask], weights: WordWeights | None, engine: str | Engine, workers: int | None, steps: Steps
) -> None:
    """The parts of the tasks that ask a model's attention."""
    chosen = [replace(task, what="attention", weights=weights) for task in tasks]
    missing = [task for task in chosen if not task.output.exists()]
    if missing and weights is None:
        raise WorkspaceError(
            f"{len(missing)} parts that are drawn by a model's attention are not there: run `structformer sample` again"
        )
    if missing:
        _make_anchors(missing[0])
    shared = weights if isinstance(weights, SharedWeights) else None
    processes, before = (shared.processes(workers), shared.computed) if shared else (1, 0)
    done = run_tasks(f"{__name__}:draw_shard_by_attention", chosen, engine, processes, steps, _MEMORY_BYTES, keep=False)
    if shared:
        shared.computed = before + sum(computed for computed, _ in done)
        corpus = Corpus.open(chosen[0].workspace)
        if len(done) == len(corpus.shards):
            used = [Path(name) for _, name in done] + _page_files(chosen[0], shared, len(corpus.shards))
            forget_others(shared.folder, used)


def _page_files(task: DrawTask, weights: SharedWeights, shards: int) -> list[Path]:
    places = [replace(task, what="weights", shard=shard).output for shard in range(shards)]
    return [weights.folder / read_json(place / _FILE) for place in places]


def draw_shard_by_attention(task: DrawTask, started: Callable[[str], None]) -> tuple[int, str]:
    """Draw a shard's Examples by attention; gives the weights computed, and their file's name, "" for none."""
    weights = task.weights
    assert weights is not None
    before = weights.computed if isinstance(weights, SharedWeights) else 0
    with without_garbage_collection(), building_folder(task.output.parent) as building:
        name = _draw(task, weights, building.folder, started)
        building.become(task.output.name)
    return (weights.computed - before if isinstance(weights, SharedWeights) else 0), name


def _draw(task: DrawTask, weights: WordWeights, output: Path, started: Callable[[str], None]) -> str:
    corpus = Corpus.open(task.workspace)
    graph = ReferenceGraph.open(task.workspace, corpus)
    folder = Path(task.folder)
    tasks = [each for each in chosen_tasks(task.tasks) if each.drawn_by_attention]
    pages = PageTable(corpus, page_folders(folder, len(corpus.shards)))
    near = partial(_groups, task, corpus, graph, pages)
    shared = _Prepared(task, weights, corpus, near, started) if isinstance(weights, SharedWeights) else None
    census = Census()
    with PartWriter(output) as writer, closing(_Anchors(folder / "anchors.sqlite")) as anchors:
        for some in near():
            if shared:
                shared.prepare(some)
            else:
                weights.prepare(list(dict.fromkeys(request for here in some for request in _requests(here))))
            for here in some:
                started(here.view.document.id)
                writer.next_document()
                here.weights = weights
                here.anchor_targets = anchors.targets
                for each in tasks:
                    for example, _ in redrawn(task, each, here, here.view.document.id, census):
                        writer.add(example)
    census.examples.update(writer.counts)
    write_json(output / CENSUS, census.as_dict())
    return shared.name if shared else ""


def _groups(task: DrawTask, corpus: Corpus, graph: ReferenceGraph, pages: PageTable) -> Iterator[list[Neighbourhood]]:
    source = neighbourhoods(task, corpus, graph, pages, True)
    while some := list(islice(source, _AT_ONCE)):
        yield some


def _requests(here: Neighbourhood) -> Iterator[Request]:
    """Yield what will be asked at a document, in its sentences and of the pages that it links to."""
    yield from attention_requests(here)
    for sentence in here.anchored_sentences():
        for reference in sentence.references:
            yield here.pages.abstract(reference.target), 0, 0


class _Prepared:
    """Weights of a shard's sentences and linked pages, as computed. name: of the sentences' file."""

    def __init__(
        self,
        task: DrawTask,
        weights: SharedWeights,
        corpus: Corpus,
        near: Callable[[], Iterator[list[Neighbourhood]]],
        started: Callable[[str], None],
    ) -> None:
        weights.place = task.shard
        path = kept(weights, lambda: ([*_of_sentences(some)] for some in near()), started)
        self.name = path.name
        self._weights = weights
        self._sentences, self._read = KeptRows(path), 0
        self._pages = KeptPages(_page_files(task, weights, len(corpus.shards)), corpus.starts)

    def prepare(self, some: Sequence[Neighbourhood]) -> None:
        """Let the weights answer what will be asked at these documents, which come in the order of the shard."""
        asked = list(_of_sentences(some))
        rows = {request: self._sentences[self._read + place] for place, request in enumerate(asked)}
        self._read += len(asked)
        for here in some:
            for target in {reference.target for each in here.anchored_sentences() for reference in each.references}:
                rows[here.pages.abstract(target), 0, 0] = self._pages[target]
        self._weights.know(rows)


def _of_sentences(some: Sequence[Neighbourhood]) -> Iterator[Request]:
    return iter(dict.fromkeys(request for here in some for request in attention_requests(here)))


class _Anchors:
    """The documents that links with an anchor text lead to, from the table on disk; none without a table."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path) if path.exists() else None
        self.targets = lru_cache(_KNOWN_ANCHORS)(self._targets)

    def _targets(self, text: str) -> list[int]:
        """Return numbers of the documents, ascending."""
        if self._database is None:
            return []
        rows = self._database.execute("SELECT target FROM anchors WHERE text = ? ORDER BY target", (plain(text),))
        return [number for (number,) in rows]

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


def _make_anchors(task: DrawTask) -> None:
    """Write the table of anchor texts, where a task needs it and it is not there."""
    path = Path(task.folder) / "anchors.sqlite"
    if path.exists() or not any(Need.ANCHORS in each.needs for each in chosen_tasks(task.tasks)):
        return
    corpus = Corpus.open(task.workspace)
    graph = ReferenceGraph.open(task.workspace, corpus)
    temporary = path.with_name(temporary_name())
    share = task.held_out
    held = {place for place, name in enumerate(corpus.document_ids()) if share and is_held_out(name, task.seed, share)}
    with closing(sqlite3.connect(temporary)) as database:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("CREATE TABLE anchors (text TEXT, target INTEGER, PRIMARY KEY (text, target)) WITHOUT ROWID")
        rows = (
            (plain(edge["text"]), edge["target_document"])
            for edge in graph.edges()
            if edge["kind"] in REFERRING and edge["text"].strip() and edge["target_document"] not in held
        )
        database.executemany("INSERT OR IGNORE INTO anchors VALUES (?, ?)", rows)
        database.commit()
    os.replace(temporary, path)
