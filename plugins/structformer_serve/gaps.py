"""Questions that people ask and the documents do not answer, grouped by meaning."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from structformer.retrieval import Hit, Pipeline, Retriever, is_confident

from structformer_serve.feedback import Searches

ALIKE = 0.5  # the least cosine of two questions of one group
_HITS = 5  # documents that are looked at
_LEADERS = 100  # of one document that a question is compared with
_CHUNK = 128


@dataclass(frozen=True, slots=True)
class Gap:
    """Questions that mean the same."""

    asked: tuple[Searches, ...]
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
        return sum(each.asked for each in self.asked)

    @property
    def not_found(self) -> int:
        """How often somebody said that nothing fits."""
        return sum(each.lost for each in self.asked)

    def as_dict(self) -> dict[str, Any]:
        """Return this as JSON types."""
        nearest = self.nearest
        return {
            "question": self.question,
            "searches": self.searches,
            "not_found": self.not_found,
            "asked": [{"query": each.query, "searches": each.asked, "not_found": each.lost} for each in self.asked],
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
    asked: Sequence[Searches],
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
    ordered = sorted(asked, key=lambda each: (-each.asked, -each.lost, each.query))
    unanswered: list[tuple[Searches, list[Hit]]] = []
    for start in range(0, len(ordered), _CHUNK):
        part = ordered[start : start + _CHUNK]
        for each, ranking in zip(part, retriever.rank([each.query for each in part], used), strict=True):
            hits = retriever.hits(ranking, _HITS, group=True, sections=0)
            if not hits or each.lost or not is_confident(ranking.likely):
                unanswered.append((each, hits))
        progress(start + len(part), len(ordered))
    vectors = None
    if used.encoder and unanswered:
        encoder, _, _ = retriever.opened.encoder(used.encoder)
        vectors = np.asarray(encoder.encode_queries([each.query for each, _ in unanswered]), np.float32)
    questions = []
    for each, hits in unanswered:
        terms = frozenset(retriever.opened.lexical.terms(each.query))
        # In all languages: of two questions about one page each shows its own.
        documents = [name for hit in hits for name in (hit.document_id, *(each.document_id for each in hit.also_in))]
        questions.append((terms - retriever.opened.stop_terms or terms, documents))
    gaps = [
        Gap(tuple(unanswered[number][0] for number in members), next(iter(unanswered[members[0]][1]), None))
        for members in _groups(questions, vectors, alike)
    ]
    return sorted(gaps, key=lambda gap: (-gap.searches, -gap.not_found, gap.question))


def _groups(
    questions: Iterable[tuple[frozenset[str], list[str]]], vectors: npt.NDArray[np.float32] | None, alike: float
) -> list[list[int]]:
    """Group questions by their numbers, the leader of each group first. questions: (words, documents found) of each."""
    members: dict[int, list[int]] = {}
    by_words: dict[frozenset[str], int] = {}
    by_document: defaultdict[str, list[int]] = defaultdict(list)  # the leaders
    for number, (words, documents) in enumerate(questions):
        leader = by_words.get(words)
        leaders = sorted({each for document in documents for each in by_document[document]})
        if leader is None and leaders and vectors is not None:
            cosines = vectors[leaders] @ vectors[number]
            best = int(cosines.argmax())
            leader = leaders[best] if cosines[best] >= alike else None
        if leader is None:
            leader = number
            for document in documents:
                if len(by_document[document]) < _LEADERS:
                    by_document[document].append(number)
        by_words.setdefault(words, leader)
        members.setdefault(leader, []).append(number)
    return list(members.values())
