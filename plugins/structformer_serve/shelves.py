"""The documents as the first page has them, by folders, in each the index page first; and questions to begin with:
headings that read like something a person would ask.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from math import inf

import numpy as np
import numpy.typing as npt
from structformer.document import word_count
from structformer.retrieval import Mask, OpenedIndex
from structformer.text import is_imperative, plain, stands_alone, version_order

Numbers = npt.NDArray[np.int64]  # of documents
_NO_VERSION = (-1, (), False)
_INDEX_PAGES = ("index", "_index", "readme", "home", "overview", "introduction", "intro")
_PLAIN_WORDS = re.compile(r"[a-z]+(?:[-_ ][a-z]+)*")
_NUMBER = re.compile(r"(\d+)")
_ORDER = re.compile(r"\d{1,3}[-_.](?=[^\W\d])")  # a number in front, which orders folders
_LOOKED_AT = 3000  # passages, spread over all of them, whose headings may be questions
_FEWEST, _MOST = 5, 9  # words of a question
_LONGEST = 60  # characters of one
# Not "When the daemon starts": a heading begins so, a question does not.
_QUESTION = re.compile(
    r"(?:how|what|why|which|who|can|does|do|is|should|(?:when|where)\s+(?:to|do|does|did|is|are|can|should))\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"(?:do not|don.t|never|avoid)\b", re.IGNORECASE)


def folder_label(folder: str, title: str = "") -> str:
    """Return a folder's heading: the title of its index page, unless that says no more than "Overview" or the folder is
    a version; else its name without a number in front, which stays as it is if it is not plain words, such as man1.
    """
    name = _ORDER.sub("", folder.rpartition("/")[2])
    if title and not version_order(name) and (title.lower() not in _INDEX_PAGES or title.lower() in name):
        return title
    return re.sub("[-_]", " ", name).capitalize() if _PLAIN_WORDS.fullmatch(name) else name


class Shelves:
    """All documents by their folders. Threads may share it."""

    def __init__(self, ids: Iterable[str], ranks: Mapping[str, float] | None = None) -> None:
        """ids: of the documents in their order. ranks: the places of some of them in the site's own order."""
        ranks = ranks or {}
        folders: dict[str, list[tuple[float, int, list[tuple[int, int, str]], int]]] = {}
        self.index_pages: dict[str, int] = {}
        """The number of the index page of each folder that has one."""
        self._ranks: dict[str, float] = {}  # of folders: that of their index page, else of their first one
        for number, name in enumerate(ids):
            folder, _, file = name.rpartition("/")
            rank = ranks.get(name, inf)
            index_rank = _index_rank(file)
            if index_rank < _INDEX_PAGES.index("home"):
                self.index_pages.setdefault(folder, number)
            first = -1.0 if index_rank == 0 else rank
            folders.setdefault(folder, []).append((first, index_rank, _natural(file), number))
            for above in prefixes(folder):
                self._ranks[above] = min(self._ranks.get(above, inf), rank)
        self._folders = {
            folder: np.array([number for *_, number in sorted(rows)], np.int64) for folder, rows in folders.items()
        }

    def view(self, seen: Mask, folder: str = "") -> tuple[Numbers, dict[str, Numbers]]:
        """The documents that are in a folder itself, and the folders in it with all that is below them, the index page
        first. A folder that has nothing but one folder is passed over. seen: (documents,) those that may be seen.
        """
        have_folders = {above for name in self._folders for above in prefixes(name)[:-1]}
        while True:
            own, shelves = self._level(seen, folder)
            if len(own) or len(shelves) != 1 or not have_folders.issuperset(shelves):
                return own, shelves
            [folder] = shelves

    def beside(self, folder: str, number: int, seen: Mask) -> tuple[Numbers, Numbers]:
        """Return the documents before and after this one in its folder, nearest first. seen: as in `view`."""
        documents = self._folders[folder]
        documents = documents[seen[documents]]
        place = int(np.flatnonzero(documents == number)[0])
        return documents[:place][::-1], documents[place + 1 :]

    def _level(self, seen: Mask, folder: str) -> tuple[Numbers, dict[str, Numbers]]:
        before = f"{folder}/" if folder else ""
        below: dict[str, list[Numbers]] = {}
        within = (name for name in self._folders if name and name.startswith(before))
        # By name and number, each folder before those in it.
        for name in sorted(
            within, key=lambda name: [(self._ranks[above], _natural(above)) for above in prefixes(name)]
        ):
            numbers = self._folders[name]
            if len(numbers := numbers[seen[numbers]]):
                below.setdefault(before + name[len(before) :].partition("/")[0], []).append(numbers)
        own = self._folders.get(folder, np.empty(0, np.int64))
        names = list(below)
        if names and all(version_order(name.rpartition("/")[2]) for name in names):
            names = [before + name for name in newest_first(name[len(before) :] for name in names)]
        return own[seen[own]], {name: np.concatenate(below[name]) for name in names}


