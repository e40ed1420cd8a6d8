"""The rules that every search engine keeps."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from structformer.errors import UsageError, WorkspaceError
from structformer.retrieval import Ranked

from structformer_devkit import ten_pages
from structformer_devkit.formats import Broken, carried_out
from structformer_engines import EngineDocument, EngineIndex, EngineUnit, SearchEngine, without_password

_MANY = 1_000  # more than there are
_FEW = 3
_BATCH = 7
_CLOSE = 1e-3  # how far scores may be from the formula's, as shares of the best one
SEARCH_ENGINE_RULES = (
    "without an index it says so in a line",
    "facts come back",
    "units come back whole",
    "the nearest are those of an exact search",
    "words are ranked by BM25",
    "k is the most that is found",
    "the same again",
    "writing again replaces",
)


def check_search_engine(engine: SearchEngine, place: str) -> list[Broken]:
    """Write ten small pages to a place of an engine and ask for them; empty when every rule is kept.

    The place may hold what an earlier check wrote, which is replaced; what an engine says without an index is looked at
    in an empty one alone. Raises UsageError where the place holds another index, or is none of this engine's.
    """
    return carried_out(engine.name, _broken(engine, place))


def _broken(engine: SearchEngine, place: str) -> Iterator[Broken]:
    units, documents = ten_pages.units(), ten_pages.documents()
    with closing(engine.open(place)) as index:
        if not _holds_an_index(index, without_password(f"{engine.name}:{place}")):
            yield from _without_an_index(index)
        _write(index, units, documents)
    with closing(engine.open(place)) as index:
        if (facts := index.facts()) != (wanted := ten_pages.facts(units, documents)):
            yield Broken("facts come back", engine.name, f"{facts}, not {wanted}")
        yield from _units(index, units)
        yield from _nearest(index, units)
        yield from _by_words(index, units, documents)
        answers = _answers(index)
        if answers != _answers(index):
            yield Broken("the same again", engine.name, "two searches differ")
        yield from _replaced(index, units, documents)
        _write(index, units, documents)
        if any(map(_differ, _answers(index), answers)):
            yield Broken("the same again", engine.name, "after the same was written again, searches differ")


def _write(index: EngineIndex, units: Sequence[EngineUnit], documents: Sequence[EngineDocument]) -> None:
    index.write(_batches(units), _batches(documents), ten_pages.DIMENSIONS, ten_pages.facts(units, documents))


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _holds_an_index(index: EngineIndex, shown: str) -> bool:
    """Whether an earlier check wrote there."""
    try:
        corpus = index.facts()["corpus"]
    except Exception:  # what it may raise is a rule's business
        return False
    if corpus != ten_pages.CHECKED:
        raise UsageError(f"{shown} holds an index already, which the check would replace: name another place")
    return True


def _without_an_index(index: EngineIndex) -> Iterator[Broken]:
    asked: dict[str, Callable[[], Any]] = {
        "facts": index.facts,
        "nearest": lambda: index.nearest(ten_pages.vectors()[0], _FEW),
        "by_words": lambda: index.by_words(("boat",), _FEW),
        "units": lambda: index.units([0]),
    }
    for name, ask in asked.items():
        detail = ""
        try:
            detail = f"gives {ask()!r}"
        except WorkspaceError as error:
            if len(str(error).splitlines()) != 1:
                detail = f"says {str(error)!r}"
        except Exception as error:
            detail = f"raises {type(error).__name__} ({error}), not WorkspaceError"
        if detail:
            yield Broken("without an index it says so in a line", name, detail)


def _units(index: EngineIndex, units: Sequence[EngineUnit]) -> Iterator[Broken]:
    rule = "units come back whole"
    kept = index.units([_MANY, *(unit.number for unit in units)])
    if set(kept) != {unit.number for unit in units}:
        yield Broken(rule, "numbers", f"{sorted(kept)} of {len(units)} units and {_MANY}, which there is not")
    if index.units([]):
        yield Broken(rule, "numbers", "units where none was asked for")
    for unit in units:
        document, vector, fields = kept.get(unit.number, (unit.document, unit.vector, dict(unit.fields)))
        if document != unit.document or fields != unit.fields:
            yield Broken(rule, f"unit {unit.number}", f"{document} {fields}, not {unit.document} {unit.fields}")
        if vector.dtype != np.float32 or vector.shape != unit.vector.shape or not np.allclose(vector, unit.vector):
            yield Broken(rule, f"unit {unit.number}", f"the vector {vector!r}, not {unit.vector!r}")


def _nearest(index: EngineIndex, units: Sequence[EngineUnit]) -> Iterator[Broken]:
    for number, vector in enumerate(ten_pages.vectors()):
        wanted = ten_pages.nearest(units, vector)
        for k, rule in ((_MANY, "the nearest are those of an exact search"), (_FEW, "k is the most that is found")):
            ranked = index.nearest(vector, k)
            if [unit for unit, _ in ranked] != [unit for unit, _ in wanted[:k]] or _differ(ranked, wanted[:k]):
                yield Broken(rule, f"vector {number}, k {k}", f"{_shown(ranked)}, not {_shown(wanted[:k])}")


def _by_words(index: EngineIndex, units: Sequence[EngineUnit], documents: Sequence[EngineDocument]) -> Iterator[Broken]:
    for what, texts in (("units", units), ("documents", documents)):
        for terms in (*ten_pages.QUERIES, ("submarine",), ()):
            sample = f"{what} with {' '.join(terms) or 'no word'}"
            wanted = ten_pages.by_words(texts, terms)
            ranked = index.by_words(terms, _MANY, documents=what == "documents")
            if _differ(_shares(ranked), _shares(wanted)):
                yield Broken("words are ranked by BM25", sample, f"{_shown(ranked)}, not {_shown(wanted)}")
            few = index.by_words(terms, _FEW, documents=what == "documents")
            # Which of several equal ones are cut off is left open.
            if not np.allclose([score for _, score in few], [score for _, score in ranked[:_FEW]]):
                yield Broken("k is the most that is found", sample, f"{_shown(few)}, not {_shown(ranked[:_FEW])}")


def _replaced(index: EngineIndex, units: Sequence[EngineUnit], documents: Sequence[EngineDocument]) -> Iterator[Broken]:
    """Write the first half of the pages, and look for what was in the others."""
    rule, half = "writing again replaces", documents[: len(documents) // 2]
    kept = [unit for unit in units if unit.document < len(half)]
    numbers = {unit.number for unit in kept}
    _write(index, kept, half)
    if index.facts() != ten_pages.facts(kept, half):
        yield Broken(rule, "facts", f"{index.facts()}")
    left = {
        "units": set(index.units([unit.number for unit in units])),
        "nearest": {unit for unit, _ in index.nearest(ten_pages.vectors()[0], _MANY)},
    }
    for what, rows in left.items():
        if rows != numbers:
            yield Broken(rule, what, f"{sorted(rows)}, not {sorted(numbers)}")
    for whole in (False, True):
        if found_by_words := index.by_words(units[-1].terms, _MANY, documents=whole):
            wanted = ten_pages.by_words(half if whole else kept, units[-1].terms)
            if _differ(_shares(found_by_words), _shares(wanted)):
                yield Broken(rule, "by_words", f"{_shown(found_by_words)}, not {_shown(wanted)}")


def _answers(index: EngineIndex) -> list[Ranked]:
    by_vector = [index.nearest(vector, _MANY) for vector in ten_pages.vectors()]
    return by_vector + [
        index.by_words(terms, _MANY, documents=whole) for terms in ten_pages.QUERIES for whole in (False, True)
    ]


def _shares(ranked: Ranked) -> Ranked:
    """Return scores as shares of the best one: engines differ by a factor, which the hybrid takes out."""
    best = max((score for _, score in ranked), default=0.0) or 1.0
    return [(number, score / best) for number, score in ranked]


def _differ(ranked: Ranked, wanted: Ranked) -> bool:
    """Whether two rankings have other numbers, or scores that are apart, or the first is not in order."""
    scores, known = dict(ranked), dict(wanted)
    return (
        len(ranked) != len(wanted)
        or scores.keys() != known.keys()
        or ranked != sorted(ranked, key=lambda each: (-each[1], each[0]))
        or not np.allclose([scores[each] for each in known], list(known.values()), rtol=_CLOSE, atol=_CLOSE)
    )


def _shown(ranked: Ranked) -> list[tuple[int, float]]:
    return [(number, round(float(score), 4)) for number, score in ranked[:10]]
