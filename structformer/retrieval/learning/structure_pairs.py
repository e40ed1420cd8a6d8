"""Pairs that a static encoder learns from: what the corpus says in one place, and where else it says the like, from
pseudo-queries, the sampling tasks, and `passage`: sentences with another passage of their document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from structformer.corpus import Corpus
from structformer.document import word_count
from structformer.graph import ReferenceGraph
from structformer.retrieval.documents.copies import Copies
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.questions import pseudo_queries
from structformer.sampling import Samples, SamplingOptions, tasks
from structformer.sampling.draw_examples import draw
from structformer.sampling.neighbourhood import WordWeights
from structformer.sampling.sets import SampleRequest
from structformer.static_encoder.contrastive import Pairs
from structformer.static_encoder.encoder import Table, WordNumbers, stacked
from structformer.storage.files import building_folder
from structformer.text.passages import sentences
from structformer.text.query_like import plain
from structformer.workspace import Workspace

PASSAGE = "passage"
STRUCTURE_SOURCES = (PASSAGE, *pseudo_queries.SOURCES)  # those that are learned from unless others are asked for
MOST_PASSAGES = 100_000  # of which a larger corpus's are a sample
_SENTENCES, _LOOKED_AT = 3, 9  # of a passage: those that are taken, of so many
_WORDS = range(4, 33)  # of a sentence
_MOST_EXAMPLES = 60_000  # of a task


@dataclass(frozen=True, slots=True)
class StructurePairs:
    """The pairs of a corpus, with what they are made of."""

    words: WordNumbers
    """Each with the number of its column."""
    passages: Table
    """(units of the sample, words)."""
    pairs: Pairs
    names: tuple[str, ...]
    """Of the sources."""
    sources: npt.NDArray[np.int64]
    """(pairs,) the place of each pair's source in `names`."""

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs there are of each source."""
        counts = np.bincount(self.sources, minlength=len(self.names)).tolist()
        return {name: count for name, count in zip(self.names, counts, strict=True) if count}

    def asking(self, asked: Callable[[int], bool]) -> StructurePairs:
        """Return those of the documents whose numbers are asked of."""
        return self._only([asked(int(document)) for document in self.pairs.documents], self.pairs.shares)

    def of(self, mix: Mapping[str, float]) -> StructurePairs:
        """Return those of some sources, with new weights."""
        weights = np.array([mix.get(name, 0.0) for name in self.names])
        return self._only(weights[self.sources] > 0, weights[self.sources])

    def _only(self, kept: npt.ArrayLike, shares: npt.NDArray[np.float64]) -> StructurePairs:
        numbers = np.flatnonzero(kept)
        chosen = {name: getattr(self.pairs, name)[numbers] for name in ("queries", "documents", "first", "last", "own")}
        pairs = replace(self.pairs, **chosen, shares=shares[numbers])
        return replace(self, pairs=pairs, sources=self.sources[numbers])


@dataclass(frozen=True, slots=True)
class _Pair:
    """A text, and where its positive is found."""

    text: str
    source: str
    document: int
    """The number of the text's document."""
    first: int = 0
    """One of the passages [first, last) is its positive ..."""
    last: int = 0
    own: int = -1
    """A passage among these that is not; -1 for none."""
    positive: str = ""
    """... unless this text is."""


def structure_sources() -> tuple[str, ...]:
    """Return the names of all sources."""
    return (PASSAGE, *pseudo_queries.ALL_SOURCES, *tasks())


def structure_pairs(
    workspace: Workspace,
    units: Units,
    documents: IndexedDocuments,
    *,
    mix: Mapping[str, float] | None = None,
    seed: int = 0,
    weights: WordWeights | None = None,
) -> StructurePairs:
    """The pairs of the mix's sources, drawn with its weights; of the default ones without it. weights: the attention
    that some tasks draw words by. They depend on index, corpus and seed.
    """
    mix = mix or dict.fromkeys(STRUCTURE_SOURCES, 1.0)
    copies = Copies.of(units)
    taken = pseudo_queries.evenly_taken(len(documents), min(1.0, MOST_PASSAGES / max(1, len(units))))
    words = WordNumbers()
    drawn = _Sentences(seed)
    owners: list[int] = []
    places: list[int] = []

    def texts() -> Iterator[str]:
        for number, unit in enumerate(units):
            if not taken[unit.document] or copies.is_copy(unit.document):
                continue  # a copy's sentences would be those of two documents, and it a wrong answer that is right
            if PASSAGE in mix:
                drawn.read(unit.prose, unit.document, len(owners))
            owners.append(unit.document)
            places.append(number)
            yield unit.ranker_text

    passages = words.bags(texts())
    owned = _Owned(np.array(owners, np.int64), np.array(places, np.int64), len(documents))
    pairs = [pair for each in drawn.pairs() if (pair := owned.elsewhere(each, units)) is not None]
    corpus = Corpus.open(workspace)
    if asked := [source for source in mix if source in pseudo_queries.ALL_SOURCES]:
        graph = ReferenceGraph.open(workspace, corpus)
        questions = pseudo_queries.draw_pseudo_queries(corpus, graph, units, copies=copies, sources=asked, seed=seed)
        answered = (owned.answered(question, units) for question in questions if taken[question.document])
        pairs += [pair for pair in answered if pair is not None]
    if others := [source for source in mix if source in tasks()]:
        pairs += _of_tasks(workspace, others, documents, taken, seed, weights)
    return _assembled(words, passages, pairs, mix)


