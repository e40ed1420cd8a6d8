"""Questions asked of an index, and the words' part of their score, with a pretrained encoder or without one."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.units import IndexedDocuments
from structformer.retrieval.questions.pseudo_queries import OPENING, PseudoQuery, evenly_taken
from structformer.retrieval.words.lexical import LexicalIndex

_FOUND = 200  # units that have a lexical score
_MOST_UNITS = 120_000  # that are held in memory and scored at once; a larger corpus is learned from by a sample
Numbers = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]


class AskedQuestions:
    """Questions, which units answer them, and the units' lexical scores.

    questions: those whose documents take part; owners: (units,) the documents of all units; documents: how many there
    are. Of the instance, units: numbers of the units that take part, all of them in a corpus of up to 120,000; numbers
    of units in what it gives are places among these, and unit_owners are their documents."""

    def __init__(
        self,
        questions: Sequence[PseudoQuery],
        owners: Numbers,
        documents: int,
        lexical: LexicalIndex,
        progress: Progress | None = None,
    ) -> None:
        share = min(1.0, _MOST_UNITS / max(1, len(owners)))
        taken = evenly_taken(documents, share)
        self.units = np.flatnonzero(taken[owners])
        self._places = np.full(len(owners), -1, np.int64)
        self._places[self.units] = np.arange(len(self.units))
        self.questions = [question for question in questions if taken[question.document]]
        self._owners = owners
        self.unit_owners = owners[self.units]
        self._scores = self._lexical_scores(lexical, progress)

    def __len__(self) -> int:
        return len(self.questions)

    def _lexical_scores(
        self, lexical: LexicalIndex, progress: Progress | None
    ) -> list[tuple[Numbers, npt.NDArray[np.float32]]]:
        """By question: units that may be found, and their BM25 scores."""

        def scores(question: PseudoQuery) -> tuple[Numbers, npt.NDArray[np.float32]]:
            held, skipped = set(question.holders), self.skipped(question)
            rows = {
                int(self._places[unit]): score
                for unit, score in lexical.search(question.text, _FOUND)
                if self._places[unit] >= 0 and unit not in held and int(self._owners[unit]) not in skipped
            }
            return np.fromiter(rows, np.int64, len(rows)), np.fromiter(rows.values(), np.float32, len(rows))

        rows = []
        with ThreadPoolExecutor() as pool:
            for number, each in enumerate(pool.map(scores, self.questions), 1):
                rows.append(each)
                if progress:
                    progress(number, len(self.questions))
        return rows

    def skipped(self, question: PseudoQuery) -> set[int]:
        """Return documents neither right nor wrong: others that hold the question, and those to be passed over."""
        return {*map(int, self._owners[list(question.holders)]), *question.passed_over} - {question.document}

    def words_of(self, number: int) -> npt.NDArray[np.float32]:
        """Return (units,) a question's BM25 scores."""
        words = np.zeros(len(self.units), np.float32)
        units, scores = self._scores[number]
        words[units] = scores
        return words

    def holding(self, question: PseudoQuery) -> Numbers:
        """Return the units that hold a question."""
        places = self._places[np.array(question.holders, np.int64)]
        return places[places >= 0]

    def allowed_of(self, number: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Two (units,) bool: right and wrong answers; neither: units that hold it, their documents, skipped ones."""
        question = self.questions[number]
        right = self.unit_owners == question.document
        wrong = ~right & ~np.isin(self.unit_owners, list(self.skipped(question)))
        right[self.holding(question)] = False
        return right, wrong

    def overviews_without(self, documents: IndexedDocuments) -> dict[int, str]:
        """Return by opening the overview of its document without it, where it is in there."""
        openings = {number: each for number, each in enumerate(self.questions) if each.source == OPENING}
        wholes = {number: documents[each.document].overview for number, each in openings.items()}
        return {
            number: whole.replace(openings[number].text, " ")
            for number, whole in wholes.items()
            if openings[number].text in whole
        }
