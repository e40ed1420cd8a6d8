"""Drawing a shard's Examples: a worker's task, the shard's documents, and redrawing as the options say."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from structformer.corpus import Corpus
from structformer.document import LinkKind
from structformer.engines import Engine, Work, mapped
from structformer.errors import WorkspaceError
from structformer.graph import ReferenceGraph
from structformer.sampling.example import Census, Example, SamplingOptions
from structformer.sampling.held_out import is_held_out
from structformer.sampling.neighbourhood import Neighbourhood, Reference, WordWeights
from structformer.sampling.store import PageTable
from structformer.sampling.tasks import Task, chosen_tasks, drawn_examples, generator
from structformer.sampling.view import DocumentView, is_short

Progress = Callable[[int, int], None]
CENSUS = "census.json"
BY_ATTENTION = "-attention"  # suffix of the parts that a model's attention drew
REFERRING = frozenset({LinkKind.HYPERLINK.value, LinkKind.XREF.value, LinkKind.CITATION.value})
_SECONDS = 3600.0  # that one item may take
_MEMORY_BYTES = 4 * 1024**3


@dataclass(frozen=True, slots=True)
class DrawTask:
    """A worker's task: one shard's page texts, their weights, or its Examples."""

    workspace: str
    folder: str
    shard: int
    what: str
    """One of "pages", "weights", "examples" and "attention"."""
    tasks: tuple[str, ...]
    options: SamplingOptions
    seed: int
    epoch: int
    held_out: float
    weights: WordWeights | None = None
    """The attention, for the weights and the Examples drawn by it."""

    @property
    def output(self) -> Path:
        """The folder that the task makes."""
        only_for_drawing = self.what if self.what in ("pages", "weights") else ""
        return Path(self.folder, only_for_drawing, f"{self.shard:05}{BY_ATTENTION * (self.what == 'attention')}")


class Steps:
    """Counts the tasks that are done, and tells who wants to know."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def next(self) -> None:
        self._done += 1
        if self._progress:
            self._progress(self._done, self._total)


def page_folders(folder: Path, shards: int) -> list[Path]:
    """Return where the page texts of all shards are."""
    return [folder / "pages" / f"{shard:05}" for shard in range(shards)]


def run_tasks(
    function: str,
    tasks: Sequence[DrawTask],
    engine: str | Engine,
    workers: int | None,
    steps: Steps,
    memory_bytes: int = _MEMORY_BYTES,
    keep: bool = True,
) -> list[Any]:
    """Make what is missing of these tasks; gives each result of "module:name". memory_bytes, keep: as of Work."""
    missing = [task for task in tasks if not task.output.exists()]
    for _ in range(len(tasks) - len(missing)):
        steps.next()
    work = Work(
        function,
        workers=min(workers or os.cpu_count() or 1, max(1, len(missing))),
        seconds=_SECONDS,
        memory_bytes=memory_bytes,
        lost=_give_up,
        keep=keep,
    )
    results = []
    for result in mapped(work, missing, engine):
        results.append(result)
        steps.next()
    return results


def _give_up(task: DrawTask, item: Any, reason: str) -> DrawTask:
    raise WorkspaceError(f"drawing the Examples of {item} {reason}")


def redrawn(
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


def neighbourhoods(
    task: DrawTask, corpus: Corpus, graph: ReferenceGraph, pages: PageTable, with_graph: bool
) -> Iterator[Neighbourhood]:
    """Yield a shard's documents that are not held out, each with its references."""
    edges = graph.shard_edges(task.shard) if with_graph else iter(())
    edge = next(edges, None)
    for number, document in enumerate(
        corpus.shard_documents(task.shard, links=any(each.needs for each in chosen_tasks(task.tasks))),
        corpus.starts[task.shard],
    ):
        references: list[Reference] = []
        while edge is not None and edge["source_document"] == number:
            if edge["kind"] in REFERRING and edge["end"] > edge["start"]:
                references.append(Reference.of(edge))
            edge = next(edges, None)
        if is_held_out(document.id, task.seed, task.held_out) or is_short(document, task.options.min_document_words):
            continue
        see_also = graph.see_also(number) if with_graph else ()
        named_by = graph.see_also_of(number) if with_graph else ()
        view = DocumentView(document, task.options)
        yield Neighbourhood(view, number, pages, see_also, references, named_by=named_by)
