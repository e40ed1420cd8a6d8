"""DocSearch's wire form, so that search boxes made for it can ask this server: what @docsearch/js sends and reads.

The form is not a published contract; this is what versions 3 to 5 of the box use."""

import html
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from pydantic import ValidationError
from structformer.errors import UsageError
from structformer.notebook import set_off

from structformer_serve.schemas import MAX_QUERY, FoundDocument, SearchAnswer, SearchRequest

_MOST = 10  # searches of one request
_DEFAULT_HITS = 20
_LEVELS = 7
_WHOLE_WORDS = 3  # from which on a query is searched for by its meaning too
_TAGS = ("<mark>", "</mark>")
_OPENING = re.compile(
    r"""<(?P<element>mark|em|strong|b|i|u|span)( class=(?P<quote>["'])[A-Za-z0-9_ -]{1,80}(?P=quote))?>"""
)


def answers(body: Any, base: str, search: Callable[[SearchRequest], SearchAnswer]) -> list[dict[str, Any]]:
    """Answer the searches of a request's body. base: where this server is, for documents without an address of their
    own. search: runs one. Raises UsageError.
    """
    listed = body.get("requests") if isinstance(body, Mapping) else None
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST:
        raise UsageError(f"the body has `requests`, one to {_MOST} searches")
    return [_answer(each, base, search) for each in listed]


def _answer(value: Any, base: str, search: Callable[[SearchRequest], SearchAnswer]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError("a search is an object with `query`")
    given = value.get("params", {})
    named = dict(parse_qsl(given)) if isinstance(given, str) else dict(given) if isinstance(given, Mapping) else {}
    named = {**{key: each for key, each in value.items() if key != "params"}, **named}
    query = str(named.get("query") or "")[:MAX_QUERY]
    try:
        most = max(1, min(100, int(named.get("hitsPerPage", _DEFAULT_HITS))))
    except (TypeError, ValueError, OverflowError):  # the last for infinity
        raise UsageError("hitsPerPage is a whole number") from None
    tags = str(named.get("highlightPreTag", _TAGS[0])), str(named.get("highlightPostTag", _TAGS[1]))
    opening = _OPENING.fullmatch(tags[0])
    if opening is None or tags[1] != f"</{opening['element']}>":
        tags = _TAGS  # the box puts them into its page: they are those of an element that only marks words
    try:
        # Each section is a hit there, and each keystroke a search: of the first words as beginnings, then of all of it.
        request = SearchRequest(q=query, k=most, group=False, typing=len(query.split()) < _WHOLE_WORDS, partial=True)
    except ValidationError:  # a query without words finds nothing
        answered = None
    else:
        answered = search(request)
    hits = [_hit(each, tags, base) for each in answered.hits] if answered else []
    return {
        "hits": hits,
        "nbHits": len(hits),
        "page": 0,
        "nbPages": 1,
        "hitsPerPage": most,
        "exhaustiveNbHits": True,
        "query": query,
        "params": "",
        "index": str(named.get("indexName", "") or "")[:100],
        "processingTimeMS": round(answered.milliseconds) if answered else 0,
    }


def _hit(hit: FoundDocument, tags: tuple[str, str], base: str) -> dict[str, Any]:
    titles = [hit.document_title, *hit.path[1:]][:_LEVELS]
    levels = {f"lvl{level}": titles[level] if level < len(titles) else None for level in range(_LEVELS)}
    kind = f"lvl{len(titles) - 1}" if not hit.snippet else "content"
    url = hit.url or base + hit.read
    begin, end = tags
    # As HTML: boxes put it into their page as it is.
    marked = set_off(hit.snippet, hit.highlights, html.escape, lambda part: f"{begin}{html.escape(part)}{end}")
    shown = {
        "hierarchy": {name: _value(html.escape(title)) for name, title in levels.items() if title is not None},
        "content": _value(marked, bool(hit.highlights)),
    }
    return {
        "objectID": f"{hit.document}#{hit.section}",
        "url": url,
        "url_without_anchor": url.partition("#")[0],
        "anchor": hit.anchor or None,
        "type": kind,
        "hierarchy": levels,
        "content": hit.snippet or None,
        "_highlightResult": shown,
        "_snippetResult": shown,
    }


def _value(text: str, matches: bool = False) -> dict[str, Any]:
    return {"value": text, "matchLevel": "full" if matches else "none", "matchedWords": []}
