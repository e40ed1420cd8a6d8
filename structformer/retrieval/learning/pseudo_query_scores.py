"""Questions asked of an index: the scores that the hybrid gives every unit for a pseudo-query, with the question's
own answer made fair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.bi_encoder import BiEncoder
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.learning.static_scores import CrossFitted, StaticScores
from structformer.retrieval.questions.asked_questions import AskedQuestions, Progress
from structformer.retrieval.questions.pseudo_queries import OPENING, PseudoQuery
from structformer.retrieval.rankings.fusion_weights import FusionWeights, starting_weights
from structformer.retrieval.vectors.dense import DenseIndex
from structformer.retrieval.words.lexical import LexicalIndex

NOTHING = -1e9  # the score of what may not be found


@dataclass(frozen=True, slots=True)
class UntrainedSearch:
    """The hybrid that pseudo-queries are asked of."""

    units: Units
    documents: IndexedDocuments
    lexical: LexicalIndex
    index: DenseIndex
    encoder: BiEncoder
    """The encoder that made the index's vectors."""
    static: CrossFitted | None = None
    """If the static encoder takes part."""
    learned: FusionWeights | None = None
    """The weights that the search uses, if they are known."""

    @property
    def weights(self) -> FusionWeights:
        """Those that were learned, else those that everything begins with."""
        described = self.index.descriptions is not None
        return self.learned or starting_weights(structure=self.static is not None, described=described)


