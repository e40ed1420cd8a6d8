"""The questions of a query-side training run: drawn, checked by a round trip, some of them held out to judge by."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from structformer.corpus import Corpus
from structformer.document import word_count
from structformer.graph import ReferenceGraph
from structformer.models.bi_encoder import BiEncoder
from structformer.models.kinds import Ranker
from structformer.retrieval.documents.copies import Copies
from structformer.retrieval.documents.units import IndexedDocuments
from structformer.retrieval.learning.pseudo_query_scores import PseudoQueryScores, UntrainedSearch
from structformer.retrieval.questions import pseudo_queries
from structformer.sampling import Example
from structformer.sampling.held_out import held_out_share, is_held_out
from structformer.text.query_like import FEWEST_WORDS, MOST_WORDS, plain
from structformer.training.judged.judging import NDCG, Floats, Ranks

ROUND_TRIP = 11  # a question is kept if the untrained hybrid finds its document among the first so many
_MOST_HELD_OUT = 300
_FEWEST_HELD_OUT = 20
_TAUGHT_SHARE = 4  # of taught documents with several questions, one in so many keeps one back to judge by
_MOST_SHARES = 3  # times the usual share of documents, that are held out where these have too few questions
_OPENING_WEIGHT = 3.0  # openings are drawn so much more often than other questions
_BATCH = 128
_AGREEING = 3  # documents that dense and lexical search each find first, the hybrid's first among them
_SHORTEST_RANGE = (2, 24)  # words: how far the log may move the lengths of questions
_FEWEST_FOR_STYLE = 20


class Judge:
    """Judges a run by the hybrid's ranks of held-out questions, as the search would find them."""

    measure = NDCG

    def __init__(self, asked: PseudoQueryScores, numbers: Sequence[int]) -> None:
        """numbers: the questions of `asked` that are held out."""
        self.asked, self.numbers = asked, list(numbers)

    def ranks(self, ranker: Ranker) -> Ranks:
        """Return (questions,) with the ranker's vectors of the questions and the index's of passages."""
        assert isinstance(ranker, BiEncoder)
        vectors = ranker.encode_queries([self.asked.questions[number].text for number in self.numbers])
        return self.asked.ranks(torch.from_numpy(vectors), self.numbers)

    @property
    def weights(self) -> Floats:
        """(questions,) what each counts, as in training."""
        return query_weights(self.asked, self.numbers)

    @property
    def groups(self) -> Ranks:
        """(questions,) their documents."""
        return np.array([self.asked.questions[number].document for number in self.numbers], np.int64)


