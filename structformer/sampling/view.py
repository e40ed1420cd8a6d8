"""Samplers' view of a document: its sections numbered, with their paths, contents and kinship."""

import re
from collections.abc import Iterator, Sequence
from random import Random

from structformer.document import Document, Section, has_words, word_count
from structformer.sampling.example import SamplingOptions
from structformer.text.headings import is_see_also
from structformer.text.passages import section_passages
from structformer.text.query_like import plain
from structformer.text.words import bare_words

_WORD = re.compile(r"\w+")
_DRAWS = 64
_COPIED = 256
NEARLY_EQUAL = 0.9  # word-set overlap (Jaccard) from which two texts count as the same


class DocumentView:
    """A document's sections by number (pre-order, root 0), with what the samplers ask about them."""

    def __init__(self, document: Document, options: SamplingOptions) -> None:
        self.document = document
        self.options = options
        self.sections: list[Section] = []
        self.parents: list[int] = []
        self.ends: list[int] = []  # the subtree of section i is the numbers i .. ends[i] - 1
        self._paths: dict[int, list[str]] = {-1: []}
        self._path_texts: dict[int, str] = {}
        self._contents: dict[int, str] = {}
        self._words: dict[int, frozenset[str]] = {}
        self._long: dict[int, bool] = {}
        self._number(document.root)

    def _number(self, root: Section) -> None:
        numbers = {id(root): -1}
        for section in root.walk():
            number = len(self.sections)
            self.parents.append(numbers[id(section)])
            self.sections.append(section)
            for child in section.children:
                numbers[id(child)] = number
        self.ends = [0] * len(self.sections)
        for number in range(len(self.sections) - 1, -1, -1):
            self.ends[number] = max(self.ends[number], number + 1)
            if self.parents[number] >= 0:
                self.ends[self.parents[number]] = max(self.ends[self.parents[number]], self.ends[number])

    def children(self, number: int) -> list[int]:
        """Return numbers of a section's children."""
        children, child = [], number + 1
        while child < self.ends[number]:
            children.append(child)
            child = self.ends[child]
        return children

    def path(self, number: int) -> list[str]:
        """Return titles from the root to the section, a trailing full stop dropped; empty titles are left out."""
        if number not in self._paths:
            title = self.sections[number].title.strip()
            title = title[:-1].rstrip() if title.endswith(".") and not title.endswith("..") else title
            above = self.path(self.parents[number])
            self._paths[number] = [*above, title] if title else above
        return self._paths[number]

    def path_text(self, number: int) -> str:
        """Return the path's titles joined."""
        if number not in self._path_texts:
            self._path_texts[number] = self.options.separator.join(self.path(number))
        return self._path_texts[number]

    def kin(self, first: int, second: int) -> bool:
        """True when one is the other, its ancestor or its descendant."""
        low, high = min(first, second), max(first, second)
        return low == high or high < self.ends[low]

    def content(self, number: int) -> str:
        """Return the section's content under `options.inner`, cut at `options.max_characters`."""
        if number not in self._contents:
            section = self.sections[number]
            own = section.text
            inner = self.options.inner
            if section.children and (
                inner == "subtree" or (inner == "auto" and word_count(own) < self.options.min_words)
            ):
                own = section.subtree_text()
            self._contents[number] = own[: self.options.max_characters]
        return self._contents[number]

    def long_passages(self) -> list[tuple[int, str]]:
        """Return (section, text) of the passages with the minimum number of words."""
        passages = [(number, each.text) for number, own in enumerate(self.sections) for each in section_passages(own)]
        return [(number, text) for number, text in passages if has_words(text, self.options.min_words)]

    def words(self, number: int) -> frozenset[str]:
        """Return the distinct words of a section's content, in lower case."""
        if number not in self._words:
            self._words[number] = word_set(self.content(number))
        return self._words[number]

    def long_enough(self, number: int) -> bool:
        """Whether the content has the minimum number of words."""
        is_long = self._long.get(number)
        if is_long is None:
            is_long = self._long[number] = has_words(self.content(number), self.options.min_words)
        return is_long

    def same_text(self, first: int, second: int) -> bool:
        """Whether two contents are equal or nearly so."""
        return nearly_equal(self.words(first), self.words(second))

    def negatives(self, positive: int, candidates: Sequence[int], rng: Random, wanted: int | None) -> list[int]:
        """Return up to `wanted` of the candidates in random order: long enough, no kin of the positive, of other text.

        Of many candidates only _DRAWS are looked at, so that a document of n sections costs n, not n squared.
        """
        taken: list[int] = []
        for number in in_random_order(rng, candidates, len(candidates) if wanted is None else _DRAWS):
            if not self.kin(number, positive) and self.long_enough(number) and not self.same_text(number, positive):
                taken.append(number)
                if len(taken) == wanted:
                    break
        return taken


def in_random_order(rng: Random, items: Sequence[int], limit: int) -> Iterator[int]:
    """Yield up to `limit` of the items in random order, drawn as they are asked for."""
    if len(items) > _COPIED:  # a copy for each draw would make a section of n children cost n squared
        yield from rng.sample(items, min(limit, len(items)))
        return
    pool = list(items)
    for last in range(len(pool) - 1, max(-1, len(pool) - 1 - limit), -1):
        place = int(rng.random() * (last + 1))
        yield pool[place]
        pool[place] = pool[last]


def word_set(text: str) -> frozenset[str]:
    """Return the distinct words of a text, in lower case."""
    return frozenset(_WORD.findall(bare_words(text.lower())))


def nearly_equal(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether two word sets overlap so much that their texts count as the same."""
    if not first or not second:
        return first == second
    one, two = len(first), len(second)
    # Nearly always their sizes tell, and this is asked of every negative.
    if one < NEARLY_EQUAL * two or two < NEARLY_EQUAL * one:
        return False
    common = len(first & second)
    return common >= NEARLY_EQUAL * (one + two - common)


def phrase(query: str) -> str:
    """Return the query as `plain` has it; "" of a single word, which tells nothing of the texts that hold it."""
    words = plain(query)
    return words if " " in words or word_count(words) > 1 else ""


def holds(text: str, query: str) -> bool:
    """Whether a text holds a query of several words, in any case and spacing, and so may answer it."""
    asked = phrase(query)
    return bool(asked) and asked in plain(text)


def is_short(document: Document, min_words: int) -> bool:
    """Whether a document has fewer words in all."""
    missing = min_words
    for section in document.sections():
        if missing <= 0:
            break
        missing -= word_count(section.text)
    return missing > 0


def document_text(document: Document, max_characters: int = 1 << 62) -> str:
    """A document's content for LTM: its abstract first, then its sections without see-also lists, up to a length."""
    parts: list[str] = []
    length = 0
    for text in _texts(document):
        parts.append(text[: max_characters - length])
        length += len(parts[-1]) + 2
        if length >= max_characters:
            break
    return "\n\n".join(parts)


def document_abstract(document: Document, max_characters: int, min_words: int) -> str:
    """Return a document's abstract; one of fewer words than `min_words` is followed by the sections after it."""
    abstract = document.root.text[:max_characters]
    return abstract if word_count(abstract) >= min_words else document_text(document, max_characters)


def _texts(document: Document) -> Iterator[str]:
    stack = [document.root]
    while stack:
        section = stack.pop()
        if section is not document.root and section.title:
            if is_see_also(section.title):
                continue  # what is there names the answers
            yield section.title
        if section.text:
            yield section.text
        stack += reversed(section.children)
