"""The section-title search agent: what the first pages found call their sections becomes further queries.

Source: Palotti et al., 2017. The top documents of a query give up to five section titles, each title appended to the
query is a subtask, and the subtasks' rankings are merged by turns."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError, UsageError
from structformer.lengths import word_count
from structformer.retrieval.hits import Filter, Hit
from structformer.retrieval.pipeline import ENCODER, UNTRAINED
from structformer.retrieval.ranking import Ranking
from structformer.retrieval.retriever import AnyPipeline, Retriever, checked_query
from structformer.text.headings import is_see_also
from structformer.text.passages import query_like, sentences

CHOICES = ("first", "embedding", "classifier", "titles")
DOCUMENTS = 3
TITLES = 5
_MAX_CANDIDATES = 20  # units of a subtask that count as found by it
_WORD = re.compile(r"\w+")
_PAIRS = 400


@dataclass(frozen=True, slots=True)
class Subtask:
    """One query of the agent: why it was asked, and how many hits it brought that stand in the merged list."""

    query: str
    why: str
    found: int

    def as_dict(self) -> dict[str, Any]:
        """JSON types."""
        return {"query": self.query, "why": self.why, "found": self.found}


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The merged hits, each with the subtasks that brought it, and the subtasks in the order they were asked; the first
    is the query.
    """

    hits: list[Hit]
    subtasks: list[Subtask]


class SearchAgent:
    """Searches a query and then the query with section titles of the first documents found.

    choose: "first", the first five titles; "embedding", those whose words are nearest to the query's, by mean pairwise
    cosine; "classifier", of these the ones that a classifier takes for relevant; "titles", the given ones. Raises
    UsageError on another choice, or "titles" without any; ModelError where no encoder is at hand for "embedding"."""

    def __init__(
        self, retriever: Retriever, choose: str = "embedding", *, titles: Sequence[str] = (), documents: int = DOCUMENTS
    ) -> None:
        if choose not in CHOICES:
            raise UsageError(f"no agent {choose!r}; there are: {', '.join(CHOICES)}")
        if choose == "titles" and not titles:
            raise UsageError("the agent `titles` needs titles of your own: --titles FILE, one a line")
        self._retriever = retriever
        self._choose = choose
        self._titles = list(titles)
        self._documents = documents
        self._classifier: TitleClassifier | None = None

    def search(
        self,
        query: str,
        k: int = 10,
        pipeline: AnyPipeline | None = None,
        *,
        where: Filter | None = None,
        group: bool = False,
    ) -> AgentResult:
        """Up to k hits of the merged rankings. Raises UsageError on a query without a word."""
        query = checked_query(query)
        rankings = self.rank(query, pipeline, self._retriever.allowed(where))
        merged = merge(rankings)
        shown = self._retriever.hits(Ranking(query, merged, rankings[0].scores), k, group=group)
        hits = [self._told(hit, rankings) for hit in shown]
        subtasks = []
        for ranking in rankings:
            title = ranking.query[len(query) + 1 :]
            why = f"section title {title!r}" if title else "the query"
            subtasks.append(Subtask(ranking.query, why, sum(ranking.query in hit.subtasks for hit in hits)))
        return AgentResult(hits, subtasks)

    def rank(
        self, query: str, pipeline: AnyPipeline | None = None, documents: Collection[int] | None = None
    ) -> list[Ranking]:
        """The rankings of the query and of its subtasks. documents: numbers of those that may be found."""
        chosen = self._retriever.pipeline(pipeline)
        first = self._retriever.opened.run([query], chosen, documents)[0]
        queries = [f"{query} {title}" for title in self.titles(query, first)]
        return [first, *self._retriever.opened.run(queries, chosen, documents)]

    def titles(self, query: str, ranking: Ranking) -> list[str]:
        """The section titles that a query is searched with next."""
        if self._choose == "titles":
            return self._titles[:TITLES]
        found = self._section_titles(ranking)
        if self._choose == "first" or not found:
            return found[:TITLES]
        likeness = self.likeness(query, found)
        nearest = sorted(found, key=lambda title: -likeness[title])[:TITLES]
        if self._choose == "embedding":
            return nearest
        if self._classifier is None:
            self._classifier = TitleClassifier.trained(self._retriever, self._encode)
        return [title for title in nearest if self._classifier.relevant(query, title)]

    def likeness(self, query: str, titles: Sequence[str]) -> dict[str, float]:
        """By title the mean cosine over all pairs of a word of the query and a word of the title; -1 where either has
        none.
        """
        words = {text: _WORD.findall(text) for text in (query, *titles)}
        distinct = list(dict.fromkeys(word for found in words.values() for word in found))
        if not words[query]:
            return dict.fromkeys(titles, -1.0)
        vectors = dict(zip(distinct, self._encode(distinct), strict=True))
        # The mean of all products of two sets of vectors is the product of their means.
        asked = np.mean([vectors[word] for word in words[query]], axis=0)
        return {
            title: float(asked @ np.mean([vectors[word] for word in words[title]], axis=0)) if words[title] else -1.0
            for title in titles
        }

    def _section_titles(self, ranking: Ranking) -> list[str]:
        owners = self._retriever.opened.owners
        titles: dict[str, None] = {}
        for document in list(dict.fromkeys(int(owners[unit]) for unit, _ in ranking.ranked))[: self._documents]:
            begin, end = np.searchsorted(owners, [document, document + 1])
            for unit in (self._retriever.units[number] for number in range(int(begin), int(end))):
                if unit.section and not is_see_also(unit.title):
                    titles[unit.title] = None
        return list(titles)

    def _encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        for name in (ENCODER, UNTRAINED):
            try:
                return self._retriever.opened.encoder(name)[0].encode_queries(texts)
            except ModelError:
                continue
        raise ModelError(
            "the agent compares titles by a bi-encoder: train one, or install "
            "structformer[offline]; --agent first needs none"
        )

    def _told(self, hit: Hit, rankings: Sequence[Ranking]) -> Hit:
        """The hit with the queries that rank its section among their first units."""

        def brought(ranking: Ranking) -> bool:
            units = (self._retriever.units[number] for number, _ in ranking.ranked[:_MAX_CANDIDATES])
            return any(
                (unit.document_id, unit.anchor, unit.path) == (hit.document_id, hit.anchor, hit.path) for unit in units
            )

        return replace(hit, subtasks=tuple(ranking.query for ranking in rankings if brought(ranking)))


