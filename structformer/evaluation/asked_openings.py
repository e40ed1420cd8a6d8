"""Queries made if none are judged: documents' openings, each answered by the rest of its document.

Of all pseudo-queries tried, openings rank ways to search most as people's queries do (docs/reference/trials.md). What
holds the opening may not answer it, so that a way to search is asked for what a document says elsewhere; that is why
these scores come from the parts of the search and not from running it.

Here are the questions, and BM25 against the encoder that is learned from the corpus, for which torch is not needed;
held_out_openings.py compares pretrained encoders too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from structformer.corpus import Corpus
from structformer.errors import UsageError
from structformer.evaluation.comparison import Comparison, Evaluation, FoundRun, compare_runs, label
from structformer.evaluation.judgements import Judgements
from structformer.graph import ReferenceGraph
from structformer.models.registry import read_record
from structformer.retrieval.documents.document_filter import Mask
from structformer.retrieval.learning.static_scores import StaticScores
from structformer.retrieval.learning.structure import StructureLessons, StructureOptions, asking
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import as_pipeline, dense, hybrid, lexical
from structformer.retrieval.questions.asked_questions import AskedQuestions
from structformer.retrieval.questions.pseudo_queries import OPENING, SOURCES, PseudoQuery, draw_pseudo_queries
from structformer.retrieval.rankings import hybrid_score
from structformer.retrieval.rankings.run_files import Run, falling_scores
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.stage import Stage
from structformer.retrieval.vectors.encoder_names import STRUCTURE
from structformer.retrieval.words.lexical import document_text
from structformer.sampling.held_out import held_out_share, is_held_out
from structformer.workspace import Workspace

CAVEAT = (
    "Openings are what documents say of themselves, in their own words, not what people type. On documentation sites "
    "that were asked people's questions they overrated what was learned from the corpus. Decide by your own questions."
)
_HELD_OUT_OPENINGS = "openings of held-out documents, each answered by the rest of its document"
_HELD_OUT_QUESTIONS = "questions drawn from held-out documents, each answered by the rest of its document"
ALL_OPENINGS = "openings of documents, each answered by the rest of its document"
_FEWEST, _MOST = 20, 1000
_DEPTH = 100
_FOUND_DOCUMENTS = 60  # that have a lexical score as a whole
NOWHERE = -np.inf  # the score of what may not be found
Asked = TypeVar("Asked", bound=AskedQuestions)
_LEXICAL, _DOCUMENT = (hybrid_score.PARTS.index(name) for name in ("lexical", "document"))
STATIC = [hybrid_score.PARTS.index("structure"), hybrid_score.PARTS.index("structure_overview")]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to search that openings are asked in."""

    stage: Stage
    encoder: str
    """Whose parts of the score it gets."""
    score: Callable[[hybrid_score.Floats, Mask, str], hybrid_score.Floats]
    """The units' scores, (units,) with NOWHERE for what is not found, from the parts of all units, (units, parts),
    which may be found, (units,), and the question."""


def evaluate_by_structure(
    workspace: str | Path | Workspace, how: Comparison, progress: Callable[[int, int], None] | None = None
) -> Evaluation:
    """Compare BM25, the static encoder and both on documents' openings. The encoder is learned again, without asking
    what the openings' documents say. Raises UsageError on a corpus with fewer than 20 openings.
    """
    retriever = Retriever.open(workspace)
    opened = retriever.opened

    def ask(questions: Sequence[PseudoQuery]) -> AskedQuestions:
        return AskedQuestions(questions, opened.owners, len(opened.documents), opened.lexical)

    title, asked, answered = first_enough(retriever, None, ask)
    against = (str(as_pipeline(hybrid(STRUCTURE))),)
    how = replace(how, against=against, title=title, caveat=CAVEAT)
    return compare_ways(
        retriever, asked, answered, WITHOUT_PRETRAINED, lambda _, shared, __: {STRUCTURE: shared}, how, progress
    )


