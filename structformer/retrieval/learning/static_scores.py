"""The static encoder's part in a pseudo-query's score, by one that did not learn the question's document."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.learning.structure import asking
from structformer.retrieval.questions.pseudo_queries import OPENING, PseudoQuery
from structformer.static_encoder import StaticEncoder


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """Two static encoders of a corpus, each learned from half of its documents."""

    halves: tuple[StaticEncoder, StaticEncoder]
    """The first learned from the pairs of documents that are `asking`, the second from the others."""

    def unread(self, document: int) -> int:
        """Return the place of the encoder that has learned from no pair of a document."""
        return 1 if asking(document) else 0


class StaticScores:
    """Cosines of pseudo-queries with units and documents' overviews, an opening's own without it. numbers: of the units
    that take part; owners: (units,) their documents.
    """

    def __init__(
        self,
        static: CrossFitted,
        questions: Sequence[PseudoQuery],
        units: Units,
        documents: IndexedDocuments,
        numbers: npt.NDArray[np.int64],
        owners: torch.Tensor,
    ) -> None:
        self._owners = owners
        self._documents = torch.tensor([question.document for question in questions], dtype=torch.int64)
        self._halves = [static.unread(question.document) for question in questions]
        self._passages, self._overviews = [], []
        for encoder in static.halves:
            passages = encoder.encode_documents(units[int(unit)].ranker_text for unit in numbers)
            self._passages.append(torch.from_numpy(passages))
            overviews = encoder.encode_documents(document.overview for document in documents)
            self._overviews.append(torch.from_numpy(overviews))
        self._vectors = torch.zeros(len(questions), self._passages[0].shape[1])
        self._moved = torch.zeros(len(questions))
        for half, encoder in enumerate(static.halves):
            own = [number for number, each in enumerate(self._halves) if each == half]
            self._vectors[own] = torch.from_numpy(encoder.encode_queries([questions[number].text for number in own]))
            rests = {
                number: overview.replace(questions[number].text, " ")
                for number in own
                if questions[number].source == OPENING
                and questions[number].text in (overview := documents[questions[number].document].overview)
            }
            vectors = torch.from_numpy(encoder.encode_documents(rests.values()))
            for number, rest in zip(rests, vectors, strict=True):
                whole = self._overviews[half][questions[number].document]
                self._moved[number] = self._vectors[number] @ (rest - whole)

    def parts(self, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return two (questions, units): cosines of units, and of their documents' overviews."""
        cosines = torch.empty(len(numbers), len(self._owners))
        overviews = torch.empty(len(numbers), len(self._overviews[0]))
        for half in range(len(self._passages)):
            rows = [row for row, number in enumerate(numbers) if self._halves[number] == half]
            vectors = self._vectors[[numbers[row] for row in rows]]
            cosines[rows] = vectors @ self._passages[half].T
            overviews[rows] = vectors @ self._overviews[half].T
        overviews[torch.arange(len(numbers)), self._documents[list(numbers)]] += self._moved[list(numbers)]
        return cosines, overviews[:, self._owners]
