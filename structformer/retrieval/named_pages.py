"""Pages whose title, file name or address a query is: they come before all others."""

import re
from collections.abc import Sequence

from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.documents.page_places import asked_places
from structformer.retrieval.query_parts import Searched
from structformer.retrieval.rankings.ranking import Ranking
from structformer.text.version_marks import VERSION
from structformer.text.words import names_of

_LOOKED_AT = 10  # documents of a ranking whose titles are looked at; documents of one file name
_SECTIONS = 30  # passages of a ranking that are looked through for those of its first document
_IS_RIGHT = 0.9  # how likely a document is right whose name the query is
_SITE_NAME = re.compile(r"\s(?:[—–|·:-]|::)\s")
_BESIDE_VERSION = re.compile(r"^ ?(?:version|release) | v(?=[0-9])| ")  # what may stand before or around a version
_JOINTS = str.maketrans("", "", " -")


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
