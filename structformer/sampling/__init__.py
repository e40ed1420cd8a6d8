"""Sampling: document trees and the reference graph to Examples, by task, deterministic whatever the order of work."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

import pyarrow as pa

from structformer import __version__
from structformer.corpus import Corpus
from structformer.corpus.storage import lock, replacing_folder, write_json
from structformer.document import Document
from structformer.errors import UsageError
from structformer.graph import ReferenceGraph
from structformer.plugins import load_plugins
from structformer.sampling.classic import inverse_cloze
from structformer.sampling.content import DocumentView, document_text
from structformer.sampling.example import Census, Example, SamplingOptions
from structformer.sampling.store import Samples, SampleWriter
from structformer.sampling.wikiformer import (
    abstract_texts_identification,
    long_texts_matching,
    representative_words_identification,
    simulated_reranking,
)

__all__ = ["DEFAULT_TASKS", "Census", "Example", "Samples", "SamplingOptions", "document_examples", "is_held_out", "sample", "task_names"]

TreeSampler = Callable[[DocumentView, Random, Census], Iterator[Example]]

WIKIFORMER = ("srr", "rwi", "ati", "ltm")
DEFAULT_TASKS = (*WIKIFORMER, "ict")
_TREE_TASKS: dict[str, TreeSampler] = {
    "ati": abstract_texts_identification,
    "ict": inverse_cloze,
    "rwi": representative_words_identification,
    "srr": simulated_reranking,
}
_LTM_CHARACTERS = 3000
_SMALLEST_TO_HOLD_OUT = 40
_MOST_HELD_OUT = 300


def tree_samplers() -> dict[str, TreeSampler]:
    """Samplers over one document's tree by task name: the built-in ones and those of plugins."""
    found = dict(_TREE_TASKS)
    for supplied in load_plugins().manager.hook.structformer_samplers():
        found.update(supplied)
    return found


def task_names() -> list[str]:
    """All task names there are."""
    return sorted([*tree_samplers(), "ltm"])


def generator(seed: int, epoch: int, task: str, document_id: str) -> Random:
    """The random source of one document's Examples of one task: the same in any order of work and any process."""
    return Random(f"{seed}/{epoch}/{task}/{document_id}")


def is_held_out(document_id: str, seed: int, share: float) -> bool:
    """Whether a document is kept out of the Examples, to be asked for in the evaluation on held-out structure."""
    digest = hashlib.sha256(f"held-out/{seed}/{document_id}".encode()).digest()
    return int.from_bytes(digest[:6], "big") < share * 2**48


def held_out_share(document_count: int) -> float:
    """The default share of held-out documents: a tenth, none in a corpus under 40 documents, about 300 at most."""
    return 0.0 if document_count < _SMALLEST_TO_HOLD_OUT else min(0.1, _MOST_HELD_OUT / document_count)


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


def sample(
    workspace: str | Path = ".structformer",
    tasks: Iterable[str] = DEFAULT_TASKS,
    *,
    options: SamplingOptions | None = None,
    seed: int = 0,
    held_out: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Samples:
    """Draw the Examples of the tasks from the workspace's corpus and store them there.

    held_out: share of documents kept out for evaluation; None chooses by the corpus's size.
    Raises UsageError on an unknown task, CorpusError when there is no corpus.
    """
    tasks = list(dict.fromkeys(tasks))
    unknown = [task for task in tasks if task not in task_names()]
    if unknown or not tasks:
        raise UsageError(f"no task {', '.join(unknown) or '(none named)'}; there are: {', '.join(task_names())}")
    workspace = Path(workspace)
    corpus = Corpus.open(workspace)
    options = options or SamplingOptions()
    share = held_out_share(corpus.document_count) if held_out is None else held_out
    census = Census()
    done = 0
    with lock(workspace), replacing_folder(workspace / "samples") as folder:
        with SampleWriter(folder) as writer:
            heads = _DocumentTexts(folder / "heads.arrow", corpus, seed, share) if "ltm" in tasks else None
            graph = ReferenceGraph.open(workspace, corpus) if "ltm" in tasks else None
            for shard in range(len(corpus.shards)):
                writer.next_shard()
                for number, document in enumerate(corpus.shard_documents(shard), corpus.starts[shard]):
                    done += 1
                    if is_held_out(document.id, seed, share):
                        continue
                    for example in document_examples(document, tasks, options=options, seed=seed, census=census):
                        census.examples[example.task] += 1
                        writer.add(example)
                    if heads is not None and graph is not None:
                        rng = generator(seed, 0, "ltm", document.id)
                        for example in long_texts_matching(
                            number, heads.text, graph.see_also(number), corpus.document_count, document.id,
                            options.min_words, options.negatives, rng, census,
                        ):  # fmt: skip
                            census.examples["ltm"] += 1
                            writer.add(example)
                if progress:
                    progress(done, corpus.document_count)
        (folder / "heads.arrow").unlink(missing_ok=True)
        for task in tasks:
            census.examples.setdefault(task, 0)
        manifest = {
            "corpus": corpus.fingerprint,
            "tool_version": __version__,
            "tasks": tasks,
            "seed": seed,
            "held_out": share,
            "options": asdict(options),
            "census": census.as_dict(),
        }
        write_json(folder / "manifest.json", manifest)
    return Samples.open(workspace)


class _DocumentTexts:
    """Every document's first characters, on disk, by number: what LTM draws neighbours and negatives from."""

    _ROWS = 512

    def __init__(self, path: Path, corpus: Corpus, seed: int, share: float) -> None:
        schema = pa.schema([("text", pa.string())])
        with pa.ipc.new_file(str(path), schema) as writer:
            rows: list[str] = []
            for document in corpus.documents():
                rows.append("" if is_held_out(document.id, seed, share) else document_text(document, _LTM_CHARACTERS))
                if len(rows) == self._ROWS:
                    writer.write_batch(pa.record_batch([rows], schema=schema))
                    rows = []
            writer.write_batch(pa.record_batch([rows], schema=schema))
        self._file = pa.ipc.open_file(pa.memory_map(str(path)))

    def text(self, number: int) -> str:
        """Document `number`'s first characters, "" when it is held out."""
        column = self._file.get_batch(number // self._ROWS).column(0)
        return str(column[number % self._ROWS].as_py())
