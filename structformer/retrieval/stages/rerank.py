"""`rerank`: the first k in the order of any ranker's scores; and the helpers for every stage that scores again."""

from collections.abc import Callable, Collection, Sequence

from structformer.corpus.whole_text import CHARACTERS, with_address
from structformer.retrieval.opened import DOCUMENTS, SECTIONS, WHOLE, OpenedIndex
from structformer.retrieval.rankings.ranking import Ranked, Ranking, append_tail, in_order
from structformer.retrieval.stage import Stage, StageKind


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


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    ranker = opened.reranker(stage.model)

    def scores(query: str, units: list[int]) -> list[float]:
        texts, places = texts_of(opened, units, str(stage.option("of")), _as_rankers_read)
        texts = [text[:CHARACTERS] for text in texts]
        scores = ranker.score([query] * len(texts), texts)
        return [float(scores[place]) for place in places]

    for ranking in rankings:
        rescore(ranking, stage, scores, opened)


OF = {"of": (SECTIONS, DOCUMENTS)}
RERANK = StageKind(
    "rerank",
    _run,
    finds=False,
    options={"k": 50, "of": SECTIONS},
    model="cross-encoder",
    choices=OF,
    needs=lambda opened, stage: opened.reranker(stage.model),
    ranks=True,
)
