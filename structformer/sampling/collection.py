"""How often each word occurs in the collection: counted shard by shard in the pass that writes the page texts, added up
in bounded memory, and read by the tasks that draw words by a language model.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from structformer.corpus import Corpus
from structformer.corpus.corpus import corpus_language
from structformer.document import Document
from structformer.sampling.example import SamplingOptions
from structformer.sampling.view import document_text
from structformer.storage.files import read_json, write_json
from structformer.text.languages import ENGLISH
from structformer.text.stop_words import STOP_WORDS, has_stop_words, stop_words_of
from structformer.text.words import bare_words

COUNTS = "words.json"
_WORD = re.compile(r"[^\W_]+")
_MAX_WORDS = 500_000  # that are kept; of rarer ones only the sums are
_SUBSAMPLED_FROM = 100  # occurrences; rarer words are always kept
_THRESHOLD = 1e-4
_UNSEEN = (0, 0)
Key = TypeVar("Key", str, tuple[str, str])


def with_stop_words(options: SamplingOptions, corpus: Corpus) -> SamplingOptions:
    """Return the options with the stop words of the corpus's language, where none are chosen and it is not English."""
    if options.stop_words or (language := corpus_language(corpus)) == ENGLISH or not has_stop_words(language):
        return options
    return replace(options, stop_words=language)


def left_out(stop_words: str | None) -> frozenset[str]:
    """Return the words that a task leaves out: those of the file that its options name, or English function words."""
    return stop_words_of(stop_words) if stop_words else STOP_WORDS


def counted_words(text: str, stop_words: frozenset[str]) -> list[str]:
    """Runs of letters and digits in lower case, without the stop words."""
    return [word for word in _WORD.findall(bare_words(text.lower())) if word not in stop_words]


def document_words(document: Document, stop_words: frozenset[str]) -> list[str]:
    """Return the counted words of a whole document, its title first."""
    return counted_words(f"{document.title}\n{document_text(document)}", stop_words)


class ShardCounts:
    """The counts of one shard's documents."""

    def __init__(self) -> None:
        self._frequencies: Counter[str] = Counter()
        self._documents: Counter[str] = Counter()
        self._count = 0

    def add(self, words: Sequence[str]) -> None:
        """Count one document's words."""
        self._frequencies.update(words)
        self._documents.update(set(words))
        self._count += 1

    def write(self, folder: Path) -> None:
        """Write the counts for `write_collection`."""
        words = {word: [count, self._documents[word]] for word, count in sorted(self._frequencies.items())}
        write_json(folder / COUNTS, {"documents": self._count, "words": words})


def write_collection(folders: Iterable[Path], path: Path) -> None:
    """Add the shards' counts up. Rare words go first when there are very many, so that memory stays bounded."""
    frequencies: Counter[str] = Counter()
    documents: Counter[str] = Counter()
    count = total = total_documents = 0
    for folder in folders:
        part: dict[str, Any] = json.loads((folder / COUNTS).read_text(encoding="utf-8"))
        count += part["documents"]
        for word, (frequency, holders) in part["words"].items():
            frequencies[word] += frequency
            documents[word] += holders
            total += frequency
            total_documents += holders
        if len(frequencies) > 4 * _MAX_WORDS:
            frequencies = most_frequent(frequencies, _MAX_WORDS)
            documents = Counter({word: documents[word] for word in frequencies})
    words = {
        word: [frequency, documents[word]] for word, frequency in sorted(most_frequent(frequencies, _MAX_WORDS).items())
    }
    value = {"documents": count, "total": total, "total_documents": total_documents, "words": words}
    path.write_text(json.dumps(value, ensure_ascii=True), encoding="utf-8")


def most_frequent(counts: Counter[Key], most: int) -> Counter[Key]:
    """Return the highest counts, of equal ones those that come first by their keys."""
    return Counter(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]))


class CollectionCounts:
    """The collection's counts. A word that is not listed counts half in the background model, and as never seen."""

    def __init__(self, path: Path) -> None:
        value = read_json(path)
        self._words: dict[str, tuple[int, int]] = value["words"]
        self._total: int = max(1, value["total"])
        self._total_documents: int = max(1, value["total_documents"])
        self.documents: int = value["documents"]
        self.mean_length: float = value["total"] / max(1, self.documents)
        """Mean length of the documents, in words."""
        self._drawn: dict[int, tuple[list[str], npt.NDArray[np.int64]]] = {}

    def frequency(self, word: str) -> int:
        """Return how often the word occurs in the collection."""
        return self._words.get(word, _UNSEEN)[0]

    def document_frequency(self, word: str) -> int:
        """In how many documents the word occurs."""
        return self._words.get(word, _UNSEEN)[1]

    def probability(self, word: str) -> float:
        """P(word | collection) by document frequency, as PROP's released code has it."""
        return self.probabilities([word])[0]

    def probabilities(self, words: Sequence[str]) -> list[float]:
        """P(word | collection) of each word."""
        known, total = self._words, self._total_documents
        return [(known[word][1] if word in known else 0.5) / total for word in words]

    def kept(self, word: str) -> float:
        """Return the probability with which a drawn word is kept, less for frequent ones (Mikolov et al., NeurIPS 2013,
        section 2.3).
        """
        frequency = self.frequency(word)
        if frequency < _SUBSAMPLED_FROM:
            return 1.0
        share = _THRESHOLD * self._total / frequency
        return min(1.0, math.sqrt(share) + share)

    def drawn(self, rng: Random, count: int, min_frequency: int) -> list[str]:
        """Return that many words by P(word | collection), of those that occur at least `min_frequency` times."""
        if min_frequency not in self._drawn:
            words = [word for word, (frequency, _) in self._words.items() if frequency >= min_frequency]
            ends = np.cumsum([self._words[word][1] for word in words], dtype=np.int64)
            self._drawn[min_frequency] = words, ends
        words, ends = self._drawn[min_frequency]
        if not words:
            return []
        total = int(ends[-1])
        drawn = np.searchsorted(ends, [rng.random() * total for _ in range(count)], side="right")
        return [words[place] for place in drawn.tolist()]
