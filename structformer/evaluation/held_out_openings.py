"""Comparing ways to search without judgements, pretrained and trained encoders among them, on the openings of held-out
documents (asked_openings.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from structformer.errors import ModelError, UsageError
from structformer.evaluation.asked_openings import (
    ALL_OPENINGS,
    CAVEAT,
    NOWHERE,
    best_documents,
    first_enough,
    found_by,
    judgements_of,
    question_id,
    run_of,
    static_cosines,
)
from structformer.evaluation.comparison import MEASURES, Comparison, Evaluation, FoundRun, compare_runs, label
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.learning.pseudo_query_scores import PseudoQueryScores, UntrainedSearch
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import as_pipeline, dense, hybrid, lexical
from structformer.retrieval.questions.document_shares import DocumentShares
from structformer.retrieval.questions.pseudo_queries import PseudoQuery
from structformer.retrieval.rankings.hybrid_score import (
    PARTS,
    Floats,
    FusionWeights,
    fusion_weights,
    reciprocal_rank_fusion,
)
from structformer.retrieval.rankings.run_files import Run
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.stage import Stage
from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import encoder_place, load_untrained
from structformer.workspace import Workspace

_FUSED = 200  # passages of each list of reciprocal rank fusion
_STATIC = [PARTS.index("structure"), PARTS.index("structure_overview")]
# From the parts of all units, (units, 8), which may be found, (units,), and the question to the units' scores, -inf of
# what is not found.
Way = Callable[[Floats, npt.NDArray[np.bool_], str], Floats]


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
    static = static_cosines(retriever, asked, answered) if opened.has_structure else None
    vectors = {UNTRAINED: asked.vectors}
    for name in models:
        vectors[name] = torch.from_numpy(opened.encoder(name)[0].encode_queries(texts))
    weights = fusion_weights(pretrained=True, structure=static is not None, described=weights.described > 0)
    ways = list(_ways(models, weights))
    runs: list[Run] = [{} for _ in ways]
    shares = DocumentShares(asked, opened.units, opened.lexical)
    kept = index.descriptions
    owners = asked.owners.numpy()

    def table(number: int, vectors: torch.Tensor, allowed: npt.NDArray[np.bool_], others: Floats) -> Floats:
        """(units, 8) an encoder's parts of the score, beside those that hang on no encoder."""
        found = dict(zip(PARTS, others.T, strict=True))
        cosines, overviews, found["lexical"], *_ = asked.parts(vectors[[number]], [number])[:, 0].double().numpy()
        found |= {"dense": cosines, "overview": overviews}
        if kept is not None:
            best, _ = kept.best(vectors[number].numpy(), kept.saying(asked.questions[number]))
            found["described"] = kept.scores(best, owners, np.where(allowed, cosines, -np.inf))
            found["described"][~allowed] = 0.0
        return np.stack([found[name] for name in PARTS], axis=1)

    for done, number in enumerate(answered, 1):
        right, wrong = asked.allowed_of(number)
        others = np.zeros((len(owners), len(PARTS)))
        whole = shares.of(asked.questions[number])
        others[:, PARTS.index("document")] = [whole.get(owner, 0.0) for owner in owners.tolist()]
        if static is not None:
            others[:, _STATIC] = np.stack(static(number), axis=1)
        tables = {name: table(number, its, right | wrong, others) for name, its in vectors.items()}
        for run, (_, encoder, way) in zip(runs, ways, strict=True):
            scores = np.where(right | wrong, way(tables[encoder], right | wrong, asked.questions[number].text), NOWHERE)
            run[question_id(number)] = run_of(opened, best_documents(scores, asked))
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


def _held_out_alike(workspace: Workspace) -> tuple[int | None, list[str]]:
    """The seed that chose what was held out, and the encoders trained with it on questions; None and none without."""
    by_seed: dict[int, list[str]] = {}
    for name in sorted(trained_models(workspace), key=lambda name: (name != ENCODER, name)):
        record = read_record(workspace, name)
        if record.query_side and encoder_place(workspace, name).vectors == encoder_place(workspace, UNTRAINED).vectors:
            by_seed.setdefault(int(record.training["options"]["seed"]), []).append(name)
    return next(iter(by_seed.items()), (None, []))


def _ways(models: Sequence[str], weights: FusionWeights) -> Iterator[tuple[Stage, str, Way]]:
    """The rows, each with its encoder and how it scores passages from the parts of the search."""
    dense_part, lexical_part, document_part = (PARTS.index(name) for name in ("dense", "lexical", "document"))

    def words(part: int) -> Way:
        return lambda parts, *_: np.where(parts[:, part] > 0, parts[:, part], NOWHERE)

    yield lexical(), UNTRAINED, words(lexical_part)
    yield lexical(of="documents"), UNTRAINED, words(document_part)
    if weights.with_structure:
        yield dense(STRUCTURE), UNTRAINED, lambda parts, *_: parts[:, _STATIC[0]]
        yield hybrid(STRUCTURE), UNTRAINED, by_structure
    for name in (UNTRAINED, *models):
        yield dense(name), name, lambda parts, *_: parts[:, dense_part]
        if name == UNTRAINED:
            yield hybrid(name, weights="rrf"), name, _fused
        yield hybrid(name), name, lambda parts, allowed, query: found_by(parts, weights.asked(query), allowed)


def by_structure(parts: Floats, allowed: npt.NDArray[np.bool_], query: str) -> Floats:
    """The hybrid of words and the static encoder, whose parts come in the place of another encoder's."""
    alone = np.zeros_like(parts)
    alone[:, :4] = parts[:, [*_STATIC, 2, 3]]
    return found_by(alone, fusion_weights(pretrained=False).asked(query), allowed)


def _fused(parts: Floats, *_: object) -> Floats:
    cosines, words = parts[:, PARTS.index("dense")], parts[:, PARTS.index("lexical")]
    lists = []
    for scores in (cosines, np.where(words > 0, words, NOWHERE)):
        best = np.argsort(-scores, kind="stable")[:_FUSED].tolist()
        lists.append([(unit, float(scores[unit])) for unit in best if scores[unit] > NOWHERE])
    total = np.full_like(cosines, NOWHERE)
    for unit, score in reciprocal_rank_fusion(lists, 2 * _FUSED):
        total[unit] = score
    return total
