"""The parts of a query: phrases in quotes and words with a minus, where they look meant; and pages whose title, file
name or address a query is: they come before all others.

Pasted lines quote names of their own (`no reader for the id "json"`), and hold options (`-deep`), which hide the page
that explains the line. So one quoted word binds only where the query is nothing else, several words only if they follow
each other in the corpus, and a minus only before a plain word among plain words."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.document_filter import Allowed, Mask
from structformer.retrieval.documents.page_places import asked_places
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.rankings.ranking import Ranking
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.text.id_marks import VERSION
from structformer.text.words import Asked, asked, names_of

_PLAIN = re.compile(r"[^\W\d_]{3,}[?.!,]?")  # a word without signs and digits, of three letters or more
_MOST_PLAIN = 8  # words of a query in which a minus is meant
_LOOKED_AT = 10  # documents of a ranking whose titles are looked at; documents of one file name
_SECTIONS = 30  # passages of a ranking that are looked through for those of its first document
_IS_RIGHT = 0.9  # how likely a document is right whose name the query is
_SITE_NAME = re.compile(r"\s(?:[—–|·:-]|::)\s")
_BESIDE_VERSION = re.compile(r"^ ?(?:version|release) | v(?=[0-9])| ")  # what may stand before or around a version
_JOINTS = str.maketrans("", "", " -")


class Searched(Protocol):
    """An opened index, as far as queries are looked up in it."""

    units: Units
    documents: IndexedDocuments
    lexical: LexicalIndex
    owners: npt.NDArray[np.int64]

    def units_of(self, document: int) -> tuple[int, int]: ...


class Parts(NamedTuple):
    """Parts of a query."""

    text: str
    units: Mask | None = None
    """(units,) whether each may be found; None without a phrase that binds or a word that is not wanted."""
    absent: tuple[str, ...] = ()
    """The phrases that no unit has."""


def parts_of(opened: Searched, query: str, documents: Allowed | None) -> Parts:
    """Return the query's text, and the units that have its phrases, of documents without what is not wanted."""
    parts = asked(query)
    if not parts.phrases and not parts.without:
        return Parts(parts.text)
    without = {word: holding(opened, word, documents) for word in parts.without}
    if without and not _is_meant(opened, parts, without, documents):
        return Parts(query)
    holders = {phrase: holding(opened, phrase, documents) for phrase in parts.phrases}
    binding = [phrase for phrase in holders if parts.is_quoted or len(phrase.split()) > 1]
    absent = tuple(phrase for phrase in binding if not holders[phrase].any())
    bound = [holders[phrase] for phrase in binding if phrase not in absent]
    if parts.is_quoted and absent:
        bound = []
    units = np.logical_and.reduce(bound) if bound else np.ones(len(opened.units), bool)
    if not units.any():  # each phrase is on another page
        units, bound = ~units, []
    for excluded in without.values():
        units &= ~np.isin(opened.owners, opened.owners[excluded])
    if not bound and not without:
        return Parts(parts.text, None, absent)
    return Parts(parts.text, units if documents is None else units & documents.units, absent)


def _is_meant(opened: Searched, parts: Asked, without: dict[str, Mask], documents: Allowed | None) -> bool:
    """Whether a minus excludes: not if the corpus has `-name` itself, or in pasted lines of signs and options."""
    if any(" " not in word and holding(opened, f"-{word}", documents).any() for word in without):
        return False
    chunks = [chunk for phrase in parts.phrases for chunk in phrase.split()]
    plain = [chunk for chunk in parts.text.split() if chunk not in chunks]
    if len(plain) > _MOST_PLAIN or not all(_PLAIN.fullmatch(chunk) or chunk.isalnum() for chunk in plain):
        return False
    return all((" " in word or _PLAIN.fullmatch(word)) and mask.any() for word, mask in without.items())


def holding(opened: Searched, text: str, documents: Allowed | None) -> Mask:
    """Return (units,) whether each may be found and has a text as it is written."""
    mask = np.zeros(len(opened.units), bool)
    mask[opened.lexical.holding(text, lambda unit: opened.units[unit].whole)] = True
    return mask if documents is None else mask & documents.units


