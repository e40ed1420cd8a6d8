"""Documents that say the same, which are one result: a page under several names, its versions, generated pages."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from structformer.document import pieces_of
from structformer.formats.link_names import without_suffix
from structformer.retrieval.documents.translations import name_digest
from structformer.retrieval.documents.units import Unit, Units
from structformer.storage.files import read_errors
from structformer.text.id_marks import Order, version_of

COPIES = "copies.npy"  # in an index, (documents,): for each document the one that stands for it and its copies
ALIKE = 0.94  # share of the characters of two documents that stand in lines which both have
VERSIONS_ALIKE = 0.3  # the same of the shorter one, where ids say that they are a version and the next one of a page
_MOST_OF_A_PAGE = 10
_SHORT = 200  # characters, below which only documents of one title are copies: "To be written." says nothing
_SKETCH = 8  # lines of a document by which those that may be its copies are found
_MOST_WITH_LINE = 16  # documents that are kept for one line: a licence says nothing about the page
_LINE_ENDS = re.compile(r"(?<=[.!?;:])\s+|(?<=[。！？；])|\n")
_Lines = dict[bytes, int]  # the characters of each line by its digest


class CopyFinder:
    """Finds copies and versions among documents that it is shown one after the other: it keeps 220 bytes of each."""

    def __init__(self) -> None:
        self._bounds = array("q", [0])  # of each document's units
        self._sizes = array("q")
        self._titles: list[bytes] = []
        self._digests: list[bytes] = []
        self._sketches: list[bytes] = []
        self._families = array("Q")  # ids without what may name a version
        self._versions = array("i")
        self._orders: dict[Order, int] = {}

    def add(self, document_id: str, title: str, texts: Iterable[str]) -> None:
        """Look at the next document: the texts of its units."""
        family, order = version_of(without_suffix(document_id))  # x.md and x.html are one page, if they are alike
        self._families.append(name_digest(family))
        self._versions.append(self._orders.setdefault(order, len(self._orders)))
        texts = list(texts)
        lines = _lines(texts)
        size = sum(lines.values())
        self._titles.append(hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest())
        whole = hashlib.blake2b(b"".join(lines), digest_size=_DIGEST)
        if size < _SHORT:
            whole.update(self._titles[-1])
        self._bounds.append(self._bounds[-1] + len(texts))
        self._sizes.append(size)
        self._digests.append(whole.digest())
        self._sketches.append(b"".join(sorted(lines)[:_SKETCH]) if size >= _SHORT else b"")

    def first_of_each(self, units: Units) -> npt.NDArray[np.int32]:
        """(documents,) For each document the number of the one that stands for it and its copies, often itself: the
        newest version, or the first of several. units: those of all the documents that were added."""
        return self._with_versions(self._copies(units), units)

    def _with_versions(self, first: npt.NDArray[np.int32], units: Units) -> npt.NDArray[np.int32]:
        """`first` with the versions of each document, for which the newest stands."""
        orders = list(self._orders)
        rank = np.argsort(sorted(range(len(orders)), key=orders.__getitem__)).astype(np.int32)
        versions = rank[np.frombuffer(self._versions, np.int32)] if orders else rank
        families = np.frombuffer(self._families, np.uint64)
        by_family = np.lexsort((versions, families))
        same = families[by_family[1:]] == families[by_family[:-1]]
        pairs = [
            (one, other)
            for one, other in zip(by_family[:-1][same].tolist(), by_family[1:][same].tolist(), strict=True)
            if self._titles[one] == self._titles[other]  # before any text is read
            if first[one] != first[other] and self._are_versions(one, other, units)
        ]
        joined = first
        if pairs:
            from scipy.sparse import csgraph, csr_matrix  # a search need not wait for it

            ends = np.concatenate([np.transpose(pairs), [np.arange(len(first)), first]], axis=1)
            links = csr_matrix((np.ones(ends.shape[1]), ends), (len(first), len(first)))
            _, groups = csgraph.connected_components(links, directed=False)
            joined = np.unique(groups, return_index=True)[1][groups].astype(np.int32)
        newest = joined.copy()
        by_version = np.lexsort((-np.arange(len(joined)), versions))  # of equal ones the first comes last
        newest[joined[by_version]] = by_version
        return newest[joined]

    def _are_versions(self, one: int, other: int, units: Units) -> bool:
        lines = self._lines_of(one, units), self._lines_of(other, units)
        common = sum(length for line, length in lines[0].items() if line in lines[1])
        return common >= VERSIONS_ALIKE * min(sum(lengths.values()) for lengths in lines) > 0

    def _copies(self, units: Units) -> npt.NDArray[np.int32]:
        first = np.arange(len(self._sizes), dtype=np.int32)
        equal: dict[bytes, int] = {}
        with_line: dict[bytes, list[int]] = {}
        for number, size in enumerate(self._sizes):
            if not size:
                continue
            first[number] = equal.setdefault(self._digests[number], number)
            if first[number] != number:
                continue
            likely = self._likely(number, with_line)
            lines = self._lines_of(number, units) if likely else {}
            like = next((other for other in likely if _alike(lines, self._lines_of(other, units))), None)
            if like is not None:
                first[number] = equal[self._digests[number]] = like
                continue
            for line in _parts(self._sketches[number]):
                having = with_line.setdefault(line, [])
                if len(having) < _MOST_WITH_LINE:
                    having.append(number)
        return first

    def _likely(self, number: int, with_line: dict[bytes, list[int]]) -> list[int]:
        """Return documents of the same title and about the same size that have half of its sketch's lines in theirs."""
        sketch = list(_parts(self._sketches[number]))
        shared = Counter(other for line in sketch for other in with_line.get(line, ()))
        size = self._sizes[number]
        return [
            other
            for other in sorted(shared)
            if 2 * shared[other] >= len(sketch)
            and self._titles[other] == self._titles[number]
            and min(size, self._sizes[other]) >= ALIKE * max(size, self._sizes[other])
        ]

    def _lines_of(self, number: int, units: Units) -> _Lines:
        return _lines(units.value(unit, "text") for unit in range(*self._bounds[number : number + 2]))


