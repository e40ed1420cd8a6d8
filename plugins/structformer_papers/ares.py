"""ARES's tasks (Chen et al., "Axiomatically Regularized Pre-training for Ad hoc Search", SIGIR 2022): which of two
pseudo-queries a document answers better, by nine scores, each after a retrieval axiom.

The paper's preference is a classifier of the scores' signs, fitted on human judgements, which is not published. Here it
is the axioms' majority (ares-hard), their agreement (ares-strict), or a logistic regression that prefers documents' own
titles to others' (ares-titles).
"""

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, combinations
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import tantivy
from structformer.sampling import (
    MEAN_SIZE,
    Census,
    CollectionCounts,
    DocumentModel,
    Example,
    Ground,
    Need,
    Neighbourhood,
    PageTexts,
    Survey,
    Task,
    counted_words,
    document_model,
    left_out,
    positive_poisson,
    title_and_head,
)
from structformer.text import analyzer, any_term_query, spaced

from structformer_exports import WordVectors, learn_word_vectors, read_word_vectors

AXIOMS = ("PROX-1", "PROX-2", "REP-QL", "REP-TFIDF", "REG", "STM-1", "STM-2", "STM-3", "RANK")
_DIGITS = 9  # scores that agree in so many are equal, whatever the order in which they were added up
_MOST = 1000  # documents that are looked at
_TEXT, _NUMBER = "text", "number"
_HEAP_BYTES = 64 * 1024 * 1024


