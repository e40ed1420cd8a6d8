"""The rules that every search stage keeps."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from structformer.retrieval import OpenedIndex, Ranking, Stage, StageKind, build_index

from structformer_devkit.example_corpus import example_workspace
from structformer_devkit.formats import Broken, carried_out

_QUERIES = ("mend the rudder", "how do I clean a wet sail", "lantern")
_FOUND = 30
STAGE_RULES = (
    "it runs",
    "units of the index, each once",
    "best first",
    "the same again",
    "it finds only what may be found",
    "it orders what was found",
)


def check_stage(kind: StageKind) -> list[Broken]:
    """Return the rules that a stage breaks on a small index. Stages with a model are not run."""
    if kind.model:
        return []
    with tempfile.TemporaryDirectory(prefix="structformer-") as folder:
        workspace = example_workspace(Path(folder))
        build_index(workspace, encoders=[])
        return carried_out(kind.name, _broken(kind, OpenedIndex(workspace)))


def _run(kind: StageKind, opened: OpenedIndex, documents: set[int] | None) -> list[Ranking]:
    rankings = [Ranking(query) for query in _QUERIES]
    if not kind.finds:
        for ranking in rankings:
            ranking.add("lexical", opened.lexical.search(ranking.query, _FOUND, documents))
    kind.run(opened, Stage(kind.name, kind.model, kind=kind), rankings, documents)
    return rankings


def _broken(kind: StageKind, opened: OpenedIndex) -> Iterator[Broken]:
    first, second = _run(kind, opened, None), _run(kind, opened, None)
    if [ranking.ranked for ranking in first] != [ranking.ranked for ranking in second]:
        yield Broken("the same again", kind.name, "two runs differ")
    for ranking in first:
        units = [unit for unit, _ in ranking.ranked]
        scores = [score for _, score in ranking.ranked]
        if len(set(units)) < len(units) or not all(0 <= unit < len(opened.units) for unit in units):
            yield Broken("units of the index, each once", ranking.query, str(units[:10]))
        if scores != sorted(scores, reverse=True):
            yield Broken("best first", ranking.query, str(scores[:10]))
        if not kind.finds:
            found = {unit for unit, _ in opened.lexical.search(ranking.query, _FOUND)}
            if set(units) != found:
                yield Broken(
                    "it orders what was found",
                    ranking.query,
                    f"{len(found - set(units))} lost, {len(set(units) - found)} added",
                )
    if kind.finds:
        for ranking in _run(kind, opened, {0, 1}):
            outside = [unit for unit, _ in ranking.ranked if opened.owners[unit] not in (0, 1)]
            if outside:
                yield Broken(
                    "it finds only what may be found", ranking.query, f"{len(outside)} units of other documents"
                )
