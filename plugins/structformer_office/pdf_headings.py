"""Where the sections of a PDF begin: by its outline, else by the size of its headings, else a section a page."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from structformer_office.pdf_lines import Line

_NUMBER = re.compile(r"^(?:\d+|[A-Z]|[IVXLC]+)(?:\.\d+)*[.)]?\s+(?=\S)")
_LARGER = 1.15  # a heading's letters than the text's
_LONGEST = 150  # characters of a heading that is known by its size alone
_MOST = 0.2  # of all text that may be such headings; more are something else
_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the outline: its title, level from 1, page and the height on it that it leads to, if it says one."""

    title: str
    level: int
    page: int
    height: float | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and its place."""

    page: int
    """The number of its page, from 0."""
    line: int
    """It comes before the line of this number on the page, from 0."""
    level: int
    title: str
    lines: int = 0
    """How many lines from there are its own text."""


def by_outline(entries: Sequence[Entry], pages: Sequence[Sequence[Line]]) -> list[Heading]:
    """Return the headings that an outline says, each at the line that has its title, else where the outline leads."""
    on_page: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        on_page[entry.page].append(entry)
    return [each for number, lines in enumerate(pages) for each in _on_page(number, on_page[number], lines)]


def _on_page(page: int, entries: Sequence[Entry], lines: Sequence[Line]) -> Iterator[Heading]:
    places: dict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        places[_plain(line.text)].append(index)
    reached = 0
    for entry in entries:
        # The first line, from the one that is reached, that stands no higher than the outline leads.
        height = math.inf if entry.height is None else entry.height
        led = next((index for index in range(reached, len(lines)) if lines[index].height <= height), reached)
        plain = _plain(entry.title)
        after = [index for index in places.get(plain, ()) if index >= reached]
        nearest = min(after, key=lambda index: abs(index - led)) if after else led
        own = _own_lines(plain, lines[nearest:])
        yield Heading(page, nearest, entry.level, entry.title, own)
        places[plain] = []  # a second entry of the same title is another one
        reached = nearest + own


def _own_lines(plain: str, lines: Sequence[Line]) -> int:
    """Return how many lines, from the first, have this title and nothing else; 0 where they say something else."""
    joined = ""
    for count, line in enumerate(lines[:4], 1):
        joined = f"{joined} {line.text}"
        if _plain(joined) == plain:
            return count
    return 0


def _plain(text: str) -> str:
    """Return a title as it is compared: letters and digits, without its number."""
    return "".join(character for character in _NUMBER.sub("", text.strip()).casefold() if character.isalnum())


def by_size(pages: Sequence[Sequence[Line]]) -> list[Heading]:
    """Return the headings that larger letters show; none where these do not look like headings."""
    body, characters = _usual_size(pages)
    headings: list[tuple[float, Heading]] = []
    for number, page in enumerate(pages):
        for size, run in groupby(enumerate(page), lambda numbered: numbered[1].size):
            places, lines = zip(*run, strict=True)
            title = " ".join(line.text for line in lines)
            if size > body * _LARGER and len(title) <= _LONGEST and any(map(str.isalpha, title)):
                headings.append((size, Heading(number, places[0], 1, title, len(lines))))
    if len(headings) < 2 or sum(len(each.title) for _, each in headings) > _MOST * characters:
        return []
    levels = {size: min(level, _LEVELS) for level, size in enumerate(sorted({size for size, _ in headings})[::-1], 1)}
    return [replace(each, level=levels[size]) for size, each in headings]


def title_by_size(pages: Sequence[Sequence[Line]]) -> str:
    """Return the text in the largest letters of the first page with text; "" if they are not larger than others."""
    first = next(page for page in pages if page)
    largest = max(line.size for line in first)
    lines = next(run for size, run in groupby(first, attrgetter("size")) if size == largest)
    title = " ".join(line.text for line in lines)
    larger = largest > _usual_size(pages)[0] * _LARGER
    return title if larger and len(title) <= _LONGEST and any(map(str.isalpha, title)) else ""


def _usual_size(pages: Sequence[Sequence[Line]]) -> tuple[float, int]:
    """Return (the size that most of the text has, how many characters there are)."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], -size), default=0.0), sizes.total()


def by_page(pages: Sequence[Sequence[Line]]) -> list[Heading]:
    """Return a heading a page, by its number; none for a single page."""
    if len(pages) < 2:
        return []
    return [Heading(number, 0, 1, f"Page {number + 1}") for number, lines in enumerate(pages) if lines]