def query_weights(asked: PseudoQueryScores, numbers: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return (questions,) weights: 1 / sqrt(n) for one of n questions of a document; openings count more."""
    questions = [asked.questions[number] for number in numbers]
    of_document = Counter(question.document for question in questions)
    shares = np.array([of_document[question.document] ** -0.5 for question in questions])
    return shares * [_OPENING_WEIGHT if question.source == pseudo_queries.OPENING else 1.0 for question in questions]


class TrainingQueries:
    """Questions as Examples, for the training loop: a task for each source, a question's number as its section."""

    def __init__(
        self, asked: PseudoQueryScores, numbers: Sequence[int], documents: IndexedDocuments, corpus: str
    ) -> None:
        self._asked = asked
        self._ids = {number: documents[asked.questions[number].document].id for number in numbers}
        self._by_source: dict[str, list[int]] = {}
        for number in numbers:
            self._by_source.setdefault(asked.questions[number].source, []).append(number)
        self.counts = {source: len(of_source) for source, of_source in self._by_source.items()}
        self.manifest: dict[str, Any] = {"corpus": corpus, "seed": 0, "held_out": 0.0}
        drawn = "\n".join(f"{self._ids[number]}\t{asked.questions[number].text}" for number in numbers)
        self.fingerprint = hashlib.sha256(f"{corpus}\n{drawn}".encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def example(self, task: str, number: int) -> Example:
        """Return the number-th question of a source."""
        question = self._by_source[task][number]
        return Example(task, (self._asked.questions[question].text,), ("",), self._ids[question], (question,))

    def mix(self, chosen: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return weights of the sources: those of their questions, times what was chosen for a source."""
        numbers = [number for of_source in self._by_source.values() for number in of_source]
        weights: dict[str, float] = dict.fromkeys(self._by_source, 0.0)
        for number, weight in zip(numbers, query_weights(self._asked, numbers), strict=True):
            source = self._asked.questions[number].source
            weights[source] += float(weight) * (chosen or {}).get(source, 1.0)
        return weights


def training_queries(
    corpus: Corpus,
    graph: ReferenceGraph,
    search: UntrainedSearch,
    *,
    seed: int,
    sources: Sequence[str] = pseudo_queries.SOURCES,
    most: int = pseudo_queries.MOST_PSEUDO_QUERIES,
    log: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> tuple[PseudoQueryScores, TrainingQueries, list[int], list[int], int]:
    """Return what is learned from, the numbers of the questions that are held out with their documents and of those
    held out of documents that are taught by others, and how many were drawn.

    Nothing is held out if three tenths of the documents have fewer than 20 questions, or there are under 40 documents.
    log: people's queries, whose lengths the questions take; those that have an agreed answer are learned from.
    """
    lengths = query_lengths(log) or (FEWEST_WORDS, MOST_WORDS)
    copies = Copies.of(search.units)
    drawn = pseudo_queries.draw_pseudo_queries(
        corpus, graph, search.units, copies=copies, sources=sources, most=most, seed=seed, lengths=lengths
    )
    if log:
        drawn += log_queries(log, search, most=most, seed=seed)
    documents = search.documents
    asked = PseudoQueryScores(drawn, search, progress)
    kept: list[int] = []
    for start in range(0, len(asked), _BATCH):
        numbers = list(range(start, min(start + _BATCH, len(asked))))
        ranks = asked.ranks(asked.vectors[numbers], numbers)
        kept += [number for number, rank in zip(numbers, ranks, strict=True) if rank <= ROUND_TRIP]
    for share in held_out_share(len(documents)) * np.arange(1, _MOST_SHARES + 1):
        held = [number for number in kept if is_held_out(documents[asked.questions[number].document].id, seed, share)]
        if len(held) >= _FEWEST_HELD_OUT:
            break
    else:
        held = []
    judged = {asked.questions[number].document for number in held}
    learned = [number for number in kept if asked.questions[number].document not in judged]
    taught = kept_back(asked, learned)[:_MOST_HELD_OUT] if held else []
    learned = sorted({*learned}.difference(taught))
    samples = TrainingQueries(asked, learned, documents, corpus.fingerprint)
    return asked, samples, held[:_MOST_HELD_OUT], taught, len(drawn)


def kept_back(asked: PseudoQueryScores, learned: Sequence[int]) -> list[int]:
    """Return the last question of every fourth document that has several of these questions."""
    by_document: dict[int, list[int]] = {}
    for number in learned:
        by_document.setdefault(asked.questions[number].document, []).append(number)
    return [numbers[-1] for numbers in by_document.values() if len(numbers) > 1][::_TAUGHT_SHARE]


def query_lengths(queries: Sequence[str]) -> tuple[int, int] | None:
    """Return (fewest, most) words of nine in ten of a log's queries; None of a log too small to tell."""
    if len(queries) < _FEWEST_FOR_STYLE:
        return None
    low, high = np.quantile([word_count(query) for query in queries], (0.05, 0.95)).round().astype(int)
    fewest, most = _SHORTEST_RANGE
    return max(fewest, int(low)), max(fewest + 2, min(most, int(high)))


def log_queries(
    queries: Sequence[str], search: UntrainedSearch, *, most: int = pseudo_queries.MOST_PSEUDO_QUERIES, seed: int = 0
) -> list[pseudo_queries.PseudoQuery]:
    """At most `most` queries whose first hybrid document is in the first three of dense and of lexical search."""
    sample = pseudo_queries.EvenSample(most, f"log/{seed}")
    for query in queries:
        sample.add(plain(query), query, 0, None)
    asked = PseudoQueryScores(
        [pseudo_queries.PseudoQuery(each.text, 0, pseudo_queries.LOG) for each in sample.in_order()], search
    )
    answered = []
    for start in range(0, len(asked), _BATCH):
        numbers = list(range(start, min(start + _BATCH, len(asked))))
        cosines, _, words, *_ = asked.parts(asked.vectors[numbers], numbers)
        firsts = asked.owners[asked.totals(asked.vectors[numbers], numbers).argmax(1)].tolist()
        for row, (number, first) in enumerate(zip(numbers, firsts, strict=True)):
            if all(first in _best(asked, scores[row]) for scores in (cosines, words)):
                answered.append(pseudo_queries.PseudoQuery(asked.questions[number].text, first, pseudo_queries.LOG))
    return answered


def _best(asked: PseudoQueryScores, scores: torch.Tensor) -> set[int]:
    """Return the documents found first by one score of the units; none by a score that is nowhere above 0."""
    by_document = torch.zeros(len(asked.overviews)).scatter_reduce(0, asked.owners, scores, "amax")
    best = torch.topk(by_document, min(_AGREEING, len(by_document)))
    return {document for document, score in zip(best.indices.tolist(), best.values.tolist(), strict=True) if score > 0}
