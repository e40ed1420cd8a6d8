"""Drawing with a model's attention (HARP's tasks): by processes that share its weights, which is computed shard by
shard and kept on disk.

A file holds what one shard asks: a list of float16 numbers for each request, in the order of asking, and is named by a
digest of what is asked. So a file that is there is right, and a drawing that was stopped goes on where it was. Which
texts go through the model together depends on the shard alone, so what is drawn is the same whatever the number of
processes."""

import hashlib
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from structformer.corpus import Corpus
from structformer.engines import Engine
from structformer.errors import WorkspaceError
from structformer.formats.builder import without_garbage_collection
from structformer.graph import ReferenceGraph
from structformer.sampling.example import Census
from structformer.sampling.held_out import is_held_out
from structformer.sampling.neighbourhood import Neighbourhood, Request, Row, WordWeights
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
from structformer.sampling.store import BATCH_ROWS, PageTable, PartWriter, open_arrow
from structformer.sampling.tasks import Need, chosen_tasks
from structformer.storage.files import (
    become,
    building_folder,
    read_json,
    remove,
    remove_temporaries,
    replacing_file,
    write_json,
    writing_errors,
)
from structformer.text.query_like import plain

_AT_ONCE = 64  # documents whose attention is computed together
_KNOWN_ANCHORS = 2000  # whose targets are kept in memory: some have very many
_MEMORY_BYTES = 64 * 1024**3  # a device's driver takes far more addresses than memory
_FILE = "file.json"
PAGES_AT_ONCE = 256
_NUMBERS = pa.schema([("weights", pa.list_(pa.float16()))])
_OPEN_FILES = 256


def weigh_pages(
    tasks: Sequence[DrawTask], weights: WordWeights, engine: str | Engine, workers: int | None, steps: Steps
) -> None:
    """Compute what [CLS] gives to the words of these shards' pages."""
    chosen = [replace(task, what="weights", weights=weights) for task in tasks]
    before = weights.computed
    done = run_tasks(
        f"{__name__}:weigh_shard", chosen, engine, weights.processes(workers), steps, _MEMORY_BYTES, keep=False
    )
    weights.computed = before + sum(done)  # where one process does it, it is this one


def weigh_shard(task: DrawTask, started: Callable[[str], None]) -> int:
    """Compute the weights of one shard's pages, a worker's job. Returns how many were computed."""
    assert task.weights is not None
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
        write_json(building / _FILE, kept(weights, groups, started).name)
        become(building, task.output.name)
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
    processes, before = (weights.processes(workers), weights.computed) if weights else (1, 0)
    done = run_tasks(f"{__name__}:draw_shard_by_attention", chosen, engine, processes, steps, _MEMORY_BYTES, keep=False)
    if weights:
        weights.computed = before + sum(computed for computed, _ in done)
        corpus = Corpus.open(chosen[0].workspace)
        if len(done) == len(corpus.shards):
            used = [Path(name) for _, name in done] + _page_files(chosen[0], weights, len(corpus.shards))
            forget_others(weights.folder, used)


def _page_files(task: DrawTask, weights: WordWeights, shards: int) -> list[Path]:
    places = [replace(task, what="weights", shard=shard).output for shard in range(shards)]
    return [weights.folder / read_json(place / _FILE) for place in places]


def draw_shard_by_attention(task: DrawTask, started: Callable[[str], None]) -> tuple[int, str]:
    """Draw a shard's Examples by attention; gives the weights computed, and their file's name."""
    assert task.weights is not None
    weights, before = task.weights, task.weights.computed
    with without_garbage_collection(), building_folder(task.output.parent) as building:
        name = _draw(task, weights, building, started)
        become(building, task.output.name)
    return weights.computed - before, name


def _draw(task: DrawTask, weights: WordWeights, output: Path, started: Callable[[str], None]) -> str:
    corpus = Corpus.open(task.workspace)
    graph = ReferenceGraph.open(task.workspace, corpus)
    folder = Path(task.folder)
    tasks = [each for each in chosen_tasks(task.tasks) if each.drawn_by_attention]
    pages = PageTable(corpus, page_folders(folder, len(corpus.shards)))
    near = partial(_groups, task, corpus, graph, pages)
    weights.place = task.shard
    path = kept(weights, lambda: map(_of_sentences, near()), started)
    sentences, read = KeptRows([path]), 0
    linked = KeptRows(_page_files(task, weights, len(corpus.shards)), corpus.starts)
    census = Census()
    with PartWriter(output) as writer, _anchors(folder / "anchors.sqlite") as anchors:
        for some in near():
            # The sentences come in the order of the shard.
            rows = {request: sentences[read + place] for place, request in enumerate(_of_sentences(some))}
            read += len(rows)
            for here in some:
                for target in {reference.target for each in here.anchored_sentences() for reference in each.references}:
                    rows[pages.abstract(target), 0, 0] = linked[target]
            weights.know(rows)
            for here in some:
                started(here.view.document.id)
                writer.next_document()
                here.weights = weights
                here.anchor_targets = anchors
                for each in tasks:
                    for example, _ in redrawn(task, each, here, here.view.document.id, census):
                        writer.add(example)
    census.examples.update(writer.counts)
    write_json(output / CENSUS, census.as_dict())
    return path.name


