"""A page's text to its element tree by HTML's own algorithm, or word that it is nested too deep for one."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_DEPTH = 2000  # the standard's scope rules cost time with depth; no page written by people comes near this
_ANY_DEPTH = 20_000  # tags that a page may have whatever their nesting: half a second at worst
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Elements that hold nothing, or that the next of their kind ends.
_FLAT = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd td th tr "
    "thead tbody tfoot option optgroup".split()
)


_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{20000,}>")
_MAX_ATTRIBUTES = 1000


def without_attribute_floods(text: str) -> tuple[str, int]:
    """The text with at most some thousand characters of any tag that has over a thousand attributes; and how many such
    there were.

    The standard has every attribute compared with those before it.
    """
    floods = 0

    def cut(found: re.Match[str]) -> str:
        nonlocal floods
        if len(found[0].split()) <= _MAX_ATTRIBUTES:
            return found[0]
        floods += 1
        return found[0][:5000].rpartition(" ")[0] + ">"

    return _LONG_TAG.sub(cut, text), floods


def parse(text: str) -> LexborNode | None:
    """The page's root element; None when it is large and its elements are nested over MAX_DEPTH deep."""
    if text.count("<") > _ANY_DEPTH and _is_deeper(text, MAX_DEPTH):
        return None
    return LexborHTMLParser(text).root


def _is_deeper(text: str, limit: int) -> bool:
    depth = 0
    for found in _TAG.finditer(text):
        if found[2].lower() in _FLAT:
            continue
        if not found[1]:
            depth += 1
            if depth > limit:
                return True
        elif depth:
            depth -= 1
    return False
