"""`bm25`, `ql`, `tfidf`: exact lexical scores of the units that were found, or of their documents, as the papers use
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from structformer.retrieval.opened import SECTIONS, OpenedIndex
from structformer.retrieval.rankings.ranking import Ranking
from structformer.retrieval.stage import Run, Stage, StageKind
from structformer.retrieval.stages.rerank import OF, rescore, texts_of
from structformer.retrieval.words.bm25 import K1, B
from structformer.retrieval.words.exact import CollectionStatistics, bm25, query_likelihood, tf_idf

_QUERY_CHARACTERS = 200_000
Score = Callable[[Sequence[str], Sequence[str], CollectionStatistics, Stage], float]


def _rescoring(score: Score) -> Run:
    def run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
        of = str(stage.option("of"))
        statistics = opened.statistics(of)

        def scores(query: str, units: list[int]) -> list[float]:
            asked = opened.lexical.words(query[:_QUERY_CHARACTERS])
            texts, places = texts_of(opened, units, of)
            found = [score(asked, opened.lexical.words(text), statistics, stage) for text in texts]
            return [found[place] for place in places]

        for ranking in rankings:
            rescore(ranking, stage, scores, opened)

    return run


def _bm25(query: Sequence[str], text: Sequence[str], statistics: CollectionStatistics, stage: Stage) -> float:
    return bm25(query, text, statistics, k1=float(stage.option("k1")), b=float(stage.option("b")))


def _ql(query: Sequence[str], text: Sequence[str], statistics: CollectionStatistics, stage: Stage) -> float:
    return query_likelihood(query, text, statistics, mu=float(stage.option("mu")))


def _tf_idf(query: Sequence[str], text: Sequence[str], statistics: CollectionStatistics, stage: Stage) -> float:
    return tf_idf(query, text, statistics)


_kind = partial(StageKind, finds=False, choices=OF)
BM25 = _kind("bm25", _rescoring(_bm25), options={"k": 200, "k1": K1, "b": B, "of": SECTIONS})
QUERY_LIKELIHOOD = _kind("ql", _rescoring(_ql), options={"k": 200, "mu": 1000.0, "of": SECTIONS})
TF_IDF = _kind("tfidf", _rescoring(_tf_idf), options={"k": 200, "of": SECTIONS})
