"""The stages of search pipelines.

`lexical`: BM25 over title, path, text and anchor texts of incoming links; or over whole documents. `dense`: cosines of
vectors; `hybrid`: these and words; `dense-fusion`: vectors for units found otherwise. `rerank`: the first k in the
order of any ranker's scores; and the helpers for every stage that scores again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from structformer.corpus.site import CHARACTERS, with_address
from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.documents.release_logs import ASKS_FOR_CHANGES
from structformer.retrieval.opened import DOCUMENTS, SECTIONS, WHOLE, OpenedIndex
from structformer.retrieval.rankings import hybrid_score
from structformer.retrieval.rankings.doubt import likely_by_words, likely_right
from structformer.retrieval.rankings.ranking import Ranked, Ranking, append_tail, in_order, top_k
from structformer.retrieval.stage import STANDARDISED, Stage, StageKind
from structformer.retrieval.vectors.encoder_names import DEFAULT, STRUCTURE
from structformer.retrieval.vectors.second_look import LOOKED_AT

if TYPE_CHECKING:
    from structformer.retrieval.vectors.dense import DenseIndex

_RRF = "rrf"
_TOKENS = "tokens"
_CHOICES = {"weights": (STANDARDISED, _RRF), "look": (_TOKENS, "none")}
OF = {"of": (SECTIONS, DOCUMENTS)}
_DESCRIBED = 20  # documents
Vector = npt.NDArray[np.float32]


def _lexical(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    for ranking in rankings:
        ranked = opened.lexical.search(ranking.query, stage.k, documents)
        if stage.option("of") == DOCUMENTS:
            ranked = _of_documents(opened, ranking.query, stage.k, ranked, documents)
        ranking.add(stage.name, ranked)


def _likely(opened: OpenedIndex, stage: Stage, ranking: Ranking) -> float | None:
    if stage.option("of") == DOCUMENTS:
        return None
    share = opened.lexical.share(ranking.query, *ranking.ranked[0]) if ranking.ranked else 0.0
    return None if share is None else likely_by_words(share, ranking.query)


def _of_documents(opened: OpenedIndex, query: str, k: int, units: Ranked, documents: Collection[int] | None) -> Ranked:
    """Return documents by the BM25 of their whole texts, each as its best unit, or its first where none was found."""
    best: dict[int, int] = {}
    for unit, _ in units:
        best.setdefault(int(opened.owners[unit]), unit)
    return [
        (best.get(document, opened.units_of(document)[0]), score)
        for document, score in opened.lexical.search_documents(query, k, documents)
    ]


LEXICAL = StageKind("lexical", _lexical, finds=True, options={"k": 200, "of": SECTIONS}, choices=OF, likely=_likely)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query as the hybrid asks it."""

    ranking: Ranking
    vector: Vector
    tokens: Vector | None
    """Those of its tokens; None without a second look."""
    static: Vector | None
    """By the static encoder; None where that takes no part."""
    best: Vector | None
    """`Descriptions.best` among what the asker may see; None where they do not count."""


def _asked(
    opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None
) -> list[_Asked]:
    """Return the queries with all that the stage asks by."""
    _, index, weights = opened.encoder(stage.model)
    queries = [ranking.query for ranking in rankings]
    vectors, tokens = opened.query_vectors(stage.model, queries), opened.query_tokens(stage.model, queries)
    static: Sequence[Vector | None] = [None] * len(queries)
    if stage.is_weighed and stage.model != STRUCTURE and weights.with_structure and opened.has_structure:
        static = list(opened.query_vectors(STRUCTURE, queries))
    best: Sequence[Vector | None] = [None] * len(queries)
    if index.descriptions is not None and weights.described and stage.is_weighed:
        hidden = index.descriptions.hidden(documents.sources if isinstance(documents, Allowed) else None)
        best = [index.descriptions.best(vector, hidden)[0] for vector in vectors]
    return [_Asked(*row) for row in zip(rankings, vectors, tokens, static, best, strict=True)]


def _nearest(
    index: DenseIndex, vectors: Sequence[Vector], stage: Stage, weight: float, documents: Collection[int] | None
) -> list[Ranked]:
    """The nearest units of each of the queries' vectors; none of zeros: a query of unknown words."""
    nearest = index.search_all(np.stack(vectors), stage.k, overview_weight=weight, documents=documents)
    return [ranked if vector.any() else [] for ranked, vector in zip(nearest, vectors, strict=True)]


