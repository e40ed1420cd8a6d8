"""A document's place in the corpus, for samplers: its references, the pages they lead to, other pages' texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np

from structformer.document import word_count
from structformer.sampling.collection import CollectionCounts
from structformer.sampling.example import Census, Example
from structformer.sampling.view import DocumentView, holds, nearly_equal, word_set
from structformer.text.passages import sentences

# A text, and the span whose tokens attend, empty for [CLS]; (~start, ~end) asks what a span's tokens get from [CLS].
Request = tuple[str, int, int]
Row = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Reference:
    """A link with an anchor text."""

    section: int
    start: int
    """The anchor is [start, end) of the section's text."""
    end: int
    text: str
    target: int
    """The number of the document that it leads to."""

    @classmethod
    def of(cls, edge: Mapping[str, Any]) -> Reference:
        """Return the reference of an edge of the reference graph."""
        names = ("source_section", "start", "end", "text", "target_document")
        return cls(*(edge[name] for name in names))


class WordWeights(Protocol):
    """Attention that words of a text get, from the tokens of a span or from [CLS]. It is pickled for processes that
    share the work.
    """

    folder: Path
    """Keeps what was computed."""
    computed: int
    """How many requests were."""
    place: int
    """Number of the process, which chooses its device."""

    def processes(self, asked: int | None) -> int:
        """Return how many processes share the work. asked: what the user wants."""

    def compute(self, requests: Sequence[Request]) -> list[Row]:
        """Compute these requests, the same for the same ones."""

    def know(self, rows: Mapping[Request, Row]) -> None:
        """Answer from what `compute` gave earlier."""

    def span_weights(self, text: str, spans: Sequence[tuple[int, int]]) -> list[float]:
        """Return weights of a text's spans, [start, end) in characters: what their own tokens get from [CLS]."""

    def first_pieces(self, texts: Sequence[str]) -> list[tuple[int, dict[str, float]]]:
        """Of each text (tokens read, what [CLS] gives the first tokens of each word, by word in lower case)."""

    def weights(self, text: str, start: int = 0, end: int = 0) -> Mapping[str, float]:
        """Weights by lower-case word, from the tokens in [start, end) or, if empty, from [CLS]; they sum to one."""


class PageTexts(Protocol):
    """Texts of all the corpus's documents by number; "" for those held out."""

    @property
    def count(self) -> int: ...
    def head(self, number: int) -> str:
        """Return the document's first characters: abstract first, then its sections (LTM)."""

    def abstract(self, number: int) -> str:
        """Return the document's abstract, and what follows where it is short (HARP's destination pages)."""

    def title(self, number: int) -> str: ...


@dataclass(frozen=True, slots=True)
class AnchoredSentence:
    """A sentence that holds references."""

    section: int
    text: str
    references: tuple[Reference, ...]
    spans: tuple[tuple[int, int], ...]
    """The place in `text` of each reference's anchor text."""


@dataclass(slots=True)
class Neighbourhood:
    """A document in its corpus."""

    view: DocumentView
    number: int
    pages: PageTexts
    see_also: Sequence[int] = ()
    """Documents that its see-also lists name."""
    references: Sequence[Reference] = ()
    anchor_targets: Callable[[str], Sequence[int]] = lambda text: ()
    """Documents that links with an anchor text lead to."""
    weights: WordWeights | None = None
    collection: CollectionCounts | None = None
    named_by: Sequence[int] = ()
    """Documents whose see-also lists name it."""
    surveyed: Any = None
    """Result of the task's survey of the whole corpus."""
    _sentences: list[AnchoredSentence] | None = field(default=None, repr=False)

    def title_and_head(self) -> str:
        """Return the document as PROP's rankers are shown it: its title, a full stop, and its first texts."""
        return title_and_head(self.pages, self.number)

    def anchored_sentences(self) -> list[AnchoredSentence]:
        """Return the sentences with references to other, not held-out documents, in the order of the text."""
        if self._sentences is None:
            self._sentences = list(self._find_sentences())
        return self._sentences

    def _find_sentences(self) -> Iterator[AnchoredSentence]:
        by_section: dict[int, list[Reference]] = {}
        for reference in self.references:
            if reference.target != self.number and reference.text.strip() and self.pages.title(reference.target):
                by_section.setdefault(reference.section, []).append(reference)
        for section, references in sorted(by_section.items()):
            text = self.view.sections[section].text
            for start, end in sentence_spans(text):
                inside = tuple(
                    reference for reference in references if start <= reference.start and reference.end <= end
                )
                if inside:
                    spans = tuple((reference.start - start, reference.end - start) for reference in inside)
                    yield AnchoredSentence(section, text[start:end], inside, spans)

    def random_pages(
        self, rng: Random, excluded: set[int], text: Callable[[int], str], wanted: int, positive: str, query: str = ""
    ) -> dict[int, str]:
        """Return random documents' texts by number: long enough, distinct, unlike the positive, without the query."""
        taken: dict[int, str] = {}
        words, fewest = word_set(positive), self.view.options.min_words
        for _ in range(50 + 10 * wanted if self.pages.count > len(excluded) else 0):
            if len(taken) >= wanted:
                break
            number = rng.randrange(self.pages.count)
            shown = "" if number in excluded else text(number)
            if word_count(shown) < fewest or shown in taken.values() or holds(shown, query):
                continue
            if not nearly_equal(words, word_set(shown)):
                taken[number] = shown
        return taken

    def among_random_pages(
        self, pair: Example, rng: Random, excluded: set[int], text: Callable[[int], str], census: Census | None = None
    ) -> Iterator[Example]:
        """Yield the pair's Example with random documents, as wanted. census: counts one left alone as dropped."""
        [query], [positive] = pair.queries, pair.documents
        others = self.random_pages(rng, excluded, text, self.view.options.wanted_negatives, positive, query).values()
        if census is not None and not others:
            census.drop(pair.task, "no documents to contrast with")
            return
        sections = (*pair.sections, *(-1,) * len(others))
        yield replace(pair, queries=(query,) * len(sections), documents=(positive, *others), sections=sections)


def title_and_head(pages: PageTexts, number: int) -> str:
    """Return a document as PROP's rankers are shown it: its title, a full stop, and its first texts."""
    return f"{pages.title(number)}. {pages.head(number)}"


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of each sentence of a text, in order."""
    offset = 0
    for line in text.split("\n"):
        place = 0
        for sentence in sentences(line):
            place = line.find(sentence, place)
            yield offset + place, offset + place + len(sentence)
            place += len(sentence)
        offset += len(line) + 1
