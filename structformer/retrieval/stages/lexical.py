"""`lexical`: BM25 over title, path, text and anchor texts of incoming links; or over whole documents."""

from collections.abc import Collection, Sequence

from structformer.retrieval.opened import DOCUMENTS, SECTIONS, OpenedIndex
from structformer.retrieval.rankings.doubt import likely_by_words
from structformer.retrieval.rankings.ranking import Ranked, Ranking
from structformer.retrieval.stage import Stage, StageKind


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
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


LEXICAL = StageKind(
    "lexical",
    _run,
    finds=True,
    options={"k": 200, "of": SECTIONS},
    choices={"of": (SECTIONS, DOCUMENTS)},
    likely=_likely,
)