def _dense(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    vectors = opened.query_vectors(stage.model, [ranking.query for ranking in rankings])
    nearest = _nearest(opened.encoder(stage.model)[1], list(vectors), stage, 0.0, documents)
    for ranking, by_vector in zip(rankings, nearest, strict=True):
        ranking.add(stage.name, by_vector)


def _hybrid(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    _, index, weights = opened.encoder(stage.model)
    asked = _asked(opened, stage, rankings, documents)
    weight = weights.overview_share if stage.is_weighed else 0.0
    by_meaning = _nearest(index, [each.vector for each in asked], stage, weight, documents)
    by_structure: list[Ranked] = [[] for _ in rankings]
    if static := [each.static for each in asked if each.static is not None]:  # of all queries or of none
        static_index, weight = opened.encoder(STRUCTURE)[1], weights.static_overview_share
        by_structure = _nearest(static_index, static, stage, weight, documents)
    for each, by_vector, more in zip(asked, by_meaning, by_structure, strict=True):
        ranking = each.ranking
        lexical = opened.lexical.search(ranking.query, stage.k, documents)
        if stage.is_weighed:
            at_hand = {unit for unit, _ in (*lexical, *by_vector, *more)}
            units = sorted(at_hand.union(_described(opened, index, each, documents)))
            ranking.add(stage.name, _weighed(opened, each, units, lexical, stage, documents))
        else:
            ranking.scores["dense"] = dict(by_vector)
            ranking.add(stage.name, hybrid_score.reciprocal_rank_fusion([lexical, by_vector], stage.k))
        ranking.scores["lexical"] = dict(lexical)


def _described(
    opened: OpenedIndex, index: DenseIndex, asked: _Asked, documents: Collection[int] | None
) -> Iterator[int]:
    """Yield the nearest unit of each of the documents that are described best."""
    if asked.best is None or index.descriptions is None:
        return
    for place in np.argsort(-asked.best, kind="stable")[:_DESCRIBED].tolist():
        if not np.isfinite(asked.best[place]):  # all that describes it is hidden
            break
        document = int(index.descriptions.documents[place])
        if documents is None or document in documents:
            units = np.arange(*opened.units_of(document))  # never none: a page without text has its title
            cosines, _ = index.scores(asked.vector, units)
            yield int(units[cosines.argmax()])


def _fusion(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    _, index, _ = opened.encoder(stage.model)
    for each in _asked(opened, stage, rankings, documents):
        ranking = each.ranking
        head, tail = ranking.ranked[: stage.k], ranking.ranked[stage.k :]
        units = [unit for unit, _ in head]
        if stage.is_weighed:
            fused = _weighed(opened, each, units, head, stage, documents)
        else:
            cosines, _ = index.scores(each.vector, np.array(units, np.int64))
            dense = top_k(dict(zip(units, map(float, cosines), strict=True)), stage.k)
            ranking.scores["dense"] = dict(dense)
            fused = hybrid_score.reciprocal_rank_fusion([head, dense], stage.k)
        ranking.add(stage.name, append_tail(fused, tail))


def _weighed(
    opened: OpenedIndex,
    asked: _Asked,
    units: list[int],
    lexical: Ranked,
    stage: Stage,
    documents: Collection[int] | None,
) -> Ranked:
    """The best units by the hybrid's score, whose parts the ranking keeps. lexical: units by their words."""
    _, index, weights = opened.encoder(stage.model)
    ranking = asked.ranking
    numbers = np.array(units, np.int64)
    owners = index.owners[numbers].tolist()
    cosines, overviews = index.scores(asked.vector, numbers)
    by_words, by_document = dict(lexical), dict(opened.lexical.search_documents(ranking.query, stage.k, documents))
    names = documents.names if isinstance(documents, Allowed) else None
    called = opened.lexical.called(ranking.query, index.owners, set(owners), names) if weights.called else {}
    parts: dict[str, Sequence[float] | npt.NDArray[np.floating]] = {
        "dense": cosines,
        "overview": overviews,
        "lexical": [by_words.get(unit, 0.0) for unit in units],
        "document": [by_document.get(owner, 0.0) for owner in owners],
        "present": opened.lexical.presence(ranking.query, units),
        "called": [called.get(owner, 0.0) for owner in owners],
    }
    if asked.static is not None:
        static = opened.encoder(STRUCTURE)[1].scores(asked.static, numbers)
        parts |= {"structure": static[0], "structure_overview": static[1]}
    if asked.best is not None and index.descriptions is not None:
        parts["described"] = index.descriptions.scores(asked.best, owners, cosines)
    nothing = np.zeros(len(units))
    table = np.stack([parts.get(name, nothing) for name in hybrid_score.PARTS], axis=1).astype(np.float64)
    weights = weights.asked(ranking.query)
    totals = hybrid_score.contributions(table, weights).sum(1)
    logs = opened.release_logs[owners]
    if logs.any() and not ASKS_FOR_CHANGES.search(ranking.query):
        totals = totals - hybrid_score.RELEASE_LOG * logs
        ranking.scores["release_log"] = dict.fromkeys(numbers[logs].tolist(), 1.0)
    del parts["lexical"]  # the stage that found them says it
    ranking.scores.update({name: dict(zip(units, map(float, values), strict=True)) for name, values in parts.items()})
    ranked = top_k(dict(zip(units, map(float, totals), strict=True)), stage.k)
    if asked.tokens is not None and index.look is not None and stage.option("look") == _TOKENS and weights.look > 0:
        head, tail = ranked[:LOOKED_AT], ranked[LOOKED_AT:]
        looked_at, before = np.array([unit for unit, _ in head], np.int64), np.array([total for _, total in head])
        looks = index.look.scores(asked.tokens, looked_at)
        scores, document_looks = hybrid_score.looked_again(before, looks, index.owners[looked_at], weights)
        ranking.scores["look"] = dict(zip(looked_at.tolist(), document_looks.tolist(), strict=True))
        ranked = append_tail(in_order(zip(looked_at.tolist(), scores.tolist(), strict=True)), tail)
    first = int(index.owners[ranked[0][0]]) if ranked else 0
    # A release log has words of all that was ever asked for, so it counts only if it comes first itself.
    apart = set() if opened.release_logs[first] else set(np.flatnonzero(opened.release_logs).tolist())
    held = opened.lexical.coverage(ranking.query, documents, apart)
    ranking.likely = likely_right(table, totals, index.owners[numbers], first, held, weights, ranking.query)
    return ranked


DENSE = StageKind("dense", _dense, finds=True, options={"k": 200}, model=DEFAULT, vectors=True)
HYBRID = StageKind(
    "hybrid",
    _hybrid,
    finds=True,
    options={"k": 200, "weights": STANDARDISED, "look": _TOKENS},
    model=DEFAULT,
    choices=_CHOICES,
    vectors=True,
    fuses=True,
)
DENSE_FUSION = replace(HYBRID, name="dense-fusion", run=_fusion, finds=False)


def rescore(
    ranking: Ranking,
    stage: Stage,
    scores: Callable[[str, list[int]], Sequence[float]],
    opened: OpenedIndex | None = None,
) -> None:
    """Put the first k units in the order of `scores(query, units)`, then the rest below them in their own order.
    opened: given by a stage that may score documents, which then takes the units of the first k documents.
    """
    head, tail = ranking.ranked[: stage.k], ranking.ranked[stage.k :]
    if opened is not None and stage.option("of") == DOCUMENTS:
        head, tail = _first_documents(opened, ranking.ranked, stage.k)
    if not head:
        ranking.add(stage.name, [])
        return
    units = [unit for unit, _ in head]
    ordered = in_order(zip(units, scores(ranking.query, units), strict=True))
    ranking.add(stage.name, append_tail(ordered, tail))


def _first_documents(opened: OpenedIndex, ranked: Ranked, k: int) -> tuple[Ranked, Ranked]:
    """Return (the units of the first k documents, those of the others)."""
    owners = opened.owners[[unit for unit, _ in ranked]].tolist() if ranked else []
    first = set(list(dict.fromkeys(owners))[:k])
    parts: tuple[Ranked, Ranked] = ([], [])
    for each, owner in zip(ranked, owners, strict=True):
        parts[owner not in first].append(each)
    return parts


def texts_of(
    opened: OpenedIndex, units: Sequence[int], of: str, whole: Callable[[OpenedIndex, int], str] | None = None
) -> tuple[list[str], list[int]]:
    """(what is scored, for each unit which of it): the units' own texts, or those of their documents, each once. whole:
    what is read of a document; all of its text.
    """
    if of != DOCUMENTS:
        return opened.units.ranker_texts(units), list(range(len(units)))
    owners = [int(opened.owners[unit]) for unit in units]
    places = {document: place for place, document in enumerate(dict.fromkeys(owners))}
    read = whole or (lambda opened, document: opened.document_text(document, WHOLE))
    return [read(opened, document) for document in places], [places[owner] for owner in owners]


def _as_rankers_read(opened: OpenedIndex, document: int) -> str:
    """Return a document's title, address and text, as rankers were trained on it."""
    row = opened.documents[document]
    return with_address(opened.document_text(document, CHARACTERS), row.title, str(row.values().get("url") or ""))


def _rerank(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    ranker = opened.reranker(stage.model)

    def scores(query: str, units: list[int]) -> list[float]:
        texts, places = texts_of(opened, units, str(stage.option("of")), _as_rankers_read)
        texts = [text[:CHARACTERS] for text in texts]
        scores = ranker.score([query] * len(texts), texts)
        return [float(scores[place]) for place in places]

    for ranking in rankings:
        rescore(ranking, stage, scores, opened)


RERANK = StageKind(
    "rerank",
    _rerank,
    finds=False,
    options={"k": 50, "of": SECTIONS},
    model="cross-encoder",
    choices=OF,
    needs=lambda opened, stage: opened.reranker(stage.model),
    ranks=True,
)

BUILT_IN = (LEXICAL, DENSE, HYBRID, DENSE_FUSION, RERANK)
