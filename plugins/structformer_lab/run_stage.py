"""`run:FILE`: the documents of a run file, as other systems or the makers of a test collection found them, to be put in
another order: `run:top100.trec >> rerank[of=documents]`.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path

from structformer.errors import UsageError
from structformer.retrieval import OpenedIndex, Ranked, Ranking, Stage, StageKind, read_run

_NO_FILE = "FILE"
_UNITS = 10_000  # of the candidates, among which each document's best is looked for


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    run = _read(stage.model)
    for ranking in rankings:
        if not ranking.name:
            raise UsageError(f"run:{stage.model} needs queries with ids, as `evaluate` asks them")
        scores: dict[int, float] = {}
        for name, score in run.get(ranking.name, ()):
            number = opened.document_number(name)
            if number is not None and (documents is None or number in documents) and len(scores) < stage.k:
                scores.setdefault(number, score)
        ranking.add(stage.name, _best_units(opened, ranking.query, scores))


def _best_units(opened: OpenedIndex, query: str, scores: dict[int, float]) -> Ranked:
    """Return each document as the unit that BM25 ranks first of it, or its first."""
    best: dict[int, int] = {}
    for unit, _ in opened.lexical.search(query, _UNITS, list(scores)):
        best.setdefault(int(opened.owners[unit]), unit)
    return [(best.get(document, opened.units_of(document)[0]), score) for document, score in scores.items()]


@lru_cache(maxsize=4)
def _read(path: str) -> dict[str, list[tuple[str, float]]]:
    return read_run(Path(path))[1]


def _needs(opened: OpenedIndex, stage: Stage) -> None:
    if stage.model == _NO_FILE:
        raise UsageError("run needs a run file: run:FILE")
    _read(stage.model)


RUN = StageKind("run", _run, finds=True, options={"k": 1000}, model=_NO_FILE, needs=_needs)
