"""The hybrid's scores of all units for pseudo-queries, fair to the document that a question is from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.bi_encoder import BiEncoder
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.learning.static_scores import StaticScores
from structformer.retrieval.learning.structure import asking
from structformer.retrieval.questions.asked_questions import AskedQuestions, Numbers, Progress
from structformer.retrieval.questions.pseudo_queries import PseudoQuery
from structformer.retrieval.rankings.hybrid_score import (
    PARTS,
    FusionWeights,
    candidates,
    fusion_weights,
    scaled_weights,
)
from structformer.retrieval.vectors.dense import DenseIndex
from structformer.retrieval.vectors.second_look import own_outlines
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.static_encoder import StaticEncoder

NOTHING = -1e9  # the score of what may not be found
_BATCH = 64
# What a pseudo-query's score is made of. Whole documents' words hold the question, and descriptions are the question.
_ASKED_PARTS = ("dense", "overview", "lexical", "structure", "structure_overview")


@dataclass(frozen=True)
class UntrainedSearch:
    """The hybrid that pseudo-queries are asked of."""

    units: Units
    documents: IndexedDocuments
    lexical: LexicalIndex
    index: DenseIndex
    encoder: BiEncoder
    """The encoder that made the index's vectors."""
    static: tuple[StaticEncoder, StaticEncoder] | None = None
    """Static encoders of the corpus, if these take part: `structure_halves`."""

    @property
    def weights(self) -> FusionWeights:
        """Those of the parts that there are."""
        own, described = self.own_outlines, self.index.descriptions is not None
        return fusion_weights(pretrained=True, structure=self.static is not None, described=described, own_outlines=own)

    @cached_property
    def own_outlines(self) -> float:
        """How far documents have outlines of their own, see `own_outlines`."""
        return own_outlines(self.units)


