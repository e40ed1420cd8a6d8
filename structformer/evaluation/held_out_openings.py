"""Comparing ways to search without judgements: held-out documents' openings, each answered by the rest of its document.

Of all pseudo-queries tried, openings rank ways to search most as people's queries do (docs/benchmarks.md). What holds
the opening may not answer it, so that a way to search is asked for what a document says elsewhere; that is why these
scores come from the parts of the search and not from running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from structformer.corpus import Corpus
from structformer.errors import ModelError, UsageError
from structformer.evaluation.comparison import MEASURES, Comparison, Evaluation, FoundRun, compare_runs, label
from structformer.evaluation.judgements import Judgements
from structformer.graph import ReferenceGraph
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.document_shares import DocumentShares
from structformer.retrieval.encoder_names import ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.fusion import DEFAULT_WEIGHTS, FusionWeights, reciprocal_rank_fusion
from structformer.retrieval.index import encoder_place, load_untrained
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import as_pipeline, dense, hybrid, lexical
from structformer.retrieval.pseudo_queries import OPENING, SOURCES, PseudoQuery, draw_pseudo_queries
from structformer.retrieval.pseudo_query_scores import NOTHING, PseudoQueryScores, UntrainedSearch
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.run_files import Run
from structformer.retrieval.stage import Stage
from structformer.retrieval.structure import StructureLessons, StructureOptions, asking
from structformer.sampling.held_out import held_out_share, is_held_out
from structformer.workspace import Workspace

CAVEAT = (
    "Openings are what documents say of themselves, not what people type. On five judged sets they ranked ways to "
    "search much as people's queries did, and told small differences less well."
)
_HELD_OUT_OPENINGS = "openings of held-out documents, each answered by the rest of its document"
_HELD_OUT_QUESTIONS = "questions drawn from held-out documents, each answered by the rest of its document"
_ALL_OPENINGS = "openings of documents, each answered by the rest of its document"
_FEWEST, _MOST = 20, 1000
_DEPTH = 100
_FUSED = 200  # passages of each list of reciprocal rank fusion
Way = Callable[..., torch.Tensor]  # of the seven parts that `_ways` names


def evaluate_openings(
    workspace: str | Path | Workspace,
    *,
    measures: Sequence[str] = MEASURES,
    seed: int = 0,
    output: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Compare BM25, dense search and the hybrid, untrained and with the encoders whose queries' side was trained, on
    openings of documents that these were not trained on; of encoders trained with several seeds, which hold out other
    documents each, those with the search's own. Where fewer than 20 openings are held out,
    other questions of the same documents are asked too; where those are few as well, only untrained rows are compared.
    Raises UsageError when a corpus has fewer than 20 openings, or no vectors of the untrained encoder.
    """
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    retriever = Retriever.open(workspace)
    opened = retriever.opened
    held_out_by, models = _held_out_alike(workspace)
    _check_vectors(opened)
    weights = opened.encoder(UNTRAINED)[2]
    title, asked, answered = _asked(corpus, retriever, held_out_by)
    if title == _ALL_OPENINGS:
        models = []
    texts = [question.text for question in asked.questions]
    static = _static(retriever, asked, answered)
    vectors = {UNTRAINED: asked.vectors}
    for name in models:
        vectors[name] = torch.from_numpy(opened.encoder(name)[0].encode_queries(texts))
    ways = list(_ways(models, weights, with_structure=static is not None))
    runs: list[Run] = [{} for _ in ways]
    shares = DocumentShares(asked, opened.units, opened.lexical)
    kept = opened.encoder(UNTRAINED)[1].descriptions
    owners = asked.owners.numpy()

    def descriptions(number: int, vector: torch.Tensor, cosines: torch.Tensor) -> torch.Tensor:
        if kept is None:
            return torch.zeros(len(owners))
        best, _ = kept.best(vector.numpy(), kept.saying(asked.questions[number]))
        return torch.from_numpy(kept.scores(best, owners, cosines.numpy())).float()

    for done, number in enumerate(answered, 1):
        by_document = torch.zeros(len(asked.overviews))
        for document, its_share in shares.of(asked.questions[number]).items():
            by_document[document] = its_share
        right, wrong = (part[0] for part in asked.allowed([number]))
        parts = {name: [part[0] for part in asked.parts(its[[number]], [number])] for name, its in vectors.items()}
        by_structure = static(number) if static is not None else [torch.zeros(len(asked.units))] * 2
        for run, (_, encoder, way) in zip(runs, ways, strict=True):
            cosines, overviews, words = parts[encoder]
            described = descriptions(number, vectors[encoder][number], cosines.masked_fill(~(right | wrong), NOTHING))
            seven = [cosines, overviews, words, by_document[asked.owners], *by_structure, described]
            total = way(*seven).masked_fill(~(right | wrong), NOTHING)
            run[f"opening-{number}"] = [
                (opened.documents[document].id, float(_DEPTH - rank))
                for rank, document in enumerate(_documents(total, asked))
            ]
        if progress:
            progress(done, len(answered))
    judgements = Judgements(
        {f"opening-{number}": texts[number] for number in answered},
        {f"opening-{number}": {opened.documents[asked.questions[number].document].id: 1} for number in answered},
    )
    found = [
        FoundRun(str(as_pipeline(stage)), label(as_pipeline(stage)), run)
        for (stage, *_), run in zip(ways, runs, strict=True)
    ]
    against = (str(as_pipeline(hybrid(UNTRAINED))),)
    how = Comparison(tuple(measures), against, title=title, caveat=CAVEAT, seed=seed, output=output)
    return compare_runs(found, judgements, how)


