"""Pseudo-questions: sentences of the corpus that read like people's queries, each with the document that answers it.

opening: what a document says of itself first. link: the sentence in which another document links to it. sentence: any
other. A question is to be answered by what is left of its document: units that hold it word for word are neither
positives nor negatives, so nothing has to be taken out of a text and encoded again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.retrieval.units import Unit
from structformer.sampling.held_out import sentence_at
from structformer.text.passages import sentences
from structformer.text.questions import (
    FEWEST_WORDS,
    MOST_WORDS,
    is_fragment,
    is_imperative,
    is_sentence,
    plain,
    question_text,
    stands_alone,
)

OPENING, LINK, SENTENCE = SOURCES = ("opening", "link", "sentence")
MOST_QUESTIONS = 30_000
_OPENING_WORDS = (3, 20)
_MANUAL_SHARE = 0.2  # of openings that are imperative, from which on only imperative sentences are taken
_OPENING_CANDIDATES = 4  # sentences of a document
_FEWEST_OPENINGS = 20  # that tell what kind of corpus it is


@dataclass(frozen=True, slots=True)
class Question:
    """A pseudo-question. document: the number of the one that answers it; holders: units that hold it word for word;
    passed_over: documents that are neither right nor wrong answers.
    """

    text: str
    document: int
    source: str
    holders: tuple[int, ...] = ()
    passed_over: tuple[int, ...] = ()


@dataclass(slots=True)
class _Found:
    text: str
    document: int
    units: list[int]


@dataclass(slots=True)
class _Sample:
    """The entries whose keys' digests are lowest, at most `most` of them: an even choice that depends on the keys
    alone, in bounded memory.
    """

    most: int
    salt: str
    entries: dict[int, _Found] = field(default_factory=dict)
    _below: int = 2**64

    def digest(self, key: str) -> int:
        data = f"{self.salt}/{key}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")

    def get(self, key: str) -> _Found | None:
        return self.entries.get(self.digest(key))

    def add(self, key: str, text: str, document: int, unit: int | None) -> None:
        digest = self.digest(key)
        if digest >= self._below:
            return
        found = self.entries.setdefault(digest, _Found(text, document, []))
        if unit is not None and (not found.units or found.units[-1] != unit):
            found.units.append(unit)
        while len(self.entries) > self.most:
            self._below //= 2
            self.entries = {key: value for key, value in self.entries.items() if key < self._below}

    def in_order(self) -> list[_Found]:
        return [self.entries[digest] for digest in sorted(self.entries)]


def draw_questions(
    corpus: Corpus,
    graph: ReferenceGraph,
    units: Iterable[Unit],
    *,
    sources: Collection[str] = SOURCES,
    most: int = MOST_QUESTIONS,
    seed: int = 0,
) -> list[Question]:
    """Questions of the sources asked for, openings first; at most `most` of them, of openings and of links a third
    each.

    Where openings are imperative ("Remove unused networks"), as in manuals, sentences and link sentences must be
    too; elsewhere any whole sentence that stands alone will do. Which ones are drawn depends on nothing but their
    texts and the seed.
    """
    first: dict[int, list[tuple[str, int]]] = {}  # by document what may be its opening, each with its unit
    known = _Sample(4 * most, f"questions/{seed}")
    for number, unit in enumerate(units):
        ours = first.setdefault(unit.document, [])
        if SENTENCE not in sources and LINK not in sources and len(ours) == _OPENING_CANDIDATES:
            continue
        for text in _candidates(unit):
            if len(ours) < _OPENING_CANDIDATES:
                ours.append((text, number))
            known.add(plain(text), text, unit.document, number)
    openings = _openings(first)
    imperative = len(openings) >= _FEWEST_OPENINGS and (
        sum(is_imperative(text) for text, _ in openings.values()) >= _MANUAL_SHARE * len(openings)
    )

    def wanted(text: str) -> bool:
        return stands_alone(text, FEWEST_WORDS, MOST_WORDS) and (
            is_imperative(text) if imperative else is_sentence(text)
        )

    def holders(text: str) -> tuple[int, ...]:
        found = known.get(plain(text))
        return tuple(found.units) if found else ()

    drawn: list[Question] = []
    if OPENING in sources:
        chosen = _Sample(most // 3, f"openings/{seed}")
        for document, (text, place) in openings.items():
            if not imperative and not is_sentence(text):
                continue
            chosen.add(f"{document}/{text}", text, document, place)
        drawn += [
            Question(each.text, each.document, OPENING, holders(each.text) or tuple(each.units))
            for each in chosen.in_order()
        ]
    if LINK in sources:
        drawn += [
            replace(question, holders=holders(question.text))
            for question in _link_questions(corpus, graph, most // 3, seed)
            if wanted(question.text)
        ]
    if SENTENCE in sources:
        taken = {(plain(question.text), question.document) for question in drawn}
        drawn += [
            Question(each.text, each.document, SENTENCE, tuple(each.units))
            for each in known.in_order()
            if wanted(each.text) and (plain(each.text), each.document) not in taken
        ][: most - len(drawn)]
    return drawn


def _openings(first: Mapping[int, Sequence[tuple[str, int]]]) -> dict[int, tuple[str, int]]:
    """By document the first sentence that no other document begins with; "General Commands Manual" says nothing."""
    documents = Counter(text for ours in first.values() for text in {plain(text) for text, _ in ours})
    found = {}
    for document, ours in first.items():
        own = next(((text, unit) for text, unit in ours if documents[plain(text)] == 1), None)
        if own is not None:
            found[document] = own
    return found


def _candidates(unit: Unit) -> Iterator[str]:
    """What a unit's sentences ask that stand alone."""
    lines = unit.text.split("\n")
    for number, line in enumerate(lines):
        before = lines[number - 1].strip() if number else ""
        after = lines[number + 1].strip() if number + 1 < len(lines) else ""
        for sentence in sentences(line):
            text = question_text(sentence)
            if stands_alone(text, *_OPENING_WORDS) and not is_fragment(sentence, line, before, after):
                yield text


def _link_questions(corpus: Corpus, graph: ReferenceGraph, most: int, seed: int) -> Iterator[Question]:
    """Sentences that link to another document; of a link alone on its line, what the next line says."""
    chosen = _Sample(most, f"links/{seed}")
    places: dict[int, list[tuple[int, int, int, int]]] = {}
    for edge in graph.edges():
        source, target = edge["source_document"], edge["target_document"]
        if target >= 0 and source != target and edge["end"] > edge["start"]:
            place = (edge["source_section"], edge["start"], edge["end"], target)
            chosen.add(f"{source}/{place}", repr(place), source, None)
    for each in chosen.in_order():
        section, start, end, target = (int(part) for part in each.text.strip("()").split(","))
        places.setdefault(each.document, []).append((section, start, end, target))
    seen: set[tuple[str, int]] = set()
    for number, document in enumerate(corpus.documents()):
        if number not in places:
            continue
        texts = [section.text for section in document.sections()]
        for section, start, end, target in sorted(places[number]):
            text = question_text(_linking(texts[section], start, end))
            if (plain(text), target) not in seen:
                seen.add((plain(text), target))
                yield Question(text, target, LINK, passed_over=(number,))


def _linking(text: str, start: int, end: int) -> str:
    sentence = sentence_at(text, start)
    if len(sentence) > end - start + len("()."):
        return sentence
    rest = text[end:].partition("\n")[2].partition("\n")[0]
    return next(sentences(rest), "")
