"""The section-title search agent: what the first pages found call their sections becomes further queries.

Source: Palotti et al., 2017. The top documents of a query give up to five section titles, each title appended to the
query is a subtask, and the subtasks' rankings are merged by turns. As a first stage, it can be evaluated:
`agent:first`."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from structformer.document import word_count
from structformer.errors import ModelError, UsageError
from structformer.retrieval import (
    ENCODER,
    UNTRAINED,
    AnyPipeline,
    Filter,
    Hit,
    OpenedIndex,
    Ranking,
    Retriever,
    Stage,
    StageKind,
    checked_query,
    read_qrels,
)
from structformer.text import as_typed, is_see_also, lines_of, sentences

from structformer_agent import CHOICES
from structformer_exports import WordVectors, read_word_vectors

_PAIRS = 400
_FILES = "titles", "vectors", "from", "judged", "descriptions"  # options of the stage that name them
_WITH, _WITHOUT = "with", "without"  # the query itself, among the rankings that are merged
Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]  # unit vectors of texts


def title_classifier(retriever: Retriever, encode: Encode) -> Callable[[str, str], bool]:
    """Return a test of whether a section title fits a query, at even odds of a logistic regression on their cosine.

    It is learned from up to 400 sentences of the index: a sentence fits the title that it is under, and not that of
    another section of its document. Without sections every title fits.
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
        sentence = next((as_typed(each) for each in sentences(unit.text) if word_count(each) >= 4), None)
        if sentence and other.title != unit.title:
            queries += [sentence, sentence]
            titles += [unit.title, other.title]
            labels += [1.0, 0.0]
    if not labels:
        return lambda query, title: True
    cosines = (encode(queries) * encode(titles)).sum(1).astype(np.float64)
    weight, bias = _logistic(cosines, np.array(labels))

    def fits(query: str, title: str) -> bool:
        one, two = encode([query, title])
        return weight * float(one @ two) + bias > 0

    return fits


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


def naive_bayes(documents: Iterable[tuple[list[str], bool]]) -> Callable[[Iterable[str]], bool] | None:
    """Return a test of whether a document of some words is rather relevant, learned from documents' words and whether
    they are; words that were never seen say nothing. None where one of the classes has no document.

    Source: Manning et al., "Introduction to Information Retrieval", 2008, section 13.2, with add-one smoothing."""
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    sizes = Counter[bool]()
    for words, relevant in documents:
        counts[relevant].update(words)
        sizes[relevant] += 1
    if len(sizes) < 2:
        return None
    vocabulary = sorted(counts[True] | counts[False])
    totals = {label: words_of_label.total() + len(vocabulary) for label, words_of_label in counts.items()}
    weights = {
        word: math.log((counts[True][word] + 1) / totals[True]) - math.log((counts[False][word] + 1) / totals[False])
        for word in vocabulary
    }
    prior = math.log(sizes[True] / sizes[False])
    return lambda words: prior + sum(weights.get(word, 0.0) for word in words) > 0