def _check_vectors(opened: OpenedIndex) -> None:
    """Raise UsageError where the index has no vectors by which openings are compared."""
    needed = "without judgements, ways to search are compared by vectors of the untrained encoder"
    cure = "`structformer index --encoder base` adds them; or judge by --queries and --qrels"
    try:
        if opened.index.has_vectors(UNTRAINED):
            return
    except ModelError as error:
        raise UsageError(f"{needed}, which cannot be used here: {error}") from error
    what = "has other vectors" if opened.default_encoder else "has words alone"
    raise UsageError(f"this index {what}: {needed}; {cure}")


def _asked(corpus: Corpus, retriever: Retriever, held_out_by: int | None) -> tuple[str, PseudoQueryScores, list[int]]:
    """The first of `_questions` that are enough, with their title, and the numbers of those that have an answer."""
    opened = retriever.opened
    _, index, _ = opened.encoder(UNTRAINED)
    untrained = load_untrained(encoder_place(retriever.workspace, UNTRAINED))
    search = UntrainedSearch(opened.units, opened.documents, opened.lexical, index, untrained)
    answered: list[int] = []
    for title, drawn in _questions(corpus, retriever, held_out_by):
        asked = PseudoQueryScores(drawn, search)
        answered = [number for number in range(len(asked)) if asked.allowed([number])[0].any()]
        if len(answered) >= _FEWEST:
            return title, asked, answered
    raise UsageError(
        f"{len(answered)} openings can be asked that the rest of their document answers; {_FEWEST} are needed"
    )


def _static(
    retriever: Retriever, asked: PseudoQueryScores, answered: Sequence[int]
) -> Callable[[int], list[torch.Tensor]] | None:
    """By a question's number the cosines of a static encoder with passages and with their documents' overviews,
    (units,) each; None where the index has none. It is learned here, as the index's own was, but without asking what
    the documents of the questions say, which that one has read.
    """
    opened = retriever.opened
    if not opened.has_structure:
        return None
    judged = {asked.questions[number].document for number in answered}
    options = StructureOptions.of(read_record(retriever.workspace, STRUCTURE).training["options"]).repeatable
    lessons = StructureLessons(retriever.workspace, opened.units, opened.documents, options)
    static = lessons.learned(asking=lambda document: document not in judged).encoder
    passages = static.encode_documents(opened.units[int(unit)].ranker_text for unit in asked.units)
    overviews = static.encode_documents(document.overview for document in opened.documents)
    owners = asked.owners.numpy()

    def cosines(number: int) -> list[torch.Tensor]:
        question = asked.questions[number]
        vector = static.encode_queries([question.text])[0]
        of_documents = overviews @ vector
        own = opened.documents[question.document].overview
        if question.source == OPENING and question.text in own:
            of_documents[question.document] = static.encode_documents([own.replace(question.text, " ")])[0] @ vector
        return [torch.from_numpy(passages @ vector), torch.from_numpy(of_documents[owners])]

    return cosines


