"""A page's text to its element tree by HTML's own algorithm, however deep it is nested."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_DEPTH = 2000  # the standard's scope rules cost time with depth; no page written by people comes near this
_ANY_DEPTH = 20_000  # tags that a page may have whatever their nesting: half a second at worst
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>")
# Elements that hold nothing, or that the next of their kind ends.
_FLAT = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd td th tr "
    "thead tbody tfoot option optgroup a h1 h2 h3 h4 h5 h6".split()
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


def without_deep_tags(text: str) -> tuple[str, bool]:
    """A large page without the tags of elements that are nested over MAX_DEPTH deep; and whether there were such.

    What these elements hold stays, with its headings and links."""
    depth, deepest = 0, 0

    def kept(found: re.Match[str]) -> str:
        nonlocal depth, deepest
        if found[2].lower() in _FLAT:
            return found[0]
        inner = depth
        depth = max(0, depth - 1) if found[1] else depth + 1
        inner = max(inner, depth)
        deepest = max(deepest, inner)
        return found[0] if inner <= MAX_DEPTH else ""

    if text.count("<") <= _ANY_DEPTH:
        return text, False
    flattened = _TAG.sub(kept, text)
    return (flattened, True) if deepest > MAX_DEPTH else (text, False)


def parse(text: str) -> LexborNode:
    """The page's root element."""
    root = LexborHTMLParser(text).root
    assert root is not None  # the standard gives every text one
    return root