class PseudoQueryScores(AskedQuestions):
    """Questions with what scores them: vectors, lexical scores, and overviews of openings without the opening."""

    def __init__(
        self, questions: Sequence[PseudoQuery], search: UntrainedSearch, progress: Progress | None = None
    ) -> None:
        index, documents, encoder = search.index, search.documents, search.encoder
        count = len(documents)
        super().__init__(questions, index.owners, count, search.lexical, progress)
        self.owners = torch.from_numpy(self.unit_owners)
        self.passages = torch.from_numpy(np.ascontiguousarray(index.vectors[self.units], np.float32))
        self.overviews = torch.from_numpy(np.array(index.overviews, np.float32))
        self.vectors = torch.from_numpy(encoder.encode_queries([question.text for question in self.questions]))
        unread = [int(asking(question.document)) for question in self.questions]  # each by the half without it
        self._static = search.static and StaticScores(search.static, unread, self, search.units, documents)
        bounds = np.searchsorted(self.owners.numpy(), np.arange(count + 1))
        self._slices = np.stack([bounds[:-1], bounds[1:]], axis=1)
        rests = self.overviews_without(documents)
        own = torch.from_numpy(encoder.encode_documents(list(rests.values())))
        self._own_overviews = dict(zip(rests, own, strict=True))
        self._weights = search.weights

    def parts(self, vectors: torch.Tensor, numbers: Sequence[int]) -> torch.Tensor:
        """(5, questions, units) the parts of the score: cosines, the overviews' cosines, BM25, and the static encoder's
        two, zeros without one. vectors: (questions, dimensions) of these questions.
        """
        overviews = vectors @ self.overviews.T
        for row, number in enumerate(numbers):
            if (own := self._own_overviews.get(number)) is not None:
                overviews[row, self.questions[number].document] = vectors[row] @ own
        fixed = [self._words(numbers), *self._static_parts(numbers)]
        return torch.stack([vectors @ self.passages.T, overviews[:, self.owners], *fixed])

    def _static_parts(self, numbers: Sequence[int]) -> list[torch.Tensor]:
        if self._static is None:
            return [torch.zeros(len(numbers), len(self.units))] * 2
        return [*map(torch.from_numpy, self._static.parts(numbers))]

    @cached_property
    def _scales(self) -> torch.Tensor:
        """(questions, 5) what a part's own unit counts for a question: `scaled_weights` over what the untrained encoder
        and words find for it. Training changes vectors, and the candidates little: the scales stay.
        """
        weights = self._weights
        places = [PARTS.index(name) for name in _ASKED_PARTS]
        scales = np.zeros((len(self), len(PARTS)))
        for start in range(0, len(self), _BATCH):
            numbers = list(range(start, min(start + _BATCH, len(self))))
            parts = self.parts(self.vectors[numbers], numbers)
            right, wrong = self.allowed(numbers)
            for row, number in enumerate(numbers):
                table = np.zeros((len(self.units), len(PARTS)))
                table[:, places] = parts[:, row].T.numpy()
                looked_at = candidates(table, weights, (right[row] | wrong[row]).numpy())
                query_weights = weights.asked(self.questions[number].text)
                scales[number] = scaled_weights(table[looked_at], query_weights.as_array())
        return torch.from_numpy(scales[:, places]).float()

    def _words(self, numbers: Sequence[int]) -> torch.Tensor:
        """Return (questions, units) BM25 scores."""
        return torch.stack([torch.from_numpy(self.words_of(number)) for number in numbers])

    def allowed(self, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Two (questions, units) bool: right and wrong answers; neither: units with the question, skipped ones."""
        masks = [self.allowed_of(number) for number in numbers]
        right, wrong = (torch.from_numpy(np.stack(each)) for each in zip(*masks, strict=True))
        return right, wrong

    def totals(self, vectors: torch.Tensor, numbers: Sequence[int]) -> torch.Tensor:
        """Return (questions, units) the sum of the parts, each by its scale."""
        return (self._scales[list(numbers)].T[:, :, None] * self.parts(vectors, numbers)).sum(0)

    def best_and_wrong(self, vectors: torch.Tensor, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """The hybrid's score, without whole documents' words, which hold the question: (questions,) the best right
        answer's, NOTHING where there is none, and (questions, units) the wrong answers', NOTHING elsewhere.

        Gradients go through the cosines alone; a document's units are one slice."""
        scales = self._scales[list(numbers)].T[:, :, None]
        with torch.no_grad():
            words, *static = self._words(numbers), *self._static_parts(numbers)
            fixed = scales[2] * words + scales[3] * static[0] + scales[4] * static[1]
        cosines = scales[0] * (vectors @ self.passages.T) + (scales[1] * (vectors @ self.overviews.T))[:, self.owners]
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
                best = best + scales[1, row, 0] * moved
            right.append(best)
            for document in (question.document, *self.skipped(question)):
                start, end = self._slices[document].tolist()
                fixed[row, start:end] = NOTHING
        return torch.stack(right), cosines + fixed

    def ranks(self, vectors: torch.Tensor, numbers: Sequence[int]) -> npt.NDArray[np.int64]:
        """(questions,) rank from 1 of the document's best unit, ties against it; last if it has no other unit."""
        return document_ranks(*self.best_and_wrong(vectors, numbers), self.owners, len(self.overviews))


def document_ranks(best: torch.Tensor, wrong: torch.Tensor, owners: torch.Tensor, documents: int) -> Numbers:
    """Return (questions,) ranks from 1 of the best right units among other documents' best, ties against them; the last
    rank without a right unit. best: (questions,); wrong: (questions, units), NOTHING elsewhere; owners: (units,)."""
    others = torch.full((len(best), documents), NOTHING)
    others = others.scatter_reduce(1, owners[None].expand(len(best), -1), wrong, "amax")
    ranks = 1 + ((others >= best[:, None]) & (others > NOTHING / 2)).sum(1)
    return np.where((best < NOTHING / 2).numpy(), documents + 1, ranks.numpy())
