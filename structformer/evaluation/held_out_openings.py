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
from structformer.models.bi_encoder import BiEncoder
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.document_shares import DocumentShares
from structformer.retrieval.encoder_names import ENCODER, UNTRAINED
from structformer.retrieval.fusion import FusionWeights, reciprocal_rank_fusion
from structformer.retrieval.index import encoder_place
from structformer.retrieval.pipeline import as_pipeline, dense, hybrid, lexical
from structformer.retrieval.pseudo_queries import OPENING, SOURCES, PseudoQuery, draw_pseudo_queries
from structformer.retrieval.pseudo_query_scores import NOTHING, PseudoQueryScores, UntrainedSearch
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.run_files import Run
from structformer.retrieval.stage import Stage
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
Way = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


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
    try:
        if not opened.index.has_vectors(UNTRAINED):
            raise ModelError("they have not been made")
    except ModelError as error:
        raise UsageError(
            f"openings are compared by the untrained encoder's vectors ({error}): `structformer index --encoder base`"
        ) from error
    weights = opened.encoder(UNTRAINED)[2]
    title, asked, answered = _asked(corpus, retriever, held_out_by)
    if title == _ALL_OPENINGS:
        models = []
    texts = [question.text for question in asked.questions]
    vectors = {UNTRAINED: asked.vectors}
    for name in models:
        vectors[name] = torch.from_numpy(opened.encoder(name)[0].encode_queries(texts))
    ways = list(_ways(models, weights))
    runs: list[Run] = [{} for _ in ways]
    shares = DocumentShares(asked, opened.units, opened.lexical)
    for done, number in enumerate(answered, 1):
        by_document = torch.zeros(len(asked.overviews))
        for document, its_share in shares.of(asked.questions[number]).items():
            by_document[document] = its_share
        right, wrong = (part[0] for part in asked.allowed([number]))
        parts = {name: asked.parts(its[[number]], [number]) for name, its in vectors.items()}
        for run, (_, encoder, way) in zip(runs, ways, strict=True):
            passages, overviews, words = (part[0] for part in parts[encoder])
            total = way(passages, overviews, words, by_document[asked.owners]).masked_fill(~(right | wrong), NOTHING)
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


def _asked(corpus: Corpus, retriever: Retriever, held_out_by: int | None) -> tuple[str, PseudoQueryScores, list[int]]:
    """The first of `_questions` that are enough, with their title, and the numbers of those that have an answer."""
    opened = retriever.opened
    _, index, _ = opened.encoder(UNTRAINED)
    untrained = BiEncoder.load(encoder_place(retriever.workspace, UNTRAINED).passages)
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


def _questions(
    corpus: Corpus, retriever: Retriever, held_out_by: int | None
) -> Iterator[tuple[str, list[PseudoQuery]]]:
    """What may be asked, with a title, the best first: openings of held-out documents; where those are few, all
    questions of these; of a corpus of which nothing was held out, all openings, which trained encoders have read.
    """
    graph = ReferenceGraph.open(retriever.workspace, corpus)
    documents, units = retriever.documents, retriever.units
    if held_out_by is not None:
        share = held_out_share(corpus.document_count)
        for title, sources in ((_HELD_OUT_OPENINGS, (OPENING,)), (_HELD_OUT_QUESTIONS, SOURCES)):
            yield (
                title,
                [
                    question
                    for question in draw_pseudo_queries(corpus, graph, units, sources=sources)
                    if is_held_out(documents[question.document].id, held_out_by, share)
                ][:_MOST],
            )
    yield _ALL_OPENINGS, draw_pseudo_queries(corpus, graph, units, sources=(OPENING,))[:_MOST]


def _held_out_alike(workspace: Workspace) -> tuple[int | None, list[str]]:
    """The seed that chose what was held out, and the encoders trained with it on questions; None and none without."""
    by_seed: dict[int, list[str]] = {}
    for name in sorted(trained_models(workspace), key=lambda name: (name != ENCODER, name)):
        record = read_record(workspace, name)
        if record.query_side and encoder_place(workspace, name).vectors == encoder_place(workspace, UNTRAINED).vectors:
            by_seed.setdefault(int(record.training["options"]["seed"]), []).append(name)
    return next(iter(by_seed.items()), (None, []))


def _ways(models: Sequence[str], learned: FusionWeights) -> Iterator[tuple[Stage, str, Way]]:
    """The rows, each with its encoder and how it scores passages from the four parts of the search."""

    def weighted(weights: FusionWeights) -> Way:
        one, two, three, four = weights.as_array().tolist()
        return lambda cosines, overviews, words, documents: (
            one * cosines + two * overviews + three * words + four * documents
        )

    yield lexical(), UNTRAINED, lambda cosines, overviews, words, documents: words.masked_fill(words == 0, NOTHING)
    yield (
        lexical(of="documents"),
        UNTRAINED,
        lambda cosines, overviews, words, documents: documents.masked_fill(documents == 0, NOTHING),
    )
    for name in (UNTRAINED, *models):
        yield dense(name), name, lambda cosines, overviews, words, documents: cosines
        if name == UNTRAINED:
            yield hybrid(name, weights="rrf"), name, _fused
        yield hybrid(name), name, weighted(learned)


def _fused(
    cosines: torch.Tensor, overviews: torch.Tensor, words: torch.Tensor, documents: torch.Tensor
) -> torch.Tensor:
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
