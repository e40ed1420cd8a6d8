"""The words of a corpus in small files: each word with the passages that hold it and what BM25 gives it there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from structformer.retrieval import FIELDS, Unit, idf, saturation
from structformer.text import names_of

NAMES = "names"
_FIELDS = {
    "title": FIELDS["title"],
    "path": FIELDS["path"],
    "text": FIELDS["text"] + 0.25,
    "incoming": FIELDS["incoming"],
    NAMES: FIELDS[NAMES],
}
_MOST_SHARE = 0.5  # of the passages: of a word of more the best are listed, which have it in their titles
_LISTED = 200
_STEPS = 255
_FEWEST_LETTERS, _MOST_LETTERS = 1, 6
_CHUNK = 20_000  # characters of a file, where its words can be parted further
Words = Callable[[str], list[str]]
Surfaces = Callable[[str], Iterable[tuple[str, str]]]


@dataclass(slots=True)
class Postings:
    """Which passages the terms are in."""

    of: dict[str, list[tuple[int, int]]]
    """For each term its passages with their scores, in steps of 1 to 255, where 255 is `highest`."""
    forms: dict[str, str]
    """The term of each word as it is written."""
    highest: float
    """The highest score of a term in a passage."""
    common: list[str]
    """Words, as they are written, whose terms are in too many passages to list them all."""


def postings(units: Iterable[Unit], words: Words, surfaces: Surfaces) -> Postings:
    """Count the terms of all passages. words: a text's terms; surfaces: its words as they stand with their terms."""
    frequencies: list[dict[str, Counter[str]]] = []
    found_in: dict[str, Counter[str]] = {field: Counter() for field in _FIELDS}
    lengths: dict[str, int] = dict.fromkeys(_FIELDS, 0)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for unit in units:
        texts = {"title": unit.title, "path": " ".join(unit.path), "text": unit.text, "incoming": unit.incoming}
        counts = {field: Counter(words(text)) for field, text in texts.items()}
        counts[NAMES] = Counter(names_of(f"{unit.title}\n{unit.text}").split())
        for field, found in counts.items():
            found_in[field].update(found.keys())
            lengths[field] += found.total()
        for text in texts.values():
            for form, term in surfaces(text):
                forms[form][term] += 1
        for name in counts[NAMES]:
            forms[name][name] += 1
        frequencies.append(counts)
    total = len(frequencies)
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    for number, counts in enumerate(frequencies):
        for field, boost in _FIELDS.items():
            size, average = counts[field].total(), lengths[field] / max(1, total)
            for term, count in counts[field].items():
                gives = boost * idf(found_in[field][term], total) * saturation(count, size, average)
                scores[term][number] = scores[term].get(number, 0.0) + gives
    common = sorted(term for term, its in scores.items() if len(its) > _MOST_SHARE * total and total > 20)
    for term in common:
        scores[term] = dict(sorted(scores[term].items(), key=lambda item: (-item[1], item[0]))[:_LISTED])
    highest = max((max(its.values()) for its in scores.values()), default=1.0)
    return Postings(
        {
            term: [(number, max(1, round(_STEPS * score / highest))) for number, score in sorted(its.items())]
            for term, its in scores.items()
        },
        {form: its.most_common(1)[0][0] for form, its in sorted(forms.items())},
        highest,
        sorted(form for form, its in forms.items() if its.most_common(1)[0][0] in set(common)),
    )


def word_files(found: Postings) -> Iterator[tuple[str, dict[str, Any]]]:
    """(the beginning that a file's words share, its content): `forms` with the number of their term, and of each term
    the gaps between its passages and their scores, one after the other.

    A word is in the file of the longest such beginning that it has.
    """
    forms = {form: term for form, term in found.forms.items() if term in found.of}
    yield from _parted(sorted(forms), "", forms, found)


def _parted(
    words: list[str], begin: str, forms: dict[str, str], found: Postings
) -> Iterator[tuple[str, dict[str, Any]]]:
    content = _content(words, forms, found)
    large = sum(len(each) for each in content["postings"]) * 3 > _CHUNK
    if len(begin) >= _FEWEST_LETTERS and (not large or len(begin) >= _MOST_LETTERS):
        yield begin, content
        return
    groups: dict[str, list[str]] = defaultdict(list)
    for word in words:
        groups[word[: len(begin) + 1]].append(word)
    whole = groups.pop(begin, None)  # the word that is the beginning itself
    if whole:
        yield begin, _content(whole, forms, found)
    for longer in sorted(groups):
        yield from _parted(groups[longer], longer, forms, found)


def _content(words: list[str], forms: dict[str, str], found: Postings) -> dict[str, Any]:
    terms = list(dict.fromkeys(forms[word] for word in words))
    places = {term: place for place, term in enumerate(terms)}
    rows = []
    for term in terms:
        row: list[int] = []
        before = 0
        for number, score in found.of[term]:
            row += [number - before, score]
            before = number
        rows.append(row)
    return {"forms": {word: places[forms[word]] for word in words}, "postings": rows}
