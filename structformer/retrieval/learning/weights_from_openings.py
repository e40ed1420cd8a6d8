"""Weights of the hybrid, learned without labels: what a page says of itself first is what people ask it for.

The opening sentence of a document is a pseudo-query that the rest of the document is to answer; in half of the
documents the opening itself may answer too, since people's queries use a page's own words about as often as not, and
words would count for too little. Of the kinds of pseudo-queries tried (any sentence, sentences with links, openings),
openings predicted best which weights serve people's queries: docs/why-it-works.md has the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from structformer.retrieval.documents.copies import Copies
from structformer.retrieval.learning.pseudo_query_scores import NOTHING, PseudoQueryScores, UntrainedSearch
from structformer.retrieval.questions.document_shares import DocumentShares
from structformer.retrieval.questions.pseudo_queries import FEWEST_OPENINGS, OPENING, PseudoQuery, draw_openings
from structformer.retrieval.rankings.fusion_weights import DEFAULT_WEIGHTS, Floats, FusionWeights, learn_weights

_MOST_OPENINGS = 400
_IN_PLACE = "opening in place"
_FOUND, _MISSED = 10, 0.05  # documents; share of the right answers that may lie under the floor
_CANDIDATES = 60  # units a question
_BATCH = 64


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """What openings taught; a corpus with too few openings has the default weights and the floor 0."""

    weights: FusionWeights
    floor: float
    """The cosine below which nothing is found with confidence."""
    asked: int
    """Openings that were asked and have an answer."""
    having: int
    """Documents with an opening that can be asked, copies left out."""
    documents: int
    """Documents in all, copies left out."""


def learned_from_openings(search: UntrainedSearch) -> LearnedWeights:
    """What a corpus's opening sentences teach.

    search: by the untrained encoder. A trained one has read the openings, so its scores on them would say too much; for
    the same reason the static one is cross-fitted.
    """
    copies = Copies.of(search.units)
    drawn, having = draw_openings(search.units, copies=copies, most=3 * _MOST_OPENINGS)
    owners = search.index.owners
    questions = [_left_in_place(question, owners) if number % 2 else question for number, question in enumerate(drawn)]
    found = list(weighed_groups(questions, search))
    counts = len(found), having, sum(not copies.is_copy(number) for number in range(len(search.documents)))
    if len(found) < FEWEST_OPENINGS:
        return LearnedWeights(search.weights, 0.0, *counts)
    weights = learn_weights([rows for _, rows, _ in found], prior=search.weights)
    return LearnedWeights(weights, _floor(found), *counts)


def _floor(found: Sequence[tuple[PseudoQuery, Floats, list[int]]]) -> float:
    """The cosine that 95 % of the right answers reach, of openings that are answered by the rest of their document and
    are found among the first ten documents.
    """
    prior = DEFAULT_WEIGHTS.as_array()
    cosines = []
    for question, rows, owners in found:
        scores = rows @ prior
        better = {owner for owner, score in zip(owners[1:], scores[1:], strict=True) if score >= scores[0]}
        if question.source == OPENING and len(better) < _FOUND:
            cosines.append(float(rows[0, 0]))
    return round(float(np.quantile(cosines, _MISSED)), 4) if 2 * len(cosines) >= FEWEST_OPENINGS else 0.0


def weighed_groups(
    questions: Sequence[PseudoQuery], search: UntrainedSearch
) -> Iterator[tuple[PseudoQuery, Floats, list[int]]]:
    """For each question that another unit of its document can answer, the (units, 7) features of the document's best
    unit, then of the best of other documents, and the documents' numbers. The first row is the relevant one; the static
    encoder's two features are zeros without one, that of descriptions where none are kept. What says the same as
    the question does not count (`Descriptions.saying`).
    """
    asked = PseudoQueryScores(questions, search)
    shares = DocumentShares(asked, search.units, search.lexical)
    for start in range(0, len(asked), _BATCH):
        numbers = list(range(start, min(start + _BATCH, len(asked))))
        vectors = asked.vectors[numbers]
        parts = torch.stack([*asked.parts(vectors, numbers), *asked.static_parts(numbers)])
        right, wrong = asked.scores(vectors, numbers, search.weights)
        best = torch.topk(wrong, min(_CANDIDATES, wrong.shape[1]))
        for row, number in enumerate(numbers):
            if right[row].max() == NOTHING:
                continue
            question = asked.questions[number]
            places = [int(right[row].argmax()), *best.indices[row][best.values[row] > NOTHING].tolist()]
            owners = asked.owners[places].tolist()
            found = shares.of(question)
            whole = torch.tensor([found.get(owner, 0.0) for owner in owners])
            its = parts[:, row, places]
            described = torch.zeros(len(places), dtype=torch.float64)
            if (kept := search.index.descriptions) is not None:
                found_best, _ = kept.best(vectors[row].numpy(), kept.saying(question))
                described = torch.from_numpy(kept.scores(found_best, owners, its[0].numpy()))
            yield (
                question,
                torch.cat([its[:3], whole[None], its[3:], described[None].float()]).T.double().numpy(),
                owners,
            )


def _left_in_place(question: PseudoQuery, owners: npt.NDArray[np.int64]) -> PseudoQuery:
    """The question as people ask it who know the page's own words: what holds it in its document may answer."""
    others = tuple(unit for unit in question.holders if owners[unit] != question.document)
    return replace(question, source=_IN_PLACE, holders=others)