def _questions(
    corpus: Corpus, retriever: Retriever, held_out_by: int | None
) -> Iterator[tuple[str, list[PseudoQuery]]]:
    """What may be asked, with a title, the best first: openings of held-out documents; where those are few, all
    questions of these; of a corpus of which nothing was held out, openings of every other document, or of all, which
    trained encoders have read.
    """
    graph = ReferenceGraph.open(retriever.workspace, corpus)
    documents, units, copies = retriever.documents, retriever.units, retriever.opened.copies
    if held_out_by is not None:
        share = held_out_share(corpus.document_count)
        for title, sources in ((_HELD_OUT_OPENINGS, (OPENING,)), (_HELD_OUT_QUESTIONS, SOURCES)):
            yield (
                title,
                [
                    question
                    for question in draw_pseudo_queries(corpus, graph, units, copies=copies, sources=sources)
                    if is_held_out(documents[question.document].id, held_out_by, share)
                ][:_MOST],
            )
    drawn = draw_pseudo_queries(corpus, graph, units, copies=copies, sources=(OPENING,))
    # A static encoder is to learn from the other half, see `_static`.
    yield _ALL_OPENINGS, [question for question in drawn if not asking(question.document)][:_MOST]
    yield _ALL_OPENINGS, drawn[:_MOST]


def _held_out_alike(workspace: Workspace) -> tuple[int | None, list[str]]:
    """The seed that chose what was held out, and the encoders trained with it on questions; None and none without."""
    by_seed: dict[int, list[str]] = {}
    for name in sorted(trained_models(workspace), key=lambda name: (name != ENCODER, name)):
        record = read_record(workspace, name)
        if record.query_side and encoder_place(workspace, name).vectors == encoder_place(workspace, UNTRAINED).vectors:
            by_seed.setdefault(int(record.training["options"]["seed"]), []).append(name)
    return next(iter(by_seed.items()), (None, []))


def _ways(models: Sequence[str], learned: FusionWeights, *, with_structure: bool) -> Iterator[tuple[Stage, str, Way]]:
    """The rows, each with its encoder and how it scores passages from the seven parts of the search: cosines,
    overviews' cosines, words, documents' words, the static encoder's two, and descriptions.
    """

    def weighted(weights: FusionWeights) -> Way:
        return lambda *parts: sum(
            (weight * part for weight, part in zip(weights.as_array().tolist(), parts, strict=True)),
            torch.zeros_like(parts[0]),
        )

    yield lexical(), UNTRAINED, lambda *parts: parts[2].masked_fill(parts[2] == 0, NOTHING)
    yield lexical(of="documents"), UNTRAINED, lambda *parts: parts[3].masked_fill(parts[3] == 0, NOTHING)
    if with_structure:
        words = DEFAULT_WEIGHTS
        yield dense(STRUCTURE), UNTRAINED, lambda *parts: parts[4]
        yield (
            hybrid(STRUCTURE),
            UNTRAINED,
            weighted(FusionWeights(0.0, 0.0, words.lexical, words.document, words.dense, words.overview)),
        )
    for name in (UNTRAINED, *models):
        yield dense(name), name, lambda *parts: parts[0]
        if name == UNTRAINED:
            yield hybrid(name, weights="rrf"), name, lambda *parts: _fused(parts[0], parts[2])
        yield hybrid(name), name, weighted(learned)


def _fused(cosines: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    lists = []
    for scores in (cosines, words.masked_fill(words == 0, NOTHING)):
        best = torch.topk(scores, min(_FUSED, len(scores)))
        found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        lists.append([(unit, score) for unit, score in found if score > NOTHING])
    total = torch.full_like(cosines, NOTHING)
    for unit, score in reciprocal_rank_fusion(lists, 2 * _FUSED):
        total[unit] = score
    return total


def _documents(scores: torch.Tensor, asked: PseudoQueryScores) -> list[int]:
    """Numbers of the best documents, each scoring as its best unit; equal scores in the documents' order."""
    best = torch.full((len(asked.overviews),), NOTHING).scatter_reduce(0, asked.owners, scores, "amax")
    order = torch.argsort(best, descending=True, stable=True)[:_DEPTH]
    return order[best[order] > NOTHING / 2].tolist()
