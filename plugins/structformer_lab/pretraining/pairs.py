"""Questions by the structure of a corpus, each with a passage that answers it.

A heading asks for its section, a sentence for its passage, a link's sentence and text for what they
link to (as ICT of Lee et al., ACL 2019, section 4; as anchors of Wikiformer's ATI). The question is taken out of its
passage nine times of ten, so that not its words alone tell.
"""

import hashlib
import math
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.retrieval import Copies, Retriever, Unit, draw_pseudo_queries
from structformer.text import with_path, written_words

OPENING, LINK, SENTENCE, ANCHOR, HEADING = "opening", "link", "sentence", "anchor", "heading"
ASKED = "question"  # a heading that people would ask
_ASKS = re.compile(r"(how|why|what|when|where|which|can|does|is|do|should)\b.*|.*\?", re.IGNORECASE | re.DOTALL)
_FEWEST_WORDS = 12  # of a passage
_HEADING_WORDS = range(2, 15)
_QUESTION, _PASSAGE = 400, 1500  # characters kept
_TAKEN_OUT, _WITHOUT_HEADING = 0.9, 0.7
_SHINGLE, _SHARED = 8, 0.25  # words, and the share of a passage's runs of words that makes it a near copy


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, and a passage that answers it."""

    question: str
    passage: str
    document: int
    unit: int
    """Number of the passage in its corpus."""
    source: str


def draw_pairs(workspace: Path, most: int = 30_000) -> Iterator[Pair]:
    """Draw the pairs of a workspace that has an index of words; the same for the same corpus."""
    table, corpus = Retriever.open(workspace).units, Corpus.open(workspace)
    units, copies = list(table), Copies.of(table)
    choice, overlap = random.Random(corpus.fingerprint), _Overlap(units)
    graph = ReferenceGraph.open(workspace, corpus)
    sources = (OPENING, LINK, SENTENCE, ANCHOR)
    for query in draw_pseudo_queries(corpus, graph, table, copies=copies, sources=sources, most=most):
        if query.source in (LINK, ANCHOR):
            number = overlap.best(query.text, query.document, query.holders)
            passage = units[number].ranker_text if number >= 0 else ""
        else:
            number = next(iter(query.holders), -1)
            passage = _without(query.text, units[number], choice) if number >= 0 else ""
        if passage:
            yield Pair(query.text[:_QUESTION], passage[:_PASSAGE], query.document, number, query.source)
    yield from _of_headings(units, copies, choice)


def _without(sentence: str, unit: Unit, choice: random.Random) -> str:
    """Return a passage without a sentence of it, one time of ten with it; "" if little is left."""
    text = unit.text.replace(sentence.rstrip("."), "", 1) if choice.random() < _TAKEN_OUT else unit.text
    return with_path(" ".join(unit.path), text) if len(text.split()) >= _FEWEST_WORDS else ""


class _Overlap:
    """Finds the passage of a document that shares most words with a text, by their inverse document frequency."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._words = [frozenset(written_words(unit.whole)) for unit in units]
        self._having = Counter(word for words in self._words for word in words)
        self._of_document: dict[int, list[int]] = {}
        for number, unit in enumerate(units):
            if len(unit.text.split()) >= _FEWEST_WORDS:
                self._of_document.setdefault(unit.document, []).append(number)

    def best(self, text: str, document: int, without: Collection[int]) -> int:
        """Return the passage's number, -1 if the document has no other passages than those."""
        having = {word: self._having[word] for word in written_words(text) if word in self._having}
        idf = {word: math.log(1 + len(self._words) / count) for word, count in having.items()}
        others = [number for number in self._of_document.get(document, ()) if number not in without]
        return max(others, key=lambda number: sum(idf[word] for word in idf if word in self._words[number]), default=-1)


def _of_headings(units: Sequence[Unit], copies: Copies, choice: random.Random) -> Iterator[Pair]:
    seen = set()
    for number, unit in enumerate(units):
        if copies.is_copy(unit.document) or not unit.path or len(unit.text.split()) < _FEWEST_WORDS:
            continue
        likely = unit.path[-1], " ".join(unit.path[-2:])
        heading = next((each for each in likely if len(written_words(each)) in _HEADING_WORDS), "")
        if not heading or (unit.document, unit.path) in seen:
            continue
        seen.add((unit.document, unit.path))
        path = unit.path[:-1] if choice.random() < _WITHOUT_HEADING else unit.path
        passage = with_path(" ".join(path), unit.text) if path else unit.text
        source = ASKED if _ASKS.fullmatch(heading.strip()) else HEADING
        yield Pair(heading[:_QUESTION], passage[:_PASSAGE], unit.document, number, source)


def runs_of_words(text: str) -> set[int]:
    """Return digests of a text's runs of eight words."""
    words = written_words(text)
    return {
        int.from_bytes(hashlib.blake2b(" ".join(words[start : start + _SHINGLE]).encode(), digest_size=8).digest())
        for start in range(len(words) - _SHINGLE + 1)
    }


def judged_runs(workspaces: Iterable[Path]) -> set[int]:
    """Return the runs of words of corpora that are kept for judging."""
    return {run for each in workspaces for unit in Retriever.open(each).units for run in runs_of_words(unit.text)}


def is_near_copy(pair: Pair, judged: set[int]) -> bool:
    """Whether a passage shares a quarter of its runs of words with a corpus that is kept for judging."""
    own = runs_of_words(pair.passage) if judged else set()
    return len(own & judged) > _SHARED * len(own)