def newest_first(names: Iterable[str]) -> list[str]:
    """Versions as `version_order` has them, the greatest first; what is not a version comes last."""
    return sorted(sorted(names), key=lambda name: version_order(name) or _NO_VERSION, reverse=True)


def prefixes(folder: str) -> list[str]:
    """Return the folders down to this one: a, a/b."""
    return list(accumulate(folder.split("/"), "{}/{}".format))


def _natural(name: str) -> list[tuple[int, int, str]]:
    """man2 before man10."""
    return [
        (0, int(part[:18]), "") if part.isdecimal() else (1, 0, part)
        for part in _NUMBER.split(name.replace("/", "\0"))
        if part
    ]


def _index_rank(file: str) -> int:
    """0 for a folder's index page, then what else reads like one, then all others."""
    stem = file.partition(".")[0].lower()
    return _INDEX_PAGES.index(stem) if stem in _INDEX_PAGES else len(_INDEX_PAGES)


def example_questions(opened: OpenedIndex, seen: Mask, count: int = 4) -> list[str]:
    """Return up to `count` headings, each of another document: questions first, then instructions. seen: (documents,)
    those that may be seen.
    """
    total = len(opened.units)
    best: dict[int, tuple[int, int, str]] = {}  # of each document
    for number in range(0, total, max(1, total // _LOOKED_AT)):
        document = int(opened.owners[number])
        if opened.sections[number] == 0 or not seen[document]:
            continue
        title = str(opened.units.value(number, "title")).strip()
        rank = _rank(title)
        if rank is not None and (rank, number, title) < best.get(document, (9, 0, "")):
            best[document] = rank, number, title
    questions: dict[str, str] = {}
    ranked = sorted(best.values())
    for rank in range(3):
        titles = [title for each, _, title in ranked if each == rank]
        step = max(1, len(titles) // count)  # spread, so that they are not all of the first folder
        for title in [*titles[::step], *titles]:
            if len(questions) == count:
                break
            questions.setdefault(plain(title), title)
    return list(questions.values())


def further_questions(
    opened: OpenedIndex, documents: Iterable[int], without: Iterable[str], count: int = 3
) -> list[str]:
    """Return up to `count` headings of some documents, questions first, but those to go without."""
    passed, ranked = set(map(plain, without)), dict[str, tuple[int, int, str]]()
    for document in documents:
        for number in np.flatnonzero(opened.owners == document)[:_LOOKED_AT].tolist():
            title = str(opened.units.value(number, "title")).strip()
            rank = _rank(title) if opened.sections[number] and plain(title) not in passed else None
            if rank is not None:
                ranked.setdefault(plain(title), (rank, len(ranked), title))
    return [title for _, _, title in sorted(ranked.values())[:count]]


def _rank(title: str) -> int | None:
    """Return 0 for a question, 1 and 2 for what one does; None for what one would not type."""
    asked = title.rstrip("?？ ")
    if len(title) > _LONGEST or _FORBIDS.match(title):
        return None
    if (title != asked or _QUESTION.match(title)) and _FEWEST <= word_count(asked) <= _MOST + 2:
        return 0  # whole, though its "I" would say of a sentence that it is torn from its place
    if title != asked or not stands_alone(title, _FEWEST, _MOST):
        return None
    return 1 if is_imperative(title) else 2 if title.split()[0].lower().endswith("ing") else None
