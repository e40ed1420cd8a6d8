"""`bm25`, `ql`, `tfidf`: exact lexical scores of found units or their documents, as the papers use them."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from threading import RLock
from weakref import WeakKeyDictionary

from structformer.retrieval import OF, WHOLE, OpenedIndex, Ranking, Run, Stage, StageKind, rescore, texts_of

from structformer_lab.exact_scores import CollectionStatistics, bm25, query_likelihood, tf_idf

_SECTIONS, _DOCUMENTS = OF["of"]
_K1, _B = 1.2, 0.75  # those of the lexical index
_QUERY_CHARACTERS = 200_000
_COUNTED: WeakKeyDictionary[OpenedIndex, dict[str, CollectionStatistics]] = WeakKeyDictionary()
_COUNTING = RLock()  # several threads may search; terms are counted once
Score = Callable[..., float]  # of a query's words and a text's, of CollectionStatistics and options


def statistics(opened: OpenedIndex, of: str) -> CollectionStatistics:
    """Return term statistics of the sections' passages or of whole "documents", counted at the first call."""
    with _COUNTING:
        counted = _COUNTED.setdefault(opened, {})
        if of not in counted:
            texts = (
                (opened.document_text(number, WHOLE) for number in range(len(opened.documents)))
                if of == _DOCUMENTS
                else (unit.ranker_text for unit in opened.units)
            )
            counted[of] = CollectionStatistics.of(opened.index, of, texts, opened.lexical.words)
        return counted[of]


def _rescoring(score: Score, *options: str) -> Run:
    def run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
        of = str(stage.option("of"))
        counted = statistics(opened, of)
        values = {name: float(stage.option(name)) for name in options}

        def scores(query: str, units: list[int]) -> list[float]:
            asked = opened.lexical.words(query[:_QUERY_CHARACTERS])
            texts, places = texts_of(opened, units, of)
            scores = [score(asked, opened.lexical.words(text), counted, **values) for text in texts]
            return [scores[place] for place in places]

        for ranking in rankings:
            rescore(ranking, stage, scores, opened)

    return run


_kind = partial(StageKind, finds=False, choices=OF)
BM25 = _kind("bm25", _rescoring(bm25, "k1", "b"), options={"k": 200, "k1": _K1, "b": _B, "of": _SECTIONS})
QUERY_LIKELIHOOD = _kind("ql", _rescoring(query_likelihood, "mu"), options={"k": 200, "mu": 1000.0, "of": _SECTIONS})
TF_IDF = _kind("tfidf", _rescoring(tf_idf), options={"k": 200, "of": _SECTIONS})
