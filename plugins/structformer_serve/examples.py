"""Example questions for the first page: headings of the documents that read like something a person would ask."""

import re

from structformer.document import word_count
from structformer.retrieval import Mask, OpenedIndex
from structformer.text import is_imperative, plain, stands_alone

_LOOKED_AT = 3000  # passages, spread over all of them
_FEWEST, _MOST = 5, 9  # words
_LONGEST = 60  # characters
# Not "When the daemon starts": a heading begins so, a question does not.
_QUESTION = re.compile(
    r"(?:how|what|why|which|who|can|does|do|is|should|(?:when|where)\s+(?:to|do|does|did|is|are|can|should))\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"(?:do not|don.t|never|avoid)\b", re.IGNORECASE)


def example_questions(opened: OpenedIndex, seen: Mask, count: int = 4) -> list[str]:
    """Up to `count` headings, each of another document: questions before what is told to be done before others. seen:
    (documents,) those that may be seen.
    """
    total = len(opened.units)
    best: dict[int, tuple[int, int, str]] = {}  # of each document
    for number in range(0, total, max(1, total // _LOOKED_AT)):
        document = int(opened.owners[number])
        if opened.sections[number] == 0 or not seen[document]:
            continue
        title = str(opened.units.value(number, "title")).strip()
        rank = _rank(title)
        if rank is not None and (rank, number, title) < best.get(document, (9, 0, "")):
            best[document] = rank, number, title
    found: dict[str, str] = {}
    ranked = sorted(best.values())
    for rank in range(4):
        its = [title for each, _, title in ranked if each == rank]
        step = max(1, len(its) // count)  # spread, so that they are not all of the first folder
        for title in [*its[::step], *its]:
            if len(found) == count:
                break
            found.setdefault(plain(title), title)
    return list(found.values())


def _rank(title: str) -> int | None:
    """0 for a question, 1 and 2 for what one does, 3 for another heading of some words; None for what one would not
    type.
    """
    asked = title.rstrip("?？ ")
    if len(title) > _LONGEST or _FORBIDS.match(title):
        return None
    if (title != asked or _QUESTION.match(title)) and _FEWEST <= word_count(asked) <= _MOST + 2:
        return 0  # whole, though its "I" would say of a sentence that it is torn from its place
    if title != asked or not stands_alone(title, _FEWEST, _MOST):
        return None
    return 1 if is_imperative(title) else 2 if title.split()[0].lower().endswith("ing") else 3
