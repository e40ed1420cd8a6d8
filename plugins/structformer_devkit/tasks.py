"""The rules that every sampling task keeps."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from structformer.corpus import Corpus
from structformer.errors import StructformerError
from structformer.graph import ReferenceGraph
from structformer.sampling import (
    Census,
    DocumentView,
    Example,
    Neighbourhood,
    PageTable,
    Reference,
    SamplingOptions,
    Task,
    drawn_examples,
    generator,
    write_pages,
)

from structformer_devkit.example_corpus import example_workspace
from structformer_devkit.formats import Broken

TASK_RULES = (
    "it draws",
    "the same seed draws the same",
    "another seed may draw others",
    "Examples are groups, the positive first",
)


def check_task(task: Task) -> list[Broken]:
    """Draw a task's Examples of a small corpus, twice, and look at them; empty when every rule is kept."""
    with tempfile.TemporaryDirectory(prefix="structformer-") as folder:
        try:
            first, second = (_drawn(task, Path(folder) / str(number)) for number in range(2))
        except StructformerError as error:
            return [Broken("it draws", "the example corpus", str(error))]
    broken = [] if first else [Broken("it draws", "the example corpus", "not one Example of twelve pages")]
    if first != second:
        detail = "two draws of one seed differ: use the given rng alone"
        broken.append(Broken("the same seed draws the same", "the example corpus", detail))
    return broken + [
        Broken("Examples are groups, the positive first", example.document_id, detail)
        for example in first
        for detail in _wrong(task, example)
    ]


def _wrong(task: Task, example: Example) -> Iterator[str]:
    if example.task != task.name:
        yield f"an Example says that it is of {example.task!r}"
    if not all(text.strip() for text in (*example.queries, *example.documents)):
        yield "an empty query or document"
    pairs = list(zip(example.queries, example.documents, strict=True))
    if pairs[0] in pairs[1:]:
        yield f"the positive is among the negatives: {pairs[0][0][:60]!r}"


def _drawn(task: Task, folder: Path) -> list[Example]:
    workspace = example_workspace(folder)
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    options, census, every = SamplingOptions(), Census(), SamplingOptions(min_document_words=0)
    folders = [folder / f"pages-{shard}" for shard in range(len(corpus.shards))]
    for shard, target in enumerate(folders):
        write_pages(corpus, shard, target, seed=0, held_out=0.0, options=every, counted=None)
    pages = PageTable(corpus, folders)
    references: dict[int, list[Reference]] = {}
    for edge in graph.edges():
        if edge["end"] > edge["start"]:
            references.setdefault(edge["source_document"], []).append(Reference.of(edge))
    examples: list[Example] = []
    for number, document in enumerate(corpus.documents()):
        view = DocumentView(document, options)
        here = Neighbourhood(view, number, pages, graph.see_also(number), references.get(number, []))
        rng = generator(0, 0, task.name, document.id)
        examples += drawn_examples(task, here if task.in_corpus else view, document.id, rng, census)
    return examples