def _groups(task: DrawTask, corpus: Corpus, graph: ReferenceGraph, pages: PageTable) -> Iterator[list[Neighbourhood]]:
    source = neighbourhoods(task, corpus, graph, pages, True)
    while some := list(islice(source, _AT_ONCE)):
        yield some


def _of_sentences(some: Sequence[Neighbourhood]) -> list[Request]:
    """What will be asked in documents' sentences, each once: from an anchor's tokens, and from [CLS] to its span."""
    sentences = (sentence for here in some for sentence in here.anchored_sentences())
    spans = ((each.text, start, end) for each in sentences for start, end in each.spans)
    return list(
        dict.fromkeys(each for text, start, end in spans for each in ((text, start, end), (text, ~start, ~end)))
    )


@contextmanager
def _anchors(path: Path) -> Iterator[Callable[[str], Sequence[int]]]:
    """Give the documents that links with an anchor text lead to, ascending, from the table on disk; none without it."""
    if not path.exists():
        yield lambda text: ()
        return
    query = "SELECT target FROM anchors WHERE text = ? ORDER BY target"
    with closing(sqlite3.connect(path)) as database:
        yield lru_cache(_KNOWN_ANCHORS)(lambda text: [number for (number,) in database.execute(query, (plain(text),))])


def _make_anchors(task: DrawTask) -> None:
    """Write the table of anchor texts, where a task needs it and it is not there."""
    path = Path(task.folder) / "anchors.sqlite"
    if path.exists() or not any(Need.ANCHORS in each.needs for each in chosen_tasks(task.tasks)):
        return
    corpus = Corpus.open(task.workspace)
    graph = ReferenceGraph.open(task.workspace, corpus)
    share = task.held_out
    held = {place for place, name in enumerate(corpus.document_ids()) if share and is_held_out(name, task.seed, share)}
    with replacing_file(path) as temporary, closing(sqlite3.connect(temporary)) as database:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("CREATE TABLE anchors (text TEXT, target INTEGER, PRIMARY KEY (text, target)) WITHOUT ROWID")
        rows = (
            (plain(edge["text"]), edge["target_document"])
            for edge in graph.edges()
            if edge["kind"] in REFERRING and edge["text"].strip() and edge["target_document"] not in held
        )
        database.executemany("INSERT OR IGNORE INTO anchors VALUES (?, ?)", rows)
        database.commit()


def kept(
    weights: WordWeights, groups: Callable[[], Iterable[Sequence[Request]]], started: Callable[[str], None]
) -> Path:
    """The file of the weights of these groups, computed unless there. started: called with each group's beginning."""
    digest = hashlib.blake2b(digest_size=16)
    for group in groups():
        for text, start, end in group:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(encoded)}/{start}/{end}/".encode() + encoded)
        digest.update(b"/")  # groups go through the model one after another
    path = weights.folder / f"{digest.hexdigest()}.arrow"
    if path.exists():
        return path
    with writing_errors(path), replacing_file(path) as temporary:
        _write(temporary, _computed(weights, groups(), started))
    return path


def _computed(
    weights: WordWeights, groups: Iterable[Sequence[Request]], started: Callable[[str], None]
) -> Iterator[Row]:
    for group in groups:
        if group:
            started(group[0][0][:80])
        yield from weights.compute(group)


def _write(path: Path, rows: Iterator[Row]) -> None:
    with pa.ipc.new_file(str(path), _NUMBERS) as writer:
        while some := list(islice(rows, BATCH_ROWS)):
            ends = np.cumsum([0, *map(len, some)], dtype=np.int32)
            column = pa.ListArray.from_arrays(ends, pa.array(np.concatenate(some), pa.float16()))
            writer.write_batch(pa.RecordBatch.from_arrays([column], schema=_NUMBERS))


class KeptRows:
    """The rows of such files by their numbers. starts: the number of each file's first row, as of a shard's first
    document.
    """

    def __init__(self, files: Sequence[Path], starts: Sequence[int] = (0,)) -> None:
        self._starts = starts
        self._files = lru_cache(maxsize=_OPEN_FILES)(lambda place: open_arrow(files[place]))

    def __getitem__(self, number: int) -> Row:
        place = bisect_right(self._starts, number) - 1
        batch, row = divmod(number - self._starts[place], BATCH_ROWS)
        kept: Row = self._files(place).get_batch(batch).column(0)[row].values.to_numpy()
        return kept


def forget_others(folder: Path, used: Iterable[Path]) -> None:
    """Delete files of earlier drawings that this one did not use."""
    names = {path.name for path in used}
    remove_temporaries(folder)
    for path in folder.glob("*.arrow") if folder.is_dir() else ():
        if path.name not in names:
            remove(path)
