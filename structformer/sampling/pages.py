"""Every document's first texts and the collection's word counts, on disk, for the samplers that look beyond one
document.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.sampling.held_out import is_held_out
from structformer.sampling.store import Texts, TextWriter
from structformer.sampling.view import document_abstract, document_text, is_short, words_of
from structformer.storage.files import read_json

_HEAD_CHARACTERS = 3000
_ABSTRACT_CHARACTERS = 2000
_COLUMNS = ("head", "abstract", "title")
_OPEN_FILES = 256
_MAX_WORDS = 500_000  # of the collection's vocabulary; rarer ones share what is left


def write_pages(
    corpus: Corpus,
    shard: int,
    folder: Path,
    *,
    seed: int,
    held_out: float,
    min_words: int,
    min_document_words: int,
    count_words: bool,
) -> None:
    """Write a shard's page texts, and with `count_words` its word counts. The texts of a document that is held out, or
    has fewer than `min_document_words`, are empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    columns = {name: TextWriter(folder / f"{name}.arrow") for name in _COLUMNS}
    counts: Counter[str] = Counter()
    for document in corpus.shard_documents(shard):
        if is_held_out(document.id, seed, held_out) or is_short(document, min_document_words):
            texts = dict.fromkeys(_COLUMNS, "")
        else:
            texts = {
                "head": document_text(document, _HEAD_CHARACTERS),
                "abstract": document_abstract(document, _ABSTRACT_CHARACTERS, min_words),
                "title": document.title or document.id,
            }
            if count_words:
                for section in document.sections():
                    counts.update(words_of(section.text))
        for name, text in texts.items():
            columns[name].add(text)
    for writer in columns.values():
        writer.close()
    if count_words:
        (folder / "words.json").write_text(json.dumps(counts, ensure_ascii=True))


class PageTable:
    """The texts that `write_pages` wrote for all shards, by document number."""

    def __init__(self, corpus: Corpus, folders: list[Path]) -> None:
        self._starts = corpus.starts
        self._folders = folders
        self._open: dict[tuple[int, str], Texts] = {}

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
        if (shard, column) not in self._open:
            if len(self._open) >= _OPEN_FILES:  # a big corpus has more parts than a process may have files open
                self._open.pop(next(iter(self._open)))
            self._open[shard, column] = Texts(self._folders[shard] / f"{column}.arrow")
        return self._open[shard, column][number - self._starts[shard]]


def write_collection(folders: list[Path], path: Path) -> None:
    """Add the shards' word counts up. Rare words go first when there are very many, so that memory stays bounded."""
    total = 0
    counts: Counter[str] = Counter()
    for folder in folders:
        part = json.loads((folder / "words.json").read_text())
        total += sum(part.values())
        counts.update(part)
        if len(counts) > 4 * _MAX_WORDS:
            counts = _most_frequent(counts)
    path.write_text(
        json.dumps({"total": total, "words": dict(sorted(_most_frequent(counts).items()))}, ensure_ascii=True)
    )


def _most_frequent(counts: Counter[str]) -> Counter[str]:
    return Counter(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MAX_WORDS]))


class CollectionCounts:
    """The collection's unigram language model, from its counts; a word that is not listed counts half."""

    def __init__(self, path: Path) -> None:
        value: dict[str, Any] = read_json(path)
        self._total: int = max(1, value["total"])
        self._words: dict[str, int] = value["words"]

    def probability(self, word: str) -> float:
        return self._words.get(word, 0.5) / self._total
