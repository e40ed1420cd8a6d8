"""BM25 of whole documents for pseudo-queries, made fair to the document that a question was taken from."""

from __future__ import annotations

from collections import defaultdict

from structformer.retrieval.documents.units import Unit, Units
from structformer.retrieval.questions.asked_questions import AskedQuestions
from structformer.retrieval.questions.pseudo_queries import PseudoQuery
from structformer.retrieval.words.lexical import LexicalIndex, document_text

_FOUND = 60  # documents


class DocumentShares:
    """The BM25 scores of the documents found for a question, as shares of the best."""

    def __init__(self, asked: AskedQuestions, units: Units, lexical: LexicalIndex) -> None:
        self._asked, self._lexical = asked, lexical
        self._texts = _document_texts(units, {question.document for question in asked.questions})

    def of(self, question: PseudoQuery) -> dict[int, float]:
        """Shares by document number. Where the units that hold the question may not answer, its document scores as it
        would without it.
        """
        skipped = self._asked.skipped(question)
        ranked = self._lexical.search_documents(question.text, _FOUND)
        found = {document: score for document, score in ranked if document not in skipped}
        if any(self._asked.owner(unit) == question.document for unit in question.holders):
            # What holds the question would be found by it; without it, the document scores as its other words do.
            rest = self._texts[question.document].replace(question.text, " ")
            found[question.document] = self._lexical.score_document(question.text, rest)
        best = max(*found.values(), 1e-9) if found else 1.0
        return {document: score / best for document, score in found.items()}


def _document_texts(units: Units, wanted: set[int]) -> dict[int, str]:
    """The whole texts of some documents, as the lexical index has them."""
    of_document: dict[int, list[Unit]] = defaultdict(list)
    for unit in units:
        if unit.document in wanted:
            of_document[unit.document].append(unit)
    return {
        document: document_text(its[0].path[0] if its[0].path else "", its) for document, its in of_document.items()
    }