def _alike(one: _Lines, other: _Lines) -> bool:
    common = sum(length for line, length in one.items() if line in other)
    return common >= ALIKE * (sum(one.values()) + sum(other.values()) - common)


class Copies:
    """Which documents are copies of which."""

    def __init__(self, first: npt.NDArray[np.int32]) -> None:
        """first: (documents,) for each document the one that stands for it and its copies: itself if it has none."""
        self.first_of_each = first
        self._groups: dict[int, list[int]] = {}
        copied = np.unique(first[first != np.arange(len(first))])
        # How many documents make a page on average, rounded; at most ten, so that a search stays bounded.
        self.of_a_page = min(_MOST_OF_A_PAGE, round(len(first) / max(1, len(np.unique(first)))))
        for number in np.flatnonzero(np.isin(first, copied)).tolist():
            self._groups.setdefault(int(first[number]), []).append(number)

    @classmethod
    def of(cls, units: Units) -> Copies:
        """Return those of an index's documents. Raises WorkspaceError where they cannot be read."""
        path = units.path.with_name(COPIES)
        with read_errors(path, OSError, ValueError):
            return cls(np.load(path, mmap_mode="r", allow_pickle=False))

    def first(self, document: int) -> int:
        """Return the document that stands for this one and its copies."""
        return int(self.first_of_each[document]) if self._groups else document

    def is_copy(self, document: int) -> bool:
        """Whether another one stands for it."""
        return self.first(document) != document

    def others(self, document: int) -> tuple[int, ...]:
        """Return its copies, and what it is one of."""
        return tuple(each for each in self._groups.get(self.first(document), ()) if each != document)


NO_COPIES = Copies(np.empty(0, np.int32))


class Sayings:
    """Groups hits that say the same: equal passages, and those at one place of copies that hardly differ."""

    def __init__(self, units: Units, copies: Copies) -> None:
        self._units, self._copies = units, copies
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._placed: dict[tuple[int, object], list[tuple[int, Counter[str], tuple[str, ...]]]] = {}

    def of(self, number: int) -> tuple[str, ...]:
        """Return what the section of a unit says, with its titles if it says little."""
        unit = self._units[number]
        text = " ".join(unit.text.split())
        says = (text,) if len(text) >= _SHORT else (text, *unit.path)
        if says not in self._known:
            self._known[says] = self._in_copies(number, unit, says) if self._copies.others(unit.document) else says
        return self._known[says]

    def _in_copies(self, number: int, unit: Unit, says: tuple[str, ...]) -> tuple[str, ...]:
        """Return the same as a section in its place in a copy says, where they are alike."""
        group = self._copies.first(unit.document)
        words = self._words(number, unit)
        places = [(group, place) for place in (unit.anchor, unit.path[1:]) if place != ""]
        like = (
            other
            for place in places
            for document, words_there, other in self._placed.get(place, ())
            if document != unit.document and _words_alike(words, words_there)
        )
        texts = next(like, says)
        for place in places:
            self._placed.setdefault(place, []).append((unit.document, words, texts))
        return texts

    def _words(self, number: int, unit: Unit) -> Counter[str]:
        """Return the words of a unit's whole section."""
        first = last = number
        while first and self._is_of(first - 1, unit):
            first -= 1
        while last + 1 < len(self._units) and self._is_of(last + 1, unit):
            last += 1
        texts = (self._units.value(each, "text") for each in range(first, last + 1))
        return Counter(text[start:end] for text in texts for start, end in pieces_of(text))

    def _is_of(self, number: int, unit: Unit) -> bool:
        value = self._units.value
        return (value(number, "document"), value(number, "section")) == (unit.document, unit.section)


def _words_alike(one: Counter[str], other: Counter[str]) -> bool:
    """Whether two sections have most of their characters in the same words. By lines, as whole documents are compared,
    a section of four sentences would differ where one word does.
    """
    sizes = [sum(len(word) * count for word, count in words.items()) for words in (one, other, one & other)]
    return sizes[2] >= ALIKE * max(sizes[:2])


_DIGEST = 8


def _lines(texts: Iterable[str]) -> _Lines:
    """Return the lines and sentences of texts, in order; spaces do not count."""
    lines: _Lines = {}
    for text in texts:
        for part in _LINE_ENDS.split(text):
            if line := " ".join(part.split()):
                key = hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
                lines[key] = len(line)
    return lines


def _parts(sketch: bytes) -> Iterator[bytes]:
    return (sketch[place : place + _DIGEST] for place in range(0, len(sketch), _DIGEST))
