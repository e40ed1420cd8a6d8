"""Pseudo-queries: sentences of the corpus that read like people's queries, each with the document that answers it.

opening: what a document says of itself first. link: the sentence in which another document links to it. sentence: any
other. anchor: the text of a link to it. heading: of one of its sections, answered by the others. related: the opening
of a document that names it in its see-also list. A question is to be answered by what is left of its document: units
that hold it word for word are neither positives nor negatives, so nothing has to be taken out of a text and encoded
again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from structformer.corpus import Corpus
from structformer.corpus.corpus import corpus_languages
from structformer.errors import UsageError
from structformer.graph import ReferenceGraph
from structformer.retrieval.documents.copies import NO_COPIES, Copies
from structformer.retrieval.documents.units import Unit
from structformer.sampling.held_out import sentence_at
from structformer.text import query_like
from structformer.text.passages import sentences
from structformer.text.stop_words import function_words

OPENING, SENTENCE, HEADING, RELATED = "opening", "sentence", "heading", "related"
LINK: Final = "link"
ANCHOR: Final = "anchor"
LOG = "log"  # people's queries, see structformer.query_side.training_queries
_LONGEST = 1000  # characters of a query in a log; what is longer was pasted
SOURCES = (OPENING, LINK, SENTENCE)  # those that questions are drawn from unless others are asked for
ALL_SOURCES = (*SOURCES, ANCHOR, HEADING, RELATED)
MOST_PSEUDO_QUERIES = 30_000
_OPENING_WORDS = (3, 20)
_NAME_WORDS = (2, 12)  # of headings and anchor texts
_MANUAL_SHARE = 0.2  # of openings that are imperative, from which on only imperative sentences are taken
_VERB_LAST = frozenset("ja ko hi bn mr ta te ml kn si tr az kk mn fa eu ka hy".split())
_OPENING_CANDIDATES = 4  # sentences of a document
FEWEST_OPENINGS = 20  # that tell what kind of corpus it is
# A linking text, the number of the document it links to, that of the one it stands in, and LINK or ANCHOR.
Linked = tuple[str, int, int, str]


def link_texts(
    corpus: Corpus, graph: ReferenceGraph, sources: Collection[str], most: int, seed: int
) -> Iterator[Linked]:
    """Of at most `most` links to other documents, the sentence (of a link alone on its line, what the next line says),
    the anchor text, or both; in the order of the corpus, each text once for a document.
    """
    chosen = EvenSample(most, f"links/{seed}")
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
            texts_of_link = {LINK: _linking(texts[section], start, end), ANCHOR: texts[section][start:end]}
            for source in (source for source in texts_of_link if source in sources):
                text, _ = query_like.question_text(texts_of_link[source])
                if (query_like.plain(text), target) not in seen:
                    seen.add((query_like.plain(text), target))
                    yield text, target, number, source


def _linking(text: str, start: int, end: int) -> str:
    sentence = sentence_at(text, start)
    if len(sentence) > end - start + len("()."):
        return sentence
    return next(sentences(text[end:].partition("\n")[2].partition("\n")[0]), "")


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A question drawn from the corpus."""

    text: str
    document: int
    """The number of the document that answers it."""
    source: str
    """One of ALL_SOURCES, or LOG."""
    holders: tuple[int, ...] = ()
    """The units that hold it word for word."""
    passed_over: tuple[int, ...] = ()
    """Documents that are neither right nor wrong answers."""


