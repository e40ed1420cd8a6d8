"""Comparing searches, pretrained and trained encoders too, on openings of held-out documents, without judgements."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from structformer.errors import ModelError, UsageError
from structformer.evaluation.asked_openings import (
    ALL_OPENINGS,
    CAVEAT,
    NOWHERE,
    WITHOUT_PRETRAINED,
    Way,
    compare_ways,
    first_enough,
    found_by,
)
from structformer.evaluation.comparison import Comparison, Evaluation
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.documents.document_filter import Mask
from structformer.retrieval.learning.pseudo_query_scores import PseudoQueryScores, UntrainedSearch
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import as_pipeline, dense, hybrid
from structformer.retrieval.rankings.hybrid_score import PARTS, Floats, FusionWeights, reciprocal_rank_fusion
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import encoder_place, load_untrained
from structformer.workspace import Workspace

_FUSED = 200  # passages of each list of reciprocal rank fusion
_DENSE = PARTS.index("dense")


def evaluate_openings(
    workspace: str | Path | Workspace, how: Comparison, progress: Callable[[int, int], None] | None = None
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
    title, asked, answered = first_enough(retriever, held_out_by, lambda drawn: PseudoQueryScores(drawn, search))
    if title == ALL_OPENINGS:
        models = []
    texts = [question.text for question in asked.questions]
    vectors = {UNTRAINED: asked.vectors}
    for name in models:
        vectors[name] = torch.from_numpy(opened.encoder(name)[0].encode_queries(texts))
    kept = index.descriptions
    owners = asked.owners.numpy()

    def table(number: int, vectors: torch.Tensor, allowed: Mask, shared: Floats) -> Floats:
        """Return (units, parts) an encoder's parts of the score, beside those that hang on no encoder."""
        parts = shared.copy()
        cosines, overviews, *_ = asked.parts(vectors[[number]], [number])[:, 0].double().numpy()
        parts[:, _DENSE], parts[:, PARTS.index("overview")] = cosines, overviews
        if kept is not None:
            best, _ = kept.best(vectors[number].numpy(), kept.saying(asked.questions[number]))
            described = kept.scores(best, owners, np.where(allowed, cosines, -np.inf))
            parts[:, PARTS.index("described")] = np.where(allowed, described, 0.0)
        return parts

    def tables(number: int, shared: Floats, allowed: Mask) -> dict[str, Floats]:
        return {STRUCTURE: shared} | {name: table(number, each, allowed, shared) for name, each in vectors.items()}

    against = (str(as_pipeline(hybrid(UNTRAINED))),)
    how = replace(how, against=against, title=title, caveat=CAVEAT)
    return compare_ways(retriever, asked, answered, list(_ways(models, weights)), tables, how, progress)


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


def _held_out_alike(workspace: Workspace) -> tuple[int | None, list[str]]:
    """The seed that chose what was held out, and the encoders trained with it on questions; None and none without."""
    by_seed: dict[int, list[str]] = {}
    for name in sorted(trained_models(workspace), key=lambda name: (name != ENCODER, name)):
        record = read_record(workspace, name)
        if record.query_side and encoder_place(workspace, name).vectors == encoder_place(workspace, UNTRAINED).vectors:
            by_seed.setdefault(int(record.training["options"]["seed"]), []).append(name)
    return next(iter(by_seed.items()), (None, []))


def _ways(models: Sequence[str], weights: FusionWeights) -> Iterator[Way]:
    """Yield the rows of the comparison."""
    yield from WITHOUT_PRETRAINED if weights.with_structure else WITHOUT_PRETRAINED[:2]
    for name in (UNTRAINED, *models):
        yield Way(dense(name), name, lambda parts, *_: parts[:, _DENSE])
        if name == UNTRAINED:
            yield Way(hybrid(name, weights="rrf"), name, _fused)
        yield Way(hybrid(name), name, lambda parts, allowed, query: found_by(parts, weights.asked(query), allowed))


def _fused(parts: Floats, *_: object) -> Floats:
    cosines, words = parts[:, _DENSE], parts[:, PARTS.index("lexical")]
    lists = []
    for scores in (cosines, np.where(words > 0, words, NOWHERE)):
        best = np.argsort(-scores, kind="stable")[:_FUSED].tolist()
        lists.append([(unit, float(scores[unit])) for unit in best if scores[unit] > NOWHERE])
    total = np.full_like(cosines, NOWHERE)
    for unit, score in reciprocal_rank_fusion(lists, 2 * _FUSED):
        total[unit] = score
    return total
