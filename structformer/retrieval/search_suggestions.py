"""Help where a search finds little: unknown words, known ones near them, and why a filter matches nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from structformer.did_you_mean import nearest
from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.hits import Filter
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.words.lexical import Begun
from structformer.text.stop_words import function_words
from structformer.text.words import WRITTEN, asked, normal, written_words

_MOST_WORDS = 12  # of a query
_LOOKED_AT = 20  # passages with a word that is written alike
_CHARACTERS = 20_000  # of such a passage
_MOST_VALUES = 12  # that a message lists


@dataclass(frozen=True, slots=True)
class Help:
    """Help with a query."""

    missing: Sequence[str] = ()
    """Words of the query that no page has."""
    meant: str = ""
    """The query with the nearest known words in their places; "" if one of them has none."""


def slips(word: str) -> int:
    """Return how many letters of a word may be wrong: none of three, one of seven, two of a longer one."""
    return 0 if len(word) < 4 else 1 if len(word) < 8 else 2


def help_with(opened: OpenedIndex, query: str, seen: Allowed | None = None) -> Help:
    """Return help with a query. seen: the documents that may be found, None for all."""
    allowed, query = None if seen is None or seen.whole else seen, opened.expanded(query)
    if name := opened.lexical.names.absent(asked(query).text):
        return Help([name])
    unsaid = function_words(opened.languages.codes)
    words = dict.fromkeys(word for word in WRITTEN.findall(asked(query).text) if normal(word) not in unsaid)
    unheld = [word for word in list(words)[:_MOST_WORDS] if not opened.lexical.holds(word, allowed)]
    missing = [word for word in unheld if not opened.lexical.search(word, 1, allowed)]
    beside = [normal(word) for word in list(words)[:_MOST_WORDS] if word not in missing]
    nearest = {word: near for word in missing if (near := _nearest(opened, normal(word), beside, allowed))}
    if len(nearest) < len(missing) or not missing:
        return Help(missing)
    return Help(missing, WRITTEN.sub(lambda found: nearest.get(found[0], found[0]), query))


def why_none(opened: OpenedIndex, where: Filter | None) -> str:
    """Return why a filter lets no document through, with what there is instead; "" where it lets one through."""
    if where is None or (allowed := opened.allowed(where)) is None or len(allowed):
        return ""
    table, none = opened.metadata, "no document matches the filter"
    for key in where.metadata:
        if len(table.matching((), {key: where.metadata[key]}).nonzero()[0]):
            continue
        if values := table.values(key, _MOST_VALUES + 1):
            return f"{none}; values of {key}: {_some(values)}"
        keys = table.keys()
        near = nearest(key, keys)
        return f"{none}; no document has {key!r}: " + (f"did you mean {near}?" if near else f"keys: {_some(keys)}")
    if not where.paths or len(table.matching(where.paths, {}).nonzero()[0]):
        return f"{none}: each part of it has some, all of them together have none"
    folders = table.folders(_MOST_VALUES + 1)
    return f"{none}; folders: {_some(folders)}" if folders else f"{none}; the documents are in no folders"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_VALUES]) + (", ..." if len(names) > _MOST_VALUES else "") if names else "none"


def _nearest(opened: OpenedIndex, word: str, beside: Sequence[str], allowed: Allowed | None) -> str:
    """The word with the fewest other letters, of those that most passages have: passages with one of the words beside
    it, if there are any; "" if none is near.
    """
    wrong = slips(word)
    if not wrong:
        return ""
    near: dict[str, int] = {}
    asked = [[Begun(word, wrong), Begun(other)] for other in beside] or [[Begun(word, wrong)]]
    passages = {number for each in asked for number, _ in opened.lexical.beginnings(each, _LOOKED_AT, allowed)}
    for number in sorted(passages):
        unit = opened.units[number]
        for other in set(written_words(f"{' '.join(unit.path)} {unit.text[:_CHARACTERS]}")):
            if abs(len(other) - len(word)) <= wrong:
                near[other] = near.get(other, 0) + 1
    ranked = [(distance(word, other), -count, other) for other, count in near.items()]
    best = min((each for each in ranked if each[0] <= wrong), default=None)
    return best[2] if best else ""


def distance(one: str, other: str) -> int:
    """Return how many letters are to be changed, put in, left out or swapped with their neighbours."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        last, before, row = before, row, [place]
        for at, another in enumerate(other, 1):
            cost = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != another))
            if last and at > 1 and letter == other[at - 2] and one[place - 2] == another:
                cost = min(cost, last[at - 2] + 1)
            row.append(cost)
    return row[-1]
