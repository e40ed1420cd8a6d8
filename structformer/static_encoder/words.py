"""A static encoder's view of a text: its words, and of each word itself and its n-grams of letters.

Source of n-grams as parts of a word's vector: Bojanowski et al., TACL 2017, section 3.2."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from structformer.document import MARKS, UNSPACED
from structformer.text.words import normal

LENGTHS = (3, 4, 5)  # of n-grams, in characters, the blanks before and after a word among them
LONGEST = 40  # characters of a word; what is longer is a digest or a path
SATURATION = 1.5  # a word that occurs c times in a text counts c (1 + this) / (c + this), as in BM25
_WORD = re.compile(f"[\\w{MARKS}]+")
_RUN, _PARTS = re.compile(f"[{UNSPACED}]"), re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_AT_ONCE = 4096  # texts
_FEWEST_TEXTS = 2  # that have a feature which is learned
# Marks that keep whole words, and characters of scripts without spaces, apart from n-grams.
_WHOLE, OF_UNSPACED = "\1", "\2"
Table = Any  # scipy.sparse.csr_matrix of float32, which has no types


def words_of(text: str) -> list[str]:
    """Words in lower case; of Hangul and scripts without spaces characters and neighbouring pairs, each marked."""
    words: list[str] = []
    for word in _WORD.findall(normal(text)):
        for part in [word] if word.isascii() else _PARTS.findall(word):
            if _RUN.match(part):
                words += [OF_UNSPACED + character for character in part]
                words += [OF_UNSPACED + part[at : at + 2] for at in range(len(part) - 1)]
            else:
                words.append(part[:LONGEST])
    return words


def features_of(word: str) -> list[str]:
    """Return a word itself, and its n-grams with a blank at either end; itself alone in a script without spaces."""
    if word[0] == OF_UNSPACED:
        return [word]
    spaced = f" {word} "
    grams = [spaced[at : at + length] for length in LENGTHS for at in range(len(spaced) - length + 1)]
    return [*grams, _WHOLE + word]


class WordNumbers:
    """Words by number, in the order in which they were first read."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def bags(self, texts: Iterable[str]) -> Table:
        """Return (texts, words so far) how much every word counts in every text; new words get numbers."""
        bags = _counted((Counter(words_of(text)) for text in texts), self._numbers)
        bags.data = bags.data * np.float32(1 + SATURATION) / (bags.data + np.float32(SATURATION))
        return bags


def _counted(rows: Iterable[Mapping[str, int]], numbers: dict[str, int]) -> Table:
    """Return (rows, names so far) how often every row has every name. numbers: of the names; new ones get theirs."""
    places: list[int] = [0]
    columns: list[int] = []
    counts: list[int] = []
    for row in rows:
        columns += [numbers.setdefault(name, len(numbers)) for name in row]
        counts += row.values()
        places.append(len(columns))
    held = np.array(counts, np.float32), np.array(columns, np.int32), np.array(places, np.int64)
    return csr_matrix(held, (len(places) - 1, len(numbers)))


def stacked(tables: Sequence[Table], columns: int) -> Table:
    """Return tables one under another, with so many columns."""
    wide = [csr_matrix((each.data, each.indices, each.indptr), (each.shape[0], columns)) for each in tables]
    return vstack(wide, "csr")


def narrowed(columns: int, *tables: Table) -> tuple[npt.NDArray[np.int64], list[Table]]:
    """Return the columns that any of the tables has a value in, and the tables with these alone."""
    used = np.unique(np.concatenate([each.indices for each in tables]))
    places = np.zeros(columns, np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    narrow = [csr_matrix((each.data, places[each.indices], each.indptr), (each.shape[0], len(used))) for each in tables]
    return used, narrow


class Features:
    """Features with vectors, by number. names: of the features; weights: (features,) what each counts in a word."""

    def __init__(self, names: Sequence[str], weights: npt.NDArray[np.float32]) -> None:
        self.names = list(names)
        self.weights = weights
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def table(self, words: Iterable[str]) -> Table:
        """Return (words, features) how much each feature counts in each word."""
        known = (Counter(filter(self._numbers.__contains__, features_of(word))) for word in words)
        table = _counted(known, self._numbers)
        table.data *= self.weights[table.indices]
        return table


def chosen_features(bags: Table, words: Iterable[str], *, most: int) -> Features:
    """The features to learn: of those that at least two texts have and at most half of them, the `most` that occur in
    the most texts, in that order, weighted by ln((1 + texts) / (1 + texts that have it)) + 1.

    bags: (texts, words) as `WordNumbers.bags` gives them; words: those of its columns, and maybe more."""
    names: dict[str, int] = {}
    held = _counted((dict.fromkeys(features_of(word), 1) for word in islice(words, bags.shape[1])), names)
    texts = np.zeros(len(names), np.int64)
    for start in range(0, bags.shape[0], _AT_ONCE):
        part = bags[start : start + _AT_ONCE] @ held
        texts += np.bincount(part.indices, minlength=len(names))
    possible = np.flatnonzero((texts >= _FEWEST_TEXTS) & (texts <= max(1, bags.shape[0] // 2)))
    every = list(names)
    order = sorted(possible.tolist(), key=lambda number: (-texts[number], every[number]))[:most]
    weights = np.log((1 + bags.shape[0]) / (1 + texts[order])) + 1
    return Features([every[number] for number in order], weights.astype(np.float32))