class _Sentences:
    """A few sentences of every passage, chosen by their digests. A sentence that several documents share is never
    chosen: it names the translator, or a standard, and tells nothing about the page.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._passages: list[tuple[int, int, list[tuple[bytes, str]]]] = []
        self._documents: dict[bytes, int] = {}  # by digest; -1 of several

    def read(self, text: str, document: int, passage: int) -> None:
        """Read a passage."""
        able = dict.fromkeys(each for each in sentences(text) if word_count(each) in _WORDS)
        texts = {each: f"{self._seed}/{plain(each)}".encode("utf-8", "surrogatepass") for each in able}
        digests = sorted((hashlib.blake2b(text, digest_size=8).digest(), each) for each, text in texts.items())
        for digest, _ in digests:
            if self._documents.setdefault(digest, document) != document:
                self._documents[digest] = -1
        self._passages.append((document, passage, digests[:_LOOKED_AT]))

    def pairs(self) -> Iterator[_Pair]:
        """Yield the sentences, each with its passage as the one that is not its positive."""
        for document, passage, listed in self._passages:
            own = [text for digest, text in listed if self._documents[digest] >= 0]
            for text in own[:_SENTENCES]:
                yield _Pair(text, PASSAGE, document, own=passage)


class _Owned:
    """Passages by owner. owners: (passages,) their documents; places: (passages,) the numbers of their units."""

    def __init__(self, owners: npt.NDArray[np.int64], places: npt.NDArray[np.int64], documents: int) -> None:
        self._places = places
        self._bounds = np.searchsorted(owners, np.arange(documents + 1)).tolist()

    def elsewhere(self, pair: _Pair, units: Units) -> _Pair | None:
        """A sentence's pair: with another passage of its document, or where there is none, with the rest of its own."""
        first, last = self._bounds[pair.document : pair.document + 2]
        if last - first > 1:
            return replace(pair, first=first, last=last)
        return self._with_rest(pair.text, pair.source, pair.document, units)

    def answered(self, question: pseudo_queries.PseudoQuery, units: Units) -> _Pair | None:
        """A pseudo-query's pair: with a passage of its document that lacks it, else with the first, without it."""
        first, last = self._bounds[question.document : question.document + 2]
        if first == last:
            return None
        offset = first - int(self._places[first])  # a document's units are neighbours
        own = sorted({unit + offset for unit in question.holders if first <= unit + offset < last})
        if own:
            # Where several hold it, the longest run of passages with one of these.
            edges = [first - 1, *own, last]
            widest = max(range(1, len(edges) - 1), key=lambda place: edges[place + 1] - edges[place - 1])
            first, last = edges[widest - 1] + 1, edges[widest + 1]
            if last - first == 1:
                return self._with_rest(question.text, question.source, question.document, units)
        return _Pair(question.text, question.source, question.document, first, last, edges[widest] if own else -1)

    def _with_rest(self, text: str, source: str, document: int, units: Units) -> _Pair | None:
        """The pair of a text and the first passage of its document, without the text; None where nothing is left."""
        rest = units[int(self._places[self._bounds[document]])].ranker_text.replace(text, " ")
        return _Pair(text, source, document, positive=rest) if rest.strip() else None


def _of_tasks(
    workspace: Workspace,
    names: Sequence[str],
    documents: IndexedDocuments,
    taken: npt.NDArray[np.bool_],
    seed: int,
    weights: WordWeights | None,
) -> Iterator[_Pair]:
    """Yield pairs of sampling tasks: the query and the positive of each Example, at most 60,000 a task, evenly."""
    numbers = {document.id: number for number, document in enumerate(documents)}
    with building_folder(workspace.cache) as building:
        request = SampleRequest(tuple(names), SamplingOptions(negatives=1), seed, held_out=0.0, weights=weights)
        draw(request, workspace, building)
        samples = Samples.at(building)
        for task, count in samples.counts.items():
            step = max(1, -(-count // _MOST_EXAMPLES))
            for number in range(0, count, step):
                example = samples.example(task, number)
                document = numbers.get(example.document_id, -1)
                if document >= 0 and taken[document] and example.documents[0]:
                    yield _Pair(example.queries[0], task, document, positive=example.documents[0])


def _assembled(words: WordNumbers, passages: Table, drawn: Sequence[_Pair], mix: Mapping[str, float]) -> StructurePairs:
    """Return the pairs as tables of words."""
    texts = [pair.positive for pair in drawn if pair.positive]
    places = iter(range(passages.shape[0], passages.shape[0] + len(texts)))
    ranges = [((at := next(places)), at + 1) if pair.positive else (pair.first, pair.last) for pair in drawn]
    queries = words.bags(pair.text for pair in drawn)
    others = words.bags(texts)
    names = tuple(dict.fromkeys(pair.source for pair in drawn))
    pairs = Pairs(
        queries=stacked([queries], len(words)),
        passages=stacked([passages, others], len(words)),
        documents=_numbers(pair.document for pair in drawn),
        first=_numbers(first for first, _ in ranges),
        last=_numbers(last for _, last in ranges),
        own=_numbers(-1 if pair.positive else pair.own for pair in drawn),
        shares=np.array([mix[pair.source] for pair in drawn], np.float64),
    )
    sources = _numbers(names.index(pair.source) for pair in drawn)
    return StructurePairs(words, passages, pairs, names, sources)


def _numbers(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.array(list(values), np.int64)
