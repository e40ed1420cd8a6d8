"""The words of a corpus in small files: each word with the passages that hold it and what BM25 gives it there, which of
them have it as it is written, and which documents others call so.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from structformer.retrieval import FIELDS, Unit, idf, saturation
from structformer.text import bare_words, names_of

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
STEPS = 255
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
    has: dict[str, list[int]]
    """Of a word that most passages of its term have in other forms only: the places of those, among them, that have it
    as it is written, each as its distance from the one before.
    """
    lacks: dict[str, list[int]]
    """Of another word the places of those that do not have it; none where all of them have it."""
    called: dict[str, list[int]]
    """The documents that others call by each term, where they link to them, as such distances."""
    unsaid: frozenset[str]
    """Words that say nothing of what a text is about: function words, and common ones."""


def postings(units: Iterable[Unit], words: Words, surfaces: Surfaces, unsaid: frozenset[str] = frozenset()) -> Postings:
    """Count the terms of all passages. words: a text's terms; surfaces: its words as they stand with their terms;
    unsaid: function words.
    """
    frequencies: list[dict[str, Counter[str]]] = []
    found_in: dict[str, Counter[str]] = {field: Counter() for field in _FIELDS}
    lengths: dict[str, int] = dict.fromkeys(_FIELDS, 0)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    written: dict[str, set[int]] = defaultdict(set)
    called: dict[str, set[int]] = defaultdict(set)
    for number, unit in enumerate(units):
        texts = {"title": unit.title, "path": " ".join(unit.path), "text": unit.text, "incoming": unit.incoming}
        counts = {field: Counter(words(text)) for field, text in texts.items()}
        counts[NAMES] = Counter(names_of(unit.whole).split())
        for field, frequency_of in counts.items():
            found_in[field].update(frequency_of.keys())
            lengths[field] += frequency_of.total()
        for text in texts.values():
            for form, term in surfaces(text):
                forms[form][term] += 1
        for name in counts[NAMES]:
            forms[name][name] += 1
        for form in {*bare_words(unit.whole).split(), *counts[NAMES]}:
            written[form].add(number)
        for term in counts["incoming"]:
            called[term].add(unit.document)
        frequencies.append(counts)
    total = len(frequencies)
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    for number, counts in enumerate(frequencies):
        for field, boost in _FIELDS.items():
            size, average = counts[field].total(), lengths[field] / max(1, total)
            for term, count in counts[field].items():
                gives = boost * idf(found_in[field][term], total) * saturation(count, size, average)
                scores[term][number] = scores[term].get(number, 0.0) + gives
    often = {term for term, numbers in scores.items() if len(numbers) > _MOST_SHARE * total and total > 20}
    for term in sorted(often):
        scores[term] = dict(sorted(scores[term].items(), key=lambda item: (-item[1], item[0]))[:_LISTED])
    highest = max((max(numbers.values()) for numbers in scores.values()), default=1.0)
    term_of = {form: counts.most_common(1)[0][0] for form, counts in sorted(forms.items())}
    common = [form for form, term in term_of.items() if term in often]
    has: dict[str, list[int]] = {}
    lacks: dict[str, list[int]] = {}
    for form in term_of.keys() - unsaid - {*common}:
        there = [number in written[form] for number in sorted(scores.get(term_of[form], ()))]
        if not all(there):
            few, listed = (has, True) if sum(there) * 2 < len(there) else (lacks, False)
            few[form] = _gaps([place for place, is_there in enumerate(there) if is_there is listed])
    return Postings(
        {
            term: [(number, max(1, round(STEPS * score / highest))) for number, score in sorted(numbers.items())]
            for term, numbers in scores.items()
        },
        term_of,
        highest,
        common,
        has,
        lacks,
        {term: _gaps(sorted(documents)) for term, documents in called.items() if term not in often},
        unsaid | frozenset(common),
    )


def word_files(table: Postings) -> Iterator[tuple[str, dict[str, Any]]]:
    """(the beginning that a file's words share, its content): `forms` with the number of their term, and of each term
    the gaps between its passages and their scores, one after the other; `has` and `lacks` as in Postings, by word;
    `called`, by the number of a term; `unsaid`, the words here that tell nothing.

    A word is in the file of the longest such beginning that it has.
    """
    forms = {form: term for form, term in table.forms.items() if term in table.of}
    yield from _parted(sorted(forms), "", forms, table)


def _parted(
    words: list[str], begin: str, forms: dict[str, str], table: Postings
) -> Iterator[tuple[str, dict[str, Any]]]:
    content = _content(words, forms, table)
    lists = chain(content["postings"], *(content[each].values() for each in ("has", "lacks", "called")))
    large = sum(map(len, lists)) * 3 > _CHUNK
    if len(begin) >= _FEWEST_LETTERS and (not large or len(begin) >= _MOST_LETTERS):
        yield begin, content
        return
    groups: dict[str, list[str]] = defaultdict(list)
    for word in words:
        groups[word[: len(begin) + 1]].append(word)
    whole = groups.pop(begin, None)  # the word that is the beginning itself
    if whole:
        yield begin, _content(whole, forms, table)
    for longer in sorted(groups):
        yield from _parted(groups[longer], longer, forms, table)


def _content(words: list[str], forms: dict[str, str], table: Postings) -> dict[str, Any]:
    terms = list(dict.fromkeys(forms[word] for word in words))
    places = {term: place for place, term in enumerate(terms)}
    rows = []
    for term in terms:
        numbers, scores = zip(*table.of[term], strict=True)
        rows.append([*chain.from_iterable(zip(_gaps(numbers), scores, strict=True))])
    telling = [word for word in words if word not in table.unsaid]
    return {
        "forms": {word: places[forms[word]] for word in words},
        "postings": rows,
        "has": {word: table.has[word] for word in telling if word in table.has},
        "lacks": {word: table.lacks[word] for word in telling if word in table.lacks},
        "called": {
            places[term]: table.called[term] for term in (forms[word] for word in telling) if term in table.called
        },
        "unsaid": [word for word in words if word in table.unsaid],
    }


def _gaps(numbers: Sequence[int]) -> list[int]:
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]
