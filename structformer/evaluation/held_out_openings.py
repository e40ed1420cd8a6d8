"""Comparing ways to search without judgements, pretrained and trained encoders among them, on the openings of held-out
documents (asked_openings.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from structformer.errors import ModelError, UsageError
from structformer.evaluation.asked_openings import (
    ALL_OPENINGS,
    CAVEAT,
    DEPTH,
    first_enough,
    judgements_of,
    question_id,
    run_of,
    static_cosines,
)
from structformer.evaluation.comparison import MEASURES, Comparison, Evaluation, FoundRun, compare_runs, label
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.learning.pseudo_query_scores import NOTHING, PseudoQueryScores, UntrainedSearch
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import as_pipeline, dense, hybrid, lexical
from structformer.retrieval.questions.document_shares import DocumentShares
from structformer.retrieval.questions.pseudo_queries import PseudoQuery
from structformer.retrieval.rankings.fusion_weights import DEFAULT_WEIGHTS, FusionWeights, reciprocal_rank_fusion
from structformer.retrieval.rankings.run_files import Run
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.stage import Stage
from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import encoder_place, load_untrained
from structformer.workspace import Workspace

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
    openings of documents that these were not trained on. If encoders were trained with several seeds, only those that
    share the search's seed are compared. With fewer than 20 held-out openings, other questions of the same documents
    are asked too; if those are few as well, only untrained rows are compared.
    Raises UsageError when a corpus has fewer than 20 openings, or no vectors of the untrained encoder.
    """
    workspace = Workspace(workspace)
    retriever = Retriever.open(workspace)
    opened = retriever.opened
    _check_vectors(opened)
    held_out_by, models = _held_out_alike(workspace)
    _, index, weights = opened.encoder(UNTRAINED)
    untrained = load_untrained(encoder_place(workspace, UNTRAINED))
    search = UntrainedSearch(opened.units, opened.documents, opened.lexical, index, untrained)

    def ask(questions: Sequence[PseudoQuery]) -> PseudoQueryScores:
        return PseudoQueryScores(questions, search)

    title, asked, answered = first_enough(retriever, held_out_by, ask)
    if title == ALL_OPENINGS:
        models = []
    texts = [question.text for question in asked.questions]
    static = _static(retriever, asked, answered)
    vectors = {UNTRAINED: asked.vectors}
    for name in models:
        vectors[name] = torch.from_numpy(opened.encoder(name)[0].encode_queries(texts))
    ways = list(_ways(models, weights, with_structure=static is not None))
    runs: list[Run] = [{} for _ in ways]
    shares = DocumentShares(asked, opened.units, opened.lexical)
    kept = index.descriptions
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
            run[question_id(number)] = run_of(opened, _documents(total, asked))
        if progress:
            progress(done, len(answered))
    found = [
        FoundRun(str(as_pipeline(stage)), label(as_pipeline(stage)), run)
        for (stage, *_), run in zip(ways, runs, strict=True)
    ]
    against = (str(as_pipeline(hybrid(UNTRAINED))),)
    how = Comparison(tuple(measures), against, title=title, caveat=CAVEAT, seed=seed, output=output)
    return compare_runs(found, judgements_of(opened, asked, answered), how)


def _check_vectors(opened: OpenedIndex) -> None:
    """Raise UsageError where the index has no vectors by which openings are compared."""
    needed = "without judgements, ways to search are compared by vectors of the untrained encoder"
    cure = "`structformer index --encoder base` adds them; or judge by --queries and --qrels"
    if opened.index.has_vectors(UNTRAINED):
        return
    try:
        encoder_place(opened.workspace, UNTRAINED)
    except ModelError as error:
        raise UsageError(f"{needed}, which cannot be used here: {error}") from error
    what = "has other vectors" if opened.default_encoder else "has words alone"
    raise UsageError(f"this index {what}: {needed}; {cure}")


def _static(
    retriever: Retriever, asked: PseudoQueryScores, answered: Sequence[int]
) -> Callable[[int], list[torch.Tensor]] | None:
    """`static_cosines` as tensors; None if the index has no static encoder's vectors."""
    if not retriever.opened.has_structure:
        return None
    cosines = static_cosines(retriever, asked, answered)
    return lambda number: [torch.from_numpy(each) for each in cosines(number)]


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
    order = torch.argsort(best, descending=True, stable=True)[:DEPTH]
    return order[best[order] > NOTHING / 2].tolist()