def compare_ways(
    retriever: Retriever,
    asked: AskedQuestions,
    answered: Sequence[int],
    ways: Sequence[Way],
    tables: Callable[[int, hybrid_score.Floats, Mask], Mapping[str, hybrid_score.Floats]],
    how: Comparison,
    progress: Callable[[int, int], None] | None,
) -> Evaluation:
    """Ask the answered questions in all ways. tables: by encoder the (units, parts) of a question's score, from its
    number, its parts that no pretrained encoder has a say in, and which units may be found.
    """
    opened = retriever.opened
    shared = _shared_parts(retriever, asked, answered)
    runs: list[Run] = [{} for _ in ways]
    for done, number in enumerate(answered, 1):
        right, wrong = asked.allowed_of(number)
        allowed, query = right | wrong, asked.questions[number].text
        parts = tables(number, shared(number), allowed)
        for run, way in zip(runs, ways, strict=True):
            scores = np.where(allowed, way.score(parts[way.encoder], allowed, query), NOWHERE)
            best = _best_documents(scores, asked)
            run[f"opening-{number}"] = falling_scores((opened.documents[place].id, score) for place, score in best)
        if progress:
            progress(done, len(answered))
    pipelines = [as_pipeline(way.stage) for way in ways]
    runs_of_ways = [FoundRun(str(each), label(each), run) for each, run in zip(pipelines, runs, strict=True)]
    named = {f"opening-{number}": asked.questions[number] for number in answered}
    qrels = {name: {opened.documents[question.document].id: 1} for name, question in named.items()}
    return compare_runs(runs_of_ways, Judgements({name: opening.text for name, opening in named.items()}, qrels), how)


def _shared_parts(
    retriever: Retriever, asked: AskedQuestions, answered: Sequence[int]
) -> Callable[[int], hybrid_score.Floats]:
    """By a question's number (units, parts) those parts of its score in which no pretrained encoder has a say."""
    opened = retriever.opened
    static: StaticScores | None = None
    if opened.has_structure:  # learned again, without asking what the questions' documents say
        judged = {asked.questions[number].document for number in answered}
        options = StructureOptions.of(read_record(retriever.workspace, STRUCTURE).training["options"]).repeatable
        lessons = StructureLessons(retriever.workspace, opened.units, opened.documents, options)
        encoder = lessons.learned(asking=lambda document: document not in judged).encoder
        static = StaticScores([encoder], [0] * len(asked), asked, opened.units, opened.documents)

    def parts(number: int) -> hybrid_score.Floats:
        table = np.zeros((len(asked.units), len(hybrid_score.PARTS)))
        whole = _document_shares(opened, asked, asked.questions[number])
        table[:, _LEXICAL] = asked.words_of(number)
        table[:, _DOCUMENT] = [whole.get(owner, 0.0) for owner in asked.unit_owners.tolist()]
        if static is not None:
            table[:, STATIC] = np.concatenate(static.parts([number])).T
        return table

    return parts


def _document_shares(opened: OpenedIndex, asked: AskedQuestions, question: PseudoQuery) -> dict[int, float]:
    """Return the BM25 scores of a question's documents, as shares of the best. If the units that hold it may not
    answer, its document's is without it.
    """
    skipped = asked.skipped(question)
    ranked = opened.lexical.search_documents(question.text, _FOUND_DOCUMENTS)
    scores = {document: score for document, score in ranked if document not in skipped}
    if question.document in opened.owners[list(question.holders)]:
        # What holds the question would be found by it; without it, the document scores as its other words do.
        own = [opened.units[unit] for unit in range(*opened.units_of(question.document))]
        rest = document_text(opened.documents[question.document].title, own).replace(question.text, " ")
        scores[question.document] = opened.lexical.score_document(question.text, rest)
    best = max(*scores.values(), 1e-9) if scores else 1.0
    return {document: score / best for document, score in scores.items()}


