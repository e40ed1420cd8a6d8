"""The section-title search agent: what the first pages found call their sections becomes further queries.

Source: Palotti et al., 2017. The top documents of a query give up to five section titles, each title appended to the
query is a subtask, and the subtasks' rankings are merged by turns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from random import Random

import numpy as np
import numpy.typing as npt
from structformer.document import word_count
from structformer.errors import ModelError, UsageError
from structformer.retrieval import ENCODER, UNTRAINED, Filter, Hit, Pipeline, Ranking, Retriever, Stage, checked_query
from structformer.text import as_typed, is_see_also, sentences

from structformer_agent.choices import CHOICES
from structformer_exports import WordVectors

_PAIRS = 400
Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]  # unit vectors of texts


@dataclass(frozen=True, slots=True)
class TitleClassifier:
    """Whether a section title fits a query, by logistic regression on the cosine of the two; learned from the corpus: a
    sentence fits the title that it is under, and not that of another section of its document.
    """

    weight: float
    bias: float
    encode: Encode

    def relevant(self, query: str, title: str) -> bool:
        """Whether the title fits the query, at even odds."""
        one, two = self.encode([query, title])
        return self.weight * float(one @ two) + self.bias > 0

    @classmethod
    def trained(cls, retriever: Retriever, encode: Encode) -> TitleClassifier:
        """Learn from up to 400 sentences of the index; without sections it takes every title."""
        rng = Random("title classifier")
        by_document: dict[int, list[int]] = {}
        for number, unit in enumerate(retriever.units):
            if unit.section and unit.text:
                by_document.setdefault(unit.document, []).append(number)
        numbers = [number for units in by_document.values() if len(units) > 1 for number in units]
        queries, titles, labels = [], [], []
        for number in rng.sample(numbers, min(_PAIRS, len(numbers))):
            unit = retriever.units[number]
            other = retriever.units[rng.choice(by_document[unit.document])]
            sentence = next((as_typed(each) for each in sentences(unit.text) if word_count(each) >= 4), None)
            if sentence and other.title != unit.title:
                queries += [sentence, sentence]
                titles += [unit.title, other.title]
                labels += [1.0, 0.0]
        if not labels:
            return cls(0.0, 1.0, encode)
        cosines = (encode(queries) * encode(titles)).sum(1).astype(np.float64)
        return cls(*_logistic(cosines, np.array(labels)), encode)


def _logistic(values: npt.NDArray[np.float64], labels: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return (weight, bias) of a one-dimensional logistic regression with a small ridge, by Newton's method."""
    rows = np.stack([values, np.ones(len(values))], 1)
    weights = np.zeros(2)
    for _ in range(25):
        likely = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (labels - likely) - 0.01 * weights
        curvature = (rows * (likely * (1 - likely))[:, None]).T @ rows + 0.01 * np.eye(2)
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(weights[1])


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """Multinomial naive Bayes of two classes, relevant and other."""

    weights: Mapping[str, float]
    """For each word log P(word | relevant) - log P(word | other)."""
    prior: float
    """The logarithm of the classes' odds."""

    @classmethod
    def trained(cls, documents: Iterable[tuple[list[str], bool]]) -> NaiveBayes | None:
        """Learned from documents' words and whether they are relevant, with add-one smoothing; None where one of the
        classes has no document.

        Source: Manning et al., "Introduction to Information Retrieval", 2008, section 13.2."""
        counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        sizes = {True: 0, False: 0}
        for words, relevant in documents:
            counts[relevant].update(words)
            sizes[relevant] += 1
        if not all(sizes.values()):
            return None
        vocabulary = sorted(counts[True] | counts[False])
        totals = {label: words_of_label.total() + len(vocabulary) for label, words_of_label in counts.items()}
        weights = {
            word: math.log((counts[True][word] + 1) / totals[True])
            - math.log((counts[False][word] + 1) / totals[False])
            for word in vocabulary
        }
        return cls(weights, math.log(sizes[True] / sizes[False]))

    def relevant(self, words: Iterable[str]) -> bool:
        """Whether a document of these words is rather relevant; words that were never seen say nothing."""
        return self.prior + sum(self.weights.get(word, 0.0) for word in words) > 0


DOCUMENTS = 3
TITLES = 5
_MAX_CANDIDATES = 20  # units of a subtask that count as found by it
_DOCUMENT_CHARACTERS = 100_000  # that the classifier of documents reads
_WORD = re.compile(r"\w+")
AnyPipeline = str | Pipeline | Stage


