"""Questions that people ask and the documents do not answer, grouped by meaning."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from structformer.retrieval import Hit, Pipeline, Retriever, is_confident

ALIKE = 0.5  # the least cosine of two questions of one group
_HITS = 5  # documents that are looked at
_LEADERS = 100  # of one document that a question is compared with
_CHUNK = 128


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that ended without a document being opened."""

    query: str
    searches: int
    """How often it was asked."""
    not_found: int = 0
    """How often somebody said that nothing fits."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Questions that mean the same."""

    asked: tuple[Asked, ...]
    """The most asked first."""
    nearest: Hit | None
    """The hit nearest to the first question; None where nothing is near."""

    @property
    def question(self) -> str:
        """The most asked of them."""
        return self.asked[0].query

    @property
    def searches(self) -> int:
        """How often all of them were asked."""
        return sum(each.searches for each in self.asked)

    @property
    def not_found(self) -> int:
        """How often somebody said that nothing fits."""
        return sum(each.not_found for each in self.asked)

    def as_dict(self) -> dict[str, Any]:
        """Return this as JSON types."""
        nearest = self.nearest
        return {
            "question": self.question,
            "searches": self.searches,
            "not_found": self.not_found,
            "asked": [asdict(each) for each in self.asked],
            "nearest": nearest
            and {
                "document": nearest.document_id,
                "path": list(nearest.path),
                "anchor": nearest.anchor,
                "url": nearest.url,
            },
        }


def find_gaps(
    retriever: Retriever,
    asked: Sequence[Asked],
    *,
    pipeline: Pipeline | None = None,
    alike: float = ALIKE,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Gap]:
    """Groups of questions that today's index does not answer with confidence, or that somebody called unanswered, the
    most asked first. Every question is asked again, since its answer may have been written meanwhile.

    A group's most asked question leads it. Another one joins the leader that it is most like, if their cosine is at
    least `alike` and both have a document among their first hits, or if it has the same words. So each is compared with
    a bounded number of others. Without vectors only the same words make a group.
    """
    used = retriever.pipeline(pipeline)
    ordered = sorted(asked, key=lambda each: (-each.searches, -each.not_found, each.query))
    unanswered = list(_unanswered(retriever, ordered, used, progress))
    vectors = None
    if used.encoder and unanswered:
        encoder, _, _ = retriever.opened.encoder(used.encoder)
        vectors = np.asarray(encoder.encode_queries([each.query for each, _ in unanswered]), np.float32)
    groups = _Groups(vectors, alike)
    for number, (each, hits) in enumerate(unanswered):
        terms = frozenset(retriever.opened.lexical.terms(each.query))
        groups.add(number, terms - retriever.opened.stop_terms or terms, _documents(hits))
    gaps = [
        Gap(tuple(unanswered[number][0] for number in members), next(iter(unanswered[members[0]][1]), None))
        for members in groups.members.values()
    ]
    return sorted(gaps, key=lambda gap: (-gap.searches, -gap.not_found, gap.question))


def _unanswered(
    retriever: Retriever, asked: Sequence[Asked], pipeline: Pipeline, progress: Callable[[int, int], None]
) -> Iterator[tuple[Asked, Sequence[Hit]]]:
    """Yield the questions that have no answer, each with its first hits."""
    for start in range(0, len(asked), _CHUNK):
        part = asked[start : start + _CHUNK]
        rankings = retriever.rank([each.query for each in part], pipeline)
        for each, ranking in zip(part, rankings, strict=True):
            hits = retriever.hits(ranking, _HITS, group=True, sections=0)
            if not hits or each.not_found or not is_confident(ranking.likely):
                yield each, hits
        progress(start + len(part), len(asked))


def _documents(hits: Iterable[Hit]) -> list[str]:
    """Return the documents that were found, in all languages: of two questions about one page each shows its own."""
    return [name for hit in hits for name in (hit.document_id, *(each.document_id for each in hit.also_in))]


class _Groups:
    """Groups by their leaders' numbers. members: a leader's, itself first."""

    def __init__(self, vectors: npt.NDArray[np.float32] | None, alike: float) -> None:
        self.members: dict[int, list[int]] = {}
        self._vectors = vectors
        self._alike = alike
        self._by_words: dict[frozenset[str], int] = {}
        self._by_document: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, number: int, words: frozenset[str], documents: Sequence[str]) -> None:
        """Give a question to its group, or begin one."""
        leader = self._by_words.get(words)
        if leader is None:
            leader = self._like(number, documents)
        if leader is None:
            leader = number
            for document in documents:
                if len(self._by_document[document]) < _LEADERS:
                    self._by_document[document].append(number)
        self._by_words.setdefault(words, leader)
        self.members.setdefault(leader, []).append(number)

    def _like(self, number: int, documents: Sequence[str]) -> int | None:
        leaders = sorted({leader for document in documents for leader in self._by_document[document]})
        if self._vectors is None or not leaders:
            return None
        cosines = self._vectors[leaders] @ self._vectors[number]
        best = int(cosines.argmax())
        return leaders[best] if cosines[best] >= self._alike else None
