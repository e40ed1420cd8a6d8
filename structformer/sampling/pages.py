"""Every document's first texts, on disk, for the samplers that look beyond one document."""

from bisect import bisect_right
from functools import lru_cache
from pathlib import Path

from structformer.corpus import Corpus
from structformer.sampling.collection import ShardCounts, document_words
from structformer.sampling.example import SamplingOptions
from structformer.sampling.held_out import is_held_out
from structformer.sampling.store import Texts, TextWriter
from structformer.sampling.view import document_abstract, document_text, is_short

_HEAD_CHARACTERS = 3000
_ABSTRACT_CHARACTERS = 2000
_COLUMNS = ("head", "abstract", "title")
_OPEN_FILES = 256


def write_pages(
    corpus: Corpus,
    shard: int,
    folder: Path,
    *,
    seed: int,
    held_out: float,
    options: SamplingOptions,
    counted: frozenset[str] | None,
) -> None:
    """Write a shard's page texts, and its word counts unless `counted`, the stop words that are left out of them, is
    None. The texts of a document that is held out, or has fewer than `min_document_words`, are empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    columns = {name: TextWriter(folder / f"{name}.arrow") for name in _COLUMNS}
    counts = ShardCounts()
    for document in corpus.shard_documents(shard):
        if is_held_out(document.id, seed, held_out) or is_short(document, options.min_document_words):
            texts = dict.fromkeys(_COLUMNS, "")
        else:
            texts = {
                "head": document_text(document, _HEAD_CHARACTERS),
                "abstract": document_abstract(document, _ABSTRACT_CHARACTERS, options.min_words),
                "title": document.title or document.id,
            }
            if counted is not None:
                counts.add(document_words(document, counted))
        for name, text in texts.items():
            columns[name].add(text)
    for writer in columns.values():
        writer.close()
    if counted is not None:
        counts.write(folder)


class PageTable:
    """The texts that `write_pages` wrote for all shards, by document number."""

    def __init__(self, corpus: Corpus, folders: list[Path]) -> None:
        self._starts = corpus.starts
        # A big corpus has more parts than a process may have files open.
        self._texts = lru_cache(maxsize=_OPEN_FILES)(lambda shard, name: Texts(folders[shard] / f"{name}.arrow"))

    @property
    def count(self) -> int:
        return self._starts[-1]

    def head(self, number: int) -> str:
        return self._text("head", number)

    def abstract(self, number: int) -> str:
        return self._text("abstract", number)

    def title(self, number: int) -> str:
        return self._text("title", number)

    def _text(self, column: str, number: int) -> str:
        shard = bisect_right(self._starts, number) - 1
        return self._texts(shard, column)[number - self._starts[shard]]