def write_places(pages: PageTexts, folder: Path) -> None:
    """Index the documents that are not held out."""
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(_TEXT, tokenizer_name="words", index_option="freq")
    builder.add_unsigned_field(_NUMBER, stored=True, indexed=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    index.register_tokenizer("words", analyzer("en"))
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    for number in range(pages.count):
        if pages.head(number):
            document = tantivy.Document()
            document.add_text(_TEXT, spaced(title_and_head(pages, number)))
            document.add_unsigned(_NUMBER, number)
            writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


class Places:
    """The index, opened."""

    def __init__(self, folder: Path) -> None:
        self._index = tantivy.Index.open(str(folder))
        # The default watches the folder, with lock files that come while it is deleted.
        self._index.config_reader("Manual")
        self._analyzer = analyzer("en")
        self._index.register_tokenizer("words", self._analyzer)
        self._searcher = self._index.searcher()
        self._known: tuple[int, tantivy.DocAddress | None] = -1, None  # the last document that was asked for

    def of(self, query: Sequence[str], number: int) -> int | None:
        """The place of a document among the first thousand for a query, from 1; None where it is not among them."""
        parsed = any_term_query(self._index.schema, {_TEXT: self._analyzer}, " ".join(query), {_TEXT: 1.0})
        if parsed is None:
            return None
        hits = self._searcher.search(parsed, limit=_MOST, count=False).hits
        own = self._address(number)
        score = next((score for score, address in hits if address == own), None)
        if score is None:
            return None
        equal = (self._searcher.doc(address) for other, address in hits if other == score)
        before = sum(int(document[_NUMBER][0]) < number for document in equal)
        return 1 + before + sum(1 for other, _ in hits if other > score)

    def _address(self, number: int) -> tantivy.DocAddress | None:
        """Return where the index has a document, so that not every document that is found has to be read."""
        if number != self._known[0]:
            query = tantivy.Query.term_query(self._index.schema, _NUMBER, number)
            hits = self._searcher.search(query, limit=1, count=False).hits
            self._known = number, hits[0][1] if hits else None
        return self._known[1]


class ScoredDocument:
    """A document that queries are scored for. model: its language model; collection: the corpus's word counts."""

    def __init__(
        self,
        text: str,
        stop_words: frozenset[str],
        model: DocumentModel,
        collection: CollectionCounts,
        vectors: WordVectors,
    ) -> None:
        self._model = model
        self._collection = collection
        self._vectors = vectors
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(counted_words(text, frozenset()), 1):
            self._places.setdefault(word, []).append(place)
        self._matrix = self._unit_vectors([word for word in self._places if word not in stop_words])

    def scores(self, query: Sequence[str], rank: int | None) -> tuple[float, ...]:
        """The scores in the order of AXIOMS; more is better. rank: the document's place when the corpus is searched for
        the query, None where it is not found.

        PROX-1: one by the mean distance in words of all pairs of occurrences of two query terms. PROX-2: one by the
        mean place of the query terms' first occurrences. REP-QL: log-likelihood of the query. REP-TFIDF: sum of tf-idf.
        REG: mean similarity of the query's terms to each other. STM: similarity of the query's terms to the document's:
        the mean of all, the mean of each query term's best, that of the sums. RANK: one by the rank.
        """
        terms = list(dict.fromkeys(query))
        query_matrix = self._unit_vectors(terms)
        scores = (
            _inverse(self._mean_distance(terms)),
            _inverse(self._mean_first_place(terms)),
            self._model.log_likelihood(query),
            sum(self._tf_idf(word) for word in query),
            _mean_to_each_other(query_matrix),
            *_similarities(query_matrix, self._matrix),
            _inverse(rank),
        )
        return tuple(round(score, _DIGITS) for score in scores)

    def _unit_vectors(self, words: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return (words that have a vector, dimensions)."""
        rows = [self._vectors.numbers[word] for word in words if word in self._vectors.numbers]
        vectors = self._vectors.matrix[rows].astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths > 0, lengths, 1.0)

    def _mean_distance(self, terms: Sequence[str]) -> float | None:
        places = [self._places[term] for term in terms if term in self._places]
        distances = [_mean_distance(first, second) for first, second in combinations(places, 2)]
        return sum(distances) / len(distances) if distances else None

    def _mean_first_place(self, terms: Sequence[str]) -> float | None:
        first = [self._places[term][0] for term in terms if term in self._places]
        return sum(first) / len(first) if first else None

    def _tf_idf(self, word: str) -> float:
        frequency = len(self._places.get(word, ()))
        documents = max(1, self._collection.document_frequency(word))
        return frequency * math.log(max(1, self._collection.documents) / documents)


def signs(first: Sequence[float], second: Sequence[float]) -> tuple[int, ...]:
    """For each axiom whether the first query scores higher (1), lower (-1) or the same (0)."""
    return tuple((one > two) - (one < two) for one, two in zip(first, second, strict=True))


def _inverse(value: float | None) -> float:
    return 1.0 / value if value else 0.0


def _mean_distance(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the mean of |a - b| over all pairs from two ascending lists, in the time of sorting them."""
    sums = [0, *accumulate(second)]
    total = 0
    for place in first:
        before = bisect_left(second, place)
        total += place * before - sums[before] + (sums[-1] - sums[before]) - place * (len(second) - before)
    return total / (len(first) * len(second))


def _mean_to_each_other(vectors: npt.NDArray[np.float64]) -> float:
    count = len(vectors)
    if count < 2:
        return 0.0
    whole = vectors.sum(0)
    return float((whole @ whole - (vectors * vectors).sum()) / (count * (count - 1)))


def _similarities(query: npt.NDArray[np.float64], document: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Return (mean of all cosines, mean of each query term's highest, cosine of the sums)."""
    if not len(query) or not len(document):
        return 0.0, 0.0, 0.0
    cosines = query @ document.T
    one, two = query.sum(0), document.sum(0)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(two))
    return float(cosines.mean()), float(cosines.max(1).mean()), float(one @ two) / lengths if lengths else 0.0


RANK = AXIOMS.index("RANK")
_RIDGE = 1.0
_STEPS = 25


def hard(signs: Sequence[int]) -> int:
    """Return the majority of the axioms, RANK deciding ties (ARES_hard)."""
    votes = sum(signs)
    return (votes > 0) - (votes < 0) or signs[RANK]


def strict(signs: Sequence[int]) -> int:
    """Return the sign that all axioms that tell the two apart agree on (ARES_strict)."""
    nonzero = set(signs) - {0}
    return nonzero.pop() if len(nonzero) == 1 else 0


def weighted(signs: Sequence[int], weights: Sequence[float]) -> int:
    """Return the sign of the weighted sum of the axioms."""
    votes = sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return (votes > 0) - (votes < 0)


def fitted_weights(preferred: npt.NDArray[np.float64]) -> list[float]:
    """Return weights of a logistic regression without intercept, by Newton's method, with a ridge of one.

    preferred: (pairs, axioms), the signs of pairs of which the first is preferred; a pair turned round says the same,
    so none is needed.
    """
    weights = np.zeros(preferred.shape[1])
    for _ in range(_STEPS):
        wrong = 1.0 / (1.0 + np.exp(preferred @ weights))
        gradient = _RIDGE * weights - preferred.T @ wrong
        curvature = (preferred.T * (wrong * (1.0 - wrong))) @ preferred + _RIDGE * np.eye(len(weights))
        weights = weights - np.linalg.solve(curvature, gradient)
    return [round(float(weight), 6) for weight in weights]


_QUERIES = 5  # pseudo-queries of a document
_PAIRS = 2  # of them, that are taken
_MOST_WORDS = 15  # of a pseudo-query
_TITLES = 500  # that the regression is fitted on

Preference = Callable[["Surveyed", Sequence[int]], int]


class Surveyed:
    """Results of the survey: the corpus's index, word vectors, and the weights of the axioms."""

    def __init__(self, folder: Path) -> None:
        numbers: dict[str, int] = json.loads((folder / "words.json").read_text(encoding="utf-8"))
        self.vectors = WordVectors(numbers, np.load(folder / "vectors.npy", mmap_mode="r"))
        self.places = Places(folder / "index")
        weights = folder / "weights.json"
        self.weights: list[float] = json.loads(weights.read_text(encoding="utf-8")) if weights.exists() else []


def write_surveyed(ground: Ground, folder: Path) -> None:
    """Index the documents, read or learn word vectors, and fit the regression on titles."""
    pages = ground.pages

    def texts() -> Iterator[str]:
        return (title_and_head(pages, number) for number in range(pages.count) if pages.head(number))

    path = ground.options.word_vectors
    vectors = read_word_vectors(Path(path)) if path else learn_word_vectors(texts, seed=ground.seed)
    np.save(folder / "vectors.npy", vectors.matrix)
    (folder / "words.json").write_text(json.dumps(vectors.numbers, ensure_ascii=True), encoding="utf-8")
    write_places(pages, folder / "index")
    signs = _title_signs(ground, Surveyed(folder))
    weights = fitted_weights(np.array(signs, np.float64)) if signs else []
    (folder / "weights.json").write_text(json.dumps(weights), encoding="utf-8")


def _title_signs(ground: Ground, surveyed: Surveyed) -> list[tuple[int, ...]]:
    """Signs of documents' own titles against other documents' titles, for a sample of the documents."""
    assert ground.collection is not None
    pages, stop_words = ground.pages, left_out(ground.options.stop_words)
    rng = Random(f"ares titles/{ground.seed}")
    known = [number for number in range(pages.count) if pages.head(number)]
    if len(known) < 2:
        return []
    found_signs: list[tuple[int, ...]] = []
    for number in rng.sample(known, min(_TITLES, len(known))):
        other = rng.choice(known)
        titles = [counted_words(pages.title(each), stop_words) for each in (number, other)]
        text = pages.head(number)  # without the title, which would be found by its own words
        model = DocumentModel(counted_words(text, stop_words), ground.collection, 1, rng)
        document = ScoredDocument(text, stop_words, model, ground.collection, surveyed.vectors)
        if titles[0] and titles[1] and other != number:
            first, second = (document.scores(title, surveyed.places.of(title, number)) for title in titles)
            found_signs.append(signs(first, second))
    return found_signs


def axiomatic_preference(
    task: str, preference: Preference, here: Neighbourhood, rng: Random, census: Census
) -> Iterator[Example]:
    """Draw five pseudo-queries of at most 15 words as PROP does; return two pairs, the one that axioms prefer first."""
    text = here.title_and_head()
    model = document_model(here, text, rng, census, task)
    if model is None:
        return
    assert here.collection is not None
    surveyed: Surveyed = here.surveyed
    queries = [model.draw(min(positive_poisson(rng, MEAN_SIZE), _MOST_WORDS), rng) for _ in range(_QUERIES)]
    stop_words = left_out(here.view.options.stop_words)
    document = ScoredDocument(text, stop_words, model, here.collection, surveyed.vectors)
    pairs = rng.sample(list(combinations(range(_QUERIES), 2)), _PAIRS)
    scores = {
        place: document.scores(queries[place], surveyed.places.of(queries[place], here.number))
        for place in sorted({place for pair in pairs for place in pair})
    }
    for one, two in pairs:
        preferred = preference(surveyed, signs(scores[one], scores[two]))
        if not preferred:
            census.drop(task, "axioms that do not decide")
            continue
        better, worse = (one, two) if preferred > 0 else (two, one)
        words = (" ".join(queries[better]), " ".join(queries[worse]))
        yield Example(task, words, (text, text), here.view.document.id, (0, 0))


def _task(name: str, preference: Preference) -> Task:
    return Task(
        name,
        partial(axiomatic_preference, name, preference),
        "papers",
        in_corpus=True,
        needs=Need.COLLECTION,
        replaceable=False,
        source="Chen et al., ARES, SIGIR 2022",
        survey=Survey("ares", write_surveyed, Surveyed),
    )


TASKS = (
    _task("ares-hard", lambda surveyed, signs: hard(signs)),
    _task("ares-strict", lambda surveyed, signs: strict(signs)),
    _task("ares-titles", lambda surveyed, signs: weighted(signs, surveyed.weights) if surveyed.weights else 0),
)