def draw_pseudo_queries(
    corpus: Corpus,
    graph: ReferenceGraph,
    units: Iterable[Unit],
    *,
    copies: Copies = NO_COPIES,
    sources: Collection[str] = SOURCES,
    most: int = MOST_PSEUDO_QUERIES,
    seed: int = 0,
    lengths: tuple[int, int] = (query_like.FEWEST_WORDS, query_like.MOST_WORDS),
) -> list[PseudoQuery]:
    """Questions of the sources asked for, openings first; at most `most` of them, a third each of all but sentences.

    Of copies only the first is asked, and the others are passed over. Where openings are imperative ("Remove unused
    networks"), as in manuals, sentences and link sentences must be too; in manuals in other languages they begin as
    openings do (`_first_words`); elsewhere any whole sentence that stands alone will do, and as an opening what a name
    and a dash precede, in whatever language. lengths: of these, fewest and most words. Which ones are drawn depends on
    nothing but their texts, the corpus's languages and the seed.
    """
    read = _Read(units, sources, most, seed, copies)
    openings = read.openings
    in_manual = sum(query_like.is_imperative(each.text) for each in openings.values()) >= _MANUAL_SHARE * len(openings)
    imperative = len(openings) >= FEWEST_OPENINGS and in_manual
    instructions = frozenset() if imperative else _first_words(openings.values(), corpus_languages(corpus))

    def wanted(text: str) -> bool:
        if not query_like.stands_alone(text, *lengths):
            return False
        if imperative:
            return query_like.is_imperative(text)
        return query_like.first_word(text) in instructions if instructions else query_like.is_sentence(text)

    drawn: list[PseudoQuery] = []
    if OPENING in sources:
        kept = EvenSample(most // 3, f"openings/{seed}")
        for document, each in openings.items():
            if imperative or each.is_named or query_like.is_sentence(each.text):
                kept.add(f"{document}/{each.text}", each.text, document, each.unit)
        drawn += [
            PseudoQuery(own.text, own.document, OPENING, read.holders(own.text) or tuple(own.units))
            for own in kept.in_order()
        ]
    if LINK in sources or ANCHOR in sources:
        drawn += [
            PseudoQuery(text, target, source, read.holders(text), (linking, *copies.others(linking)))
            for text, target, linking, source in link_texts(corpus, graph, sources, most // 3, seed)
            if copies.first(linking) != copies.first(target)
            and (wanted(text) if source == LINK else query_like.stands_alone(text, *_NAME_WORDS))
        ]
    if HEADING in sources:
        drawn += [
            PseudoQuery(each.text, each.document, HEADING, tuple(each.units))
            for each in read.headings.in_order()
            if query_like.stands_alone(each.text, *_NAME_WORDS)
        ]
    if RELATED in sources:
        drawn += [
            PseudoQuery(each.text, target, RELATED, read.holders(each.text), (document, *copies.others(document)))
            for document, each in openings.items()
            for target in graph.see_also(document)
        ][: most // 3]
    if SENTENCE in sources:
        taken = {(query_like.plain(question.text), copies.first(question.document)) for question in drawn}
        drawn += [
            PseudoQuery(each.text, each.document, SENTENCE, tuple(each.units))
            for each in read.sentences.in_order()
            if wanted(each.text) and (query_like.plain(each.text), each.document) not in taken
        ][: max(0, most - len(drawn))]
    return [_of_first(question, copies) for question in drawn]


def _of_first(question: PseudoQuery, copies: Copies) -> PseudoQuery:
    """Return the question as one of the first of its document's copies, which passes over the others."""
    if not (others := copies.others(question.document)):
        return question
    passed_over = dict.fromkeys((*question.passed_over, *others, question.document))
    first = copies.first(question.document)
    return replace(question, document=first, passed_over=tuple(each for each in passed_over if each != first))


@dataclass(frozen=True, slots=True)
class _Opening:
    """A sentence that may be a document's opening."""

    text: str
    unit: int
    """The unit that holds it."""
    is_named: bool
    """Whether a name and a dash precede it: so pages of manuals say what they are about."""


def _first_words(openings: Collection[_Opening], languages: Sequence[str]) -> frozenset[str]:
    """Return the first words of a manual's openings in its language ("显示", "afficher"): those that several openings
    share after a name and a dash. Empty if the corpus's documents do not begin so, or if an instruction ends with its
    verb. languages: of the corpus, the main one first.
    """
    if languages[0] in _VERB_LAST:
        return frozenset()
    words = Counter(query_like.first_word(each.text) for each in openings if each.is_named)
    unsaid = function_words(languages)
    shared = {word: count for word, count in words.items() if count > 1 and word not in unsaid}
    manual = len(openings) >= FEWEST_OPENINGS and sum(shared.values()) >= _MANUAL_SHARE * len(openings)
    return frozenset(shared) if manual else frozenset()


class _Read:
    """One pass's candidates for openings, sentences and headings, with the units that hold them."""

    def __init__(self, units: Iterable[Unit], sources: Collection[str], most: int, seed: int, copies: Copies) -> None:
        self.sentences = EvenSample(4 * most, f"questions/{seed}")
        self.headings = EvenSample(most // 3, f"headings/{seed}")
        first: dict[int, list[_Opening]] = {}  # by document what may be its opening
        openings_only = set(sources) <= {OPENING}
        for number, unit in enumerate(units):
            if copies.is_copy(unit.document):
                continue
            ours = first.setdefault(unit.document, [])
            if openings_only and len(ours) == _OPENING_CANDIDATES:
                continue
            if HEADING in sources:
                for heading in unit.path[1:]:
                    self.headings.add(f"{unit.document}/{query_like.plain(heading)}", heading, unit.document, number)
            for text, is_named in _candidates(unit):
                if len(ours) < _OPENING_CANDIDATES:
                    ours.append(_Opening(text, number, is_named))
                self.sentences.add(query_like.plain(text), text, unit.document, number)
        beginning = Counter(text for ours in first.values() for text in {query_like.plain(each.text) for each in ours})
        own = {at: [each for each in ours if beginning[query_like.plain(each.text)] == 1] for at, ours in first.items()}
        # By document its first sentence that no other begins with; "General Commands Manual" says nothing.
        self.openings = {document: each[0] for document, each in own.items() if each}

    def holders(self, text: str) -> tuple[int, ...]:
        """Return the units that hold a sentence."""
        holders = self.sentences.get(query_like.plain(text))
        return tuple(holders.units) if holders else ()


def _candidates(unit: Unit) -> Iterator[tuple[str, bool]]:
    """Yield a unit's sentences that stand alone as questions, and whether a name stood before; none of code."""
    lines = unit.prose.split("\n")
    for number, line in enumerate(lines):
        before = lines[number - 1].strip() if number else ""
        after = lines[number + 1].strip() if number + 1 < len(lines) else ""
        for sentence in sentences(line):
            text, is_named = query_like.question_text(sentence)
            if query_like.stands_alone(text, *_OPENING_WORDS) and not query_like.is_fragment(
                sentence, line, before, after
            ):
                yield text, is_named


def read_query_log(path: Path) -> list[str]:
    """Return the distinct queries of a log, in order: a query a line, `id<TAB>query`, or JSON lines with "query" or
    "text". Raises UsageError, naming the line, if unreadable, and on a log without queries.
    """
    queries: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = _query(line.strip(), f"{path}, line {number}")
                if any(map(str.isalnum, text)) and len(text) <= _LONGEST:
                    queries.setdefault(query_like.plain(text), text)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not queries:
        raise UsageError(f"{path} has no queries")
    return list(queries.values())


def _query(line: str, place: str) -> str:
    if not line.startswith("{"):
        return " ".join(line.rpartition("\t")[2].split())
    try:
        value = json.loads(line)
        text = value["query"] if "query" in value else value["text"]
        return "" if text is None else " ".join(str(text).split())
    except (ValueError, KeyError, RecursionError):
        raise UsageError(f'{place}: not a JSON object with "query" or "text"') from None


@dataclass(slots=True)
class Sampled:
    """A text of a sample."""

    text: str
    document: int
    """The number of its document."""
    units: list[int]
    """The units that it was seen in."""


@dataclass(slots=True)
class EvenSample:
    """The entries whose keys have the lowest digests."""

    most: int
    """How many entries are kept."""
    salt: str
    """Text that the digests depend on beside the keys."""
    entries: dict[int, Sampled] = field(default_factory=dict)
    """By digest."""
    _below: int = 2**64

    def get(self, key: str) -> Sampled | None:
        """Return what was added under a key, if it was kept."""
        return self.entries.get(self._digest(key))

    def add(self, key: str, text: str, document: int, unit: int | None) -> None:
        """Add a text, or another unit of one that is there."""
        digest = self._digest(key)
        if digest >= self._below:
            return
        entry = self.entries.setdefault(digest, Sampled(text, document, []))
        if unit is not None and (not entry.units or entry.units[-1] != unit):
            entry.units.append(unit)
        while len(self.entries) > self.most:
            self._below //= 2
            self.entries = {key: value for key, value in self.entries.items() if key < self._below}

    def in_order(self) -> list[Sampled]:
        """Return all that was kept, by digest."""
        return [self.entries[digest] for digest in sorted(self.entries)]

    def _digest(self, key: str) -> int:
        data = f"{self.salt}/{key}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def evenly_taken(count: int, share: float) -> npt.NDArray[np.bool_]:
    """Return (count,) which of so many a sample of that share takes, at a fixed stride that depends on nothing else."""
    taken = np.zeros(count, bool)
    if count:
        places = (np.arange(max(1, round(count * share))) / share).astype(np.int64)
        taken[np.unique(places.clip(max=count - 1))] = True
    return taken