@dataclass(frozen=True, slots=True)
class Subtask:
    """One query of the agent: why it was asked, and how many hits it brought to the merged list."""

    query: str
    why: str
    found: int


@dataclass(frozen=True, slots=True)
class AgentHit(Hit):
    """A hit with the queries that brought it."""

    subtasks: tuple[str, ...] = ()

    @classmethod
    def of(cls, hit: Hit, subtasks: tuple[str, ...]) -> AgentHit:
        """Return the hit, brought by these queries."""
        return cls(**{each.name: getattr(hit, each.name) for each in fields(hit)}, subtasks=subtasks)


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The merged hits, and the subtasks in the order they were asked; the first is the query."""

    hits: list[AgentHit]
    subtasks: list[Subtask]


class SearchAgent:
    """Searches a query and then the query with section titles of the first documents found.

    choose: "first", the first five titles (TUW2 of the paper); "embedding", those whose words are nearest to the
    query's, by mean pairwise cosine; "texts", those whose sections' words are (TUW3); "classifier", of the nearest
    titles the ones that a classifier takes for relevant; "titles", the given ones (TUW1).

    titles: for all queries, or by query id. vectors: of words, for "embedding" and "texts"; without them the
    bi-encoder's. descriptions: what titles and texts are compared with in the query's place, by
    query id. titles_from: whose documents the titles come from, where that is another collection. judged: relevance
    by document id, by query id; a naive Bayes classifier of these drops documents that it takes for irrelevant from
    every ranking before they are merged (TUW4); a query's own judgements take no part in its classifier.

    Raises UsageError on another choice, or "titles" without any; ModelError where no encoder is at hand."""

    def __init__(
        self,
        retriever: Retriever,
        choose: str = "embedding",
        *,
        titles: Sequence[str] | Mapping[str, Sequence[str]] = (),
        documents: int = DOCUMENTS,
        vectors: WordVectors | None = None,
        titles_from: Retriever | None = None,
        judged: Mapping[str, Mapping[str, int]] | None = None,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        if choose not in CHOICES:
            raise UsageError(f"no agent {choose!r}; choose from: {', '.join(CHOICES)}")
        if choose == "titles" and not titles:
            raise UsageError("the agent `titles` needs titles of your own: --titles FILE, one a line")
        self._retriever = retriever
        self._choose = choose
        self._titles = titles
        self._documents = documents
        self._vectors = vectors
        self._titles_from = titles_from
        self._judged = judged or {}
        self._descriptions = descriptions or {}
        self._classifier: TitleClassifier | None = None
        self._words: dict[int, list[str]] = {}

    def search(
        self,
        query: str,
        k: int = 10,
        pipeline: AnyPipeline | None = None,
        *,
        where: Filter | None = None,
        group: bool = False,
    ) -> AgentResult:
        """Return up to k hits of the merged rankings. Raises UsageError on a query without a word."""
        query = checked_query(query)
        rankings = self.rank(query, pipeline, self._retriever.allowed(where))
        merged = merge(rankings)
        shown = self._retriever.hits(Ranking(query, merged, rankings[0].scores), k, group=group)
        hits = [AgentHit.of(hit, self._bringing(hit, rankings)) for hit in shown]
        subtasks = []
        for ranking in rankings:
            title = ranking.query[len(query) + 1 :]
            why = f"section title {title!r}" if title else "the query"
            subtasks.append(Subtask(ranking.query, why, sum(ranking.query in hit.subtasks for hit in hits)))
        return AgentResult(hits, subtasks)

    def rank(
        self, query: str, pipeline: AnyPipeline | None = None, documents: Collection[int] | None = None, name: str = ""
    ) -> list[Ranking]:
        """Rank the query and its subtasks. documents: numbers that may be found; name: the query's id, if any."""
        chosen = self._retriever.pipeline(pipeline)
        first = self._retriever.opened.run([query], chosen, documents, [name])[0]
        queries = [f"{query} {title}" for title in self.titles(query, first, name)]
        rankings = [first, *self._retriever.opened.run(queries, chosen, documents, [name] * len(queries))]
        return self._relevant(rankings, name) if self._judged else rankings

    def titles(self, query: str, ranking: Ranking, name: str = "") -> list[str]:
        """Return the section titles that a query is searched with next. ranking: the query's own."""
        if self._choose == "titles":
            given = self._titles
            return list(given.get(name, ()) if isinstance(given, Mapping) else given)[:TITLES]
        if self._titles_from is not None:
            source = self._titles_from
            ranking = source.opened.run([query], source.pipeline("lexical"))[0]
        else:
            source = self._retriever
        sections = self._sections(source, ranking)
        if self._choose == "first" or not sections:
            return list(sections)[:TITLES]
        texts = list(sections.values() if self._choose == "texts" else sections)
        likeness = dict(zip(sections, self.likeness(self._descriptions.get(name, query), texts), strict=True))
        nearest = sorted(sections, key=lambda title: -likeness[title])[:TITLES]
        if self._choose != "classifier":
            return nearest
        if self._classifier is None:
            self._classifier = TitleClassifier.trained(self._retriever, self._encode)
        return [title for title in nearest if self._classifier.relevant(query, title)]

    def likeness(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return each text's mean cosine over all pairs of a query's and a text's word; -1 without a vector."""
        # The mean of all products of two sets of vectors is the product of their means.
        asked, *means = self._means([query, *texts])
        return [-1.0 if asked is None or mean is None else float(asked @ mean) for mean in means]

    def _means(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32] | None]:
        """Return the mean of each text's word vectors, None where it has none."""
        if self._vectors is not None:
            return [those.mean(0) if len(those := self._vectors.of(text)) else None for text in texts]
        words = [_WORD.findall(text) for text in texts]
        distinct = list(dict.fromkeys(word for those in words for word in those))
        vectors = dict(zip(distinct, self._encode(distinct), strict=True)) if distinct else {}
        return [np.mean([vectors[word] for word in those], axis=0) if those else None for those in words]

    def _sections(self, source: Retriever, ranking: Ranking) -> dict[str, str]:
        """Return the titles of the first documents' sections, with their texts."""
        owners = source.opened.owners
        texts: dict[str, str] = {}
        for document in list(dict.fromkeys(int(owners[unit]) for unit, _ in ranking.ranked))[: self._documents]:
            for unit in (source.units[number] for number in range(*source.opened.units_of(document))):
                if unit.section and not is_see_also(unit.title):
                    texts[unit.title] = f"{texts[unit.title]}\n{unit.text}" if unit.title in texts else unit.text
        return texts

    def _relevant(self, rankings: Sequence[Ranking], name: str) -> list[Ranking]:
        """Return the rankings without the documents that the classifier of judged documents takes for irrelevant."""
        numbers = self._retriever.opened.document_number
        examples = [
            (self._words_of(number), grade > 0)
            for query, grades in self._judged.items()
            if query != name
            for document, grade in grades.items()
            if (number := numbers(document)) is not None
        ]
        classifier = NaiveBayes.trained(examples)
        if classifier is None:
            raise UsageError(
                "the classifier of documents needs judged documents of other queries, relevant and irrelevant ones"
            )
        owners = self._retriever.opened.owners
        taken: dict[int, bool] = {}
        kept = []
        for ranking in rankings:
            for unit, _ in ranking.ranked:
                document = int(owners[unit])
                if document not in taken:
                    taken[document] = classifier.relevant(self._words_of(document))
            ranked = [(unit, score) for unit, score in ranking.ranked if taken[int(owners[unit])]]
            kept.append(Ranking(ranking.query, ranked, ranking.scores, ranking.name))
        return kept

    def _words_of(self, document: int) -> list[str]:
        if document not in self._words:
            opened = self._retriever.opened
            self._words[document] = opened.lexical.words(opened.document_text(document, _DOCUMENT_CHARACTERS))
        return self._words[document]

    def _encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        for name in (ENCODER, UNTRAINED):
            try:
                return self._retriever.opened.encoder(name)[0].encode_queries(texts)
            except ModelError:
                continue
        raise ModelError(
            "the agent compares titles by a bi-encoder: train one, or install structformer[offline]; `first` needs none"
        )

    def _bringing(self, hit: Hit, rankings: Sequence[Ranking]) -> tuple[str, ...]:
        """Return the queries that rank the hit's section among their first units."""

        def brought(ranking: Ranking) -> bool:
            units = (self._retriever.units[number] for number, _ in ranking.ranked[:_MAX_CANDIDATES])
            return any(
                (unit.document_id, unit.anchor, unit.path) == (hit.document_id, hit.anchor, hit.path) for unit in units
            )

        return tuple(ranking.query for ranking in rankings if brought(ranking))


def merge(rankings: Sequence[Ranking]) -> list[tuple[int, float]]:
    """Return the rankings' units by turns, each unit once; scores are reciprocal places."""
    merged: dict[int, None] = {}
    for place in range(max((len(ranking.ranked) for ranking in rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking.ranked):
                merged.setdefault(ranking.ranked[place][0])
    return [(unit, 1.0 / place) for place, unit in enumerate(merged, 1)]