def put_named_first(opened: Searched, ranking: Ranking, query: str, documents: Allowed | None) -> None:
    """Put documents named by the query first: by file name or address, then by title among those found first."""
    best = dict[int, int]()  # of each document its best unit
    for unit, _ in ranking.ranked:
        best.setdefault(int(opened.owners[unit]), unit)
    places, anchor = asked_places(query)
    at_places = opened.lexical.documents_at(places)
    named = [document for document in at_places if documents is None or document in documents]
    order = {document: place for place, document in enumerate(best)}
    named = sorted(named, key=lambda document: order.get(document, len(order)))[:_LOOKED_AT]
    titled = [document for document in list(best)[:_LOOKED_AT] if is_called(opened, document, query)]
    units = [_unit_at(opened, document, anchor, best) for document in dict.fromkeys((*named, *titled))]
    if units:
        ranking.absent_name = ""
        put_first(ranking, units)
        if ranking.likely is not None:
            ranking.likely = max(ranking.likely, _IS_RIGHT)
    if ranking.likely is not None:  # a reranker has looked at sections itself
        has_capitals = query.lower() != query and not query.istitle() and not query.isupper()  # logLevel
        is_name = not units and len(query.split()) == 1 and (has_capitals or bool(names_of(query)))
        _put_section_first(opened, ranking, f" {comparable(query)} ", anywhere=is_name)


def _put_section_first(opened: Searched, ranking: Ranking, asked: str, *, anywhere: bool) -> None:
    """Of the first document, or of any, put the section first whose heading the query is, or the shortest with its
    version; of a heading without text of its own, which lists those below it, the section below that the query names.
    """
    owner = opened.owners[ranking.ranked[0][0]] if ranking.ranked else -1
    looked_at = (unit for unit, _ in ranking.ranked[:_SECTIONS] if anywhere or opened.owners[unit] == owner)
    sections = {unit: opened.units[unit] for unit in looked_at}
    below = [(*first.path, line) for first in [*sections.values()][:1] for line in first.text.split("\n")]
    titles = {unit: f" {comparable(each.title)} " for unit, each in sections.items()}
    ways = {unit: (title, f"{title.partition('(')[0].rstrip()} ") for unit, title in titles.items()}  # open(path)
    version = _BESIDE_VERSION.sub("", asked)
    versions = {unit: [each.removeprefix("v") for each in VERSION.findall(title)][:1] for unit, title in titles.items()}
    called = [unit for unit in titles if asked in ways[unit] or versions[unit] == [version]]
    called = sorted((unit for unit in called if sections[unit].section), key=lambda unit: len(titles[unit]))
    named = [unit for unit, each in sections.items() if each.path in below and titles[unit] in asked]
    first = next(iter([*called, *named]), None)
    if first is not None and first != ranking.ranked[0][0]:
        put_first(ranking, [first])


def _unit_at(opened: Searched, document: int, anchor: str, best: dict[int, int]) -> int:
    """Return the unit of a document at an anchor, else its best, else its first one."""
    first, last = opened.units_of(document)
    at_anchor = (unit for unit in range(first, last) if opened.units.value(unit, "anchor") == anchor)
    return next(at_anchor, best.get(document, first)) if anchor else best.get(document, first)


def is_called(opened: Searched, document: int, query: str) -> bool:
    """Whether a document has this title, with the site's name behind it or without, in one word or in several."""
    asked, title = comparable(query), str(opened.documents.value(document, "title"))
    ways = {comparable(title), comparable(_SITE_NAME.split(title)[0])} if asked else set()
    in_one = {way.translate(_JOINTS) for way in ways}
    return asked in ways or (len(asked.split()) == 1 and asked.translate(_JOINTS) in in_one)


def put_first(ranking: Ranking, units: Sequence[int]) -> None:
    """Put units before all others, in this order, with scores above the best."""
    best = ranking.ranked[0][1] if ranking.ranked else 0.0
    first = [(unit, best + len(units) - place) for place, unit in enumerate(units)]
    ranking.ranked = [*first, *(each for each in ranking.ranked if each[0] not in units)]


def comparable(text: str) -> str:
    """Return a title or a query as titles are compared: C++ is not C."""
    return " ".join(text.casefold().split()).strip(" ?!.,:;\"'“”")
