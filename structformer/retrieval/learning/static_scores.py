"""The static encoder's part in a pseudo-query's score, by one that did not learn the question's document."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.questions.asked_questions import AskedQuestions
from structformer.retrieval.vectors.encoding import Vectors, product
from structformer.static_encoder import StaticEncoder


class StaticScores:
    """Cosines of questions with the units that take part and with documents' overviews, an opening's own without it.
    asked_by: (questions,) the place of the encoder that is asked each.
    """

    def __init__(
        self,
        encoders: Sequence[StaticEncoder],
        asked_by: npt.ArrayLike,
        asked: AskedQuestions,
        units: Units,
        documents: IndexedDocuments,
    ) -> None:
        self._owners, self._asked_by = asked.unit_owners, np.asarray(asked_by)
        self._documents = np.array([question.document for question in asked.questions], np.int64)
        # Read anew for each encoder: the texts of a large corpus take more memory than their vectors.
        self._passages = [
            encoder.encode_documents(units[int(unit)].ranker_text for unit in asked.units) for encoder in encoders
        ]
        self._overviews = [encoder.encode_documents(each.overview for each in documents) for encoder in encoders]
        self._vectors = np.zeros((len(asked), encoders[0].dimensions), np.float32)
        self._moved = np.zeros(len(asked), np.float32)
        rests = asked.overviews_without(documents)
        for place, encoder in enumerate(encoders):
            own = np.flatnonzero(self._asked_by == place).tolist()
            self._vectors[own] = encoder.encode_queries([asked.questions[number].text for number in own])
            moved = [number for number in own if number in rests]
            changes = encoder.encode_documents(rests[number] for number in moved)
            changes -= self._overviews[place][self._documents[moved]]
            self._moved[moved] = (self._vectors[moved] * changes).sum(1)

    def parts(self, numbers: Sequence[int]) -> tuple[Vectors, Vectors]:
        """Return two (questions, units): cosines of units, and of their documents' overviews."""
        asked = np.asarray(numbers, np.int64)
        cosines = np.empty((len(asked), len(self._owners)), np.float32)
        overviews = np.empty((len(asked), len(self._overviews[0])), np.float32)
        for place, (passages, of_documents) in enumerate(zip(self._passages, self._overviews, strict=True)):
            rows = np.flatnonzero(self._asked_by[asked] == place)
            cosines[rows] = product(self._vectors[asked[rows]], passages.T)
            overviews[rows] = product(self._vectors[asked[rows]], of_documents.T)
        overviews[np.arange(len(asked)), self._documents[asked]] += self._moved[asked]
        return cosines, overviews[:, self._owners]
