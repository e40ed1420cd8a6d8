"""Search while a query is still being typed: every word as the beginning of one, with room for a slip of the finger."""

from collections.abc import Collection, Sequence

from structformer.retrieval import Allowed, Begun, OpenedIndex, Ranked, help_with, in_order, slips
from structformer.text import WRITTEN, asked, names_of, written_words

_MAX_WORDS, _FEW_WORDS = 12, 4
_LOOKED_AT = 120  # units that the words find, which their titles put in order
_OPENS, _BEGINS, _HOLDS, _SHORT = 3.0, 1.5, 0.75, 0.5  # what a title is worth that opens with the words, and so on


def complete(opened: OpenedIndex, typed: str, k: int, documents: Collection[int] | None = None) -> Ranked:
    """Up to k units, one of each section, that hold every typed word or a word that begins with it, in titles, text or
    the texts of links that lead there.

    First the last word alone is taken as a beginning, then all, then they may be written a little wrong; where there
    is still nothing, one of them is enough. Long queries, of which no passage holds every word, go straight there.
    documents: numbers of those that may be found.
    """
    words = written_words(asked(typed).text)[:_MAX_WORDS]
    if not words or (len(words) == 1 and len(words[0]) < 2 and words[0].isascii()):
        return opened.lexical.search(typed, k, documents) if names_of(typed) else []
    few, last = len(words) <= _FEW_WORDS, len(words) - 1

    def begun(*, all_begin: bool = False, slipped: bool = False) -> list[Begun]:
        return [
            Begun(word, slips(word) if slipped else 0, all_begin or place == last) for place, word in enumerate(words)
        ]

    tries = [(begun(), True)]
    if few:
        tries += [(begun(all_begin=True), True), (begun(all_begin=True, slipped=True), True)]
    tries.append((begun(slipped=few), False))
    for looked_for, every in tries:
        ranked = opened.lexical.beginnings(looked_for, _LOOKED_AT, documents, every=every)
        if ranked:
            return _by_titles(opened, words, ranked, k)
    return []


def completed(opened: OpenedIndex, typed: str, documents: Collection[int] | None = None) -> str:
    """Return a query that is still being typed, its last word completed from the title or text of what is found first;
    unchanged if some text has that word already.
    """
    words = list(WRITTEN.finditer(typed))
    if not words or words[-1].end() != len(typed) or opened.lexical.holds(words[-1][0], documents):
        return typed
    begun = " ".join(written_words(words[-1][0]))
    before: str = typed[: words[-1].start()]
    for number, _ in complete(opened, typed, 1, documents):
        unit = opened.units[number]
        for word in written_words(f"{unit.title} {' '.join(unit.path)} {unit.text}"):
            if word.startswith(begun):
                return f"{before}{word}"
    return typed


def mended(opened: OpenedIndex, typed: str, documents: Allowed | None = None) -> str:
    """A query that is still being typed, with the nearest known words in place of those that no text has; unchanged if
    texts have each word, or one that begins like the last.
    """
    words = written_words(asked(typed).text)[:_MAX_WORDS]
    begun = [Begun(word, 0, place == len(words) - 1) for place, word in enumerate(words)]
    if all(opened.lexical.beginnings([each], 1, documents) for each in begun):
        return typed
    return help_with(opened, typed, documents).meant or typed


def _by_titles(opened: OpenedIndex, words: Sequence[str], ranked: Ranked, k: int) -> Ranked:
    scored: dict[int, float] = {}
    sections: set[tuple[int, int]] = set()
    best = max(score for _, score in ranked)
    for number, score in ranked:
        place = int(opened.owners[number]), int(opened.sections[number])
        if place in sections:
            continue
        sections.add(place)
        title, depth = opened.units.value(number, "title"), 1 if place[1] == 0 else 2
        scored[number] = score / best + _title_score(words, title, depth)
    return in_order(scored.items())[:k]


def _title_score(words: Sequence[str], title: str, depth: int) -> float:
    parts = written_words(title)
    title = " ".join(parts)
    if not parts:
        return 0.0
    begun = [word for word in words if any(part.startswith(word) for part in parts)]
    score = _BEGINS * len(begun) / len(words)
    score += _OPENS if title.startswith(" ".join(words)) else _HOLDS if " ".join(words) in title else 0.0
    # Of two that match alike, the shorter title and the higher section are what is meant.
    return score + _SHORT * len(begun) / len(parts) + 0.1 / max(1, depth)