DOCUMENTS = 3
TITLES = 5
_MAX_CANDIDATES = 20  # units of a subtask that count as found by it
_DOCUMENT_CHARACTERS = 100_000  # that the classifier of documents reads
_WORD = re.compile(r"\w+")


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


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The merged hits, and the subtasks in the order they were asked; the first is the query."""

    hits: list[AgentHit]
    subtasks: list[Subtask]


@dataclass(slots=True)
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

    retriever: Retriever
    choose: str = "embedding"
    _: KW_ONLY
    titles: Sequence[str] | Mapping[str, Sequence[str]] = ()
    documents: int = DOCUMENTS
    vectors: WordVectors | None = None
    titles_from: Retriever | None = None
    judged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    _fits: Callable[[str, str], bool] | None = field(default=None, init=False)
    _words: dict[int, list[str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.choose not in CHOICES:
            raise UsageError(f"no agent {self.choose!r}; choose from: {', '.join(CHOICES)}")
        if self.choose == "titles" and not self.titles:
            raise UsageError("the agent `titles` needs titles of your own: --titles FILE, one a line")

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
        rankings = self.rank(query, pipeline, self.retriever.opened.allowed(where))
        merged = merge(rankings)
        shown = self.retriever.hits(Ranking(query, merged, rankings[0].scores), k, group=group)
        hits = [
            AgentHit(
                **{each.name: getattr(hit, each.name) for each in fields(hit)}, subtasks=self._bringing(hit, rankings)
            )
            for hit in shown
        ]
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
        chosen = self.retriever.pipeline(pipeline)
        first = self.retriever.opened.run([query], chosen, documents, [name])[0]
        queries = [f"{query} {title}" for title in self.next_titles(query, first, name)]
        rankings = [first, *self.retriever.opened.run(queries, chosen, documents, [name] * len(queries))]
        return self._relevant(rankings, name) if self.judged else rankings

    def next_titles(self, query: str, ranking: Ranking, name: str = "") -> list[str]:
        """Return the section titles that a query is searched with next. ranking: the query's own."""
        if self.choose == "titles":
            given = self.titles.get(name, ()) if isinstance(self.titles, Mapping) else self.titles
            return list(given)[:TITLES]
        if self.titles_from is not None:
            source = self.titles_from
            ranking = source.opened.run([query], source.pipeline("lexical"))[0]
        else:
            source = self.retriever
        sections = self._sections(source, ranking)
        if self.choose == "first" or not sections:
            return list(sections)[:TITLES]
        texts = list(sections.values() if self.choose == "texts" else sections)
        likeness = dict(zip(sections, self.likeness(self.descriptions.get(name, query), texts), strict=True))
        nearest = sorted(sections, key=lambda title: -likeness[title])[:TITLES]
        if self.choose != "classifier":
            return nearest
        if self._fits is None:
            self._fits = title_classifier(self.retriever, self._encode)
        return [title for title in nearest if self._fits(query, title)]

    def likeness(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return each text's mean cosine over all pairs of a query's and a text's word; -1 without a vector."""
        all_words = [_WORD.findall(text) for text in (query, *texts)]
        if self.vectors is not None:
            vectors = [self.vectors.of(text) for text in (query, *texts)]
        else:
            distinct = list(dict.fromkeys(word for words in all_words for word in words))
            by_word = dict(zip(distinct, self._encode(distinct), strict=True)) if distinct else {}
            vectors = [np.array([by_word[word] for word in words]) for words in all_words]
        # The mean of all products of two sets of vectors is the product of their means.
        asked, *means = [each.mean(0) if len(each) else None for each in vectors]
        return [-1.0 if asked is None or mean is None else float(asked @ mean) for mean in means]

    def _sections(self, source: Retriever, ranking: Ranking) -> dict[str, str]:
        """Return the titles of the first documents' sections, with their texts."""
        owners = source.opened.owners
        texts: dict[str, str] = {}
        for document in list(dict.fromkeys(int(owners[unit]) for unit, _ in ranking.ranked))[: self.documents]:
            for unit in (source.units[number] for number in range(*source.opened.units_of(document))):
                if unit.section and not is_see_also(unit.title):
                    texts[unit.title] = f"{texts[unit.title]}\n{unit.text}" if unit.title in texts else unit.text
        return texts

    def _relevant(self, rankings: Sequence[Ranking], name: str) -> list[Ranking]:
        """Return the rankings without the documents that the classifier of judged documents takes for irrelevant."""
        numbers = self.retriever.opened.document_number
        examples = [
            (self._words_of(number), grade > 0)
            for query, grades in self.judged.items()
            if query != name
            for document, grade in grades.items()
            if (number := numbers(document)) is not None
        ]
        is_relevant = naive_bayes(examples)
        if is_relevant is None:
            raise UsageError(
                "the classifier of documents needs judged documents of other queries, relevant and irrelevant ones"
            )
        owners = self.retriever.opened.owners
        taken: dict[int, bool] = {}
        kept = []
        for ranking in rankings:
            for unit, _ in ranking.ranked:
                document = int(owners[unit])
                if document not in taken:
                    taken[document] = is_relevant(self._words_of(document))
            ranked = [(unit, score) for unit, score in ranking.ranked if taken[int(owners[unit])]]
            kept.append(Ranking(ranking.query, ranked, ranking.scores, ranking.name))
        return kept

    def _words_of(self, document: int) -> list[str]:
        if document not in self._words:
            opened = self.retriever.opened
            self._words[document] = opened.lexical.words(opened.document_text(document, _DOCUMENT_CHARACTERS))
        return self._words[document]

    def _encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        for name in (ENCODER, UNTRAINED):
            try:
                return self.retriever.opened.encoder(name)[0].encode_queries(texts)
            except ModelError:
                continue
        raise ModelError(
            "the agent compares titles by a bi-encoder: train one, or install structformer[offline]; `first` needs none"
        )

    def _bringing(self, hit: Hit, rankings: Sequence[Ranking]) -> tuple[str, ...]:
        """Return the queries that rank the hit's section among their first units."""

        def brought(ranking: Ranking) -> bool:
            units = (self.retriever.units[number] for number, _ in ranking.ranked[:_MAX_CANDIDATES])
            return any(
                (unit.document_id, unit.anchor, unit.path) == (hit.document_id, hit.anchor, hit.path) for unit in units
            )

        return tuple(ranking.query for ranking in rankings if brought(ranking))


def merge(rankings: Sequence[Ranking]) -> list[tuple[int, float]]:
    """Return the rankings' units by turns, each unit once; scores are reciprocal places."""
    merged: dict[int, None] = {}
    for turn in zip_longest(*(ranking.ranked for ranking in rankings)):
        merged.update((each[0], None) for each in turn if each is not None)
    return [(unit, 1.0 / place) for place, unit in enumerate(merged, 1)]


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    agent = _agent(opened, stage)
    pipeline = f"{stage.option('search')}[k={stage.k}]"
    for ranking in rankings:
        asked = agent.rank(ranking.query, pipeline, documents, ranking.name)
        merged = merge(asked[1:] if stage.option("query") == _WITHOUT and len(asked) > 1 else asked)
        ranking.add(stage.name, merged[: stage.k])


def _agent(opened: OpenedIndex, stage: Stage) -> SearchAgent:
    return agent_of(Retriever.of(opened), stage.model, {name: stage.option(name) for name in _FILES})


def agent_of(retriever: Retriever, choose: str, files: Mapping[str, Any]) -> SearchAgent:
    """Return the agent with what files hold. files: their paths, by the names of the stage's options."""
    paths = (files.get(name) for name in _FILES)
    titles, vectors, other, judged, descriptions = (Path(path) if path else None for path in paths)
    return SearchAgent(
        retriever,
        choose,
        titles=read_titles(titles) if titles else (),
        vectors=read_word_vectors(vectors) if vectors else None,
        titles_from=Retriever.open(other) if other else None,
        judged=read_qrels(judged) if judged else {},
        descriptions=read_descriptions(descriptions) if descriptions else {},
    )


def read_titles(path: Path) -> list[str] | dict[str, list[str]]:
    """Return titles, one a line; by query id if every line is `query id<TAB>title`. Raises UsageError."""
    lines = [line.strip() for line in lines_of(path) if line.strip()]
    if not lines:
        raise UsageError(f"{path} has no titles")
    if not all("\t" in line for line in lines):
        return lines
    by_query: dict[str, list[str]] = {}
    for line in lines:
        name, _, title = line.partition("\t")
        by_query.setdefault(name.strip(), []).append(title.strip())
    return by_query


def read_descriptions(path: Path) -> dict[str, str]:
    """Return descriptions by query id of a file whose every line is `query id<TAB>description`. Raises UsageError."""
    descriptions: dict[str, str] = {}
    for number, line in enumerate(lines_of(path), 1):
        name, tab, text = line.partition("\t")
        if line.strip() and not tab:
            raise UsageError(f"{path}, line {number}: not `query id<TAB>description`")
        descriptions[name.strip()] = text.strip()
    return descriptions


AGENT = StageKind(
    "agent",
    _run,
    finds=True,
    options={"k": 100, "search": "lexical", "query": _WITH, **dict.fromkeys(_FILES, "")},
    model="embedding",
    choices={"search": ("lexical", "hybrid"), "query": (_WITH, _WITHOUT)},
    needs=_agent,
)