class PseudoQueryScores(AskedQuestions):
    """Questions with what it takes to score them: all vectors, lexical shares, and the overviews of openings without
    the opening.
    """

    def __init__(
        self,
        questions: Sequence[PseudoQuery],
        search: UntrainedSearch,
        progress: Progress | None = None,
    ) -> None:
        index, documents, encoder = search.index, search.documents, search.encoder
        count = len(documents)
        super().__init__(questions, index.owners, count, search.lexical, progress)
        self.owners = torch.from_numpy(self.unit_owners)
        self.passages = torch.from_numpy(np.ascontiguousarray(index.vectors[self.units], np.float32))
        self.overviews = torch.from_numpy(np.array(index.overviews, np.float32))
        self.vectors = torch.from_numpy(encoder.encode_queries([question.text for question in self.questions]))
        self.weights = search.weights
        self._combined = self.weights.dense * self.passages + self.weights.overview * self.overviews[self.owners]
        self._static = (
            StaticScores(search.static, self.questions, search.units, documents, self.units, self.owners)
            if search.static is not None
            else None
        )
        bounds = np.searchsorted(self.owners.numpy(), np.arange(count + 1))
        self._slices = np.stack([bounds[:-1], bounds[1:]], axis=1)
        self._own_overviews = self._without_openings(documents, encoder)

    def _without_openings(self, documents: IndexedDocuments, encoder: BiEncoder) -> dict[int, torch.Tensor]:
        """By question: the overview of its document without the question, where it holds it."""
        texts: dict[int, str] = {}
        for number, question in enumerate(self.questions):
            if question.source == OPENING:
                text = documents[question.document].overview
                if question.text in text:
                    texts[number] = text.replace(question.text, " ")
        found = torch.from_numpy(encoder.encode_documents(list(texts.values())))
        return dict(zip(texts, found, strict=True))

    def answers(self, numbers: Sequence[int]) -> torch.Tensor:
        """(questions,) the documents that answer them."""
        return torch.tensor([self.questions[number].document for number in numbers])

    def parts(self, vectors: torch.Tensor, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Three (questions, units) parts of the score: cosines, the overviews' cosines, lexical shares. vectors:
        (questions, dimensions) of these questions.
        """
        overviews = vectors @ self.overviews.T
        own = [self._own_overviews.get(number) for number in numbers]
        if any(each is not None for each in own):
            answers = self.answers(numbers)
            cosines = torch.stack(
                [overviews[row, answers[row]] if each is None else vectors[row] @ each for row, each in enumerate(own)]
            )
            overviews = overviews.scatter(1, answers[:, None], cosines[:, None])
        return vectors @ self.passages.T, overviews[:, self.owners], self._words(numbers)

    def static_parts(self, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Two more (questions, units): the static encoder's cosines of units and of overviews, zeros without one."""
        if self._static is None:
            return (torch.zeros(len(numbers), len(self.units)),) * 2
        return self._static.parts(numbers)

    def _fixed(self, numbers: Sequence[int], weights: FusionWeights) -> torch.Tensor:
        """(questions, units) the score of words and of the static encoder, which no trained vector changes."""
        total = weights.lexical * self._words(numbers)
        if self._static is not None and weights.with_structure:
            cosines, overviews = self._static.parts(numbers)
            total += weights.structure * cosines + weights.structure_overview * overviews
        return total

    def _words(self, numbers: Sequence[int]) -> torch.Tensor:
        """(questions, units) lexical shares."""
        words = torch.zeros(len(numbers), len(self.units))
        for row, number in enumerate(numbers):
            units, shares = self._shares[number]
            words[row, torch.from_numpy(units)] = torch.from_numpy(shares)
        return words

    def scores(
        self, vectors: torch.Tensor, numbers: Sequence[int], weights: FusionWeights
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Two (questions, units) tables of the hybrid's score, without whole documents' words, which hold the question:
        one in which only right answers have theirs, one in which only wrong ones have; NOTHING elsewhere.
        """
        cosines, overviews, _ = self.parts(vectors, numbers)
        right, wrong = self.allowed(numbers)
        total = weights.dense * cosines + weights.overview * overviews + self._fixed(numbers, weights)
        return total.masked_fill(~right, NOTHING), total.masked_fill(~wrong, NOTHING)

    def allowed(self, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Two (questions, units) bool: which units answer, and which don't. Neither: units that hold the question, the
        documents that they are of, and those to be passed over.
        """
        right = self.owners[None] == self.answers(numbers)[:, None]
        skipped = torch.zeros(len(numbers), len(self.overviews), dtype=torch.bool)
        held = torch.zeros(len(numbers), len(self.units), dtype=torch.bool)
        for row, number in enumerate(numbers):
            question = self.questions[number]
            held[row, torch.from_numpy(self.holding(question))] = True
            skipped[row, list(self.skipped(question))] = True
        return right & ~held, ~skipped[:, self.owners] & ~right

    def best_and_wrong(self, vectors: torch.Tensor, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """What `scores` gives for the weights of the search that is asked, made for training: (questions,) the best
        right answer's score, NOTHING where there is none, and (questions, units) the wrong answers'.

        One product of matrices for both cosines; all else is a table without gradients, in which a document's units
        are one slice."""
        cosines = vectors @ self._combined.T
        fixed = self._fixed(numbers, self.weights)
        right: list[torch.Tensor] = []
        for row, number in enumerate(numbers):
            question = self.questions[number]
            own = slice(*self._slices[question.document].tolist())
            scores = cosines[row, own] + fixed[row, own]
            holding = torch.from_numpy(self.holding(question))
            held = torch.zeros(own.stop - own.start, dtype=torch.bool)
            held[holding[(own.start <= holding) & (holding < own.stop)] - own.start] = True
            best = scores.masked_fill(held, NOTHING).max()
            if (overview := self._own_overviews.get(number)) is not None and best > NOTHING / 2:
                moved = vectors[row] @ (overview - self.overviews[question.document])
                best = best + self.weights.overview * moved
            right.append(best)
            for document in (question.document, *self.skipped(question)):
                start, end = self._slices[document].tolist()
                fixed[row, start:end] = NOTHING
        return torch.stack(right), cosines + fixed

    def ranks(self, vectors: torch.Tensor, numbers: Sequence[int]) -> npt.NDArray[np.int64]:
        """(questions,) the rank from 1 of each question's document by its best unit under these weights; ties
        count against it. A document that has no other unit ranks behind all.
        """
        best, wrong = self.best_and_wrong(vectors, numbers)
        others = torch.full((len(numbers), len(self.overviews)), NOTHING)
        others = others.scatter_reduce(1, self.owners[None].expand(len(numbers), -1), wrong, "amax")
        found = 1 + ((others >= best[:, None]) & (others > NOTHING / 2)).sum(1)
        return np.where((best < NOTHING / 2).numpy(), len(self.overviews) + 1, found.numpy())
