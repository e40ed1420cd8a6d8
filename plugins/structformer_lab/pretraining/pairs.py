"""Questions by the structure of a corpus, each with a passage that answers it.

A heading asks for its section, a sentence for its passage, a link's sentence and text for what they
link to (as ICT of Lee et al., ACL 2019, section 4; as anchors of Wikiformer's ATI). The question is taken out of its
passage nine times of ten, so that not its words alone tell.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.retrieval import Copies, Retriever, Unit, draw_pseudo_queries
from structformer.text import with_path

OPENING, LINK, SENTENCE, ANCHOR, HEADING = "opening", "link", "sentence", "anchor", "heading"
ASKED = "question"  # a heading that people would ask
_ASKS = re.compile(r"(how|why|what|when|where|which|can|does|is|do|should)\b.*|.*\?", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"\w+")
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
    bags = [{word.casefold() for word in _WORD.findall(unit.whole)} for unit in units]
    having = Counter(word for bag in bags for word in bag)
    of_document: dict[int, list[int]] = {}
    for number, unit in enumerate(units):
        if len(unit.text.split()) >= _FEWEST_WORDS:
            of_document.setdefault(unit.document, []).append(number)
    choice = random.Random(corpus.fingerprint)
    graph = ReferenceGraph.open(workspace, corpus)
    for query in draw_pseudo_queries(
        corpus, graph, table, copies=copies, sources=(OPENING, LINK, SENTENCE, ANCHOR), most=most
    ):
        if query.source in (OPENING, SENTENCE):
            number = query.holders[0] if query.holders else -1
            unit = units[number]
            taken = query.text.rstrip(".") if choice.random() < _TAKEN_OUT else ""
            rest = unit.text.replace(taken, "", 1) if taken else unit.text
            if number < 0 or len(rest.split()) < _FEWEST_WORDS:
                continue
            passage = with_path(" ".join(unit.path), rest)
        else:
            asked = {word.casefold() for word in _WORD.findall(query.text)}
            others = [each for each in of_document.get(query.document, ()) if each not in query.holders]
            if not others:
                continue
            weights = {word: math.log(1 + len(units) / having[word]) for word in asked if having[word]}
            number = max(others, key=lambda each: (sum(weights.get(word, 0.0) for word in asked & bags[each]), -each))
            passage = units[number].ranker_text
        yield Pair(query.text[:_QUESTION], passage[:_PASSAGE], query.document, number, query.source)
    yield from _of_headings(units, copies, choice)


def _of_headings(units: list[Unit], copies: Copies, choice: random.Random) -> Iterator[Pair]:
    seen = set()
    for number, unit in enumerate(units):
        if copies.is_copy(unit.document) or not unit.path or len(unit.text.split()) < _FEWEST_WORDS:
            continue
        heading = next((each for each in (unit.path[-1], " ".join(unit.path[-2:])) if _asks_enough(each)), "")
        if not heading or (unit.document, unit.path) in seen:
            continue
        seen.add((unit.document, unit.path))
        path = unit.path[:-1] if choice.random() < _WITHOUT_HEADING else unit.path
        passage = with_path(" ".join(path), unit.text) if path else unit.text
        source = ASKED if _ASKS.fullmatch(heading.strip()) else HEADING
        yield Pair(heading[:_QUESTION], passage[:_PASSAGE], unit.document, number, source)


def _asks_enough(heading: str) -> bool:
    return len(_WORD.findall(heading)) in _HEADING_WORDS


def runs_of_words(text: str) -> set[int]:
    """Digests of a text's runs of eight words."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {
        int.from_bytes(hashlib.blake2b(" ".join(words[start : start + _SHINGLE]).encode(), digest_size=8).digest())
        for start in range(len(words) - _SHINGLE + 1)
    }


def judged_runs(workspaces: Iterable[Path]) -> set[int]:
    """The runs of words of corpora that are kept for judging."""
    return {run for each in workspaces for unit in Retriever.open(each).units for run in runs_of_words(unit.text)}


def is_near_copy(pair: Pair, judged: set[int]) -> bool:
    """Whether a passage shares a quarter of its runs of words with a corpus that is kept for judging."""
    own = runs_of_words(pair.passage) if judged else set()
    return len(own & judged) > _SHARED * len(own)