def first_enough(
    retriever: Retriever, held_out_by: int | None, ask: Callable[[Sequence[PseudoQuery]], Asked]
) -> tuple[str, Asked, list[int]]:
    """The first of `_questions` that are enough, with their title, and the numbers of those that have an answer."""
    answered: list[int] = []
    for title, drawn in _questions(retriever, held_out_by):
        asked = ask(drawn)
        answered = [number for number in range(len(asked)) if asked.allowed_of(number)[0].any()]
        if len(answered) >= _FEWEST:
            return title, asked, answered
    raise UsageError(
        f"{len(answered)} openings can be asked that the rest of their document answers; {_FEWEST} are needed: write "
        "questions of your own, and judge by --queries and --qrels"
    )


def _questions(retriever: Retriever, held_out_by: int | None) -> Iterator[tuple[str, list[PseudoQuery]]]:
    """Return the questions that may be asked, with a title, the best first: openings of held-out documents; all
    questions of these documents; openings of every other document; openings of all, which trained encoders have read.
    """
    corpus = Corpus.open(retriever.workspace)
    graph = ReferenceGraph.open(retriever.workspace, corpus)
    documents, units, copies = retriever.documents, retriever.units, retriever.opened.copies
    if held_out_by is not None:
        share = held_out_share(corpus.document_count)
        for title, sources in ((_HELD_OUT_OPENINGS, (OPENING,)), (_HELD_OUT_QUESTIONS, SOURCES)):
            drawn = draw_pseudo_queries(corpus, graph, units, copies=copies, sources=sources)
            held_out = [each for each in drawn if is_held_out(documents[each.document].id, held_out_by, share)]
            yield title, held_out[:_MOST]
    drawn = draw_pseudo_queries(corpus, graph, units, copies=copies, sources=(OPENING,))
    # A static encoder is to learn from the other half, see `_shared_parts`.
    yield ALL_OPENINGS, [question for question in drawn if not asking(question.document)][:_MOST]
    yield ALL_OPENINGS, drawn[:_MOST]


def found_by(parts: hybrid_score.Floats, weights: hybrid_score.FusionWeights, allowed: Mask) -> hybrid_score.Floats:
    """(units,) the hybrid's score of its candidates, NOWHERE of others. parts: (units, parts); allowed: (units,)."""
    places = hybrid_score.candidates(parts, weights, allowed)
    scores = np.full(len(parts), NOWHERE)
    scores[places] = hybrid_score.contributions(parts[places], weights).sum(1)
    return scores


def _by_structure(parts: hybrid_score.Floats, allowed: Mask, query: str) -> hybrid_score.Floats:
    """Return the hybrid of words and the static encoder, whose parts come in the place of another encoder's."""
    alone = np.zeros_like(parts)
    alone[:, :4] = parts[:, [*STATIC, _LEXICAL, _DOCUMENT]]
    return found_by(alone, hybrid_score.fusion_weights(pretrained=False).asked(query), allowed)


def _by_words(part: int) -> Callable[[hybrid_score.Floats, Mask, str], hybrid_score.Floats]:
    return lambda parts, *_: np.where(parts[:, part] > 0, parts[:, part], NOWHERE)


WITHOUT_PRETRAINED = (
    Way(lexical(), STRUCTURE, _by_words(_LEXICAL)),
    Way(lexical(of="documents"), STRUCTURE, _by_words(_DOCUMENT)),
    Way(dense(STRUCTURE), STRUCTURE, lambda parts, *_: parts[:, STATIC[0]]),
    Way(hybrid(STRUCTURE), STRUCTURE, _by_structure),
)


def _best_documents(scores: hybrid_score.Floats, asked: AskedQuestions) -> list[tuple[int, float]]:
    """Numbers and scores of the best documents, each scoring as its best unit; equal scores in the documents' order."""
    owners, places = np.unique(asked.unit_owners, return_inverse=True)
    best = np.full(len(owners), NOWHERE)
    np.maximum.at(best, places, scores)
    order = np.argsort(-best, kind="stable")[:_DEPTH]
    return [(int(owners[place]), float(best[place])) for place in order if best[place] > NOWHERE]
