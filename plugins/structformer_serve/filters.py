"""The filters beside the results: each with what it finds and the address that sets or removes it."""

import re
from collections.abc import Callable, Iterable, Sequence
from glob import escape
from typing import Any
from urllib.parse import urlencode

from structformer.text import version_order

from structformer_serve.schemas import FacetCounts, SearchAnswer, SearchRequest
from structformer_serve.shelves import newest_first

Address = Callable[[Sequence[str], Sequence[str]], str]  # by the values of path and where
_LABELS = {"lang": "language", "versions": "version", "release": "version"}  # names of strings
_ESCAPED = re.compile(r"\[([*?[])\]")  # a sign of a pattern, taken literally
_VERSIONS = frozenset({"version", "versions", "release"})
_FIRST = {"version": 0, "versions": 0, "release": 0, "language": 1, "lang": 1}  # the others as the answer has them


def search_address(
    root: str, query: str, way: Iterable[tuple[str, str]], path: Sequence[str], where: Sequence[str], **others: int
) -> str:
    """Return the address of a query's page. root: what precedes all paths; way: how is searched, as parameters."""
    pairs = [("q", query), *(("path", each) for each in path), *(("where", each) for each in where), *way]
    return f"{root}/?{urlencode([*pairs, *others.items()])}"


def facet_links(answer: SearchAnswer, request: SearchRequest, address: Address) -> list[dict[str, Any]]:
    """Return the facets with a link for each value. Versions come first, the newest on top, then languages."""
    links: list[dict[str, Any]] = []
    told: list[list[tuple[str, int]]] = []
    versions = {each.value for facet in answer.facets if facet.name.lower() in _VERSIONS for each in facet.values}
    for facet in sorted(answer.facets, key=lambda each: _FIRST.get(each.name.lower(), 2)):
        if facet.name == "path" and not request.path and {each.value for each in facet.values} == versions:
            continue  # folders that are versions, which the documents say themselves
        counts = _in_order(facet)
        if counts in told:
            continue  # as lang beside language
        told.append(counts)
        values = []
        for value, count in counts:
            path, where = list(request.path), list(request.where)
            # A folder's name may have a pattern's signs, as [slug].
            setting = f"{escape(value)}/*" if facet.name == "path" else f"{facet.name}={value}"
            conditions = path if facet.name == "path" else where
            if chosen := setting in conditions:
                conditions.remove(setting)
            else:
                conditions.append(setting)
            values.append({"value": value, "count": count, "address": address(path, where), "chosen": chosen})
        if len(values) > 1 or any(value["chosen"] for value in values):
            links.append({"label": _LABELS.get(facet.name.lower(), facet.name), "choices": values})
    return links


def _in_order(facet: FacetCounts) -> list[tuple[str, int]]:
    counts = {each.value: each.count for each in facet.values}
    versions = facet.name.lower() in _VERSIONS or (facet.name == "path" and all(map(version_order, counts)))
    names = newest_first(counts) if versions else counts
    return [(name, counts[name]) for name in names]


def chips(request: SearchRequest, address: Address) -> list[dict[str, str]]:
    """Return the filters that are set, each with the address without it."""
    shown = []
    for setting in request.path:
        rest = [each for each in request.path if each != setting]
        shown.append({"label": _ESCAPED.sub(r"\1", setting), "without": address(rest, request.where)})
    for setting in request.where:
        rest = [each for each in request.where if each != setting]
        shown.append({"label": setting.partition("=")[2] or setting, "without": address(request.path, rest)})
    return shown