def merge(rankings: Sequence[Ranking]) -> list[tuple[int, float]]:
    """The rankings' units by turns, each unit once; scores are reciprocal places."""
    merged: dict[int, None] = {}
    for place in range(max((len(ranking.ranked) for ranking in rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking.ranked):
                merged.setdefault(ranking.ranked[place][0])
    return [(unit, 1.0 / place) for place, unit in enumerate(merged, 1)]


@dataclass(frozen=True, slots=True)
class TitleClassifier:
    """Whether a section title fits a query, by logistic regression on the cosine of the two; learned from the corpus: a
    sentence fits the title that it stands under, and not that of another section of its document.
    """

    weight: float
    bias: float
    encode: Any

    def relevant(self, query: str, title: str) -> bool:
        """Whether the title fits the query, at even odds."""
        one, two = self.encode([query, title])
        return self.weight * float(one @ two) + self.bias > 0

    @classmethod
    def trained(cls, retriever: Retriever, encode: Any) -> TitleClassifier:
        """Learned from up to 400 sentences of the index. A corpus without sections gives a classifier that takes every
        title.
        """
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
            sentence = next((query_like(each) for each in sentences(unit.text) if word_count(each) >= 4), None)
            if sentence and other.title != unit.title:
                queries += [sentence, sentence]
                titles += [unit.title, other.title]
                labels += [1.0, 0.0]
        if not labels:
            return cls(0.0, 1.0, encode)
        cosines = (encode(queries) * encode(titles)).sum(1).astype(np.float64)
        return cls(*_logistic(cosines, np.array(labels)), encode)


def _logistic(values: npt.NDArray[np.float64], labels: npt.NDArray[np.float64]) -> tuple[float, float]:
    """(weight, bias) of a one-dimensional logistic regression with a small ridge, by Newton's method."""
    rows = np.stack([values, np.ones(len(values))], 1)
    weights = np.zeros(2)
    for _ in range(25):
        likely = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (labels - likely) - 0.01 * weights
        curvature = (rows * (likely * (1 - likely))[:, None]).T @ rows + 0.01 * np.eye(2)
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(weights[1])


def read_titles(path: Path) -> list[str]:
    """Section titles of a file, one a line. Raises UsageError."""
    try:
        titles = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error})") from error
    if not titles:
        raise UsageError(f"{path} has no titles")
    return titles
