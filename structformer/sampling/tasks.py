"""The tasks by name, and the random source that each document's Examples come from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from random import Random

from structformer.document import Document
from structformer.plugins import load_plugins
from structformer.sampling.classic import (
    body_first_selection,
    inverse_cloze,
    overview_selection,
    representative_words_prediction,
    wiki_link_prediction,
)
from structformer.sampling.content import DocumentView
from structformer.sampling.example import Census, Example, SamplingOptions
from structformer.sampling.harp import (
    anchor_cooccurrence_modeling,
    query_disambiguation_modeling,
    representative_document_prediction,
    representative_query_prediction,
)
from structformer.sampling.neighbourhood import Neighbourhood
from structformer.sampling.wikiformer import (
    abstract_texts_identification,
    long_texts_matching,
    representative_words_identification,
    simulated_reranking,
)

TreeSampler = Callable[[DocumentView, Random, Census], Iterator[Example]]
CorpusSampler = Callable[[Neighbourhood, Random, Census], Iterator[Example]]

WIKIFORMER = ("srr", "rwi", "ati", "ltm")
HARP = ("rqp", "qdm", "rdp", "acm")  # these need a model's attention
CLASSIC = ("ict", "bfs", "wlp", "rop")
DEFAULT_TASKS = (*WIKIFORMER, "ict", "ovs")
_TREE: dict[str, TreeSampler] = {
    "ati": abstract_texts_identification,
    "ict": inverse_cloze,
    "ovs": overview_selection,
    "rwi": representative_words_identification,
    "srr": simulated_reranking,
}
_CORPUS: dict[str, CorpusSampler] = {
    "acm": anchor_cooccurrence_modeling,
    "bfs": body_first_selection,
    "ltm": long_texts_matching,
    "qdm": query_disambiguation_modeling,
    "rdp": representative_document_prediction,
    "rop": representative_words_prediction,
    "rqp": representative_query_prediction,
    "wlp": wiki_link_prediction,
}


def tree_samplers() -> dict[str, TreeSampler]:
    """Samplers over one document's tree by task name: the built-in ones and those of plugins."""
    found = dict(_TREE)
    for supplied in load_plugins().manager.hook.structformer_samplers():
        found.update(supplied)
    return found


def corpus_samplers() -> dict[str, CorpusSampler]:
    """Samplers over a document's place in the corpus by task name: the built-in ones and those of plugins."""
    found = dict(_CORPUS)
    for supplied in load_plugins().manager.hook.structformer_corpus_samplers():
        found.update(supplied)
    return found


def task_names() -> list[str]:
    """All task names there are."""
    return sorted({**tree_samplers(), **corpus_samplers()})


def generator(seed: int, epoch: int, task: str, document_id: str) -> Random:
    """The random source of one document's Examples of one task: the same in any order of work and any process."""
    digest = hashlib.blake2b(f"{seed}/{epoch}/{task}/{document_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Random(int.from_bytes(digest, "big"))


def document_examples(
    document: Document,
    tasks: Iterable[str],
    *,
    options: SamplingOptions | None = None,
    seed: int = 0,
    epoch: int = 0,
    census: Census | None = None,
) -> Iterator[Example]:
    """The Examples of one document's tree, for the tree tasks among `tasks`."""
    view = DocumentView(document, options or SamplingOptions())
    census = census if census is not None else Census()
    samplers = tree_samplers()
    for task in tasks:
        if task in samplers:
            yield from samplers[task](view, generator(seed, epoch, task, document.id), census)
